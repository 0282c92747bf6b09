"""A client of a broker with sessions, over as many connections as it needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.base_client import BaseClient, Tap
from amqp_sansio.conversation.happenings import ClientEvent, SessionEnded, SessionOpened, SessionResumed
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.session_core import SessionCore
from amqp_sansio.conversation.tracing import Tracing
from amqp_sansio.dialects import CHANNEL_PROTOCOLS
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.session import name_of
from amqp_sansio.errors import AmqpError, LocalProtocolError
from amqp_sansio.events import (
    CommandsCompleted,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRedirected,
    Event,
    ExceptionReceived,
    SessionAttached,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.kernel.timers import earliest


class Client(BaseClient[ClientConnection]):
    """A client of a broker with sessions."""

    def __init__(
        self,
        config: ClientConfig,
        *,
        prefix: str,
        retry: RetryPolicy = NEVER,
        tell: Callable[[ClientEvent], None] = lambda event: None,
        tap: Tap | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        super().__init__(config, prefix=prefix, retry=retry, tell=tell, tap=tap, tracing=tracing)
        self.cores: Final[dict[bytes, SessionCore]] = {}
        self._refused: Final[dict[SessionCore, float]] = {}  # those whose end must follow, with the deadline

    @property
    def right_door(self) -> str:
        known = any(self.said.startswith(dialect.header) for dialect in CHANNEL_PROTOCOLS.values())
        return ": `connect` of amqp_sansio.adapters.*.channels speaks it" if known else ""

    def _make(self) -> ClientConnection:
        return ClientConnection(self.config, confidential=self.confidential)

    @property
    def due(self) -> float | None:
        return earliest(self.machine.due, *self._refused.values()) if self._refused else self.machine.due

    @property
    def awaits_end(self) -> bool:
        """Whether a refused session has not ended yet: then `due` may be sooner than before octets came."""
        return bool(self._refused)

    def _over(self, error: Exception) -> None:
        for core in list(self.cores.values()):
            core._over(error)
        self.cores.clear()
        self._refused.clear()

    def open_session(self, name: bytes | str | None = None, timeout: int | None = 0) -> SessionCore:
        """Returns a session, attached as soon as there is an open connection.

        `timeout`: how long the peer should keep it when the connection is lost, in seconds (None: for ever).  Without a name it
        gets one that no other session of this client has.
        """
        self.must_go_on("session.attach")
        if name is None:
            self._numbers += 1
            name = f"{self.prefix}-{self._numbers}"
        octets = name_of(name)
        if octets in self.cores:
            raise LocalProtocolError(f"session.attach of {octets!r}", "in use by this client", ("another name",))
        core = self.cores[octets] = SessionCore(self, octets, timeout)
        if self._machine is not None and self._machine.is_open:
            try:
                self._attach(core)
            except AmqpError:
                del self.cores[octets]
                raise
        return core

    # --- events ---------------------------------------------------------------------------------------------------------------

    def _hear(self) -> None:
        machine = self._machine or self.machine
        while (event := machine.next_event()) is not None:
            if type(event) is CommandsCompleted:  # the two most frequent events first
                self.useful = True
                core = self.cores.get(event.session)
                if core is not None:
                    core._completed(event.ids)
            elif type(event) is TransferReceived:
                self.useful = True
                core = self.cores.get(event.session)
                if core is not None:
                    core._hear(event)
            else:
                self._told(event)
        if self._refused:
            self._expire(self._until)

    def _told(self, event: Event) -> None:
        match event:
            case ConnectionOpened() | ConnectionRedirected() | ConnectionClosed():
                self._heard(event)
            case SessionDetached(session=name):
                self._detached(self.cores.get(name), event)
            case _:
                named = getattr(event, "session", None)
                found = self.cores.get(named) if isinstance(named, bytes) else None
                if found is not None:
                    found._hear(event)
                    if isinstance(event, ExceptionReceived):
                        self._refused[found] = self._until + self.config.limits.detach_seconds
                        self.tell(SessionEnded(found.name, str(found.failure.error).partition(": ")[2], found.session.in_doubt))
                    if isinstance(event, SessionAttached):
                        self.tell(SessionResumed(found.name) if event.resumed else SessionOpened(found.name, found.remade > 0))
                        if not event.resumed and found.remade:
                            for inbox in list(found.inboxes.values()):
                                inbox._resubscribe()

    def _connected(self) -> None:
        for core in list(self.cores.values()):
            if core.ended.done:  # the program left it while there was no connection
                del self.cores[core.name]
                continue
            try:
                self._attach(core)
            except AmqpError as error:  # more sessions than this connection can carry
                del self.cores[core.name]
                core._over(error)

    def _attach(self, core: SessionCore) -> None:
        """Attaches a session to the open connection: resumes it where it still exists, else opens a new one.

        It attaches by force when resuming, because the peer may believe that the lost connection is alive.
        """
        machine = self.machine
        if core._session is None:
            core._session = machine.session(core.name, core.timeout)
        elif core.session.resumable:
            machine.resume(core.session, force=True)
            core._resuming = True
        else:
            # Under another name: the peer may still keep state under the old one, and take this one for it.
            name = core._first_name + b"-again-%d" % (core.remade + 1)
            session = machine.session(name, core.timeout)
            self.cores.pop(core.name, None)
            self.cores[name] = core
            core._remake(session)
            core._resuming = False
        self.wake()

    def _open_again(self, core: SessionCore) -> None:
        """Opens a failed session again, at once if the connection is open, else on the next one."""
        if self._machine is not None and self._machine.is_open:
            self._attach(core)

    def _expire(self, now: float) -> None:
        """Stops waiting for the end of refused sessions whose deadline has passed; pending calls raise the refusal."""
        for core in [core for core, until in self._refused.items() if now >= until]:
            del self._refused[core]
            if self.comes_back and core.attached.done and not core._detaching:
                core._fail(None, partial(self._open_again, core))
            else:
                core._over(core.failure.error)

    def _detached(self, core: SessionCore | None, event: SessionDetached) -> None:
        if core is None:
            return
        refused = self._refused.pop(core, None) is not None
        closing = self.machine._closed_cause is not None
        lost = closing and self.comes_back and not core._detaching
        forgotten = core._resuming and event.ended and not closing and self.comes_back
        violated = event.violation is not None
        if not (refused or (lost and not event.ended) or core._detaching or self.closing):
            self.tell(SessionEnded(core.name, core.failure.words(event), event.in_doubt))
        failed = event.ended and not (lost or forgotten or violated or core._detaching) and self.comes_back
        if failed and not closing and core.attached.done:
            core._fail(event, lambda: self._open_again(core))
            return
        core._detached(event, lost or forgotten)
        if forgotten:  # the peer did not keep it: a new one under the same name
            self._attach(core)
        elif not lost:
            self.cores.pop(core.name, None)
