"""One transaction over two brokers; what is left of one that broke off is cleaned up first.

`python distributed.py amqp://guest:guest@127.0.0.1:5672/ amqp://guest:guest@127.0.0.1:5673/ decisions.json`
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from uuid import uuid4

from amqp_sansio.adapters.asyncio import Session, connect
from amqp_sansio.engine.two_phase import Ask, Decide, Decision, TwoPhase, presumed_aborts
from amqp_sansio.engine.xid import xid
from amqp_sansio.spec.dtx import Xid

FORMAT = 0x616D7170
"""What tells our branches from those of others."""


class Decisions:
    """What was decided and is not carried out everywhere: in a file, which is on the disk before anybody commits."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Decision]:
        """The decisions that a crash may have left."""
        if not self.path.exists():
            return []
        stored = json.loads(self.path.read_text())
        return [Decision.of([(n, f, bytes.fromhex(g), bytes.fromhex(b)) for n, f, g, b in plain]) for plain in stored]

    def write(self, decisions: list[Decision]) -> None:
        """Replaces the file in one go, and returns when that is certain."""
        new = self.path.with_suffix(".new")
        with new.open("w") as file:
            json.dump([[(n, f, g.hex(), b.hex()) for n, f, g, b in each.plain] for each in decisions], file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)


async def carry_out(whole: TwoPhase, sessions: dict[str, Session], decisions: Decisions) -> None:
    """Does what a two-phase commit wants, until it is finished."""
    while not whole.finished:
        for action in whole.take():
            match action:
                case Decide(decision=decision):
                    decisions.write([decision])
                    whole.durable()
                case Ask(participant=name):
                    await sessions[name].carry_out(action, whole)
    decisions.write([])


async def clean_up(sessions: dict[str, Session], decisions: Decisions) -> int:
    """After a crash: what was decided is carried out, and what was not is rolled back."""
    kept = decisions.read()
    listed: dict[str, list[Xid]] = {}
    for name, session in sessions.items():
        listed[name] = [each for each in await session.recover() if (each.branch_id or b"") == name.encode()]
    left = presumed_aborts(listed, kept, lambda each: each.format_ == FORMAT)
    for whole in [*[TwoPhase.recover(decision) for decision in kept], *left]:
        await carry_out(whole, sessions, decisions)
    return len(left)


async def main(one: str, two: str, path: str) -> None:
    """A program that died between the phases, and one that does not."""
    async with connect(one) as first, connect(two) as second, first.session() as a, second.session() as b:
        sessions, decisions = {"one": a, "two": b}, Decisions(Path(path))
        for session in sessions.values():
            await session.declare_queue("ledger", durable=True)
        lost = xid(FORMAT, uuid4().bytes, b"one")
        async with a.branch(lost):
            await a.publish("", "ledger", b"lost", persistent=True)
        await a.prepare(lost)  # and here the program died
        print(f"broken off: {await clean_up(sessions, decisions)} transaction rolled back")
        number = uuid4().bytes
        branches = {name: xid(FORMAT, number, name.encode()) for name in sessions}
        for name, session in sessions.items():
            async with session.branch(branches[name]):
                await session.publish("", "ledger", b"10 from one to two", persistent=True)
        whole = TwoPhase(branches)
        await carry_out(whole, sessions, decisions)
        print(f"{whole.outcome}: {await clean_up(sessions, decisions)} left")


if __name__ == "__main__":
    urls = [each for each in sys.argv[1:] if "://" in each] or ["amqp://localhost:5672/", "amqp://localhost:5673/"]
    paths = [each for each in sys.argv[1:] if "://" not in each] or ["decisions.json"]
    asyncio.run(main(urls[0], urls[-1], paths[0]))
