"""SIGTERM under load: how long a broker with many persistent messages takes to end: `python -m bench.ending`.

The broker is filled and, while a client goes on publishing, asked to end.  After a restart, everything that was confirmed must
be there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from amqp_sansio.adapters.sync import Session, connect
from amqp_sansio.cli.served import PATIENCE, Process
from amqp_sansio.errors import AmqpError

MESSAGES: Final = 200_000
SECONDS: Final = 10.0
"""It must end within this time."""
WINDOW: Final = 2_000
"""The most messages that await their completion."""


def publish(session: Session, bodies: range, confirmed: set[bytes], begun: Callable[[], None] = lambda: None) -> None:
    """Sends persistent messages, and records which are confirmed."""
    for at in range(0, len(bodies), WINDOW):
        sent = [b"%d" % number for number in bodies[at : at + WINDOW]]
        tickets = [session.send("", "q", body, persistent=True) for body in sent]
        for body, ticket in zip(sent, tickets, strict=True):
            ticket.result()
            confirmed.add(body)
        begun()


def run(messages: int = MESSAGES) -> tuple[float, int, int]:
    """Returns the seconds from SIGTERM to the exit, the number of confirmed messages, and how many of these are missing."""
    confirmed: set[bytes] = set()
    with TemporaryDirectory() as folder:
        data = str(Path(folder, "data"))
        process = Process("--data-dir", data)
        try:
            with connect(process.url) as connection, connection.session() as session:
                session.declare_queue("q", durable=True)
                publish(session, range(messages), confirmed)
            goes_on = threading.Event()

            def load() -> None:
                with suppress(AmqpError), connect(process.url) as connection, connection.session() as session:
                    publish(session, range(messages, 1 << 40), confirmed, goes_on.set)

            publisher = threading.Thread(target=load)
            publisher.start()
            goes_on.wait(PATIENCE)
            begun = time.monotonic()
            status = process.end()
            took = time.monotonic() - begun
            publisher.join()
        finally:
            process.kill()
        if status:
            raise RuntimeError(f"it ended with status {status}")
        return took, len(confirmed), len(missing(data, confirmed))


def missing(data: str, confirmed: set[bytes]) -> set[bytes]:
    """Returns those of the messages that the restarted broker lacks."""
    process = Process("--data-dir", data)
    left = set(confirmed)
    try:
        with (
            connect(process.url) as connection,
            connection.session() as session,
            session.subscribe("q", prefetch=WINDOW) as subscription,
            suppress(TimeoutError),
        ):
            while left:
                message = subscription.receive(PATIENCE)
                message.accept()
                left.discard(message.body)
    finally:
        process.kill()
    return left


def compare() -> list[str]:
    """Prints the result; returns the missed targets."""
    took, confirmed, gone = run()
    met = took < SECONDS and not gone
    print(f"\nSIGTERM with {confirmed} persistent messages, somebody publishing: {took:.1f} s, target {SECONDS:.0f}", end=" ")
    print(f"{'met' if met else 'MISSED'}; {gone} of what was confirmed are missing after it")
    return [] if met else [f"SIGTERM: {took:.1f} s, {gone} messages missing"]


if __name__ == "__main__":
    raise SystemExit(bool(compare()))
