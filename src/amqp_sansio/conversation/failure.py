"""The failure of a session: which calls raise it, and what is not restored when the session is opened again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from amqp_sansio.conversation.ticket import seen
from amqp_sansio.errors import AmqpError, SessionFailed, SessionLost, SessionReopened, SharedSessionFailed
from amqp_sansio.events import SessionDetached
from amqp_sansio.spec import queue
from amqp_sansio.spec.base import Command

if TYPE_CHECKING:
    from amqp_sansio.conversation.inbox import Inbox


class Failure:
    """What ended a session.  `error` is None while nothing did; `id` is that of the refused command, where known."""

    __slots__ = ("_exclusive", "_gone", "_shared", "again", "error", "id")

    def __init__(self) -> None:
        self.error: AmqpError | None = None
        self.id: int | None = None
        self.again: Callable[[], None] | None = None
        """Opens the session again, for the next call."""
        self._shared: SharedSessionFailed | None = None
        self._exclusive: Final[dict[str, None]] = {}
        self._gone: Final[dict[str, None]] = {}

    @property
    def seen(self) -> bool:
        """Whether the error was raised to a caller; True when there is none."""
        return self.error is None or self.heard

    @property
    def heard(self) -> bool:
        """Whether there is an error and it was raised to a caller."""
        return any(each is not None and each.seen for each in (self.error, self.for_others))

    @property
    def for_others(self) -> AmqpError | None:
        """The error for calls whose command was not the refused one."""
        error = self.error
        if self.id is None or not isinstance(error, SessionFailed):
            return error
        if self._shared is None or self._shared.__cause__ is not error:
            self._shared = SharedSessionFailed(error.session, error.code, error.text, error.command)
            self._shared.__cause__ = error
        return self._shared

    def for_whom(self, id: int | None) -> AmqpError | None:
        """Returns the error for the call that sent the command of this id; None without a failure."""
        return self.error if id is not None and id == self.id else self.for_others

    def of(self, id: int | None, error: Exception) -> Exception:
        """Returns `error`, or the refusal where the command of that id was refused, which then caused `error`."""
        return self.error if id is not None and id == self.id and self.error is not None else error

    def ended(self, name: bytes, event: SessionDetached, wanted: bool) -> None:
        """Notes that the session `name` is over; `wanted`: we ended it.  An earlier refusal stays the cause."""
        if event.violation is None and wanted and not event.code:
            return
        if self.error is None:
            self.error = SessionLost(name, self.words(event), event.in_doubt)

    def words(self, event: SessionDetached) -> str:
        """Describes why a session is over, for a person."""
        violation = event.violation
        if violation is not None:
            return f"the other side broke {violation.rule}: {violation.text or violation.said}"
        return event.text or f"the other side detached it ({event.code})"

    def interrupt(self, inboxes: dict[str, Inbox]) -> None:
        """Makes pending receives raise the error of a session that failed and may be opened again.

        Closes a subscription that the peer refused: sent again, it would end every later session, too.
        """
        for inbox in list(inboxes.values()):
            error = self.for_whom(inbox._said)
            inbox._interrupt(error)
            if error is not None and error is not self.for_others:
                inbox._close(error)
                del inboxes[inbox.destination]

    def close(self, inboxes: dict[str, Inbox], well: bool) -> None:
        """Closes the inboxes of a session that is over; unless it ended `well`, pending receives raise the error."""
        for inbox in list(inboxes.values()):
            inbox._close(None if well else self.for_whom(inbox._said))
        inboxes.clear()

    def said(self, command: Command) -> None:
        """Notes a sent command, to remember the queues that end with the session."""
        if isinstance(command, queue.Declare) and command.exclusive and not command.passive:
            self._exclusive[command.queue or ""] = None
        elif isinstance(command, queue.Delete):
            self._exclusive.pop(command.queue or "", None)

    def over(self) -> tuple[str, ...]:
        """Prepares for a new session in place of the old one; returns the exclusive queues that are gone."""
        gone = tuple(self._exclusive)
        self._gone.update(self._exclusive)
        self._exclusive.clear()
        self.error, self.id, self.again = None, None, None
        return gone

    def must_live(self) -> None:
        """Raises the error that ended it, to a call that has sent nothing yet."""
        error = self.for_others
        if error is None:
            return
        raised = seen(error)
        if isinstance(raised, SharedSessionFailed):
            raise raised.unsent() from raised.__cause__
        raise raised

    def check(self, session: bytes) -> None:
        """Raises why the session failed, or SessionReopened, once, when queues of it were not restored."""
        if self.error is not None:
            self.must_live()
        if self._gone:
            gone = tuple(self._gone)
            self._gone.clear()
            raise SessionReopened(session, gone)
