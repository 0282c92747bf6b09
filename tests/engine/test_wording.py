from __future__ import annotations

import pytest

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.wording import carries_of, frame_of, verb_of, violation_of
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.wire.segments import Malformed


@pytest.mark.parametrize(
    ("kind", "payload", "verb"),
    [
        ("control", b"\x02\x01", "session.attach"), ("command", b"\x04\x01\0\0", "message.transfer"),
        ("control", b"\x01\x63", "connection.99"), ("command", b"\x77\x01", "119.1"), ("command", b"\x04", "4.?"),
        ("control", b"", "?.?"),
    ],
)  # fmt: skip
def test_a_verb_by_its_name_or_its_numbers(kind: str, payload: bytes, verb: str) -> None:
    assert verb_of(AMQP_0_10, kind, payload) == verb


def test_frames_name_what_begins_in_them() -> None:
    assert frame_of(AMQP_0_10, (0, 14, 0x0F, 0, 0, 3, b"\x02\x01")) == FrameSeen(0x0F, 0, 0, 3, "session.attach")
    assert frame_of(AMQP_0_10, (0, 14, 0x0B, 1, 1, 3, b"\x04\x01")).verb == "message.transfer"
    assert frame_of(AMQP_0_10, (0, 14, 0x05, 3, 1, 3, b"ab")).verb is None


def test_only_a_transfer_and_its_kind_carry_more() -> None:
    carries = carries_of(AMQP_0_10)
    assert carries(4, 1)
    assert carries(119, 1)
    assert not carries(4, 2)


def test_what_is_malformed_is_its_speakers_violation() -> None:
    found = violation_of("S", Malformed("frame.size", "too small", 501, 2, 99, False, "size 3", ("at least 12",)))
    assert (found.speaker, found.rule, found.said, found.code) == ("S", "frame.size", "size 3", 501)
    assert (found.legal, found.channel, found.offset, found.text) == (("at least 12",), 2, 99, "too small")
