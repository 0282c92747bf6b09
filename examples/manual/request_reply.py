"""Ten requests at once, answered in any order: `python request_reply.py URL`."""

import asyncio
import sys
from uuid import uuid4

from amqp_sansio.adapters.asyncio import Connection, Session, connect


async def answer(connection: Connection, ready: asyncio.Event) -> None:
    """Squares numbers until it is cancelled."""
    async with connection.session() as session:
        await session.declare_queue("squares", exclusive=True)
        async with session.subscribe("squares") as questions:
            ready.set()
            async for question in questions:
                to = question.reply_to
                if to is not None:
                    result = b"%d" % int(question.body) ** 2
                    await session.send(to.exchange or "", to.routing_key, result, correlation_id=question.correlation_id)
                question.accept()


class Asking:
    """Passes each answer to the task that sent the request."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.queue = f"answers-{uuid4()}"
        self.open: dict[str, asyncio.Future[bytes]] = {}

    async def listen(self) -> None:
        """Runs until it is cancelled."""
        async with self.session.subscribe(self.queue) as answers:
            async for message in answers:
                waiting = self.open.pop(message.correlation_id or "", None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(message.body)
                message.accept()

    async def ask(self, number: int) -> int:
        """Returns the square of a number."""
        name = str(uuid4())
        self.open[name] = asyncio.get_running_loop().create_future()
        await self.session.publish(
            "", "squares", str(number).encode(), reply_to=self.queue, correlation_id=name, ttl=5000, mandatory=True, timeout=5.0
        )
        return int(await asyncio.wait_for(self.open[name], 5.0))


async def main(url: str) -> None:
    """Both sides on one connection."""
    async with connect(url) as connection, connection.session() as session, asyncio.TaskGroup() as tasks:
        asking, ready = Asking(session), asyncio.Event()
        await session.declare_queue(asking.queue, exclusive=True)
        running = [tasks.create_task(answer(connection, ready)), tasks.create_task(asking.listen())]
        await ready.wait()
        print(await asyncio.gather(*(asking.ask(number) for number in range(10))))
        for each in running:
            each.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
