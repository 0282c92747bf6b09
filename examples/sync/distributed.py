"""One transaction over two brokers, and what is left of one that broke off.

`python distributed.py amqp://guest:guest@localhost:5672/ amqp://guest:guest@localhost:5673/`
"""

import sys
from uuid import uuid4

from amqp_sansio.adapters.sync import Session, connect
from amqp_sansio.engine.xid import xid
from amqp_sansio.spec import queue
from amqp_sansio.spec.dtx import Xid

FORMAT = 0x616D7170
"""What tells our branches from those of others."""


def clean_up(session: Session) -> int:
    """Branches of ours that were prepared and never decided: nobody wrote down «commit», so they are rolled back."""
    left = [each for each in session.recover() if each.format_ == FORMAT]
    for each in left:
        session.rollback(each)
    return len(left)


def work(session: Session, branch: Xid, body: bytes) -> None:
    """A message in a branch, which is then prepared."""
    with session.branch(branch):
        session.publish("", "ledger", body, persistent=True)
    session.prepare(branch)


def main(one: str, two: str) -> None:
    """A program that died between the phases, and one that does not."""
    with connect(one) as first, connect(two) as second, first.session() as a, second.session() as b:
        for session in (a, b):
            session.say(queue.Declare("ledger", durable=True))
        number = uuid4().bytes
        branches = {a: xid(FORMAT, number, b"one"), b: xid(FORMAT, number, b"two")}
        work(a, branches[a], b"lost")
        print(f"broken off: {clean_up(a)} branch rolled back")
        for session, branch in branches.items():
            work(session, branch, b"10 from one to two")
        # Here the decision is written down, where it survives a crash: see `engine.two_phase` for the whole of it.
        for session, branch in branches.items():
            session.commit(branch)
        print(f"committed: {clean_up(a) + clean_up(b)} branches left")


if __name__ == "__main__":
    urls = sys.argv[1:] or ["amqp://localhost:5672/", "amqp://localhost:5673/"]
    main(urls[0], urls[-1])
