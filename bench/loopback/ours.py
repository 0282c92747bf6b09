"""Our clients: sessions and channels, on the three adapters."""

from __future__ import annotations

import asyncio

import trio

from amqp_sansio.adapters import asyncio as awaiting
from amqp_sansio.adapters import sync as blocking
from amqp_sansio.adapters import trio as on_trio
from amqp_sansio.adapters.asyncio import channels as awaiting_channels
from amqp_sansio.adapters.sync import channels as blocking_channels
from amqp_sansio.adapters.trio import channels as trio_channels
from amqp_sansio.conversation.channels.channel import Channel
from amqp_sansio.conversation.session import Session
from bench.loopback.measure import AHEAD, BODY, PREFETCH, Meter


def sync(url: str, case: str, count: int, meter: Meter) -> None:
    """Blocking code."""
    with blocking.connect(url) as connection, connection.session() as session:
        if case == "window":
            session._core.most_in_flight = AHEAD
        _blocking(session, case, count, meter)


def channels_sync(url: str, case: str, count: int, meter: Meter) -> None:
    """Blocking code, on a channel."""
    with blocking_channels.connect(url) as connection, connection.channel(confirms=case == "confirmed") as channel:
        _blocking(channel, case, count, meter)


def asyncio_(url: str, case: str, count: int, meter: Meter) -> None:
    """Code that awaits, on asyncio."""

    async def main() -> None:
        async with awaiting.connect(url) as connection, connection.session() as session:
            await _awaiting_session(session, case, count, meter)

    asyncio.run(main())


def channels_asyncio(url: str, case: str, count: int, meter: Meter) -> None:
    """Code that awaits, on asyncio and a channel."""

    async def main() -> None:
        async with awaiting_channels.connect(url) as connection, connection.channel(confirms=case == "confirmed") as channel:
            await _awaiting(channel, case, count, meter)

    asyncio.run(main())


def trio_(url: str, case: str, count: int, meter: Meter) -> None:
    """The same code, on trio."""

    async def main() -> None:
        async with on_trio.connect(url) as connection, connection.session() as session:
            await _awaiting_session(session, case, count, meter)

    trio.run(main)


def channels_trio(url: str, case: str, count: int, meter: Meter) -> None:
    """The same code, on trio and a channel."""

    async def main() -> None:
        async with trio_channels.connect(url) as connection, connection.channel(confirms=case == "confirmed") as channel:
            await _awaiting(channel, case, count, meter)

    trio.run(main)


def _blocking(session: blocking.Session | blocking_channels.Channel, case: str, count: int, meter: Meter) -> None:
    session.declare_queue("bench")
    with meter:
        if case in ("publish", "window"):
            for _ in range(count):
                session.send("", "bench", BODY)
            session.sync()
        elif case == "confirmed":
            for _ in range(count):
                session.publish("", "bench", BODY)
        elif case == "consume":
            got = 0
            with session.subscribe("bench", prefetch=PREFETCH) as messages:
                for message in messages:
                    assert len(message.body) == len(BODY)
                    message.accept()
                    got += 1
                    if got == count:
                        break


async def _awaiting_session(session: Session, case: str, count: int, meter: Meter) -> None:
    if case == "window":
        session._core.most_in_flight = AHEAD
    await _awaiting(session, case, count, meter)


async def _awaiting(session: Session | Channel, case: str, count: int, meter: Meter) -> None:
    await session.declare_queue("bench")
    with meter:
        if case in ("publish", "window"):
            for _ in range(count):
                await session.send("", "bench", BODY)
            await session.sync()
        elif case == "confirmed":
            for _ in range(count):
                await session.publish("", "bench", BODY)
        elif case == "consume":
            got = 0
            async with session.subscribe("bench", prefetch=PREFETCH) as messages:
                async for message in messages:
                    assert len(message.body) == len(BODY)
                    message.accept()
                    got += 1
                    if got == count:
                        break
