"""Completions heard on the quick way, and with every check."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conversation.stage import Stage, staged

from amqp_sansio.config import DEFAULT_PROFILE, STRICT_PROFILE, ClientConfig
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.events import CommandsCompleted, Event
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.serials import HALF, TOP, RangeSet, serial_add
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.session import Completed
from amqp_sansio.wire.segments import CutRange, OneRange, SegmentReader, frame_control

FEW_RANGES = attrs.evolve(DEFAULT_LIMITS, ranges=3)


BASES = [0, 3, TOP - 6, HALF - 4, HALF + 3]
"""Where the ids of the messages begin."""


def published(strict: bool, kept: bool, count: int, base: int = 0) -> tuple[Stage, ClientConnection]:
    """A client that has published so many messages, from an id on, of which it has heard nothing."""
    stage = staged(config=ClientConfig(profile=STRICT_PROFILE if strict else DEFAULT_PROFILE, limits=FEW_RANGES))
    talk = stage.open(timeout=600 if kept else 0)
    assert talk._session is not None
    talk._session._outbound.next_id = base
    for _ in range(count):
        talk.publish("", "nowhere", b"x", {})
    machine = stage.client.machine
    machine.data_to_send()
    return stage, machine


def heard(machine: ClientConnection, octets: bytes, piece: int) -> tuple[list[Event], bytes, list[str]]:
    events: list[Event] = []
    for at in range(0, len(octets), piece):
        machine.receive_data(octets[at : at + piece])
        events += machine.events()
    sets = [
        f"{session.state} {session._outbound.outstanding} {session._outbound.known} {sorted(session._outbound.kept)}"
        for session in machine.sessions
    ]
    return events, machine.data_to_send(), [*sets, f"channels {sorted(machine._channels.used)}"]


completions = st.tuples(
    st.integers(-2, 12),
    st.integers(0, 4),
    st.booleans(),
    st.sampled_from([1, 1, 1, 1, 2, 0]),
    st.sampled_from([1, 7, 26, 4096]),
)
in_turn = st.integers(0, 8).map(lambda count: [(0, n, n % 3 == 2, 1, 4096) for n in range(count)])
"""As who waits for each message is answered: all so far, and a timely-reply now and then."""


class Checked(OneRange):
    """Cuts nothing: all is read with every check."""

    def cut(self, reader: SegmentReader, commands: bool = True) -> CutRange | None:
        return None


@pytest.mark.skipif(COMPILED, reason="compiled code takes no other reader of replies")
@settings(max_examples=settings().max_examples * 2)
@given(st.booleans(), st.booleans(), st.sampled_from(BASES), in_turn | st.lists(completions, max_size=8))
def test_the_same_follows_on_both_ways(
    strict: bool, kept: bool, base: int, said: list[tuple[int, int, bool, int, int]]
) -> None:
    """Whatever is completed, in whatever order, wherever and in whatever pieces: the same events, the same answers, the same
    is remembered."""
    (_, quick), (_, slow) = published(strict, kept, 9, base), published(strict, kept, 9, base)
    slow._channels._replies = Checked(bytes(4), bytes(4), bytes(4), bytes(4))
    for first, more, timely, channel, piece in said:
        low = serial_add(base, first)
        ids = RangeSet.span(low, serial_add(low, more))
        octets = frame_control(channel, AMQP_0_10.codec.encode_control(Completed(ids, timely)))
        assert heard(quick, octets, piece) == heard(slow, octets, 4096)
        assert [session.snapshot() for session in quick.sessions] == [session.snapshot() for session in slow.sessions]


def test_waiting_for_one_message_takes_the_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a broker says of one message is heard without a control ever being made of it."""
    _, machine = published(False, False, 2)
    made: list[bytes] = []
    octets = frame_control(1, AMQP_0_10.codec.encode_control(Completed(RangeSet.of(0))))
    monkeypatch.setattr(machine, "_decode", lambda assembly: made.append(assembly.payload))
    machine.receive_data(octets)
    assert list(machine.events()) == [CommandsCompleted(b"test-1", RangeSet.of(0))]
    assert not made
