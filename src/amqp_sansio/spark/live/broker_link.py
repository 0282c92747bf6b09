"""A connection to the broker for a source, a task or a driver: opened by the options, ended at once when something fails."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, Self, TypeVar

import attrs

from amqp_sansio.adapters.sync import Connection, Session, connect
from amqp_sansio.config import ClientConfig, ClientMechanism
from amqp_sansio.engine.sasl import Anonymous, CramMd5, External, Plain, Scram
from amqp_sansio.errors import AmqpError, BranchFailed, ConnectFailed, SessionFailed
from amqp_sansio.spark.live.errors import LiveError, LiveSetupError, refused
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, BRANCH_TIMEOUT, EXACTLY_ONCE, Access
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.exchange import Query as QueryExchange

LOG: Final = logging.getLogger("amqp_sansio.spark.live")
END_SECONDS: Final = 5.0
"""Seconds that a clean end may take."""
NO_SUCH_BRANCH: Final = 404
"""The code with which a word about a branch is refused that the broker does not know: it was decided before."""
UNDONE: Final = frozenset([XaStatus.XA_RBROLLBACK, XaStatus.XA_RBTIMEOUT, XaStatus.XA_HEURRB])
"""The broker rolled a branch back by itself."""
BY_ITSELF: Final = frozenset([XaStatus.XA_HEURRB, XaStatus.XA_HEURCOM, XaStatus.XA_HEURMIX, XaStatus.XA_HEURHAZ])
"""The broker decided by itself, and remembers it until dtx.forget."""

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
"""What waiting does not heal when no connection comes about, in small letters, and the options to look at.

