"""A client of a broker with sessions, over as many connections as it needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.base_client import BaseClient, Tap
from amqp_sansio.conversation.happenings import ClientEvent, SessionEnded, SessionOpened, SessionResumed
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.talk import Talk
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
        self.talks: Final[dict[bytes, Talk]] = {}
        self._refused: Final[dict[Talk, float]] = {}  # those whose end must follow, with the deadline

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
        for talk in list(self.talks.values()):
            talk._over(error)
        self.talks.clear()
        self._refused.clear()

    def open_session(self, name: bytes | str | None = None, timeout: int | None = 0) -> Talk:
        """Returns a session, attached as soon as there is an open connection.

        `timeout`: how long the peer should keep it when the connection is lost, in seconds (None: for ever).  Without a name it
        gets one that no other session of this client has.
        """
        self.must_go_on("session.attach")
        if name is None:
            self._numbers += 1
            name = f"{self.prefix}-{self._numbers}"
        octets = name_of(name)
        if octets in self.talks:
            raise LocalProtocolError(f"session.attach of {octets!r}", "in use by this client", ("another name",))
        talk = self.talks[octets] = Talk(self, octets, timeout)
        if self._machine is not None and self._machine.is_open:
            try:
                self._attach(talk)
            except AmqpError:
                del self.talks[octets]
                raise
        return talk

    # --- events ---------------------------------------------------------------------------------------------------------------

    def _hear(self) -> None:
        machine = self._machine or self.machine
        while (event := machine.next_event()) is not None:
            if type(event) is CommandsCompleted:  # the two most frequent events first
                self.useful = True
                talk = self.talks.get(event.session)
                if talk is not None:
                    talk._completed(event.ids)
            elif type(event) is TransferReceived:
                self.useful = True
                talk = self.talks.get(event.session)
                if talk is not None:
                    talk._hear(event)
            else:
                self._told(self.machine, event)
        if self._refused:
            self._expire(self._until)

    def _told(self, machine: ClientConnection, event: Event) -> None:
        match event:
            case ConnectionOpened() | ConnectionRedirected() | ConnectionClosed():
                self._heard(event)
            case SessionDetached(session=name):
                self._detached(machine, self.talks.get(name), event)
            case _:
                named = getattr(event, "session", None)
                found = self.talks.get(named) if isinstance(named, bytes) else None
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
        for talk in list(self.talks.values()):
            if talk.ended.done:  # the program left it while there was no connection
                del self.talks[talk.name]
                continue
            try:
                self._attach(talk)
            except AmqpError as error:  # more sessions than this connection can carry
                del self.talks[talk.name]
                talk._over(error)

    def _attach(self, talk: Talk) -> None:
        """Attaches a session to the open connection: resumes it where it still exists, else opens a new one.

        It attaches by force when resuming, because the peer may believe that the lost connection is alive.
        """
        machine = self.machine
        if talk._session is None:
            talk._session = machine.session(talk.name, talk.timeout)
        elif talk.session.resumable:
            machine.resume(talk.session, force=True)
            talk._resuming = True
        else:
            # Under another name: the peer may still keep state under the old one, and take this one for it.
            name = talk._first_name + b"-again-%d" % (talk.remade + 1)
            session = machine.session(name, talk.timeout)
            self.talks.pop(talk.name, None)
            self.talks[name] = talk
            talk._remake(session)
            talk._resuming = False
        self.wake()

    def _open_again(self, talk: Talk) -> None:
        """Opens a failed session again, at once if the connection is open, else on the next one."""
        if self._machine is not None and self._machine.is_open:
            self._attach(talk)

    def _expire(self, now: float) -> None:
        """Stops waiting for the end of refused sessions whose deadline has passed; pending calls raise the refusal."""
        for talk in [talk for talk, until in self._refused.items() if now >= until]:
            del self._refused[talk]
            if self.comes_back and talk.attached.done and not talk._detaching:
                talk._fail(None, partial(self._open_again, talk))
            else:
                talk._over(talk.failure.error)

    def _detached(self, machine: ClientConnection, talk: Talk | None, event: SessionDetached) -> None:
        if talk is None:
            return
        refused = self._refused.pop(talk, None) is not None
        lost = machine._closed_cause is not None and self.comes_back and not talk._detaching
        forgotten = talk._resuming and event.ended and machine._closed_cause is None and self.comes_back
        violated = event.violation is not None
        if not (refused or (lost and not event.ended) or talk._detaching or self.closing):
            self.tell(SessionEnded(talk.name, talk.failure.words(event), event.in_doubt))
        failed = event.ended and not (lost or forgotten or violated or talk._detaching) and self.comes_back
        if failed and machine._closed_cause is None and talk.attached.done:
            talk._fail(event, lambda: self._open_again(talk))
            return
        talk._detached(event, lost or forgotten)
        if forgotten:  # the peer did not keep it: a new one under the same name
            self._attach(talk)
        elif not lost:
            self.talks.pop(talk.name, None)
