"""The subjects of the fuzzer.  Each returns everything that came out, as text, so that two runs can be compared."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, Literal

from amqp_sansio.captures.conversation import observers
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.rows import transcript
from amqp_sansio.captures.verdicts import verdict_row, verdicts
from amqp_sansio.config import ClientConfig, Profile, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.observer import Observer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import AmqpError, HeaderError
from amqp_sansio.events import CommandReceived, CommandsCompleted, Event, ResultReceived, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec.codes import AcceptMode
from amqp_sansio.spec.message import DeliveryProperties, Flow, Transfer
from amqp_sansio.spec.queue import Query, QueueQueryResult
from amqp_sansio.wire.framing import Reader
from amqp_sansio.wire.segments import SegmentReader
from fuzz.corpus import Said
from tools.replay import Machine, record, replay

# Small, so that inputs of a few hundred octets reach them.
LIMITS: Final = Limits(
    assembly_octets=2000,
    buffered_octets=3000,
    header_octets=600,
    header_structs=4,
    empty_frames=3,
    nesting=4,
    zero_width_elements=16,
    ranges=40,
    replay_octets=10_000,
    replay_commands=100,
    sasl_rounds=3,
    sasl_octets=300,
    channels=16,
    sessions=4,
    cached_commands=4,
    subscriptions=4,
)
MOST: Final = 20_000
"""The most items that may come out of one input; more indicates a loop."""


class EndlessError(AssertionError):
    """More items came out than the input can cause."""


def counted(out: list[str]) -> None:
    """Raises EndlessError when more came out than an input can cause."""
    if len(out) > MOST:
        raise EndlessError(f"{MOST} things came out: {out[-2:]}")


# --- octets without a conversation ----------------------------------------------------------------------------------------


def read(subject: Reader, said: Said) -> list[str]:
    """Returns what a reader makes of the octets; checks that it keeps no more than arrived, nor than its limits."""
    out: list[str] = []
    total = 0
    for _speaker, octets in said:
        subject.receive(octets)
        total += len(octets)
        while (thing := subject.next()) is not None:
            out.append(repr(thing))
            counted(out)
        assert subject.buffered <= total
        if isinstance(subject, SegmentReader):
            assert subject.held <= LIMITS.buffered_octets
    return out


def reader(said: Said) -> list[str]:
    """A SegmentReader as a connection has it."""
    return read(SegmentReader(LIMITS, 4096, False), said)


def tolerant_reader(said: Said) -> list[str]:
    """A SegmentReader as an observer has it."""
    return read(SegmentReader(LIMITS, 4096, True), said)


# --- the observer ---------------------------------------------------------------------------------------------------------


SPEAKERS: Final[dict[str, Literal["C", "S"]]] = {"client": "C", "server": "S"}


def observer(said: Said) -> list[str]:
    """An Observer of both sides, both of which end."""
    return overheard(Observer(limits=LIMITS), said)


def overheard(subject: Observer, said: Said) -> list[str]:
    """Returns the observations of an observer, separately for each speaker.

    It reports complete assemblies in the order of their last octets, so only each speaker's own order can be compared.
    """
    heard: dict[str, list[str]] = {"C": [], "S": []}

    def drain() -> None:
        while (thing := subject.next_event()) is not None:
            heard[thing[0]].append(repr(thing))
            counted(heard[thing[0]])

    for speaker, octets in said:
        subject.receive_data(SPEAKERS[speaker], octets)
        drain()
    subject.receive_eof("C")
    subject.receive_eof("S")
    drain()
    return heard["C"] + heard["S"]


# --- the two roles ----------------------------------------------------------------------------------------------------------

CLIENT: Final = ClientConfig(limits=LIMITS)
SERVER: Final = ServerConfig(limits=LIMITS, profile=Profile(completion="on_hand_out"))


def _look(event: Event) -> str:
    if isinstance(event, TransferReceived):
        try:
            return f"{event!r} {event.headers!r}"
        except HeaderError as error:
            return f"{event!r} {error}"
    return repr(event)


def _react(conn: Machine, event: Event) -> str:
    """Reacts to an event as an application would, as far as that is legal; the same way in every run."""
    session = next((each for each in conn.sessions if each.name == getattr(event, "session", None)), None)
    if session is None:
        return ""
    try:
        match event:
            case TransferReceived(id=id, transfer=transfer) if transfer.accept_mode != AcceptMode.NONE:
                ids = RangeSet.of(id)
                (session.accept, session.release, session.complete)[id % 3](ids)
            case CommandReceived(id=id, command=Query()):
                session.result(id, QueueQueryResult("q"))
            case CommandReceived(id=id, command=Flow()) if id % 2:
                session.publish("d", body=b"x")
            case ResultReceived() | CommandsCompleted():
                session.sync()
    except AmqpError as error:
        return f"{type(error).__name__} {error}"
    return ""


def _drain(conn: Machine, out: list[str]) -> None:
    while (event := conn.next_event()) is not None:
        out.append(_look(event))
        out.append(_react(conn, event))
        counted(out)


def _converse(conn: Machine, said: Said) -> list[str]:
    out: list[str] = []
    sessions = conn.sessions
    for _speaker, octets in said:
        conn.receive_data(octets)
        _drain(conn, out)
    out.append(f"tick {conn.tick(100.0)}")
    _drain(conn, out)
    conn.receive_eof()
    _drain(conn, out)
    out.append(f"tick {conn.tick(200.0)}")
    _drain(conn, out)
    out.append(f"sends {conn.data_to_send().hex()}")
    out.append(f"finished {conn.finished}, {[session.snapshot() for session in sessions]}")
    return out


def fresh_client(said: Said) -> list[str]:
    """A client that has sent its protocol header."""
    conn = ClientConnection(CLIENT)
    conn.tick(0.0)
    conn.data_to_send()
    return _converse(conn, said)


def fresh_server(said: Said) -> list[str]:
    """A server that has received nothing yet."""
    conn = ServerConnection(SERVER)
    conn.tick(0.0)
    return _converse(conn, said)


# --- after a legal prefix -------------------------------------------------------------------------------------------------


def _client_script(conn: Machine) -> Iterator[None]:
    """Opens, attaches, subscribes with credit, publishes: so that every verb has something to refer to."""
    assert isinstance(conn, ClientConnection)
    yield
    session = conn.session(b"fuzz")
    yield
    subscription = session.subscribe("q", "d")
    subscription.grant(20, 20_000)
    session.send(Query("q"), sync=True)
    for _ in range(3):
        session.send(Transfer("", AcceptMode.EXPLICIT), DeliveryProperties(routing_key="q"), body=b"hello")
    yield


def _server_answers(conn: Machine, event: Event) -> None:
    """Delivers a few messages; the query comes after the subscription and its credit."""
    if isinstance(event, CommandReceived) and isinstance(event.command, Query):
        (session,) = conn.sessions
        for _ in range(3):
            session.deliver("d", DeliveryProperties(routing_key="q"), body=b"hello")
        session.result(event.id, QueueQueryResult("q"))


@cache
def _to_client() -> tuple[bytes, ...]:
    return record(ClientConnection(CLIENT), ServerConnection(SERVER), _client_script, _server_answers)


@cache
def _to_server() -> bytes:
    """Returns what the client of the script sends, all at once: legal, because a client need not wait."""
    client, server = ClientConnection(CLIENT), ServerConnection(SERVER)
    said: list[bytes] = []
    for _wait in _client_script(client):
        while out := client.data_to_send():
            said.append(out)
            server.receive_data(out)
            for _event in server.events():
                pass
            client.receive_data(server.data_to_send())
            for _event in client.events():
                pass
    return b"".join(said)


def client(said: Said) -> list[str]:
    """A client in the middle of a conversation."""
    conn = ClientConnection(CLIENT)
    conn.tick(0.0)
    replay(conn, _client_script, _to_client())
    return _converse(conn, said)


def server(said: Said) -> list[str]:
    """A server in the middle of a conversation, with messages in flight to the client."""
    conn = ServerConnection(SERVER)
    conn.tick(0.0)
    conn.receive_data(_to_server())
    while (event := conn.next_event()) is not None:
        _server_answers(conn, event)
    conn.data_to_send()
    return _converse(conn, said)


# --- files ----------------------------------------------------------------------------------------------------------------


def capture(said: Said) -> list[str]:
    """A capture file, decoded and checked; every row must be valid JSON."""
    out: list[str] = []
    ports = (5672, 15672, 15673, 15674)
    for _speaker, octets in said:
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            Path(file.name).write_bytes(octets)
            try:
                for _talk, row in transcript(file.name, observers(), ports, out.append):
                    out.append(json.dumps(row, allow_nan=False))
                    counted(out)
            except CaptureError as error:
                out.append(f"error {error.rule}")
            try:
                for verdict in verdicts(file.name, observers(strict=True), ports, out.append):
                    out.append(json.dumps(verdict_row(file.name, verdict), allow_nan=False))
            except CaptureError as error:
                out.append(f"error {error.rule}")
    return out
