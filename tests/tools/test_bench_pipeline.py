"""What `make bench-spark` asks for: judged at the size that it is meant for, told otherwise; the crowds that it makes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.captures.packets import packet_rows

from amqp_sansio.captures.conversation import observers
from amqp_sansio.captures.verdicts import verdicts
from bench import crowds
from bench.pipeline.__main__ import LARGE, MIDDLE, below
from bench.pipeline.cold import once
from bench.pipeline.target import MEGA, Target


@pytest.mark.parametrize(("octets", "reached", "met", "said"), [
    (600 * MEGA, 1.2, True, "met"),
    (600 * MEGA, 1.4, False, "MISSED"),
    (540 * MEGA, 1.4, False, "MISSED"),
    (539 * MEGA, 1.4, None, "told, not judged: meant for 540 MB and more"),
    (600 * MEGA, None, None, "not measured"),
])  # fmt: skip
def test_a_target_is_judged_at_the_size_that_it_is_meant_for(
    octets: int, reached: float | None, met: bool | None, said: str
) -> None:
    target = Target("a", 1.3, True, reached, octets, below(LARGE))
    assert target.met is met
    assert target.line.endswith(f" {said}")


def test_figures_for_comparison_are_never_judged() -> None:
    target = Target("a", 1.0, False, 0.5, MIDDLE, 0, "a figure beside")
    assert target.met is None
    assert target.line.endswith("0.50 told, not judged: a figure beside")
    assert Target("a", 1.0, False, 0.5).met is False
    assert Target("a", 1.0, False, None, told="no tshark").line.endswith("not measured: no tshark")


@pytest.mark.parametrize("foreign", [False, True])
def test_a_crowd_has_as_many_connections_as_it_should(foreign: bool, tmp_path: Path) -> None:
    """All of them with six packets in their order; the same file each time; those of AMQP, and only those, are judged."""
    path = tmp_path / "x.pcap"
    assert crowds.make(path, 120, foreign) == 720
    once_more = tmp_path / "y.pcap"
    crowds.make(once_more, 120, foreign)
    assert path.read_bytes() == once_more.read_bytes()
    rows = packet_rows(str(path))
    assert len({row["connection"] for row in rows}) == 120
    assert [row["connection"] for row in rows[:50]] != [rows[0]["connection"]] * 50
    judged = list(verdicts(str(path), observers(), (), lambda text: None))
    assert len(judged) == (0 if foreign else 120)
    assert all(each.octets == (8, 8) for each in judged)


def test_a_cold_process_is_measured_with_all_that_it_starts() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    words = [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"]
    found = once(words, os.environ)
    assert found.cpu >= 0.3
    assert found.octets > 0
    with pytest.raises(SystemExit):
        once([sys.executable, "-c", "raise SystemExit(2)"], os.environ)
