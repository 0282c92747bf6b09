"""A request and its answer, by direct reply-to: `python channel_request.py amqp://guest:guest@127.0.0.1:5672`."""

import sys

import trio

from amqp_sansio.adapters.trio.channels import Channel, connect


async def serve(channel: Channel, requests: int) -> None:
    """Publishes each answer to `reply_to`, with the id of its request."""
    async with channel.subscribe("channel-requests") as subscription:
        for _ in range(requests):
            message = await subscription.receive()
            to = message.reply_to or ""
            await channel.publish("", to, message.body.upper(), correlation_id=message.correlation_id)
            message.accept()


async def main(url: str) -> None:
    """Both sides in one program, each with a channel of its own."""
    async with connect(url) as connection, connection.channel() as server, connection.channel() as client:
        await server.declare_queue("channel-requests", exclusive=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve, server, 3)
            for word in ("one", "two", "three"):
                answer = await client.request("", "channel-requests", word.encode(), timeout=30)
                print(f"{word} -> {answer.body.decode()}")


if __name__ == "__main__":
    trio.run(main, sys.argv[1] if len(sys.argv) > 1 else "amqp://127.0.0.1")
