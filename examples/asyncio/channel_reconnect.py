"""A publisher that outlives its connection: `python channel_reconnect.py amqp://guest:guest@127.0.0.1:5672 100`."""

import asyncio
import sys

from amqp_sansio.adapters.asyncio.channels import InDoubt, RetryPolicy, connect


async def main(url: str, count: int) -> None:
    """The client declares the queue again after a reconnect; we publish messages in doubt again, so some may come twice."""
    again = 0
    async with connect(url, retry=RetryPolicy(attempts=20, first=0.1)) as connection, connection.channel() as channel:
        await channel.declare_queue("channel-log")
        for number in range(count):
            while True:
                try:
                    await channel.publish("", "channel-log", f"line {number}".encode(), persistent=True)
                    break
                except InDoubt:
                    again += 1
    print(f"{count} lines published, {again} of them again")


if __name__ == "__main__":
    url, count = (sys.argv[1:] + ["amqp://127.0.0.1", "100"][len(sys.argv) - 1 :])[:2]
    asyncio.run(main(url, int(count)))
