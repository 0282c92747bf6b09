"""Errors of the clients of the adapters, raised when the peer or the connection failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.errors.core import AmqpError, quoted, session_name

if TYPE_CHECKING:
    from amqp_sansio.kernel.serials import RangeSet
    from amqp_sansio.spec.codes import XaStatus


class AddressError(AmqpError, ValueError):
    """An address that cannot be parsed.  `address` is the address without its password; `rule` says what would have been right.

    Cause: a mistake in the URL, or an option that does not exist.
    What to do: correct it.
    In doubt: nothing.  Nothing was connected.
    """

    def __init__(self, address: str, rule: str) -> None:
        super().__init__(f"{address}: {rule}", made=(address, rule))
        self.address: Final = address
        self.rule: Final = rule


class ConnectFailed(AmqpError):
    """No connection could be opened.  `endpoint` is the address tried, `cause` what the peer or the operating system reported.

    `offered` is the version of AMQP that the last peer answered with instead, by its name in the URL option `protocol`; ""
    where none answered so.

    Cause: no broker listens there, it does not let this client in (name, password, virtual host), it speaks another protocol,
    its certificate is not trusted, or it did not answer within `connect_timeout`.
    What to do: correct the address, or try again later.
    In doubt: nothing.  Nothing was sent on a session.
    """

    def __init__(self, endpoint: str, cause: str, offered: str = "") -> None:
        super().__init__(f"{endpoint}: {cause}", made=(endpoint, cause, offered))
        self.endpoint: Final = endpoint
        self.cause: Final = cause
        self.offered: Final = offered


class ConnectionLost(AmqpError):
    """The connection ended, and the client will not reconnect.

    Cause: `cause` says which side ended it and why.  Without a retry policy the first loss is final; with one, its last
    attempt.
    What to do: connect again, or give `connect` a `RetryPolicy`, which does so automatically.
    In doubt: what was sent and not answered; the sessions' `SessionLost` lists it.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(quoted(cause), made=(cause,))
        self.cause: Final = cause


class SessionFailed(AmqpError):
    """The peer refused a command (execution.exception), which ends the session.

    `code` is its error code, `command` the refused command when that is known, `text` the peer's explanation.

    Cause: this call's command; see `code`, such as 404 for a queue that does not exist, and 403 for what the user may not do.
    What to do: correct the command.  With a retry policy the next call opens the session again; otherwise open another one.
    In doubt: of this call nothing: the command was not executed.
    """

    def __init__(self, session: bytes, code: int, text: str, command: str = "") -> None:
        what = f" to {command}" if command else ""
        super().__init__(
            f"session {session_name(session)}: the other side answers {code}{what}: {quoted(text) or 'no text'}",
            made=(session, code, text, command),
        )
        self.session: Final = session
        self.code: Final = code
        self.text: Final = text
        self.command: Final = command


class SharedSessionFailed(SessionFailed):
    """The peer refused another call's command, which ended the session that this call used too.

    `code`, `command` and `text` are those of the refusal; `sent` is False when this call came too late to send anything.

    Cause: a call of another task or thread, or a message that was sent before and not awaited.
    What to do: give each task that should be independent a session of its own.
    In doubt: what this call asked for, if it was `sent`, and every unanswered message of the session: each may or may not have
    been taken.  The end of the session's block does not raise this again.
    """

    def __init__(self, session: bytes, code: int, text: str, command: str = "", sent: bool = True) -> None:
        super().__init__(session, code, text, command)
        self.sent: Final = sent
        this = "which may have been executed or not, as all of" if sent else "which was not sent; in doubt is what was sent on"
        self.args = (f"{self.args[0]}; that was not this call's command, {this} the session without an answer",)

    def __reduce__(self) -> tuple[type[SharedSessionFailed], tuple[object, ...]]:
        return type(self), (self.session, self.code, self.text, self.command, self.sent)

    def unsent(self) -> SharedSessionFailed:
        """Returns the same error for a call that has sent nothing."""
        return SharedSessionFailed(self.session, self.code, self.text, self.command, sent=False)


class SessionReopened(AmqpError):
    """The session was lost and opened again, and the exclusive `queues` that were declared on it are no longer its own.

    Cause: an exclusive queue that is auto-delete is deleted with its session; any other is free for everybody.
    What to do: declare the queues and subscribe to them, then repeat the call.
    In doubt: of this call nothing: it did nothing.
    """

    def __init__(self, session: bytes, queues: tuple[str, ...]) -> None:
        lost = ", ".join([repr(name) for name in queues])
        super().__init__(
            f"session {session_name(session)} was opened again, and no longer owns its exclusive queues: {lost}",
            made=(session, queues),
        )
        self.session: Final = session
        self.queues: Final = queues


