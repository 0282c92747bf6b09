"""`amqp-sansio probe`: tests which rules of the protocol a live server follows."""

from __future__ import annotations

import os
import socket
import ssl
from contextlib import suppress
from typing import Final

import attrs

from amqp_sansio.cli.dialing import trusting
from amqp_sansio.cli.output import Progress, complain, json_line, plain
from amqp_sansio.conversation.address import Address
from amqp_sansio.conversation.causes import reason_of
from amqp_sansio.testing.probe import ProbeError, Prober, Report

PASSWORD: Final = "AMQP_PASSWORD"
"""The environment variable with the default password."""
_READ: Final = 65536


@attrs.frozen
class ProbeOptions:
    """The options of the verb.  `patience` is how many seconds an answer may take; `user`, `password` and `virtual_host`
    override those of the address; `authorities` is a file of certificates to trust."""

    address: Address
    authorities: str | None = None
    section: str | None = None
    conversations: int = 1000
    seed: int = 0
    only: int | None = None
    user: str | None = None
    password: str | None = attrs.field(default=None, repr=False)
    virtual_host: str | None = None
    patience: float = 2.0
    as_json: bool = False
    verbose: bool = False


class SocketTransport:
    """A TCP connection, with TLS if `tls` is given; `patience` is how many seconds a call may wait.  Raises ProbeError when it
    cannot be opened."""

    def __init__(self, host: str, port: int, patience: float, tls: ssl.SSLContext | None = None) -> None:
        try:
            opened = socket.create_connection((host, port), timeout=patience)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket: Final = opened if tls is None else tls.wrap_socket(opened, server_hostname=host)
        except ssl.SSLError as error:
            raise ProbeError(f"{host}:{port}: {reason_of(error)}") from None
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            raise ProbeError(f"{host}:{port} does not answer: {reason}") from None

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


def probe(wishes: ProbeOptions) -> int:
    """Runs the probe.  Returns 0: every tested rule was followed; 1: some were broken; 2: the server cannot be probed."""
    address, endpoint = wishes.address, wishes.address.endpoints[0]
    password = wishes.password if wishes.password is not None else address.password or os.environ.get(PASSWORD, "")
    tls = (trusting(wishes.authorities) or ssl.create_default_context()) if endpoint.tls else None
    try:
        prober = Prober(
            lambda: SocketTransport(endpoint.host, endpoint.port, wishes.patience, tls),
            section=wishes.section,
            conversations=wishes.conversations,
            seed=wishes.seed,
            only=wishes.only,
            user=(address.username or "") if wishes.user is None else wishes.user,
            password=password,
            virtual_host=address.virtual_host if wishes.virtual_host is None else wishes.virtual_host,
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


def _tell(report: Report, wishes: ProbeOptions) -> None:
    endpoint = wishes.address.endpoints[0]
    if wishes.as_json:
        row = {"server": str(endpoint), "section": wishes.section, "seed": wishes.seed, **report.row()}
        print(json_line(row))
        return
    print(f"{endpoint}, ", end="")
    for line in report.lines(wishes.verbose):
        print(plain(line))
    server = f"amqps://{endpoint}" if endpoint.tls else str(endpoint)
    command = f"amqp-sansio probe {server} --conversations {wishes.conversations} --seed {wishes.seed}"
    section = f" --section {wishes.section}" if wishes.section else ""
    print(f"\nThe same again: {command}{section}\nOne conversation of it: --only NUMBER --verbose")
