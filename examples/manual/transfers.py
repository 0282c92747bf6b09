"""Moves money between accounts, each transfer completely or not at all: `python transfers.py URL`."""

import asyncio
import sys

from amqp_sansio.adapters.asyncio import Session, TransactionFailed, connect


async def transfer(session: Session, amount: int) -> None:
    """Takes an order and publishes two bookings for it."""
    async with session.subscribe("orders", prefetch=1) as orders, session.transaction():
        order = await orders.receive(timeout=10.0)
        await session.send("", "bookings", b"-%d" % amount)
        if amount > 100:
            raise ValueError(f"{amount} is too much")
        await session.send("", "bookings", b"+%d" % amount)
        order.accept()


async def main(url: str) -> None:
    """The first is too large; the second does it."""
    async with connect(url) as connection, connection.session() as watching:
        await watching.declare_queue("orders")
        await watching.declare_queue("bookings")
        await watching.publish("", "orders", b"one transfer")
        for amount in (1000, 10):
            async with connection.session() as session:
                try:
                    await transfer(session, amount)
                except ValueError as error:
                    print(f"not done: {error}")
                except TransactionFailed as error:
                    print(f"failed: {error}")
            counts = [(await watching.query_queue(name)).message_count for name in ("orders", "bookings")]
            print(f"orders, bookings: {counts}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
