"""Recorded speakers, heard by our machines: what real clients and brokers say is understood, and never raises."""

from __future__ import annotations

import struct
from functools import partial
from pathlib import Path
from random import Random

import pytest

from amqp_sansio.config import ClientConfig, ServerConfig, ServerMechanism
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Connection
from amqp_sansio.engine.sasl import AnonymousServer, ExternalServer, Plain, PlainServer, Scram
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import Authenticated, ConnectionClosed, ConnectionOpened, Event, OpenRequested, Origin, StartReceived
from amqp_sansio.spec.connection import StartOk

NAMES = ["hello", "cpp_hello", "sessions", "errors", "badframes", "badheader", "badopen", "sasl_python", "smallframe", "tx"]


def streams(path: Path, port: int) -> list[tuple[bytes, bytes]]:
    """The octets of client and server of each connection in a capture without loss, in the order of their first packets."""
    octets = path.read_bytes()
    order = "<" if octets[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    link = struct.unpack_from(order + "I", octets, 20)[0]
    skip = {1: 14, 113: 16, 276: 20, 101: 0}[link]
    found: dict[int, tuple[dict[int, bytes], dict[int, bytes]]] = {}
    at = 24
    while at + 16 <= len(octets):
        size = struct.unpack_from(order + "I", octets, at + 8)[0]
        packet = octets[at + 16 + skip : at + 16 + size]
        at += 16 + size
        v6 = packet[0] >> 4 == 6
        tcp = packet[40:] if v6 else packet[(packet[0] & 15) * 4 : struct.unpack_from(">H", packet, 2)[0]]
        source, target, sequence = struct.unpack_from(">HHI", tcp)
        payload = tcp[(tcp[12] >> 4) * 4 :]
        if payload and port in (source, target):
            halves = found.setdefault(source if target == port else target, ({}, {}))
            half = halves[0] if target == port else halves[1]
            if len(payload) > len(half.get(sequence, b"")):
                half[sequence] = payload
    return [(_joined(client), _joined(server)) for client, server in found.values()]


def _joined(half: dict[int, bytes]) -> bytes:
    if not half:
        return b""
    start = min(half)
    stream = b""
    for sequence in sorted(half):
        stream = stream[: sequence - start] + half[sequence]
    return stream


def server() -> ServerConnection:
    mechanisms: list[ServerMechanism] = [PlainServer(lambda user, password: True), AnonymousServer(), ExternalServer("x")]
    return ServerConnection(ServerConfig(mechanisms=mechanisms))


def client() -> ClientConnection:
    return ClientConnection(ClientConfig(mechanisms=[Plain("guest", "guest"), *ClientConfig().mechanisms]))


def hear(connection: Connection, octets: bytes, size: int | None = None) -> list[Event]:
    events: list[Event] = []
    size = size or len(octets) or 1
    for at in range(0, len(octets), size):
        connection.receive_data(octets[at : at + size])
        events.extend(connection.events())
        connection.data_to_send()
    connection.receive_eof()
    events.extend(connection.events())
    connection.data_to_send()
    assert isinstance(events[-1], ConnectionClosed)
    assert connection.finished
    return events


def port_of(name: str) -> int:
    return 15674 if name.startswith("sasl_") else 15673


def test_a_real_client_opens_our_server(shared: Path) -> None:
    for name in ("hello", "cpp_hello", "sessions", "tx"):
        for said, _ in streams(shared / "captures" / "0-10" / f"{name}.pcap", port_of(name)):
            events = hear(server(), said)
            assert [type(event) for event in events[:3]] == [Authenticated, OpenRequested, ConnectionOpened]
            assert not any(isinstance(event, ConnectionClosed) and event.origin is Origin.VIOLATION for event in events)


def test_a_real_broker_opens_our_client(shared: Path) -> None:
    for name in ("hello", "cpp_hello", "sessions", "tx"):
        for _, said in streams(shared / "captures" / "0-10" / f"{name}.pcap", port_of(name)):
            conn = client()
            first = conn.data_to_send()
            conn.receive_data(said[: said.index(b"\x01\x08") + 4])
            events = list(conn.events())
            assert isinstance(events[0], StartReceived)
            assert first == said[:8]


def test_our_client_says_to_a_recorded_broker_what_the_cpp_client_said(shared: Path) -> None:
    # With the same nonce, properties and limits, SCRAM-SHA-256 and the opening are the same, octet for octet, up to open.
    path = shared / "captures" / "0-10" / "sasl_cpp_SCRAM-SHA-256.pcap"
    for said, answered in streams(path, port_of("sasl_")):
        start_ok = AMQP_0_10.codec.decode_control(said, 20, int.from_bytes(said[10:12], "big") + 8)
        assert isinstance(start_ok, StartOk)
        assert start_ok.response is not None
        nonce = start_ok.response.decode().partition("r=")[2]
        conn = ClientConnection(
            ClientConfig(
                mechanisms=[Scram("guest", "guest", nonce=partial(str, nonce))],
                properties=start_ok.client_properties or {},
                channel_max=32767,
                insist=True,
            )
        )
        conn.receive_data(answered)
        assert [type(conn.next_event()) for _ in range(2)] == [StartReceived, ConnectionOpened]
        ours = conn.data_to_send()
        same = len(ours) - len(b"\x0f\x00\x00\x12\0\0\0\0\0\0\0\0\x01\x07\x05\x00\0")
        assert ours[:same] == said[:same]


@pytest.mark.parametrize("name", NAMES)
def test_whole_by_one_and_by_sevens_give_the_same_events(shared: Path, name: str) -> None:
    for said, answered in streams(shared / "captures" / "0-10" / f"{name}.pcap", port_of(name))[:12]:
        for make, octets in ((server, said[:20000]), (client, answered[:20000])):
            whole = hear(make(), octets)
            assert hear(make(), octets, 1) == whole
            assert hear(make(), octets, 7) == whole
            assert hear(make(), octets, 4096) == whole


# Whatever octet of a recording is changed, nothing but events comes out, and the last one is the end.
@pytest.mark.parametrize("name", NAMES)
def test_damaged_recordings_raise_nothing(shared: Path, name: str) -> None:
    random = Random(name)
    for said, answered in streams(shared / "captures" / "0-10" / f"{name}.pcap", port_of(name))[:6]:
        for make, octets in ((server, said[:5000]), (client, answered[:5000])):
            for _ in range(25):
                damaged = bytearray(octets)
                for _ in range(random.randint(1, 4)):
                    damaged[random.randrange(len(damaged))] = random.randrange(256)
                hear(make(), bytes(damaged))
