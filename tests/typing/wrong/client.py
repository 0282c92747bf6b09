"""A program with a client: what is wrong in it."""

from amqp_sansio.adapters import asyncio, sync, trio
from amqp_sansio.adapters.trio import channels
from amqp_sansio.spec import queue


async def awaited(session: asyncio.Session) -> None:
    await session.publish("", "q", b"x", persistant=True)  # wrong: call-arg
    await session.publish("", "q", b"x", persistent="yes")  # wrong: arg-type
    await session.publish("", "q", "text")  # wrong: arg-type
    await session.publish("", "q", b"x", message_id=7)  # wrong: arg-type
    await session.publish("", "q", b"x", headers={"n": object()})  # wrong: dict-item
    pending = await session.send("", "q", b"x")
    pending.result()  # wrong: attr-defined
    assert (await session.execute(queue.Query("q"))).messages  # wrong: attr-defined
    session.subscribe("q", prefetch="many")  # wrong: arg-type


async def on_trio(url: str) -> None:
    await trio.connect(url)  # wrong: misc
    await channels.connect(url)  # wrong: misc


def blocking(session: sync.Session) -> None:
    session.send("", "q", b"x", priorty=1)  # wrong: call-arg
    session.execute("queue.declare")  # wrong: arg-type
    session.subscribe("q").receive().reject(1)  # wrong: arg-type
