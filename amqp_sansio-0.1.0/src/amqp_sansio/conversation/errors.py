"""What an adapter raises into its user's hands when the other side, or the way to it, failed."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import AmqpError
from amqp_sansio.events import ConnectionClosed, ExceptionReceived, Origin
from amqp_sansio.kernel.serials import EMPTY, RangeSet
from amqp_sansio.spec.codes import XaStatus


class ConnectFailed(AmqpError):
    """No connection could be opened.  `endpoint` is where, `cause` what the other side, or the system, said."""

    def __init__(self, endpoint: str, cause: str) -> None:
        super().__init__(f"{endpoint}: {cause}")
        self.endpoint: Final = endpoint
        self.cause: Final = cause

    def __reduce__(self) -> tuple[type[ConnectFailed], tuple[str, str]]:
        return type(self), (self.endpoint, self.cause)


class ConnectionLost(AmqpError):
    """The connection ended, and nobody comes back to it.  `cause` tells who ended it and why."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause: Final = cause

    def __reduce__(self) -> tuple[type[ConnectionLost], tuple[str]]:
        return type(self), (self.cause,)


class SessionFailed(AmqpError):
    """The other side refused a command (execution.exception), which ends the session.

    `code` is its error code, `command` what it refused when that is known, `text` what it says.
    """

    def __init__(self, session: bytes, code: int, text: str, command: str = "") -> None:
        what = f" to {command}" if command else ""
        super().__init__(f"session {session!r}: the other side answers {code}{what}: {text or 'no text'}")
        self.session: Final = session
        self.code: Final = code
        self.text: Final = text
        self.command: Final = command

    def __reduce__(self) -> tuple[type[SessionFailed], tuple[bytes, int, str, str]]:
        return type(self), (self.session, self.code, self.text, self.command)


class SharedSessionFailed(SessionFailed):
    """Another call's command was refused, which ended the session that this call used too: the fault was not its own.

    What this call asked for may have happened, or not.  `code`, `command` and `text` are those of the refusal.
    """

    def __init__(self, session: bytes, code: int, text: str, command: str = "") -> None:
        super().__init__(session, code, text, command)
        self.args = (f"{self.args[0]}; that was not this call's command, which may have been executed or not",)


class SessionReopened(AmqpError):
    """The session was lost and is open again, without the exclusive `queues` that were declared on it.

    The call that raises this did nothing: declare the queues and subscribe to them, then say it again.
    """

    def __init__(self, session: bytes, queues: tuple[str, ...]) -> None:
        gone = ", ".join([repr(name) for name in queues])
        super().__init__(f"session {session!r} was opened again; its exclusive queues are gone: {gone}")
        self.session: Final = session
        self.queues: Final = queues

    def __reduce__(self) -> tuple[type[SessionReopened], tuple[bytes, tuple[str, ...]]]:
        return type(self), (self.session, self.queues)


class SessionLost(AmqpError):
    """The session is over and was not resumed.  What this error answers may have happened, or not.

    `in_doubt` are the commands of ours that the other side never called complete; `cause` tells why.
    """

    def __init__(self, session: bytes, cause: str, in_doubt: RangeSet = EMPTY) -> None:
        doubt = f"; in doubt: {in_doubt}" if in_doubt else ""
        super().__init__(f"session {session!r} is lost: {cause}{doubt}")
        self.session: Final = session
        self.cause: Final = cause
        self.in_doubt: Final = in_doubt

    def __reduce__(self) -> tuple[type[SessionLost], tuple[bytes, str, RangeSet]]:
        return type(self), (self.session, self.cause, self.in_doubt)


class NoResult(AmqpError):
    """The other side called a command complete that has a result, and never said that: `command`, its `id`, and the `rule`."""

    def __init__(self, session: bytes, command: str, id: int) -> None:
        super().__init__(
            f"session {session!r}: {command} (command id {id}) is complete, and the other side never said its result, which"
            " comes before that (execution.result)"
        )
        self.session: Final = session
        self.command: Final = command
        self.id: Final = id
        self.rule: Final = "execution.result"

    def __reduce__(self) -> tuple[type[NoResult], tuple[bytes, str, int]]:
        return type(self), (self.session, self.command, self.id)


