"""Three workers on one queue, which stop when there is nothing left: `python worker.py URL COUNT`."""

import asyncio
import sys

from amqp_sansio.adapters.asyncio import Session, Subscription, connect
from amqp_sansio.spec.codes import RejectCode


async def work(tasks: Subscription) -> tuple[int, int]:
    """Accepts what it can do, and rejects what nobody can."""
    done = refused = 0
    while True:
        try:
            message = await tasks.receive(timeout=0.5)
        except TimeoutError:
            return done, refused
        if message.headers.get("kind") == "odd":
            message.reject(RejectCode.UNSPECIFIED)
            refused += 1
        else:
            message.accept()
            done += 1


async def fill(session: Session, count: int) -> None:
    """Something to do."""
    await session.declare_queue("tasks")
    for number in range(count):
        await session.send("", "tasks", b"%d" % number, headers={"kind": "odd" if number % 2 else "even"})
    await session.sync()


async def main(url: str, count: int) -> None:
    """The workers share one session and one subscription."""
    async with connect(url) as connection, connection.session() as session:
        await fill(session, count)
        async with session.subscribe("tasks", prefetch=6) as tasks:
            results = await asyncio.gather(*(work(tasks) for _ in range(3)))
        print(f"{sum(done for done, _ in results)} done, {sum(refused for _, refused in results)} rejected")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
