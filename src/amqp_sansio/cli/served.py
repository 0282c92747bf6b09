"""A broker in a process of its own, on a real socket: filled, killed, restarted, emptied, stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import attrs

from amqp_sansio.adapters.sync import connect
from amqp_sansio.errors import AmqpError

QUEUE: Final = "orders"
PATIENCE: Final = 60.0
"""Seconds that it may take to start or to end."""


class NotServing(AmqpError):
    """`serve` did not start; the text is its output."""


@attrs.frozen(kw_only=True)
class RestartStory:
    """The fate of messages that went into one broker and came out of the next."""

    confirmed: int
    """Persistent messages that the first broker completed before it was killed."""
    received: tuple[bytes, ...]
    """The messages of the second one."""
    ended: int
    """The exit status of the second one on SIGTERM."""


class Process:
    """`amqp-sansio serve` on a free port; killed at the end, if it has not ended before."""

    def __init__(self, *arguments: str) -> None:
        path = os.pathsep.join([each for each in sys.path if each])
        self._process: Final = subprocess.Popen(
            [sys.executable, "-m", "amqp_sansio", "serve", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert self._process.stdout is not None
        with self._process.stdout as out:
            first = out.readline()
        if not first:
            self.kill()
            raise NotServing("amqp-sansio serve did not start")
        self.url: Final = first.rpartition(" ")[2].strip()

    def kill(self) -> None:
        """Kills it (SIGKILL)."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def end(self) -> int:
        """Terminates it (SIGTERM); returns its exit status."""
        self._process.terminate()
        try:
            return self._process.wait(PATIENCE)
        finally:
            self.kill()


def tell(messages: int) -> RestartStory:
    """Sends messages, kills the broker, restarts it, and receives its messages."""
    with TemporaryDirectory(prefix="amqp-sansio-") as directory:
        data = str(Path(directory) / "data")
        process = Process("--data-dir", data)
        try:
            with connect(process.url) as connection, connection.session() as session:
                session.declare_queue(QUEUE, durable=True)
                tickets = [session.send("", QUEUE, b"order %d" % number, persistent=True) for number in range(messages)]
                for ticket in tickets:
                    ticket.result()
        finally:
            process.kill()
        process = Process("--data-dir", data)
        try:
            received: list[bytes] = []
            with (
                connect(process.url) as connection,
                connection.session() as session,
                session.subscribe(QUEUE) as subscription,
            ):
                while len(received) < messages:
                    message = subscription.receive(PATIENCE)
                    message.accept()
                    received.append(message.body)
            ended = process.end()
        finally:
            process.kill()
        return RestartStory(confirmed=len(tickets), received=tuple(received), ended=ended)
