"""The reader of the older dialects on recordings of RabbitMQ, counted by an independent frame walker (../shared/captures)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.conformance.test_observer_on_captures import turns

from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.framing import Assembly, Malformed
from amqp_sansio.wire.method_frames import METHODS, METHODS_AND_TRACES

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"
CONTENTS = frozenset([(60, 40), (60, 50), (60, 60), (60, 71)])
"""basic.publish, return, deliver and get-ok: what RabbitMQ sends a content with, or takes one behind."""


def files() -> list[Path]:
    if not CAPTURES.is_dir():
        return []
    return sorted(path for version in ("0-8", "0-9", "0-9-1") for path in (CAPTURES / version).glob("*.pcap"))


@pytest.mark.skipif(not files(), reason="NOT RUN: there are no recordings beside the checkout")
@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.parametrize("piece", [1, 0])
def test_every_frame_is_read(path: Path, piece: int) -> None:
    """As many of each type as the walker counts; a method with a content has its header, and as many octets as that says."""
    expected = json.loads((CAPTURES / "expected.json").read_text())[f"{path.parent.name}/{path.name}"]
    framing = METHODS if path.parent.name == "0-9-1" else METHODS_AND_TRACES
    frames: Counter[int] = Counter()
    undecodable = 0
    for said in turns(path, 5672):
        sound = True
        for speaker in ("C", "S"):
            octets = b"".join([each for who, each in said if who == speaker and isinstance(each, bytes)])
            begins = 8 if octets[:4] == b"AMQP" else 0
            sound = sound and (speaker == "S" or (octets[:4] == b"AMQP" and len(octets) >= 8))
            read = framing.overhearing(DEFAULT_LIMITS, lambda *codes: codes in CONTENTS, begins)
            read.trace = []
            for at in range(begins, len(octets), piece or max(1, len(octets))):
                read.receive(octets[at : at + (piece or len(octets))])
                while (unit := read.next()) is not None:
                    sound = sound and not (isinstance(unit, Malformed) and (unit.fatal or unit.rule == "frame.method"))
                    if isinstance(unit, Assembly) and unit.header is not None and unit.complete:
                        assert len(unit.body or b"") == int.from_bytes(unit.header[4:12], "big")
            sound = sound and (read.dead or not read.buffered)
            frames.update([cut[3] for cut in read.trace if cut[3] != 1 or len(cut[6]) == 4])  # a method has class and number
        undecodable += not sound
    assert [frames[kind] for kind in (1, 2, 3, 8)] == [
        int(expected[name]) for name in ("method_frames", "header_frames", "body_frames", "heartbeats")
    ]
    assert undecodable == int(expected["undecodable"])
