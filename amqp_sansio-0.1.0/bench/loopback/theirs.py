"""Clients of 0-9-1: pika's BlockingConnection and aiormq."""

from __future__ import annotations

import asyncio

import aiormq
import pika

from bench.loopback.measure import AHEAD, BODY, PREFETCH, Meter


def pika_(url: str, case: str, count: int, meter: Meter) -> None:
    """Blocking code."""
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    channel.queue_declare("bench")
    channel.basic_qos(prefetch_count=PREFETCH)
    if case == "confirmed":
        channel.confirm_delivery()
    with meter:
        if case in ("publish", "confirmed"):
            for _ in range(count):
                channel.basic_publish("", "bench", BODY)
            channel.queue_declare("bench", passive=True)  # a barrier
        elif case == "consume":
            got = 0

            def received(_: object, method: pika.spec.Basic.Deliver, properties: object, body: bytes) -> None:
                nonlocal got
                assert len(body) == len(BODY)
                channel.basic_ack(method.delivery_tag)
                got += 1
                if got == count:
                    channel.stop_consuming()

            channel.basic_consume("bench", received)
            channel.start_consuming()
    connection.close()


def aiormq_(url: str, case: str, count: int, meter: Meter) -> None:
    """Code that awaits."""
    asyncio.run(_aiormq(url, case, count, meter))


async def _aiormq(url: str, case: str, count: int, meter: Meter) -> None:
    connection = await aiormq.connect(url)
    channel = await connection.channel(publisher_confirms=case in ("confirmed", "window"))
    await channel.queue_declare("bench")
    await channel.basic_qos(prefetch_count=PREFETCH)
    with meter:
        if case in ("publish", "confirmed"):
            for _ in range(count):
                await channel.basic_publish(BODY, routing_key="bench")
            await channel.queue_declare("bench", passive=True)  # a barrier
        elif case == "window":
            ahead = asyncio.Semaphore(AHEAD)

            async def publish() -> None:
                await channel.basic_publish(BODY, routing_key="bench")
                ahead.release()

            tasks = set()
            for _ in range(count):
                await ahead.acquire()
                task = asyncio.ensure_future(publish())
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            if tasks:
                await asyncio.wait(tasks)
        elif case == "consume":
            got = 0
            done = asyncio.Event()

            async def received(message: aiormq.abc.DeliveredMessage) -> None:
                nonlocal got
                assert len(message.body) == len(BODY)
                await channel.basic_ack(message.delivery_tag or 0)
                got += 1
                if got == count:
                    done.set()

            await channel.basic_consume("bench", received)
            await done.wait()
    await connection.close()
