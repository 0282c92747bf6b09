"""Spark itself is killed, JVM and workers, between a queue and a queue: each message comes out once.

Small in `make test`; `make soak` kills twenty times.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

from tests.cli.serving import SOAK, environment
from tests.spark.live.stage import COPY, ORDERS, OnDisk, declare, depth, drain, in_doubt, send

KILLS = 20 if SOAK else 1
SEED = int(os.environ.get("AMQP_SEED", "1"))
ROOT = Path(__file__).resolve().parents[3]


def start(url: str, place: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.live.job", url, str(place)],
        cwd=ROOT, env=environment(), start_new_session=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def epoch(place: Path) -> int:
    """The last epoch that was decided, -1 before the first."""
    found = [json.loads(path.read_text())["epoch"] for path in (place / "checkpoint" / "amqp").glob("decision-*.json")]
    return max(found, default=-1)


def test_the_jvm_is_killed(extra: None, tmp_path: Path) -> None:
    """Every kill comes at another moment after one more epoch was decided; the broker falls at every third."""
    random = Random(SEED)
    bodies = [b"order %d" % number for number in range(60 + 40 * KILLS)]
    broker = OnDisk(tmp_path / "data")
    try:
        declare(broker.url, ORDERS, COPY)
        send(broker.url, bodies)
        kills = 0
        while True:
            process = start(broker.url, tmp_path)
            before, wait = epoch(tmp_path), random.random()
            while process.poll() is None and (kills == KILLS or epoch(tmp_path) <= before):
                time.sleep(0.02)
            if process.poll() is None:
                time.sleep(wait)
            if process.poll() is not None:
                assert process.returncode == 0
                break
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            if kills % 3 == 0:
                broker.fall()
        assert kills
        assert Counter(each.body for each in drain(broker.url)) == Counter(bodies)
        assert (depth(broker.url), in_doubt(broker.url)) == (0, 0)
    finally:
        broker.end()
