"""However octets are cut, they mean the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scripted import ScriptedPeer

from amqp_sansio import ServerConfig, ServerConnection
from amqp_sansio.config import HeaderReading
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.events import Event
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.connection import Heartbeat, Open, StartOk, TuneOk
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.message import Accept, Subscribe, Transfer
from amqp_sansio.spec.queue import Declare
from amqp_sansio.spec.session import Attach, CommandPoint
from amqp_sansio.wire.segments import frame_command, frame_control

LAYOUT = AMQP_0_10.codec
OPENING = AMQP_0_10.header + b"".join(
    [
        frame_control(0, LAYOUT.encode_control(control))
        for control in (StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 0, 0), Open(""))
    ]
    + [
        frame_control(channel, LAYOUT.encode_control(control))
        for channel in (1, 2)
        for control in (Attach(b"s%d" % channel), CommandPoint(0, 0))
    ]
)
DELIVERY = b"\x00\x00\x00\x06\x04\x01\x00\x02\x01q"
HEADERS = [None, b"", DELIVERY, DELIVERY * 2, b"\x00\x00\x00\x03\x04\x01\x00", b"\x00\x00\x00\x06\x04\x01\x00\x02\x05q"]
BODIES = [None, b"", b"hello", b"z" * 5000]

TRANSFERS = st.builds(
    lambda channel, destination, accept, acquire, sync, header, body, size: b"".join(
        frame_command(channel, LAYOUT.encode_command(Transfer(destination, accept, acquire), sync), header, body, size)
    ),
    st.sampled_from([1, 1, 1, 2, 3]),
    st.sampled_from(["", "q", "exchange"]),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([None, 0, 1]),
    st.booleans(),
    st.sampled_from(HEADERS),
    st.sampled_from(BODIES),
    st.sampled_from([4096, 65535]),
)
COMMANDS: list[Command] = [Sync(), Declare("q"), Subscribe("q", "d"), Accept(None)]
OTHERS = st.sampled_from(
    [b"".join(frame_command(1, LAYOUT.encode_command(command, True), None, None, 65535)) for command in COMMANDS]
    + [frame_control(channel, LAYOUT.encode_control(Heartbeat())) for channel in (0, 1)]
)


def hear(octets: bytes, headers: HeaderReading, chunk: int | None) -> tuple[list[Event], bytes]:
    """The events that a server makes of these octets, and all that it says in the end."""
    peer = ScriptedPeer(ServerConnection(ServerConfig(headers=headers)), chunk=chunk)
    events = peer.say(octets) + peer.end()
    return events, peer.connection.data_to_send()


# Fed whole, one octet at a time, in 7s or in 4096s, whole or damaged: the same events, and the same answers.
@pytest.mark.parametrize("headers", ["lazy", "eager"])
@given(
    words=st.lists(st.one_of(TRANSFERS, TRANSFERS, OTHERS), max_size=10),
    damage=st.one_of(st.none(), st.tuples(st.integers(0, 5000), st.integers(0, 255))),
)
def test_cutting_changes_nothing(headers: HeaderReading, words: list[bytes], damage: tuple[int, int] | None) -> None:
    octets = bytearray(b"".join(words))
    if damage is not None and octets:
        octets[damage[0] % len(octets)] = damage[1]
    whole = hear(OPENING + octets, headers, None)
    for chunk in (1, 7, 4096):
        assert hear(OPENING + octets, headers, chunk) == whole
