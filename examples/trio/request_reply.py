"""A request and its answer: `python request_reply.py amqp://guest:guest@127.0.0.1:5672/`."""

import sys
from uuid import uuid4

import trio

from amqp_sansio.adapters.trio import Session, connect


async def serve(session: Session, requests: int) -> None:
    """Publishes each answer to `reply_to`, with the id of its request."""
    async with session.subscribe("requests") as subscription:
        async for message in subscription:
            to = message.reply_to
            if to is not None:
                answer = message.body.upper()
                await session.publish(to.exchange or "", to.routing_key, answer, correlation_id=message.correlation_id)
            message.accept()
            requests -= 1
            if not requests:
                return


async def main(url: str) -> None:
    """Both sides in one program, each with a session of its own."""
    answers = f"answers-{uuid4()}"
    async with (
        connect(url) as connection,
        connection.session() as server,
        connection.session() as client,
        trio.open_nursery() as nursery,
    ):
        await server.declare_queue("requests", auto_delete=True)
        await client.declare_queue(answers, exclusive=True, auto_delete=True)
        nursery.start_soon(serve, server, 3)
        async with client.subscribe(answers) as subscription:
            for word in ("one", "two", "three"):
                await client.publish("", "requests", word.encode(), reply_to=answers, correlation_id=word)
                message = await subscription.receive()
                message.accept()
                print(f"{message.correlation_id} -> {message.body.decode()}")


if __name__ == "__main__":
    trio.run(main, sys.argv[1] if len(sys.argv) > 1 else "amqp://localhost:5672/")
