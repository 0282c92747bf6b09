"""A connection to the broker for a source, a task or a driver: opened by the options, closed at once when something fails."""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, Protocol, Self, TypeVar

import attrs

from amqp_sansio.adapters.sync import Connection, Session, connect
from amqp_sansio.config import ClientConfig, ClientMechanism
from amqp_sansio.engine.sasl import Anonymous, CramMd5, External, Plain, Scram
from amqp_sansio.errors import AmqpError, BranchFailed, ConnectFailed, SessionFailed
from amqp_sansio.spark.errors import LiveError, LiveLossError, LiveSetupError, refused
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, BRANCH_TIMEOUT, EXACTLY_ONCE, BrokerAccess
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.exchange import Query as QueryExchange

LOG: Final = logging.getLogger("amqp_sansio.spark.live")
END_SECONDS: Final = 5.0
"""Seconds for a clean end."""
NO_SUCH_BRANCH: Final = 404
"""The code with which a broker refuses a command about a branch that it does not know, because it was decided before."""
UNDONE: Final = frozenset([XaStatus.XA_RBROLLBACK, XaStatus.XA_RBTIMEOUT, XaStatus.XA_HEURRB])
"""The broker rolled the branch back on its own."""
BY_ITSELF: Final = frozenset([XaStatus.XA_HEURRB, XaStatus.XA_HEURCOM, XaStatus.XA_HEURMIX, XaStatus.XA_HEURHAZ])
"""The broker decided heuristically, and remembers that until dtx.forget."""

LASTING: Final = (
    ("no mechanism in common", "options url, username, password, mechanism"),
    ("would say the password where others can read it", "option url"),
    ("authentication", "options url, username, password, passwordFile"),
    ("the other side closed it (402)", "option url: its virtual host"),
    ("the other side closed it (403)", ""),
    ("the other side closed it (530)", ""),
    ("speaks another protocol", ""),
    ("does not seem to speak tls", "option url: amqp:// is without TLS"),
    ("hostname mismatch", "option url: the host is to be called as in its certificate"),
    ("certificate", "option tlsCa"),
)
"""Texts, in lower case, of connection errors that waiting does not cure, and the options to check.

Other refusals may pass: Broker-J answers 320 (connection-forced) to a wrong password, and also while it starts.
"""

FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 5.0
"""Seconds between two attempts to reach a lost broker; each wait is twice as long as the one before."""

Value = TypeVar("Value")


class StepHook(Protocol):
    """Called after each step; a test may crash the process there."""

    def __call__(self, step: str, /) -> None: ...


def go_on(step: str) -> None:
    """Ignores steps."""


def persistently(
    access: BrokerAccess,
    work: Callable[[], Value],
    may_pass: Callable[[LiveError], bool] = lambda error: True,
    clock: Callable[[], float] = time.monotonic,
) -> Value:
    """Returns what `work` returns; repeats it after an error that `may_pass`, for as long as the options allow.

    Raises its last LiveError; LiveSetupError and LiveLossError at once.
    """
    until = clock() + access.retry
    delay = FIRST_DELAY
    while True:
        try:
            return work()
        except (LiveSetupError, LiveLossError):
            raise
        except LiveError as error:
            if not may_pass(error) or clock() + delay > until:
                raise
            LOG.warning("%s; trying again in %.1f s", error, delay)
            time.sleep(delay)
            delay = min(delay * 2, LONGEST_DELAY)


