"""What calls take is the same in the three adapters, for sessions and for channels: a `timeout`, above all of 0, and names."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest
from tests.adapters.asyncio.test_connection import AsyncioLoop
from tests.adapters.blocking import BlockingLoop
from tests.adapters.conditions import PATIENCE, eventually
from tests.adapters.loops import Loop
from tests.adapters.served import Served
from tests.adapters.served_channels import ServedChannels
from tests.adapters.trio.test_connection import TrioLoop

from amqp_sansio.adapters import asyncio, sync, trio
from amqp_sansio.adapters.asyncio import channels as asyncio_channels
from amqp_sansio.adapters.sync import channels as sync_channels
from amqp_sansio.adapters.trio import channels as trio_channels
from amqp_sansio.conversation.base_client import Ending
from amqp_sansio.errors import AmqpError, EncodeError
from amqp_sansio.spec import queue
from amqp_sansio.spec.methods import queue as queues

LOOPS = [
    (AsyncioLoop, asyncio), (TrioLoop, trio), (BlockingLoop, sync),
    (AsyncioLoop, asyncio_channels), (TrioLoop, trio_channels), (BlockingLoop, sync_channels),
]  # fmt: skip
NO_TIME = [0, 0.0, -1.5]
WRONG = ["5", True, math.nan, b"1"]


class Case:
    """An adapter, what it speaks, and a broker that speaks it."""

    def __init__(self, loop: Any, broker: Served | ServedChannels) -> None:
        self.loop: Loop = loop
        self.broker = broker
        self.channels = isinstance(broker, ServedChannels)

    def run(self, main: Callable[[Any, Any], Awaitable[object]]) -> None:
        """Runs it with a connection and a session or channel, on which there is a queue "q"."""

        async def whole() -> None:
            async with (
                self.loop.connect(self.broker.url) as connection,
                (connection.channel if self.channels else connection.session)() as session,
            ):
                await session.declare_queue("q")
                await main(connection, session)

        self.loop.run(whole)

    def depth(self) -> int:
        return len(self.broker.bodies("q")) if isinstance(self.broker, ServedChannels) else self.broker.depth("q")

    def waiting(self, connection: Any, session: Any) -> list[Callable[..., Any]]:
        """The calls that need an answer."""
        made: Any = queues.Declare("made", ticket=0) if self.channels else queue.Declare("made")
        calls = [
            partial(session.execute, made), partial(session.declare_queue, "made"), session.sync,
            partial(session.publish, "", "q", b"lost"),
        ]  # fmt: skip
        if self.channels:
            return [*calls, partial(session.get, "q"), partial(session.request, "", "q", b"lost"), connection.open_channel]
        return [*calls, session.recover, connection.open_session]

    async def is_made(self, session: Any) -> bool:
        if not self.channels:
            return (await session.query_queue("made")).queue is not None
        return "made" in self.broker.call(lambda: self.broker.broker.queues)  # type: ignore[union-attr]


@contextmanager
def said(connection: Any) -> Iterator[list[bytes]]:
    """What goes out meanwhile."""
    client = getattr(connection, "inner", connection)._client
    taken: list[bytes] = []
    take = client.data_to_send

    def data_to_send() -> bytes:
        octets: bytes = take()
        if octets:
            taken.append(octets)
        return octets

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "data_to_send", data_to_send)
        yield taken


@pytest.fixture(params=LOOPS, ids=lambda each: each[1].__name__.removeprefix("amqp_sansio.adapters."))
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    kind, module = request.param
    loop = kind()
    loop.dial = loop.__dict__["dial"] = module.connect
    if kind is not BlockingLoop:
        loop.connect = module.connect
    with ServedChannels() if module.__name__.endswith("channels") else Served() as broker:
        yield Case(loop, broker)


@pytest.mark.parametrize("timeout", NO_TIME)
def test_without_time_a_call_that_needs_an_answer_sends_nothing(case: Case, timeout: float) -> None:
    async def main(connection: Any, session: Any) -> None:
        await session.publish("", "q", b"there")
        with said(connection) as octets:
            for call in case.waiting(connection, session):
                with pytest.raises(TimeoutError, match=f"no answer within {timeout} seconds"):
                    await call(timeout=timeout)
            await session.sync()
        assert len(octets) == 1  # the sync
        assert (case.depth(), await case.is_made(session)) == (1, False)

    case.run(main)


@pytest.mark.parametrize("timeout", NO_TIME)
def test_without_time_a_message_that_is_here_is_received_and_none_is_lost(case: Case, timeout: float) -> None:
    async def main(connection: Any, session: Any) -> None:
        async with session.subscribe("q") as subscription:
            with pytest.raises(TimeoutError, match=f"no message within {timeout} seconds"):
                await subscription.receive(timeout)
            for number in range(3):
                await session.send("", "q", b"%d" % number)
            found: list[bytes] = []
            until = time.monotonic() + PATIENCE
            while len(found) < 3 and time.monotonic() < until:
                with suppress(TimeoutError):  # others have their turn in between, or none would come
                    found.append((await subscription.receive(timeout)).body)
            assert found == [b"0", b"1", b"2"]

    case.run(main)


@pytest.mark.parametrize("timeout", NO_TIME)
def test_without_time_a_message_is_sent_where_there_is_room(case: Case, timeout: float) -> None:
    async def main(connection: Any, session: Any) -> None:
        await (await session.send("", "q", b"room", timeout=timeout))
        inner = getattr(session, "inner", session)
        counts, name = (inner._core.in_flight, "most") if case.channels else (inner._core, "most_in_flight")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(counts, name, 0)
            with pytest.raises(TimeoutError):
                await session.send("", "q", b"no room", timeout=timeout)
        await session.sync()
        assert case.depth() == 1

    case.run(main)


def test_without_time_a_close_sends_what_was_given_before_it(case: Case) -> None:
    async def main(connection: Any, session: Any) -> None:
        client = getattr(connection, "inner", connection)._client
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(client, "receive_data", lambda _: None)  # no confirm is heard, however quick the broker is
            for _ in range(10):
                await session.send("", "q", b"x")
            await connection.close(timeout=0)

    with pytest.raises(AmqpError) as raised:  # what was sent is in doubt
        case.run(main)
    assert re.search("closed (here|by us)", str(raised.value))
    eventually(lambda: case.depth() == 10)


@pytest.mark.parametrize("timeout", NO_TIME)
def test_without_time_a_session_is_closed_without_waiting_for_an_answer(case: Case, timeout: float) -> None:
    class NoTime(Ending):
        @property
        def timeout(self) -> float:
            raise AssertionError("it waits for the end of the session")

    async def main(connection: Any, session: Any) -> None:
        closed = session.closed
        await session.publish("", "q", b"x")
        inner = getattr(session, "inner", session)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(inner, "_ending", NoTime(getattr(connection, "inner", connection)._client, 0))
            with pytest.raises(TimeoutError, match=f"no answer within {timeout} seconds"):
                await session.close(timeout=timeout)
        await closed  # the peer has heard of the end
        assert not session.is_open
        assert case.depth() == 1

    case.run(main)


@pytest.mark.parametrize("timeout", WRONG)
def test_what_is_no_number_of_seconds_is_refused_at_once(case: Case, timeout: Any) -> None:
    async def main(connection: Any, session: Any) -> None:
        with said(connection) as octets:
            for close in (session.close, connection.close):
                with pytest.raises(EncodeError, match="timeout: seconds, or None for no limit, not"):
                    await close(timeout=timeout)
            calls: list[Callable[..., Any]] = [*case.waiting(connection, session), partial(session.send, "", "q", b"x")]
            for call in calls:
                with pytest.raises(EncodeError, match="timeout: seconds, or None for no limit, not"):
                    await call(timeout=timeout)
        assert octets == []
        async with session.subscribe("q") as subscription:
            with pytest.raises(EncodeError, match="timeout"):
                await subscription.receive(timeout)
        assert session.is_open

    case.run(main)


@pytest.mark.parametrize("bit", ["yes", 1, None, [], b""])
def test_no_call_takes_anything_but_true_and_false_for_a_bit(case: Case, bit: Any) -> None:
    async def main(connection: Any, session: Any) -> None:
        raw: Any = queues.Declare("made", durable=bit, ticket=0) if case.channels else queue.Declare("made", durable=bit)
        with said(connection) as octets:
            for call, name in (
                (partial(session.execute, raw), "durable"), (partial(session.declare_queue, "made", passive=bit), "passive"),
                (partial(session.delete_queue, "q", if_empty=bit), "if_empty"),
                (partial(session.declare_exchange, "made", "topic", durable=bit), "durable"),
                (partial(session.delete_exchange, "made", if_unused=bit), "if_unused"),
            ):  # fmt: skip
                with pytest.raises(EncodeError, match=f"^{name}: True or False, not "):
                    await call()
        assert octets == []
        assert session.is_open
        assert not await case.is_made(session)

    case.run(main)


def test_no_call_takes_none_for_a_name(case: Case) -> None:
    """It would be sent as an empty one: of the default exchange, or of the queue that was declared last."""

    async def main(connection: Any, session: Any) -> None:
        with said(connection) as octets:
            for call, name in (
                (session.publish, "exchange"), (session.send, "exchange"), (session.declare_queue, "queue"),
                (session.delete_queue, "queue"), (session.purge, "queue"), (session.delete_exchange, "exchange"),
            ):  # fmt: skip
                with pytest.raises(EncodeError, match=f"{name}: text, not None"):
                    await call(None)
            with pytest.raises(EncodeError, match="queue: text, not None"):
                session.subscribe(None)
            with pytest.raises(EncodeError, match=r"arguments: a mapping, not \[\]"):
                await session.declare_queue("q", arguments=[])
        assert octets == []

    case.run(main)
