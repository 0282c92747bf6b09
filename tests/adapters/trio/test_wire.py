"""A stream of trio under a connection, in memory."""

from __future__ import annotations

import trio
import trio.testing

from amqp_sansio.adapters.trio.wire import Wire
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.client import Client


def test_it_begins_with_the_protocol_header_and_ends_with_the_octets() -> None:
    async def main() -> None:
        client = Client(ClientConfig(), prefix="p")
        client.begin()
        ours, theirs = trio.testing.memory_stream_pair()
        wire = Wire(client, ours)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wire.run)
            assert await theirs.receive_some(100) == b"AMQP\x01\x01\x00\x0a"
            assert wire.writable.is_set()
            wire.hold()
            assert not wire.writable.is_set()
            await wire.writable.wait()
            await theirs.aclose()
        assert client.closed is not None

    trio.run(main)


def test_what_is_over_while_nobody_takes_octets_is_left() -> None:
    """Time goes on while the socket is blocked: the handshake has its limit."""

    async def main() -> None:
        client = Client(ClientConfig(), prefix="p")
        client.begin()
        ours, _theirs = trio.testing.lockstep_stream_pair()  # takes nothing before it is read
        await Wire(client, ours).run()
        assert client.closed is not None

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_what_is_left_to_write_behind_the_end_of_the_octets_holds_nobody_up() -> None:
    async def main() -> None:
        client = Client(ClientConfig(), prefix="p")
        client.begin()
        ours, theirs = trio.testing.memory_stream_pair()
        with trio.fail_after(1):  # of the clock, before the next deadline of the client
            async with trio.open_nursery() as nursery:
                nursery.start_soon(Wire(client, ours).run)
                await theirs.receive_some(100)
                await trio.testing.wait_all_tasks_blocked()
                client.machine._write(b"waits for others")
                await theirs.aclose()  # the end is read before that is written, which fails
        assert client.closed is not None

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