Other refusals may heal: Broker-J says 320 (connection-forced) for a wrong password, and also while it begins.
"""

Value = TypeVar("Value")


class Link:
    """One connection and its sessions.  What the broker says against something is raised as one LiveError."""

    def __init__(self, access: Access) -> None:
        self.access: Final = access
        self._connect: Final = _connecting(access)
        self._open = False

    def __enter__(self) -> Self:
        try:
            self._connection: Connection = self._connect()
        except ConnectFailed as error:
            raise cannot_connect(self.access, error) from None
        except AmqpError as error:
            raise LiveError(f"{self.access.shown}: {error}") from None
        self._open = True
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def connection(self) -> Connection:
        """The connection, for opening sessions."""
        return self._connection

    def close(self) -> None:
        """Ends it; what is not decided is rolled back by the broker."""
        if self._open:
            self._open = False
            with suppress(Exception):  # it is over in any case
                self._connection.close()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A session for questions, which may end badly without harm to others."""
        with self._connection.session() as session:
            yield session

    def has_dtx(self) -> bool:
        """Whether the broker knows distributed transactions.  LiveError when it cannot be asked."""
        try:
            with self.session() as session:
                session._talk.transactions.select_dtx()
                session.recover()
        except (SessionFailed, BranchFailed):
            return False
        except AmqpError as error:
            if self._connection._client.closed is not None:
                raise LiveError(f"{self.access.shown}: {error}") from None
            return False
        return True

    def mode(self, wanted: str, dtx: bool) -> str:
        """EXACTLY_ONCE or AT_LEAST_ONCE, as `wanted` and what the broker knows (`dtx`) allow.

        LiveSetupError when EXACTLY_ONCE is wanted and the broker knows no distributed transactions.
        """
        if dtx or wanted == AT_LEAST_ONCE:
            return AT_LEAST_ONCE if wanted == AT_LEAST_ONCE else EXACTLY_ONCE
        if wanted == EXACTLY_ONCE:
            raise LiveSetupError(
                f"{self.access.shown}: the broker knows no distributed transactions, and mode exactly-once needs them; "
                "there is at-least-once"
            )
        LOG.warning("%s: the broker knows no distributed transactions", self.access.shown)
        return AT_LEAST_ONCE

    def queue(self, name: str) -> int | None:
        """The messages on a queue; None when there is no such queue."""
        with self.told(), self.session() as session:
            found = session.query_queue(name)
        return found.message_count or 0 if found.queue else None

    def has_exchange(self, name: str) -> bool:
        """Whether there is such an exchange."""
        with self.told(), self.session() as session:
            return not session.execute(QueryExchange(name)).not_found

    def in_doubt(self) -> tuple[Xid, ...]:
        """The branches in doubt at the broker, whosever they are."""
        with self.told(), self.session() as session:
            return session.recover()

    def knows(self, branch: Xid) -> bool:
        """Whether the broker knows a branch: it need not list all of them at a time."""
        try:
            with self.session() as session:
                session._asked(lambda: session._talk.transactions.get_timeout(branch))
        except (AmqpError, TimeoutError) as error:
            if isinstance(error, SessionFailed | BranchFailed) and self._connection._client.closed is None:
                return False  # the session was ended by a refusal, the connection is there
            raise LiveError(f"{self.access.shown}: {error}") from None
        return True

    def commit(self, branches: Iterable[Xid]) -> list[tuple[Xid, XaStatus | None]]:
        """Commits branches that are prepared; what the broker said to each, None where it does not know one (any more).

        LiveError when the connection does not hold.
        """
        return self._decide(branches, Session.commit)

    def rollback(self, branches: Iterable[Xid]) -> list[tuple[Xid, XaStatus | None]]:
        """Rolls branches back, likewise."""
        return self._decide(branches, Session.rollback)

    def _decide(self, branches: Iterable[Xid], how: Callable[[Session, Xid], None]) -> list[tuple[Xid, XaStatus | None]]:
        said: list[tuple[Xid, XaStatus | None]] = []
        with self.told():
            for each in branches:
                said.append((each, self._ask(each, how)))
                if said[-1][1] in BY_ITSELF:
                    with suppress(SessionFailed, BranchFailed), self.session() as session:
                        session.forget(each)
        return said

    def _ask(self, branch: Xid, how: Callable[[Session, Xid], None]) -> XaStatus | None:
        try:
            with self.session() as session:
                how(session, branch)
        except BranchFailed as error:
            if error.status is None:
                raise LiveError(f"{self.access.shown}: {error}") from None
            return error.status
        except SessionFailed as error:
            if error.code == NO_SUCH_BRANCH:
                return None
            raise
        return XaStatus.XA_OK

    @contextmanager
    def told(self, hint: str | None = None) -> Iterator[None]:
        """LiveError for what goes wrong in the block; with a `hint` a refusal ends with it, and may be a lasting one."""
        try:
            yield
        except LiveError:
            raise
        except (AmqpError, TimeoutError) as error:
            if hint is not None and isinstance(error, SessionFailed | BranchFailed):
                raise refused(self.access.shown, error, hint) from None
            raise LiveError(f"{self.access.shown}: {error}") from None


def give_time(session: Session, branch: Xid, timeout: int | None, bounded: bool | None = None) -> bool | None:
    """Sees to it that a branch that was started may take `timeout` seconds.

    None: as long as it takes where the broker sets no bound by itself, else BRANCH_TIMEOUT; a broker may keep to a bound for
    prepared branches, too.  `bounded` is what an earlier call found out about that, None without one, and so is the answer.
    """
    transactions = session._talk.transactions
    if timeout is None:
        if bounded is None:
            bounded = session._asked(lambda: transactions.get_timeout(branch)) > 0
        timeout = BRANCH_TIMEOUT if bounded else 0
    if timeout:
        seconds = timeout
        session._asked(lambda: transactions.set_timeout(branch, seconds))
    return bounded


def _connecting(access: Access) -> Callable[[], Connection]:
    """What connects.  LiveSetupError when its options cannot be used."""
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


def _tls(access: Access) -> ssl.SSLContext | None:
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


def cannot_connect(access: Access, error: ConnectFailed) -> LiveError:
    """An error that waiting may heal, or one that it will not: a broker that is there and says no."""
    text = str(error)
    for said, options in LASTING:
        if said in text.lower():
            return LiveSetupError(f"{access.shown}: {text}{f' ({options})' if options else ''}")
    return LiveError(f"{access.shown}: {text}")
