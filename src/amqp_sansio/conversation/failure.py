"""Why a session is over, which calls raise it, and what does not come back when it is opened again."""

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
    """What ended a session.  `error` is None as long as nothing did; `id`: of the command refused, where known."""

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
        """Whether it was raised to somebody; True when there is none."""
        return self.error is None or self.heard

    @property
    def heard(self) -> bool:
        """Whether there is one, and it was raised to somebody."""
        return any(each is not None and each.seen for each in (self.error, self.for_others))

    @property
    def for_others(self) -> AmqpError | None:
        """As it is raised to those whose command was not refused."""
        error = self.error
        if self.id is None or not isinstance(error, SessionFailed):
            return error
        if self._shared is None or self._shared.__cause__ is not error:
            self._shared = SharedSessionFailed(error.session, error.code, error.text, error.command)
            self._shared.__cause__ = error
        return self._shared

    def for_whom(self, id: int | None) -> AmqpError | None:
        """As the call that sent the command of that id raises it."""
        return self.error if id is not None and id == self.id else self.for_others

    def of(self, id: int | None, error: Exception) -> Exception:
        """`error`, or the refusal where the command of that id was refused, on which what failed with `error` depends."""
        return self.error if id is not None and id == self.id and self.error is not None else error

    def ended(self, name: bytes, event: SessionDetached, wanted: bool) -> None:
        """The session `name` is over; `wanted`: we said so.  Whatever refusal came before it is why."""
        if event.violation is None and wanted and not event.code:
            return
        if self.error is None:
            self.error = SessionLost(name, self.words(event), event.in_doubt)

    def words(self, event: SessionDetached) -> str:
        """Why a session is over, for a person."""
        violation = event.violation
        if violation is not None:
            return f"the other side broke {violation.rule}: {violation.text or violation.said}"
        return event.text or f"the other side detached it ({event.code})"

    def interrupt(self, inboxes: dict[str, Inbox]) -> None:
        """The session failed and may be opened again: pending receives raise the reason."""
        for inbox in inboxes.values():
            inbox._interrupt(self.for_whom(inbox._said))

    def close(self, inboxes: dict[str, Inbox], well: bool) -> None:
        """The session is over: nothing comes any more, and unless it went `well`, pending receives raise the reason."""
        for inbox in list(inboxes.values()):
            inbox._close(None if well else self.for_whom(inbox._said))
        inboxes.clear()

    def said(self, command: Command) -> None:
        """A command was sent: remembers queues that end with the session."""
        if isinstance(command, queue.Declare) and command.exclusive and not command.passive:
            self._exclusive[command.queue or ""] = None
        elif isinstance(command, queue.Delete):
            self._exclusive.pop(command.queue or "", None)

    def over(self) -> tuple[str, ...]:
        """The session is made again: the exclusive queues that are gone."""
        gone = tuple(self._exclusive)
        self._gone.update(self._exclusive)
        self._exclusive.clear()
        self.error, self.id, self.again = None, None, None
        return gone

    def must_live(self) -> None:
        """Raises what ended it, to a call that has sent nothing yet."""
        error = self.for_others
        if error is None:
            return
        raised = seen(error)
        if isinstance(raised, SharedSessionFailed):
            raise raised.unsent() from raised.__cause__
        raise raised

    def check(self, session: bytes) -> None:
        """Raises SessionReopened, once, when something of the session did not come back."""
        if self._gone:
            gone = tuple(self._gone)
            self._gone.clear()
            raise SessionReopened(session, gone)
