"""The Spark session, with measured settings; the only place where one is made."""

from __future__ import annotations

import os
import re
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from amqp_sansio.captures.locations import local
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.spark.errors import MissingExtra, PipelineError, reason_of
from amqp_sansio.spark.installation import ensure_home, ensure_java
from amqp_sansio.spark.reach import see_that_it_answers, shown

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

EXTRA: Final = ("pyspark", "pyarrow", "pandas", "google.protobuf")
"""Modules that must be importable; the extra `[spark]` installs them."""

MEMORY: Final = "2g"
"""Heap of a local driver, which is also the executor; beyond it data is spilled to disk."""

OF_THE_WORK: Final[dict[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    # Batches between the JVM and a Python worker; small, because both sides hold several.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(4 * 1024 * 1024),
    # A crash in native code of a worker reports where it was.
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",  # timers would make batches without end
}
"""Settings that matter to the results or to memory, and that can also be set in the user's session."""

OF_A_LOCAL_JVM: Final[dict[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": MEMORY,
    # Only the quick (C1) compiler.  The JVM passes octets on and sorts some thousand rows, for which the other compiler never
    # pays off.  CPU seconds of the JVM, start and first run and next run: 3.5, 4.4, 1.3 instead of 6.7, 14.6, 3.9 for 150 MB;
    # 3.7, 7.6, 3.8 instead of 6.7, 11.2 and no less for 600 MB.  One collector thread is enough for it (0.3 s). Tried without
    # measurable gain: shuffle without compression, no generated code, no adaptive plans.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:-UsePerfData -XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "4",
    "spark.python.daemon.module": "amqp_sansio.spark.daemon",
}
"""Settings that are fixed when the JVM starts, or only make sense on one machine."""

OF_A_WORKER: Final[dict[str, str]] = {
    # Arrow's own pool keeps a worker's peak memory; the system's returns it.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": str(4 * 1024 * 1024),
    # With one threshold set, malloc no longer adapts the other, and maps and unmaps every array of 128 KiB: 0.2 s for 150 MB.
    # With 4 MiB it saves no more and keeps 10 MB more.
    "MALLOC_MMAP_THRESHOLD_": str(1024 * 1024),
    "OPENBLAS_NUM_THREADS": "1",
}
"""Environment of Python workers, to keep them small.  Existing variables stay."""

TRIES: Final = 4
"""How often a task is tried on this machine."""

_LOOPBACK: Final[dict[str, str]] = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_LOGGING: Final = Path(__file__).with_name("log4j2.properties")
_MASTER: Final = re.compile(r"local(-cluster)?(\[[^\[\]]+\])?|yarn|(spark|k8s|sc)://.+")
_LOCAL: Final = re.compile(r"local(-cluster)?(\[.*\])?")


def missing() -> list[str]:
    """Returns the modules of the extra that cannot be found."""
    from importlib.util import find_spec

    absent = []
    for name in EXTRA:
        try:
            found = find_spec(name)
        except ImportError:
            found = None
        if found is None:
            absent.append(name)
    return absent


def require_extra() -> None:
    """Raises MissingExtra when a library of the extra is missing."""
    absent = missing()
    if absent:
        raise MissingExtra(f"the pipeline needs {', '.join(absent)}: pip install 'amqp-sansio[spark]'")


def open_session(
    master: str = "local[*]", application: str = "amqp-sansio", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Opens a session on `master`: local[...], spark://..., yarn, k8s://..., or sc://... for Spark Connect.

    `settings` override ours.  A session that is already running in this process is used as it is.  Raises MissingExtra,
    MissingJava, or PipelineError when no session can be opened.
    """
    require_extra()
    if _MASTER.fullmatch(master) is None:
        raise PipelineError(
            f"{shown(master)!r} is not a master: local[N], spark://host:port, yarn, k8s://..., or sc://host:port"
        )
    from pyspark.sql import SparkSession

    see_that_it_answers(master)
    here = _LOCAL.fullmatch(master) is not None
    builder = SparkSession.builder.appName(application)
    if master.startswith("sc://"):
        builder = builder.remote(master)
        chosen = {**OF_THE_WORK, **(settings or {})}
    else:
        ensure_java()
        if here:
            # Workers otherwise start `python3` from PATH, which may lack our libraries.
            os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            for name, value in OF_A_WORKER.items():
                os.environ.setdefault(name, value)
            _let_workers_import_us()
            ensure_home()
        else:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(_tolerant(master))
        workers = {} if here else {f"spark.executorEnv.{name}": value for name, value in OF_A_WORKER.items()}
        chosen = {**OF_THE_WORK, **OF_A_LOCAL_JVM, **workers, **(_LOOPBACK if here else {}), **(settings or {})}
        chosen["spark.driver.extraJavaOptions"] += f" -Dlog4j2.configurationFile={_LOGGING.as_uri()}"
    for name, value in chosen.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Exception as error:
        raise PipelineError(f"no Spark session on {shown(master)}: {reason_of(error)}") from error
    if not here:
        ship(spark)
    if not is_connect(spark):
        # It prints a trace when the JVM is killed; the work that fails says so in one sentence.
        spark.sparkContext._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    return spark


def end(spark: SparkSession) -> None:
    """Stops the session; nothing is left to stop where its JVM was killed."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    with suppress(Py4JError, ConnectionError):
        spark.stop()


def _let_workers_import_us() -> None:
    """Makes workers find this package where this process has it, even when it is not installed."""
    root = str(Path(__file__).resolve().parents[2])
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if root not in known:
        os.environ["PYTHONPATH"] = os.pathsep.join([root, *[each for each in known if each]])


def _tolerant(master: str) -> str:
    """Returns a local master that retries a task whose worker was killed, as clusters do; local[N] alone never does."""
    found = re.fullmatch(r"local(?:\[([0-9*]+)\])?", master)
    return f"local[{found.group(1) or 1},{TRIES}]" if found else master


def prepare(spark: SparkSession) -> SparkSession:
    """Applies our settings to the user's session (spark-submit, a notebook, Connect), as far as it allows them."""
    for name, value in OF_THE_WORK.items():
        try:
            spark.conf.set(name, value)
        except Exception as error:  # a static setting of an older session: ours was only preferable
            if "CANNOT_MODIFY" not in str(error):
                raise PipelineError(f"Spark refuses the setting {name}: {reason_of(error)}") from error
    return spark


def is_connect(spark: SparkSession) -> bool:
    """Whether it is a session of Spark Connect, whose JVM is out of reach."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def is_local(spark: SparkSession) -> bool:
    """Whether processes of this machine do all its work."""
    return not is_connect(spark) and _LOCAL.fullmatch(str(spark.sparkContext.master)) is not None


def see_that_spark_knows(spark: SparkSession, place: str) -> None:
    """Raises PipelineError when Spark itself, through its Hadoop, cannot write to a URI; local paths always work."""
    if local(place) is not None:
        return
    scheme = place.partition(":")[0]
    try:
        java = spark._jvm
        assert java is not None
        java.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, spark._jsc.hadoopConfiguration())
    except Exception as error:
        raise PipelineError(
            f"{place}: this Spark has no file system for {scheme}: (a checkpoint is written by Spark, whose Hadoop needs a"
            " connector for it); choose a path, or add the connector's jars"
        ) from error


def cores_of(spark: SparkSession) -> int:
    """Returns how many tasks run at the same time, as far as the session reports it."""
    if is_connect(spark):
        return int(spark.conf.get("spark.default.parallelism", None) or os.cpu_count() or 1)
    return int(spark.sparkContext.defaultParallelism)


def in_tasks(
    spark: SparkSession, work: Callable[[int], Iterable[pa.RecordBatch]], count: int, ddl: str, tasks: int | None = None
) -> DataFrame:
    """Returns a frame of columns `ddl`: what `work` makes of each number below `count`, in as many tasks, or in `tasks`."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from amqp_sansio.captures.columns.process import seldom

        with seldom():
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from work(number)

    return spark.range(0, count, 1, min(count, tasks or count)).mapInArrow(run, ddl)


def ask_worker(spark: SparkSession) -> tuple[str, str]:
    """Asks a Python worker for its version, and for the location of our package."""

    def answer(number: int) -> Iterator[pa.RecordBatch]:
        import platform

        import pyarrow as pa

        import amqp_sansio

        yield pa.RecordBatch.from_pydict({"python": [platform.python_version()], "ours": [str(amqp_sansio.__file__)]})

    python, ours = in_tasks(spark, answer, 1, "python string, ours string").collect()[0]
    return str(python), str(ours)


def ship(spark: SparkSession) -> None:
    """Sends this package, and the small ones it needs, to the executors, as Python.

    Does nothing where the compiled build runs with `spark.archives`, which then supplies it (`archive_of_build`).
    """
    if COMPILED and not is_connect(spark) and spark.conf.get("spark.archives", None):
        return
    archive = str(archive_of_package(Path(tempfile.mkdtemp(prefix="amqp-sansio-"))))
    if is_connect(spark):
        spark.addArtifacts(archive, pyfile=True)
    else:
        spark.sparkContext.addPyFile(archive)


def archive_of_package(folder: Path) -> Path:
    """Writes amqp_sansio.zip into `folder`, for `spark-submit --py-files`: this package with attrs and typing-extensions.

    Python cannot import machine code from it, so of the compiled build it holds the sources.
    """
    archive = folder / "amqp_sansio.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, name in _files(".py"):
            packed.write(path, name)
    return archive


def archive_of_build(folder: Path) -> Path:
    """Writes amqp_sansio.tar.gz into `folder`, for `spark-submit --archives`: the same with the compiled modules.

    Executors unpack it; `spark.executorEnv.PYTHONPATH` must name it.  Raises PipelineError when this process runs the pure
    build.
    """
    if not COMPILED:
        raise PipelineError("this is not the compiled build: put its folder on PYTHONPATH first")
    archive = folder / "amqp_sansio.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        for path, name in _files(".py", ".so"):
            packed.add(path, str(name))
    return archive


def _files(*suffixes: str) -> Iterator[tuple[Path, Path]]:
    """Yields the files that executors need of us, and their names there."""
    import attr
    import attrs
    import typing_extensions

    import amqp_sansio

    for package in (amqp_sansio, attr, attrs):
        root = Path(str(package.__file__)).parent
        for path in sorted(root.rglob("*")):
            if path.suffix in suffixes:
                yield path, path.relative_to(root.parent)
    yield Path(str(typing_extensions.__file__)), Path("typing_extensions.py")
    if COMPILED:  # the runtime shared by its modules, and what its sources import
        beside = Path(str(amqp_sansio.__file__)).parents[1]
        for path in [beside / "mypy_extensions.py", *beside.glob("amqp_sansio__mypyc*")]:
            if path.suffix in suffixes:
                yield path, Path(path.name)
