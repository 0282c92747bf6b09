"""Follows some of the news: `python topics.py URL`."""

import sys

import trio

from amqp_sansio.adapters.trio import Session, connect

NEWS = ("sport.eu.football", "weather.eu", "sport.us.baseball", "politics.eu.vote")


async def follow(session: Session, pattern: str, count: int, started: trio.Event, found: list[str]) -> None:
    """Declares its own queue, binds it, and reads from it."""
    queue = f"news of {pattern}"
    await session.declare_queue(queue, exclusive=True)
    await session.bind(queue, "amq.topic", pattern)
    async with session.subscribe(queue) as subscription:
        started.set()
        for _ in range(count):
            message = await subscription.receive(timeout=10.0)
            found.append(f"{pattern}: {message.routing_key}")
            message.accept()


async def main(url: str) -> None:
    """Two readers and a writer."""
    found: list[str] = []
    async with connect(url) as connection, connection.session() as session, trio.open_nursery() as nursery:
        for pattern in ("sport.#", "*.eu.*"):
            started = trio.Event()
            nursery.start_soon(follow, session, pattern, 2, started, found)
            await started.wait()
        for key in NEWS:
            await session.publish("amq.topic", key, b"...")
    print("\n".join(sorted(found)))


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