class SessionLost(AmqpError):
    """The session is over and was not resumed.

    Cause: `cause` says why: the connection was lost, the peer ended the session, or it did not answer in time.
    What to do: open another session; repeat what is in doubt where doing it twice does no harm.
    In doubt: `in_doubt`, the commands of ours that the peer never reported as complete: each may or may not have been executed.
    """

    def __init__(self, session: bytes, cause: str, in_doubt: RangeSet) -> None:
        doubt = f"; in doubt: {in_doubt}" if in_doubt else ""
        super().__init__(f"session {session_name(session)} is lost: {quoted(cause)}{doubt}", made=(session, cause, in_doubt))
        self.session: Final = session
        self.cause: Final = cause
        self.in_doubt: Final = in_doubt


class NoResult(AmqpError):
    """The peer completed a command without sending its result: `command`, its `id`, and the `rule`.

    Cause: a broker that breaks the rule execution.result.
    What to do: report it to the broker's makers.
    In doubt: nothing: the command was executed.
    """

    def __init__(self, session: bytes, command: str, id: int) -> None:
        super().__init__(
            f"session {session_name(session)}: {command} (command id {id}) is complete, and the other side never said its"
            " result, which comes before that (execution.result)",
            made=(session, command, id),
        )
        self.session: Final = session
        self.command: Final = command
        self.id: Final = id
        self.rule: Final = "execution.result"


class SubscriptionClosed(AmqpError):
    """The subscription (`destination`, to `queue`) gets no more messages, because the program cancelled it.

    Cause: `cancel()`, or the end of its block or of its session.
    What to do: stop receiving; iteration ends by itself.
    In doubt: nothing.  Messages that arrived and were not received go back to the queue.
    """

    def __init__(self, destination: str, queue: str) -> None:
        super().__init__(f"subscription {destination!r} to queue {queue!r} was cancelled here", made=(destination, queue))
        self.destination: Final = destination
        self.queue: Final = queue


class MessageReturned(AmqpError):
    """The peer returned a message that was published (message.reject, basic.return) to `exchange` with `routing_key`.

    Cause: `code` is 1 or 312 where no queue takes it (`mandatory`), 2 or 313 where no consumer could take it at once
    (`immediate`).
    What to do: declare and bind the queue, or do without the message.
    In doubt: nothing: the broker does not have the message.
    """

    def __init__(self, code: int, text: str, exchange: str | None = None, routing_key: str | None = None) -> None:
        why = {1: "unroutable", 312: "unroutable"} | dict.fromkeys((2, 313), "nobody could take it at once")
        place = "" if exchange is None else f"exchange {exchange!r}, routing key {routing_key!r}"
        parts = (why.get(code, "rejected"), quoted(text), place)
        super().__init__(": ".join([part for part in parts if part]), made=(code, text, exchange, routing_key))
        self.code: Final = code
        self.text: Final = text
        self.exchange: Final = exchange
        self.routing_key: Final = routing_key


class TransactionFailed(AmqpError):
    """A transaction was not committed: `outcome` is "rolled back", or "unknown" where the answer was lost.

    Cause: `text`, or the error that this one was raised from: a command in it was refused, or the session was lost.
    What to do: "rolled back": run it again.  "unknown": first find out from its effects whether it was committed.
    In doubt: the whole transaction where the outcome is "unknown", otherwise nothing.
    """

    def __init__(self, outcome: str, text: str = "") -> None:
        super().__init__(f"the transaction is {outcome}{f': {text}' if text else ''}", made=(outcome, text))
        self.outcome: Final = outcome
        self.text: Final = text


class BranchFailed(AmqpError):
    """A command about a branch was not answered with XA_OK: `status` is the answer, None when it was lost with the session.

    Cause: the broker's answer, or the loss of the session.
    What to do: for XA_RB..., roll the whole transaction back.  For None, ask the broker with `recover()`, and decide again.
    In doubt: the outcome of `verb` where `status` is None.
    """

    def __init__(self, verb: str, status: XaStatus | None) -> None:
        super().__init__(
            f"{verb}: {'no answer: the outcome is unknown' if status is None else status.name}", made=(verb, status)
        )
        self.verb: Final = verb
        self.status: Final = status
