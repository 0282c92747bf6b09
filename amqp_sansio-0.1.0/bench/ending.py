"""SIGTERM under load: how long a broker with many persistent messages takes to end: `python -m bench.ending`.

It is filled, somebody goes on publishing, it is asked to end; then it is started again: whatever was confirmed must be there.
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
"""It ends in less."""
WINDOW: Final = 2_000
"""Messages that wait for their completion at most."""


def publish(session: Session, bodies: range, confirmed: set[bytes], begun: Callable[[], None] = lambda: None) -> None:
    """Sends persistent messages, and keeps what is confirmed of them."""
    for at in range(0, len(bodies), WINDOW):
        sent = [b"%d" % number for number in bodies[at : at + WINDOW]]
        tickets = [session.send("", "q", body, persistent=True) for body in sent]
        for body, ticket in zip(sent, tickets, strict=True):
            ticket.result()
            confirmed.add(body)
        begun()


def run(messages: int = MESSAGES) -> tuple[float, int, int]:
    """Seconds from SIGTERM to the exit, how many messages were confirmed, and how many of these are missing."""
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
    """What the next broker does not have of these."""
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
    """Prints how it went; the targets that were missed."""
    took, confirmed, gone = run()
    met = took < SECONDS and not gone
    print(f"\nSIGTERM with {confirmed} persistent messages, somebody publishing: {took:.1f} s, target {SECONDS:.0f}", end=" ")
    print(f"{'met' if met else 'MISSED'}; {gone} of what was confirmed are missing after it")
    return [] if met else [f"SIGTERM: {took:.1f} s, {gone} messages missing"]


if __name__ == "__main__":
    raise SystemExit(bool(compare()))