class SubscriptionClosed(AmqpError):
    """Nothing more comes for this subscription (`destination`, to `queue`), because it was cancelled here."""

    def __init__(self, destination: str, queue: str) -> None:
        super().__init__(f"subscription {destination!r} to queue {queue!r} was cancelled here")
        self.destination: Final = destination
        self.queue: Final = queue

    def __reduce__(self) -> tuple[type[SubscriptionClosed], tuple[str, str]]:
        return type(self), (self.destination, self.queue)


class MessageReturned(AmqpError):
    """The other side rejected a message that was published (message.reject): 1 unroutable, 2 nobody took it at once."""

    def __init__(self, code: int, text: str) -> None:
        why = {1: "unroutable", 2: "nobody could take it at once"}.get(code, "rejected")
        super().__init__(f"{why}{f': {text}' if text else ''}")
        self.code: Final = code
        self.text: Final = text

    def __reduce__(self) -> tuple[type[MessageReturned], tuple[int, str]]:
        return type(self), (self.code, self.text)


class TransactionFailed(AmqpError):
    """A transaction was not committed: `outcome` is "rolled back", or "unknown" where the answer was lost."""

    def __init__(self, outcome: str, text: str = "") -> None:
        super().__init__(f"the transaction is {outcome}{f': {text}' if text else ''}")
        self.outcome: Final = outcome
        self.text: Final = text

    def __reduce__(self) -> tuple[type[TransactionFailed], tuple[str, str]]:
        return type(self), (self.outcome, self.text)


class BranchFailed(AmqpError):
    """A word about a branch was not answered with XA_OK: `status` is the answer, None when it was lost with the session."""

    def __init__(self, verb: str, status: XaStatus | None) -> None:
        super().__init__(f"{verb}: {'no answer: the outcome is unknown' if status is None else status.name}")
        self.verb: Final = verb
        self.status: Final = status

    def __reduce__(self) -> tuple[type[BranchFailed], tuple[str, XaStatus | None]]:
        return type(self), (self.verb, self.status)


def cause_of(closed: ConnectionClosed) -> str:
    """One sentence about how a connection ended."""
    code = f" ({closed.code})" if closed.code is not None else ""
    violation = closed.violation
    if violation is not None and violation.rule == "connection.start.client-support":
        return f"the other side speaks another protocol: {violation.text.removeprefix('version mismatch: ')}"
    if violation is not None:
        return f"the other side broke the protocol{code}: {violation.rule}: {violation.text or violation.said}"
    if closed.origin == Origin.EOF:
        return "the other side ended the connection without a close"
    who = {Origin.PEER: "the other side closed it", Origin.TIMEOUT: "time ran out"}.get(closed.origin, "it was closed here")
    return f"{who}{code}{f': {closed.text}' if closed.text else ''}"


def reason_of(error: BaseException) -> str:
    """One sentence about what the system, or TLS, said instead of a connection."""
    inner = error.__cause__
    if isinstance(inner, BaseExceptionGroup):
        return "; ".join(dict.fromkeys([reason_of(each) for each in inner.exceptions]))
    if isinstance(inner, OSError) and not isinstance(error, TimeoutError):
        return reason_of(inner)
    not_trusted = getattr(error, "verify_message", None)
    if not_trusted:
        return f"its certificate is not accepted: {not_trusted}"
    reason = getattr(error, "reason", None)
    if isinstance(error, OSError) and isinstance(reason, str) and reason:
        plain = ": the other side does not seem to speak TLS" if reason in _NO_TLS else ""
        return f"TLS failed: {reason.replace('_', ' ').lower()}{plain}"
    for kind, text in _SYSTEM:
        if isinstance(error, kind):
            return text
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


_NO_TLS: Final = frozenset(("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"))
_SYSTEM: Final = (
    (ConnectionRefusedError, "connection refused: nobody listens there"),
    (ConnectionResetError, "the connection was reset"),
    (BrokenPipeError, "the connection was reset"),
)


def failure_of(session: bytes, exception: ExceptionReceived, command: str) -> SessionFailed:
    """The error for an exception of the other side."""
    return SessionFailed(session, exception.error_code, exception.description, command)
