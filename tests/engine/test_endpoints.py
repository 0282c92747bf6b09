"""A connection and endpoints of another kind than sessions: it carries whatever hears units and gives frames."""

from __future__ import annotations

import pytest

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.carrier import Carrier
from amqp_sansio.engine.client_handshake import ClientHandshake
from amqp_sansio.engine.connection import Connection
from amqp_sansio.engine.endpoints import UNHEARD, Answered, Endpoints
from amqp_sansio.engine.server_handshake import ServerHandshake
from amqp_sansio.events import ConnectionClosed, Event, Origin, TimeoutGranted, Violation
from amqp_sansio.spec.connection import Close, Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.session import Attach
from amqp_sansio.testing.scripted import ScriptedPeer, Word
from amqp_sansio.wire.assembly import Assembly, Cut, Malformed
from amqp_sansio.wire.frames import frame_command
from amqp_sansio.wire.segments import SegmentReader

HEADER = b"AMQP\x01\x01\x00\x0a"


class Echoes(Endpoints):
    """Says every unit again, in a turn of its own, and remembers what it heard."""

    def __init__(self) -> None:
        self.carrier: Carrier | None = None
        self.heard: list[tuple[int, int]] = []
        self.malformed: list[Malformed] = []
        self.lost: list[tuple[Origin, str]] = []
        self.waiting: list[Assembly] = []

    @property
    def pending(self) -> int:
        return len(self.waiting)

    def flush(self) -> None:
        unit = self.waiting.pop()
        assert self.carrier is not None
        self.carrier._write(b"".join(frame_command(unit.channel, unit.payload)))

    @property
    def roomless(self) -> int:
        return 0

    def hear(self, unit: Assembly) -> None:
        self.heard.append((unit.channel, unit.start))
        self.waiting.append(unit)
        assert self.carrier is not None
        self.carrier._emit(TimeoutGranted(unit.payload, 0))

    def hear_plain(self, cut: Cut) -> Event | None:
        raise AssertionError("nothing was learned")

    def hear_answer(self, reader: SegmentReader) -> Answered:
        return UNHEARD

    def hear_malformed(self, malformed: Malformed) -> None:
        self.malformed.append(malformed)

    def lose(self, origin: Origin, text: str, violation: Violation | None) -> None:
        self.lost.append((origin, text))


def opened(role: str) -> tuple[ScriptedPeer, Echoes]:
    echoes = Echoes()
    made: Connection
    words: tuple[Word, ...]
    if role == "client":
        made = ClientHandshake(ClientConfig(), echoes, True)
        words = (HEADER, Start({}, ("ANONYMOUS",), ("en_US",)), Tune(65535, 65535, 0, 120), OpenOk())
    else:
        made = ServerHandshake(ServerConfig(), echoes)
        words = (HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 0, 0), Open(""))
    echoes.carrier = made
    peer = ScriptedPeer(made)
    peer.say(*words)
    assert made.is_open
    peer.hear()
    return peer, echoes


@pytest.mark.parametrize("role", ["client", "server"])
def test_every_unit_that_is_not_the_connections_own_goes_to_its_endpoint(role: str) -> None:
    """In either role: by the number of its channel, with the place where it begins, and its event comes out."""
    peer, echoes = opened(role)
    events = peer.say(Sync(), channel=5) + peer.say(Attach(b"s"), channel=7)
    assert [channel for channel, _ in echoes.heard] == [5, 7]
    assert echoes.heard[1][1] > echoes.heard[0][1]
    assert [type(event) for event in events] == [TimeoutGranted, TimeoutGranted]


@pytest.mark.parametrize("role", ["client", "server"])
def test_what_endpoints_gathered_is_written_before_the_octets_are_taken(role: str) -> None:
    """All of it, also when writing one thing leaves another to be written; until then it counts as waiting."""
    peer, echoes = opened(role)
    peer.say(Sync(), Sync(), channel=5)
    assert peer.connection.bytes_to_send >= 2
    assert peer.hear() == [Sync(), Sync()]
    assert echoes.pending == peer.connection.bytes_to_send == 0


@pytest.mark.parametrize("role", ["client", "server"])
def test_endpoints_hear_of_the_end_before_the_program_does(role: str) -> None:
    """Once, with the reason; what they gathered is not written behind the other side's close."""
    peer, echoes = opened(role)
    peer.say(Sync(), channel=5)
    assert [type(event) for event in peer.say(Close(320, "go"))] == [ConnectionClosed]
    assert [origin for origin, _ in echoes.lost] == [Origin.PEER]
    assert "go" in echoes.lost[0][1]
    assert Sync() not in peer.hear()


@pytest.mark.parametrize("role", ["client", "server"])
def test_a_frame_in_the_wrong_order_concerns_its_endpoint_alone(role: str) -> None:
    peer, echoes = opened(role)
    peer.say(b"\x0b\x01\x00\x12\x00\x01\x00\x05" + bytes(4) + b"\x03\x01\x01\x00\x00\x00")  # a sync with more to come
    assert [(each.channel, each.code) for each in echoes.malformed] == [(5, 503)]
    assert peer.connection.is_open


def test_a_channel_beyond_what_was_agreed_reaches_no_endpoint() -> None:
    peer, echoes = opened("client")
    peer.say(Sync(), channel=65535)
    assert echoes.heard == []
    assert [origin for origin, _ in echoes.lost] == [Origin.VIOLATION]