class BrokerLink:
    """One connection and its sessions.  Errors of the broker are raised as LiveError."""

    def __init__(self, access: BrokerAccess) -> None:
        self.access: Final = access
        self._connect: Final = _connecting(access)
        self._open = False

    def __enter__(self) -> Self:
        try:
            self.connection: Connection = self._connect()
        except ConnectFailed as error:
            raise cannot_connect(self.access, error) from None
        except AmqpError as error:
            raise LiveError(f"{self.access.shown}: {error}") from None
        self._open = True
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes it; the broker rolls back what is not decided."""
        if self._open:
            self._open = False
            with suppress(Exception):  # it is over in any case
                self.connection.close()

    def has_dtx(self) -> bool:
        """Whether the broker supports distributed transactions.  Raises LiveError when it cannot be asked."""
        try:
            with self.connection.session() as session:
                session._core.transactions.select_dtx()
                session.recover()
        except (SessionFailed, BranchFailed):
            return False
        except AmqpError as error:
            if self.connection._client.closed is not None:
                raise LiveError(f"{self.access.shown}: {error}") from None
            return False
        return True

    def mode(self, dtx: bool) -> str:
        """Returns EXACTLY_ONCE or AT_LEAST_ONCE, from the mode of the options and what the broker supports (`dtx`).

        Raises LiveSetupError when the options want EXACTLY_ONCE and the broker has no distributed transactions.
        """
        wanted = self.access.mode
        if wanted == AT_LEAST_ONCE:
            return AT_LEAST_ONCE
        if dtx:
            return EXACTLY_ONCE
        if wanted == EXACTLY_ONCE:
            raise LiveSetupError(
                f"{self.access.shown}: the broker knows no distributed transactions, and mode exactly-once needs them; "
                "there is at-least-once"
            )
        LOG.warning("%s: the broker knows no distributed transactions", self.access.shown)
        return AT_LEAST_ONCE

    def queue(self, name: str) -> int | None:
        """Returns the number of messages on a queue; None when there is no such queue."""
        with self.told(), self.connection.session() as session:
            found = session.query_queue(name)
        return found.message_count or 0 if found.queue else None

    def has_exchange(self, name: str) -> bool:
        """Whether the exchange exists."""
        with self.told(), self.connection.session() as session:
            return not session.execute(QueryExchange(name)).not_found

    def in_doubt(self) -> tuple[Xid, ...]:
        """Returns the branches in doubt at the broker, of all owners."""
        with self.told(), self.connection.session() as session:
            return session.recover()

    def knows(self, branch: Xid) -> bool:
        """Whether the broker knows a branch; its list need not contain all of them."""
        try:
            with self.connection.session() as session:
                session._asked(lambda: session._core.transactions.get_timeout(branch))
        except (AmqpError, TimeoutError) as error:
            if isinstance(error, SessionFailed | BranchFailed) and self.connection._client.closed is None:
                return False  # a refusal ended the session, the connection is intact
            raise LiveError(f"{self.access.shown}: {error}") from None
        return True

    def commit(self, branches: Iterable[Xid]) -> list[tuple[Xid, XaStatus]]:
        """Commits prepared branches; returns those that the broker undid, with its status.  Unknown ones were decided before.

        Raises LiveError when the connection fails.
        """
        undone: list[tuple[Xid, XaStatus]] = []
        for each, status in self._decide(branches, Session.commit):
            if status in UNDONE:
                undone.append((each, status))
            elif status not in (XaStatus.XA_OK, XaStatus.XA_HEURCOM):
                LOG.error("%s: the broker decided by itself: %s", self.access.shown, status)
        return undone

    def rollback(self, branches: Iterable[Xid]) -> None:
        """Rolls branches back; otherwise like `commit`."""
        self._decide(branches, Session.rollback)

    def must_keep(self, prepared: XaStatus, what: str) -> None:
        """Raises LiveSetupError for an answer to dtx.prepare that is not XA_OK; `what` the broker then does not keep."""
        if prepared != XaStatus.XA_OK:
            raise LiveSetupError(
                f"{self.access.shown}: the broker answers {prepared.name} to dtx.prepare of a branch with messages in it: "
                f"it does not keep what it {what}; choose mode at-least-once"
            )

    def _decide(self, branches: Iterable[Xid], how: Callable[[Session, Xid], None]) -> list[tuple[Xid, XaStatus]]:
        """Returns the broker's status for each branch that it knows."""
        said: list[tuple[Xid, XaStatus]] = []
        with self.told():
            for each in branches:
                status = XaStatus.XA_OK
                try:
                    with self.connection.session() as session:
                        how(session, each)
                except BranchFailed as error:
                    if error.status is None:
                        raise
                    status = error.status
                except SessionFailed as error:
                    if error.code != NO_SUCH_BRANCH:
                        raise
                    continue
                said.append((each, status))
                if status in BY_ITSELF:
                    with suppress(SessionFailed, BranchFailed), self.connection.session() as session:
                        session.forget(each)
        return said

    @contextmanager
    def told(self, hint: str | None = None) -> Iterator[None]:
        """Raises LiveError for errors in the block; with a `hint`, a refusal's text ends with it, and the refusal may be
        permanent."""
        try:
            yield
        except LiveError:
            raise
        except (AmqpError, TimeoutError) as error:
            if hint is not None and isinstance(error, SessionFailed | BranchFailed):
                raise refused(self.access.shown, error, hint) from None
            raise LiveError(f"{self.access.shown}: {error}") from None


