"""`amqp-sansio probe`: tests which rules of the protocol a live server follows."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import Final

import attrs

from amqp_sansio.cli.output import complain, json_line
from amqp_sansio.cli.progress import Progress
from amqp_sansio.testing.probe import ProbeError, Prober, Report

PASSWORD: Final = "AMQP_PASSWORD"
"""The environment variable with the default password."""
_READ: Final = 65536


@attrs.frozen
class Wishes:
    """The settings of the probe; `patience` is how many seconds an answer may take."""

    host: str
    port: int
    section: str | None = None
    conversations: int = 1000
    seed: int = 0
    only: int | None = None
    user: str = ""
    password: str | None = attrs.field(default=None, repr=False)
    virtual_host: str = ""
    patience: float = 2.0
    as_json: bool = False
    verbose: bool = False


class SocketTransport:
    """A TCP connection.  Raises ProbeError when it cannot be opened."""

    def __init__(self, host: str, port: int, patience: float) -> None:
        try:
            self._socket: Final = socket.create_connection((host, port), timeout=patience)
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            raise ProbeError(f"{host}:{port} does not answer: {reason}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchange(self, octets: bytes) -> bytes | None:
        """See `testing.probe.Transport`."""
        if octets:
            with suppress(OSError):  # what the server sent before it closed is still to be read
                self._socket.sendall(octets)
        try:
            return self._socket.recv(_READ) or None
        except TimeoutError:
            return b""
        except OSError:
            return None

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()


def probe(wishes: Wishes) -> int:
    """Runs the probe.  Returns 0: every tested rule was followed; 1: some were broken; 2: the server cannot be probed."""
    password = wishes.password if wishes.password is not None else os.environ.get(PASSWORD, "")
    try:
        prober = Prober(
            lambda: SocketTransport(wishes.host, wishes.port, wishes.patience),
            section=wishes.section,
            conversations=wishes.conversations,
            seed=wishes.seed,
            only=wishes.only,
            user=wishes.user,
            password=password,
            virtual_host=wishes.virtual_host,
        )
    except ValueError as error:
        complain(str(error))
        return 2
    progress = Progress()
    try:
        prober.greet()
        for done in prober.rounds():
            progress.rounds(done.plan.number + 1, wishes.conversations, "conversations")
    except ProbeError as error:
        progress.clear()
        if not prober.report.conversations:
            complain(str(error))
            return 2
        complain(f"after {prober.report.conversations} conversations: {error}")
    progress.clear()
    _tell(prober.report, wishes)
    return int(bool(prober.report.broken))


def _tell(report: Report, wishes: Wishes) -> None:
    if wishes.as_json:
        row = {"server": f"{wishes.host}:{wishes.port}", "section": wishes.section, "seed": wishes.seed, **report.row()}
        print(json_line(row))
        return
    print(f"{wishes.host}:{wishes.port}, ", end="")
    for line in report.lines(wishes.verbose):
        print(line if line.isascii() and line.isprintable() else json_line(line)[1:-1])
    command = f"amqp-sansio probe {wishes.host}:{wishes.port} --conversations {wishes.conversations} --seed {wishes.seed}"
    section = f" --section {wishes.section}" if wishes.section else ""
    print(f"\nThe same again: {command}{section}\nOne conversation of it: --only NUMBER --verbose")
