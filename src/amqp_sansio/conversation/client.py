"""A client of a broker with sessions, over as many connections as it needs."""

from __future__ import annotations

from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.happenings import SessionEnded, SessionOpened, SessionResumed
from amqp_sansio.conversation.session_core import SessionCore
from amqp_sansio.dialects import CHANNEL_PROTOCOLS
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.session import name_of
from amqp_sansio.errors import LocalProtocolError
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


class Client(BaseClient[ClientConnection, SessionCore]):
    """A client of a broker with sessions.  Of one that was refused, the end is due."""

    @property
    def right_door(self) -> str:
        known = any(self.said.startswith(dialect.header) for dialect in CHANNEL_PROTOCOLS.values())
        return ": `connect` of amqp_sansio.adapters.*.channels speaks it" if known else ""

    def _make(self) -> ClientConnection:
        return ClientConnection(self.config, confidential=self.confidential)

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
        return self._add(octets, SessionCore(self, octets, timeout))

    def gone(self, core: SessionCore) -> None:
        super().gone(core)
        self.cores.pop(core.name, None)

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
        if self._later:
            self._expire()

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
                        self._later[found] = self._until + self.config.limits.detach_seconds
                        self.tell(SessionEnded(found.name, str(found.failure.error).partition(": ")[2], found.session.in_doubt))
                    if isinstance(event, SessionAttached):
                        self.tell(SessionResumed(found.name) if event.resumed else SessionOpened(found.name, found.remade > 0))
                        if not event.resumed and found.remade:
                            for inbox in list(found.inboxes.values()):
                                inbox._resubscribe()

    def _open(self, core: SessionCore) -> None:
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

    def open_again(self, core: SessionCore) -> None:
        """Opens a failed session again, at once if the connection is open, else on the next one."""
        if self.is_open:
            self._open(core)

    def _expire(self) -> None:
        """Stops waiting for the end of refused sessions whose deadline has passed; pending calls raise the refusal."""
        for core in self._come_due():
            if self.comes_back and core.opened.done and not core._detaching:
                core._fail(None)
            else:
                core._over(core.failure.error)

    def _detached(self, core: SessionCore | None, event: SessionDetached) -> None:
        if core is None:
            return
        refused = self._later.pop(core, None) is not None
        closing = self.machine._closed_cause is not None
        lost = closing and self.comes_back and not core._detaching
        forgotten = core._resuming and event.ended and not closing and self.comes_back
        violated = event.violation is not None
        if not (refused or (lost and not event.ended) or core._detaching or self.closing):
            self.tell(SessionEnded(core.name, core.failure.words(event), event.in_doubt))
        failed = event.ended and not (lost or forgotten or violated or core._detaching) and self.comes_back
        if failed and not closing and core.opened.done:
            core._fail(event)
            return
        core._detached(event, lost or forgotten)
        if forgotten:  # the peer did not keep it: a new one under the same name
            self._open(core)
        elif not lost:
            self.gone(core)
