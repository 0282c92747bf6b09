"""Our clients of 0-9-1: the three adapters."""

from __future__ import annotations

import asyncio

import trio

from amqp_sansio.adapters.asyncio import channels as awaiting
from amqp_sansio.adapters.sync import channels as blocking
from amqp_sansio.adapters.trio import channels as on_trio
from bench.loopback.measure import BODY, PREFETCH, Meter


def sync(url: str, case: str, count: int, meter: Meter) -> None:
    """Blocking code."""
    with blocking.connect(url) as connection, connection.channel(confirms=case == "confirmed") as channel:
        channel.declare_queue("bench")
        with meter:
            if case == "publish":
                for _ in range(count):
                    channel.send("", "bench", BODY)
                channel.sync()
            elif case == "confirmed":
                for _ in range(count):
                    channel.publish("", "bench", BODY)
            elif case == "consume":
                with channel.subscribe("bench", prefetch=PREFETCH) as messages:
                    for got, message in enumerate(messages, 1):
                        assert len(message.body) == len(BODY)
                        message.accept()
                        if got == count:
                            break


def asyncio_(url: str, case: str, count: int, meter: Meter) -> None:
    """Code that awaits, on asyncio."""

    async def main() -> None:
        async with awaiting.connect(url) as connection, connection.channel(confirms=case == "confirmed") as channel:
            await _awaiting(channel, case, count, meter)

    asyncio.run(main())


def trio_(url: str, case: str, count: int, meter: Meter) -> None:
    """The same code, on trio."""

    async def main() -> None:
        async with on_trio.connect(url) as connection, connection.channel(confirms=case == "confirmed") as channel:
            await _awaiting(channel, case, count, meter)

    trio.run(main)


async def _awaiting(channel: awaiting.Channel, case: str, count: int, meter: Meter) -> None:
    await channel.declare_queue("bench")
    with meter:
        if case == "publish":
            for _ in range(count):
                await channel.send("", "bench", BODY)
            await channel.sync()
        elif case == "confirmed":
            for _ in range(count):
                await channel.publish("", "bench", BODY)
        elif case == "consume":
            got = 0
            async with channel.subscribe("bench", prefetch=PREFETCH) as messages:
                async for message in messages:
                    assert len(message.body) == len(BODY)
                    message.accept()
                    got += 1
                    if got == count:
                        break
