"""One transaction over two brokers, after cleaning up what an interrupted one left.

`python distributed.py amqp://guest:guest@127.0.0.1:5672/ amqp://guest:guest@127.0.0.1:5673/ decisions.json`
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from uuid import uuid4

from amqp_sansio import xid
from amqp_sansio.adapters.asyncio import Session, connect
from amqp_sansio.engine.two_phase import Ask, Decide, Decision, TwoPhase, presumed_aborts
from amqp_sansio.spec.dtx import Xid

FORMAT = 0x616D7170
"""Distinguishes our branches from those of others."""


class Decisions:
    """Decisions that are not carried out everywhere yet, in a file that is on disk before any commit."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Decision]:
        """Returns the decisions that a crash may have left."""
        if not self.path.exists():
            return []
        stored = json.loads(self.path.read_text())
        return [Decision.of([(n, f, bytes.fromhex(g), bytes.fromhex(b)) for n, f, g, b in plain]) for plain in stored]

    def write(self, decisions: list[Decision]) -> None:
        """Replaces the file atomically, and returns when it is on disk."""
        new = self.path.with_suffix(".new")
        with new.open("w") as file:
            json.dump([[(n, f, g.hex(), b.hex()) for n, f, g, b in each.plain] for each in decisions], file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)


async def carry_out(whole: TwoPhase, sessions: dict[str, Session], decisions: Decisions) -> None:
    """Carries out the actions of a two-phase commit until it is finished."""
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
    """After a crash: carries out stored decisions and rolls everything else back."""
    kept = decisions.read()
    listed: dict[str, list[Xid]] = {}
    for name, session in sessions.items():
        listed[name] = [each for each in await session.recover() if (each.branch_id or b"") == name.encode()]
    left = presumed_aborts(listed, kept, lambda each: each.format_ == FORMAT)
    for whole in [*[TwoPhase.recover(decision) for decision in kept], *left]:
        await carry_out(whole, sessions, decisions)
    return len(left)


async def main(one: str, two: str, path: str) -> None:
    """Simulates a program that died between the phases, then completes a transaction."""
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