def give_time(session: Session, branch: Xid, timeout: int | None, bounded: bool | None = None) -> bool | None:
    """Sets the timeout of a started branch to `timeout` seconds.

    None: no timeout where the broker has no default one, else BRANCH_TIMEOUT, because a broker may apply it to prepared
    branches too.  `bounded` is whether the broker has a default, from an earlier call, None if unknown; so is the result.
    """
    transactions = session._core.transactions
    if timeout is None:
        if bounded is None:
            bounded = session._asked(lambda: transactions.get_timeout(branch)) > 0
        timeout = BRANCH_TIMEOUT if bounded else 0
    if timeout:
        seconds = timeout
        session._asked(lambda: transactions.set_timeout(branch, seconds))
    return bounded


def _connecting(access: BrokerAccess) -> Callable[[], Connection]:
    """Returns a function that connects.  Raises LiveSetupError when the options cannot be used."""
    password = access.password()
    address = attrs.evolve(access.address, password=password)
    mechanisms: tuple[ClientMechanism, ...] = ()
    if access.mechanism is not None:
        name = address.username or ""
        made: dict[str, Callable[[], Any]] = {
            "ANONYMOUS": Anonymous,
            "PLAIN": lambda: Plain(name, password),
            "EXTERNAL": External,
            "CRAM-MD5": lambda: CramMd5(name, password),
            "SCRAM-SHA-1": lambda: Scram(name, password, "SCRAM-SHA-1"),
            "SCRAM-SHA-256": lambda: Scram(name, password, "SCRAM-SHA-256"),
        }
        mechanisms = (made[access.mechanism](),)
    config = address.config()
    return partial(
        connect,
        address,
        config=attrs.evolve(ClientConfig(), mechanisms=mechanisms, heartbeat=config.heartbeat),
        tls=_tls(access),
        close_timeout=END_SECONDS,
    )


def _tls(access: BrokerAccess) -> ssl.SSLContext | None:
    if not any(each.tls for each in access.address.endpoints):
        return None
    name = f"option tlsCa: {access.tls_ca}"
    try:
        context = ssl.create_default_context(cafile=access.tls_ca)
        name = f"options tlsCert and tlsKey: {access.tls_cert}, {access.tls_key}"
        if access.tls_cert is not None:
            context.load_cert_chain(access.tls_cert, access.tls_key)
    except OSError as error:
        reason = getattr(error, "reason", None) or error.strerror or str(error)
        raise LiveSetupError(f"{name}: no certificates can be read: {reason}") from None
    return context


def cannot_connect(access: BrokerAccess, error: ConnectFailed) -> LiveError:
    """Returns an error that waiting may cure, or one that it will not: a broker that is there and refuses."""
    text = str(error)
    for said, options in LASTING:
        if said in text.lower():
            return LiveSetupError(f"{access.shown}: {text}{f' ({options})' if options else ''}")
    return LiveError(f"{access.shown}: {text}")
