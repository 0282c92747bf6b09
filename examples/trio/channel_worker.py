"""A worker with prefetch, which releases tasks that fail: `python channel_worker.py amqp://127.0.0.1:5672 1000`."""

import sys

import trio

from amqp_sansio.adapters.trio.channels import Message, connect


def work(message: Message) -> None:
    """Fails at the first attempt of every seventh task."""
    number = int(message.body.split()[1])
    if number % 7 == 0 and not message.redelivered:
        raise RuntimeError(f"task {number} is hard")


async def main(url: str, count: int) -> None:
    """Never holds more than ten messages: the broker sends the next one when one is settled."""
    done = failed = 0
    async with connect(url) as connection, connection.channel() as channel:
        await channel.declare_queue("channel-work")
        async with channel.subscribe("channel-work", prefetch=10) as subscription:
            async for message in subscription:
                try:
                    work(message)
                except RuntimeError:
                    failed += 1
                    message.release()
                else:
                    done += 1
                    message.accept()
                if done == count:
                    break
    print(f"{done} tasks done, {failed} given back once")


if __name__ == "__main__":
    url, count = (sys.argv[1:] + ["amqp://127.0.0.1", "1000"][len(sys.argv) - 1 :])[:2]
    trio.run(main, url, int(count))
