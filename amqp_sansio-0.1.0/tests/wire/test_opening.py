"""Before the connection is open: what a stranger may make us hold."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.pieces import drain, frame, rules

from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.segments import BODY, COMMAND, CONTROL, HEADER, Assembly, Malformed, SegmentReader

LIMITS = attrs.evolve(DEFAULT_LIMITS, handshake_octets=100)


def heard(octets: bytes, opened: bool = False) -> tuple[SegmentReader, list[Assembly | Malformed]]:
    reader = SegmentReader(LIMITS, opening=True)
    if opened:
        reader.opened()
    reader.receive(octets)
    return reader, drain(reader)


@pytest.mark.parametrize(("kind", "channel"), [(CONTROL, 1), (COMMAND, 0), (COMMAND, 7)])
def test_what_goes_on_on_another_channel_or_track_is_refused_at_its_first_frame(kind: int, channel: int) -> None:
    begun = frame(0x0A, kind, bytes(50), channel=channel)
    reader, found = heard(begun)
    assert rules(found) == [("connection.handshake", 501)]
    assert reader.held == 0
    reader, found = heard(begun, opened=True)
    if kind == COMMAND:
        assert (found, reader.held) == ([], 50)


# Invariant: before the connection is open, whatever frames come, no more than handshake_octets are held for them.
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 2, 4, 8, 10, 12, 14, 15]),
            st.sampled_from([CONTROL, COMMAND, HEADER, BODY]),
            st.integers(0, 120),
            st.integers(0, 3),
        ),
        max_size=40,
    )
)
def test_a_stranger_makes_us_hold_one_small_control_at_most(
    frames: list[tuple[int, int, int, int]],
) -> None:
    reader = SegmentReader(LIMITS, opening=True)
    for flags, kind, size, channel in frames:
        reader.receive(frame(flags, kind, bytes(size), channel=channel))
        drain(reader)
        assert reader.held <= LIMITS.handshake_octets
        assert reader.buffered == 0
        assert len(reader.assembler.open) <= 1
