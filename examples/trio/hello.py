"""One message there and back: `python hello.py amqp://guest:guest@127.0.0.1:5672/`."""

import sys

import trio

from amqp_sansio.adapters.trio import connect


async def main(url: str) -> None:
    """Declares a queue, publishes a message to it, and receives it."""
    async with connect(url) as connection, connection.session() as session:
        await session.declare_queue("hello", auto_delete=True)
        await session.publish("", "hello", b"Hello, broker!")
        async with session.subscribe("hello") as subscription:
            message = await subscription.receive()
            print(message.body.decode())
            message.accept()


if __name__ == "__main__":
    trio.run(main, sys.argv[1] if len(sys.argv) > 1 else "amqp://localhost:5672/")
