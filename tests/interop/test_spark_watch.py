"""`amqp-sansio watch` in a process of its own: it reads once all that is there; killed while files arrive, with its JVM and its
workers, it gives what the batch gives: killed once in `make interop`, twenty times in `make soak`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

from tests.cli.serving import SOAK
from tests.spark.test_watch import files
from tests.spark.truth import differing, generated, published, rotated, truth
from tests.waiting import awaited

from amqp_sansio.captures.columns.place import MANIFEST

ROOT = Path(__file__).resolve().parents[2]
KILLS = 20 if SOAK else 1


def start(folder: Path, out: Path, checkpoint: Path) -> subprocess.Popen[bytes]:
    """The command, in a process group of its own, with one file in each batch."""
    words = [sys.executable, "-m", "tests.spark.stream", str(folder), str(out), str(checkpoint)]
    return subprocess.Popen(
        words, cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}, start_new_session=True
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """At once, with the JVM and all workers."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def everything(*folders: Path) -> set[str]:
    """The files in these folders."""
    return {os.path.join(where, name) for folder in folders for where, _, names in os.walk(folder) for name in names}


def test_a_stream_that_is_killed_while_files_arrive_gives_what_the_batch_gives(spark_processes: None, tmp_path: Path) -> None:
    """Every kill comes at another moment: so many files further of tables and of the checkpoint, whatever wrote them.  Files
    come one by one, before a start and while the stream runs."""
    folder, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()
    random = Random(os.environ.get("AMQP_SEED", "7"))
    cuts = rotated(generated(tmp_path / "whole.pcap", 400_000 if SOAK else 150_000), tmp_path / "rotated", 24 if SOAK else 3)
    sent = cuts if SOAK else cuts[:2]  # a kill between two starts: each is a JVM
    coming = list(sent)
    killed = 0

    def arrive() -> None:
        if coming:
            path = coming.pop(0)
            shutil.copy(path, folder / f"{path.name}.part")
            (folder / f"{path.name}.part").rename(folder / path.name)

    while True:
        early = killed % 2 == 0
        if early:
            arrive()
        process = start(folder, out, checkpoint)
        tables, further = files(out), random.randrange(12)
        if killed < KILLS:
            awaited(lambda: files(out) > tables, lambda: process.poll() is not None)  # noqa: B023 -- looked at here only
            seen = everything(out, checkpoint)
            if not early or killed == 0:
                arrive()
            awaited(lambda: len(everything(out, checkpoint) - seen) >= further, lambda: process.poll() is not None)  # noqa: B023
        else:
            process.wait()
        if process.poll() is None:
            kill(process)
            killed += 1
        else:
            assert process.returncode == 0
            if not coming:
                break
            arrive()
    assert killed >= (10 if SOAK else 1)
    assert differing(truth([folder / path.name for path in sent]), published(out)) == {}


def test_a_signal_to_every_process_of_it_stops_it(spark_processes: None, tmp_path: Path) -> None:
    """As systemd, docker and `timeout` send it: the JVM ends at once, and nothing prints a trace."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    shutil.copy(ROOT / "src" / "amqp_sansio" / "cli" / "samples" / "hello.pcap", folder)
    words = [sys.executable, "-m", "amqp_sansio", "watch", str(folder), "--out", str(out), "--closed", "all", "--json"]
    with subprocess.Popen(
        [*words, "--checkpoint", str(tmp_path / "checkpoint")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        start_new_session=True,
    ) as process:
        awaited((out / MANIFEST).is_file, lambda: process.poll() is not None)
        os.killpg(process.pid, signal.SIGTERM)
        told, complaints = process.communicate()
    assert process.returncode == 0, complaints
    assert [line for line in complaints.splitlines() if not line.startswith("amqp-sansio: ")] == []
    assert json.loads(told)["tables"]["connections"] in (0, 1), "a batch that was not committed will be repeated"


def test_once_reads_all_that_is_there(spark_processes: None, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for path in (ROOT / "src" / "amqp_sansio" / "cli" / "samples").glob("*.pcap"):
        shutil.copy(path, folder)
    words = [
        sys.executable,
        "-m",
        "amqp_sansio",
        "watch",
        str(folder),
        "--once",
        "--json",
        "--tables",
        "connections,violations",
        "--conf",
        "spark.sql.shuffle.partitions=1",  # each has workers of its own, which start anew for every batch
    ]
    words += ["--out", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "checkpoint")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tables"] == {"connections": 4, "violations": 4}
    assert [line for line in done.stderr.splitlines() if not line.startswith(f"amqp-sansio: {folder}")] == []
