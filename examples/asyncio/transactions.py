"""Moves messages from one queue to another, all or none: `python transactions.py amqp://guest:guest@127.0.0.1:5672/`."""

import asyncio
import sys

from amqp_sansio.adapters.asyncio import Session, connect


async def count(session: Session, name: str) -> int:
    """Returns the number of messages on a queue."""
    return (await session.query_queue(name)).message_count or 0


async def move(session: Session, many: int, *, fail: bool) -> None:
    """Moves messages to the other queue in one transaction; with `fail`, raises in the middle of it."""
    async with session.subscribe("from", prefetch=many) as subscription, session.transaction():
        for _ in range(many):
            message = await subscription.receive()
            await session.send("", "to", message.body)
            message.accept()
        if fail:
            raise RuntimeError("not today")


async def main(url: str) -> None:
    """One session works in transactions, another one counts messages."""
    async with connect(url) as connection, connection.session() as looking:
        for name in ("from", "to"):
            await looking.declare_queue(name)
            await looking.purge(name)
        for number in range(5):
            await looking.publish("", "from", f"message {number}".encode())
        for fail in (True, False):
            try:
                async with connection.session() as session:
                    await move(session, 5, fail=fail)
            except RuntimeError as error:
                print(f"rolled back: {error}")
            print(f"from: {await count(looking, 'from')}, to: {await count(looking, 'to')}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "amqp://localhost:5672/"))
