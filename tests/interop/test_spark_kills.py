"""Spark itself is killed at every step of the protocol, between a queue and a queue: each message comes out once.

Every kill is signal 9: of the JVM, of the Python process of it that is at that step, of both, or of the broker (see killed.py).
Small in `make interop`; `make soak` kills a hundred JVMs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.cli.serving import SOAK, environment
from tests.spark.live import crashes, killed
from tests.spark.live.job import JVM_KILLED
from tests.spark.live.stage import COPY, ORDERS, OnDisk, declare, depth, drain, in_doubt, send

from amqp_sansio.spark.live import coordinator, sink, spooler

KINDS = {"jvm": 50, "both": 50, "python": 22, "broker": 22} if SOAK else {"jvm": 1, "python": 1, "broker": 1}
SEED = int(os.environ.get("AMQP_SEED", "1"))
ROOT = Path(__file__).resolve().parents[2]
STEPS = [
    *[f"source-{step}" for step in (*spooler.STEPS, *spooler.RECOVERY)],
    *[f"sink-{step}" for step in (*sink.STEPS, *coordinator.STEPS, *coordinator.RECOVERY)],
]
BEFORE = {
    **{f"source-{step}": [f"source-{each}" for each in steps] for step, steps in crashes.BEFORE.items()},
    "source-tidied": [f"source-{each}" for each in spooler.STEPS],  # a task that is killed is tried again by Spark
}


class Cast:
    """The JVMs, one of which waits for its turn, and the broker; `ends` tells whose process came to its end."""

    def __init__(self, place: Path, broker: OnDisk) -> None:
        self.place = place
        self.broker = broker
        self.plan = place / "plan"
        self.plan.mkdir()
        self.ends: SimpleQueue[tuple[str, int]] = SimpleQueue()
        self._jobs: list[subprocess.Popen[bytes]] = []
        self.watch("broker", broker.process)
        self._known(broker.process.pid)

    def watch(self, name: str, process: subprocess.Popen[bytes]) -> None:
        threading.Thread(target=lambda: self.ends.put((name, process.wait())), daemon=True).start()

    def _known(self, pid: int) -> None:
        aside = self.plan / "aside"
        aside.write_text(str(pid))
        aside.rename(self.plan / killed.BROKER)

    def rise(self) -> None:
        """The broker comes back."""
        (self.plan / killed.BROKER).unlink(missing_ok=True)
        self.broker.rise()
        self.watch("broker", self.broker.process)
        self._known(self.broker.process.pid)

    def ready(self) -> None:
        """One more JVM that waits."""
        more = {killed.PLAN: str(self.plan), killed.JVM: str(self.place / f"jvm-{len(self._jobs)}.pid")}
        job = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.live.job", self.broker.url, str(self.place)],
            cwd=ROOT, env=environment(**more), start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self._jobs.append(job)

    def begin(self) -> None:
        """The JVM that waits has its turn."""
        job = self._jobs[-1]
        assert job.stdin is not None
        job.stdin.write(b"\n")
        job.stdin.close()
        self.watch("job", job)

    def end(self) -> None:
        for job in self._jobs:
            with suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        self.broker.end()


def test_spark_is_killed_at_every_step(spark_processes: None, tmp_path: Path) -> None:
    plan = crashes.planned(KINDS, STEPS, SEED, BEFORE, "python")
    bodies = [b"order %d" % number for number in range(20 + 10 * len(plan))]
    cast = Cast(tmp_path, OnDisk(tmp_path / "data"))
    try:
        declare(cast.broker.url, ORDERS, COPY)
        send(cast.broker.url, bodies)
        for number, (step, kind) in enumerate(plan):
            (cast.plan / f"{number:04d}-{kind}-{step}.due").touch()
        jvms = sum(kind in ("jvm", "both") for _, kind in plan)
        seen: Counter[Any] = Counter()
        cast.ready()
        cast.begin()
        cast.ready()
        while (end := cast.ends.get()) != ("job", 0):
            seen[end] += 1
            if end[0] == "broker":
                cast.rise()
                continue
            assert end == ("job", JVM_KILLED)
            cast.begin()
            if seen[end] < jvms:
                cast.ready()
        assert sorted(cast.plan.glob("*.due")) == []
        assert seen == {("job", JVM_KILLED): jvms, ("broker", -signal.SIGKILL): sum(kind == "broker" for _, kind in plan)}
        assert Counter(each.body for each in drain(cast.broker.url)) == Counter(bodies)
        assert (depth(cast.broker.url), in_doubt(cast.broker.url)) == (0, 0)
    finally:
        cast.end()
