"""A socket of asyncio under a connection, with a transport that only remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from amqp_sansio.adapters.asyncio.wire import READ, Wire
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.client import Client
from amqp_sansio.wire.frames import frame_control


class Transport(asyncio.Transport):
    """Remembers what is done with it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.ended = ""
        self.left = 0

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def get_write_buffer_size(self) -> int:
        return self.left

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"


def wired(check: Callable[[Wire, Transport, Client], None], blocked: bool = False) -> None:
    async def main() -> None:
        client = Client(ClientConfig(), prefix="p")
        client.begin()
        wire, transport = Wire(client), Transport()
        wire.wake()  # before there is a socket nothing happens
        await asyncio.sleep(0)
        if blocked:
            wire.pause_writing()
        wire.connection_made(transport)
        check(wire, transport, client)

    asyncio.run(main())


def test_it_begins_with_the_protocol_header() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        assert transport.written == b"AMQP\x01\x01\x00\x0a"

    wired(check)


def test_what_a_slow_socket_does_not_take_stays() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        wire.transmit()
        before = len(transport.written)
        assert before == 0
        wire.resume_writing()
        assert transport.written == b"AMQP\x01\x01\x00\x0a"

    wired(check, blocked=True)


def test_the_end_of_the_octets_is_the_end_of_the_socket() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        assert wire.eof_received() is False
        assert transport.ended == "closed"
        wire.connection_lost(None)
        assert wire.over.done()
        wire.wake()

    wired(check)


def test_a_lost_socket_is_the_end_of_the_octets() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        wire.pause_writing()
        wire.connection_lost(ConnectionResetError())
        assert client.closed is not None
        assert wire.writable.is_set()

    wired(check)


def test_what_is_over_while_nobody_takes_octets_is_aborted() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        wire.pause_writing()
        transport.left = 100_000
        client.receive_eof()
        client.tick(0.0)
        wire.transmit()
        assert transport.ended == "aborted"
        wire.abort()

    wired(check)


def test_what_is_over_while_a_few_octets_are_left_is_aborted() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        transport.left = 1
        client.receive_eof()
        client.tick(0.0)
        wire.transmit()
        assert transport.ended == "aborted"

    wired(check)


def test_nobody_waits_for_the_answer_to_a_close_that_tells_of_a_violation() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        said = b"AMQP\1\1\0\x0a" + frame_control(0, b"\1\x77")
        wire.get_buffer(-1)[: len(said)] = said
        wire.buffer_updated(len(said))
        assert client.machine.lingers
        assert transport.ended == "aborted"
        assert len(transport.written) > 8  # it was told why

    wired(check)


def test_so_much_is_read_before_others_have_their_turn() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        assert len(wire.get_buffer(READ * 10)) == READ

    wired(check)
