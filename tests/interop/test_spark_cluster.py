"""The same work on executors that are processes of their own, by spark-submit, and through Spark Connect."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from tests.spark.truth import Rows, differing, generated, published, rotated, truth
from tests.waiting import awaited

from amqp_sansio.spark.installation import ensure_java
from amqp_sansio.spark.session import archive_of_package

HERE = Path(__file__).parents[1] / "spark"
SUBMIT = str(Path(str(pyspark.__file__)).parent / "bin" / "spark-submit")
EXECUTORS, OCTETS = (2, 700_000) if os.environ.get("AMQP_PROFILE") == "soak" else (1, 400_000)
"""Each executor is a JVM; where one has been killed, another one is made."""
CONF = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}


pytestmark = pytest.mark.usefixtures("spark_processes")


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("cuts")
    return rotated(generated(folder / "whole.pcap", OCTETS), folder / "rotated", 2)


@pytest.fixture(scope="module")
def expected(cuts: list[Path]) -> Rows:
    return truth(cuts)


def environment() -> dict[str, str]:
    """Without our package on any path: what executors have of it came with the job."""
    settings = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings.pop("PYTHONPATH", None)
    ensure_java(settings)
    return settings


def executors(driver: int) -> Iterator[int]:
    """The processes of executors below this one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents[int(entry.name)] = parent, b"CoarseGrainedExecutorBackend" in words and b"java" in words
    for number, (parent, is_executor) in parents.items():
        above = parent
        while above in parents and above != driver:
            above = parents[above][0]
        if is_executor and above == driver:
            yield number


def test_by_spark_submit_with_executors_of_their_own_one_of_which_is_killed(
    cuts: list[Path], expected: Rows, tmp_path: Path
) -> None:
    """Executors have nothing of ours but what --py-files gave them; what a killed one was at is done again by another."""
    out = tmp_path / "out"
    archive = archive_of_package(tmp_path)
    words = [SUBMIT, "--master", f"local-cluster[{EXECUTORS},1,512]", "--py-files", str(archive)]
    words += [word for name, value in CONF.items() for word in ("--conf", f"{name}={value}")]
    words += [str(HERE / "job.py"), str(out), *map(str, cuts)]
    with open(tmp_path / "said", "wb") as said:
        process = subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=said, stderr=said, start_new_session=True)
    try:

        def working() -> list[int]:
            """An executor that writes files is in the middle of its work."""
            return list(executors(process.pid))[:1] if any(out.glob(".work-*/*")) else []

        victims = awaited(working, lambda: process.poll() is not None)
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        assert process.wait(600) == 0, (tmp_path / "said").read_text()[-4000:]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert victims, "no executor was seen at work"
    assert differing(expected, published(out)) == {}
    assert f"rows: {sum(sum(rows.values()) for rows in expected.values())}" in (tmp_path / "said").read_text()


def test_through_spark_connect(cuts: list[Path], expected: Rows, tmp_path: Path) -> None:
    """A client without a JVM of its own: nothing of the work needs one."""
    out = tmp_path / "out"
    settings = {**environment(), "SPARK_REMOTE": "local[2]", "PYTHONPATH": str(HERE.parents[1] / "src")}
    # A local server of Connect listens on port 15002, which another run on this machine may have; with this it takes any.
    settings["SPARK_TESTING"] = "1"
    settings["JAVA_TOOL_OPTIONS"] = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # the server is made where no CONF is read
    words = [sys.executable, str(HERE / "job.py"), str(out), *map(str, cuts)]
    done = subprocess.run(words, cwd=tmp_path, env=settings, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    assert differing(expected, published(out)) == {}
