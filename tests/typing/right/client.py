"""A program with a client: what is right in it."""

from typing import assert_type
from uuid import uuid4

from trio import Nursery

from amqp_sansio.adapters import asyncio, sync, trio
from amqp_sansio.adapters.trio import channels
from amqp_sansio.spec import exchange, queue
from amqp_sansio.spec.codes import RejectCode


async def awaited(session: asyncio.Session) -> None:
    assert_type(await session.execute(queue.Query("q")), queue.QueueQueryResult)
    assert_type(await session.execute(exchange.Bound("e", "q")), exchange.ExchangeBoundResult)
    declared: None = await session.execute(queue.Declare("q"))  # type: ignore[func-returns-value]
    assert declared is None
    assert_type((await session.query_queue("q")).message_count, int | None)
    await session.declare_queue("q", arguments={"qpid.max_count": 10, "list": [1, "two"]})
    pending = await session.send("", "q", b"x", headers={"n": [1, {"deep": b"x"}]}, message_id=str(uuid4()), correlation_id="c")
    await pending
    async with session.subscribe("q") as subscription:
        message = await subscription.receive(5)
        assert_type(message.correlation_id, str | None)
        assert_type(message.raw_correlation_id, bytes | None)
        message.reject(RejectCode.UNSPECIFIED)


async def on_trio(url: str, nursery: Nursery) -> None:
    async with trio.connect(url) as connection, channels.connect(url) as other:
        assert_type(connection, trio.Connection)
        assert_type(other, channels.Connection)
    assert_type(await trio.connect(url, nursery), trio.Connection)
    assert_type(await channels.connect(url, nursery), channels.Connection)
    async with trio.connect(url, nursery) as connection:
        assert_type(connection, trio.Connection)


def blocking(session: sync.Session) -> None:
    session.publish("", "q", {"pizza": "margherita", "sizes": [1, {"cm": 30}]})
    session.publish("", "q", [1, "two", b"three", None])
    assert_type(session.execute(queue.Query("q")), queue.QueueQueryResult)
    assert_type(session.send("", "q", b"x", priority=9), sync.Pending[None])
    session.send("", "q", b"x").result(5)
    assert_type(session.subscribe("q").receive(5), sync.Message)
