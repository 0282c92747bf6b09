"""What was completed is there, whatever happens to the broker, and whenever: `serve` in a process of its own, killed.

Small in `make test`; `make soak` kills fifty times, and fills fifty disks (tools/chores/soak.py).
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from random import Random

import pytest
from tests.cli.disks import Tmpfs, limited
from tests.cli.serving import SOAK, Serving, browse

from amqp_sansio.adapters.sync import Pending, connect
from amqp_sansio.errors import AmqpError

KILLS = 50 if SOAK else 4
FULL = 50 if SOAK else 4
SEED = int(os.environ.get("AMQP_SEED", "1"))


class Ledger:
    """What clients know for certain: which messages are completed, and which accepts."""

    def __init__(self) -> None:
        self.published: set[bytes] = set()
        """All that was ever said, confirmed or not."""
        self.confirmed: set[bytes] = set()
        self.accepting: set[bytes] = set()
        """What was said to be accepted, confirmed or not."""
        self.accepted: set[bytes] = set()
        self.events = 0
        self.enough = 0
        self.reached = threading.Event()

    def count(self) -> None:
        self.events += 1
        if self.events >= self.enough:
            self.reached.set()

    def wait(self, enough: int) -> None:
        """Until so many more things are certain."""
        self.reached.clear()
        self.events, self.enough = 0, enough
        assert self.reached.wait(60)


def publish(url: str, ledger: Ledger, prefix: str, size: int, transactional: bool) -> None:
    """Publishes until the broker is gone."""
    number = 0
    try:
        with connect(url) as connection, connection.session() as session:
            flight: list[tuple[list[bytes], Pending[None]]] = []
            while True:
                bodies = [f"{prefix}-{number + each}|".encode() + b"x" * size for each in range(3)]
                number += len(bodies)
                ledger.published.update(bodies)
                if transactional:
                    with session.transaction():
                        for body in bodies:
                            session.send("", "q", body, persistent=True)
                    ledger.confirmed.update(bodies)
                    ledger.count()
                else:
                    flight += [([body], session.send("", "q", body, persistent=True)) for body in bodies]
                    if len(flight) > 30:
                        done, ticket = flight.pop(0)
                        ticket.result()
                        ledger.confirmed.update(done)
                        ledger.count()
                    while flight and flight[0][1].done:
                        done, ticket = flight.pop(0)
                        ticket.result()
                        ledger.confirmed.update(done)
                        ledger.count()
    except (AmqpError, OSError):
        pass


def consume(url: str, ledger: Ledger) -> None:
    """Takes and accepts until the broker is gone."""
    try:
        with connect(url) as connection, connection.session() as session, session.subscribe("q", prefetch=5) as messages:
            for message in messages:
                ledger.accepting.add(message.body)
                message.accept()
                session.sync()  # what was accepted before is certain now
                ledger.accepted.add(message.body)
                ledger.count()
    except (AmqpError, OSError):
        pass


def check(url: str, ledger: Ledger) -> None:
    """Every completed message is there, once, unless somebody accepted it; what was accepted for certain is not."""
    with connect(url) as connection, connection.session() as session:
        found = browse(session)
    there = set(found)
    assert len(there) == len(found)
    assert ledger.confirmed - ledger.accepting <= there
    assert not there & ledger.accepted
    assert there <= ledger.published
    for prefix in {body.rpartition(b"-")[0] for body in there}:
        own = [int(body.partition(b"|")[0].rpartition(b"-")[2]) for body in found if body.startswith(prefix + b"-")]
        assert own == sorted(own)
        if prefix.endswith(b"tx"):  # all of a transaction, or nothing; somebody may have taken some since
            gone = {
                int(body.partition(b"|")[0].rpartition(b"-")[2]) for body in ledger.accepting if body.startswith(prefix + b"-")
            }
            for first in {number - number % 3 for number in own}:
                assert {first, first + 1, first + 2} <= {*own} | gone


def test_no_kill_loses_what_was_completed(tmp_path: Path) -> None:
    """At whatever moment the process is killed, a message whose publish was completed is on the queue of the next one, once."""
    random = Random(SEED)
    data = str(tmp_path / "data")
    ledger = Ledger()
    for kill in range(KILLS):
        with Serving("--data-dir", data, compact=100_000 if kill % 2 else None) as serving:
            assert serving.url, serving.errors
            if not kill:
                with connect(serving.url) as connection, connection.session() as session:
                    session.declare_queue("q", durable=True)
            check(serving.url, ledger)
            size = random.choice((10, 1000, 30_000))
            clients = [
                threading.Thread(target=publish, args=(serving.url, ledger, f"{kill}-plain", size, False)),
                threading.Thread(target=publish, args=(serving.url, ledger, f"{kill}-tx", 10, True)),
                threading.Thread(target=consume, args=(serving.url, ledger)),
            ]
            for each in clients:
                each.start()
            ledger.wait(random.randrange(1, 120))
            serving.kill()
            for each in clients:
                each.join(60)
                assert not each.is_alive()
    with Serving("--data-dir", data) as serving:
        check(serving.url, ledger)
        assert serving.stop() == 0
    with Serving("--data-dir", data) as serving:  # and out of the snapshot
        check(serving.url, ledger)
        assert serving.stop() == 0
    assert len(ledger.confirmed) > KILLS * 3


@pytest.mark.parametrize("number", range(FULL))
def test_no_full_disk_loses_what_was_completed(tmp_path: Path, number: int) -> None:
    """Wherever the disk is full, a message whose publish was completed is on the queue once there is room again.

    In every other run snapshots take the place of entries all the time, so that it is full in the middle of one, too.  Of two
    runs each one is on a small tmpfs, the other under a limit of what a file may hold; all of them where none can be mounted.
    """
    octets = Random(f"{SEED}-{number}").randrange(100_000, 900_000)
    ledger = Ledger()
    with Tmpfs(tmp_path / "disk", octets + 100_000) as disk:  # where there is nothing yet, a broker does not begin at all
        small = None if disk.mounted and number % 4 < 2 else limited(octets)
        data = str((disk.path if small is None else tmp_path) / "data")
        with Serving("--data-dir", data, compact=50_000 if number % 2 else None, preexec_fn=small) as serving:
            with connect(serving.url) as connection, connection.session() as session:
                session.declare_queue("q", durable=True)
            publish(serving.url, ledger, "full", 3000, False)
            assert serving.wait() == 1
            assert "it stops: " in serving.errors
            assert len(serving.errors.splitlines()) == 1
        disk.grow()
        with Serving("--data-dir", data) as serving:
            check(serving.url, ledger)
            assert serving.stop() == 0
