"""The errors: those of the core, which programs that embed connections and sessions get as well, and those of the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, dataclass_transform

if TYPE_CHECKING:
    from amqp_sansio.kernel.serials import RangeSet
    from amqp_sansio.spec.codes import XaStatus

QUOTED: Final = 500
"""The most characters of a peer's text that the text of an error quotes."""
_LONGEST: Final = 2000  # characters of an error's text; a peer's text that it quotes is shortened first


def quoted(text: str) -> str:
    """Returns a peer's text, shortened to what the text of an error quotes."""
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}... ({len(text)} characters)"


def many(number: int, one: str, more: str | None = None) -> str:
    """Formats a number with its noun: 1 thing, 2,000 things."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def too_large(size: int, left: int) -> str:
    """Says that something is larger than the rest of the octets that hold it."""
    return f"its size, {size}, goes beyond the {many(left, 'octet that is', 'octets that are')} left"


def session_name(name: bytes) -> str:
    """Returns the name of a session for a text: in quotes, as octets only where it is not printable UTF-8."""
    text = name.decode(errors="backslashreplace")
    return repr(text if text.isprintable() and text.encode() == name else name)


@dataclass_transform(eq_default=False, frozen_default=True)
class AmqpError(Exception):
    """The base of every exception of this library.

    Its text may quote a peer.  Characters that are not printable are escaped in it, so that no peer can control a terminal or
    forge a line of a log, and it is cut, so that no peer can flood one.  The attributes hold the peer's text unchanged.
    """

    seen = False
    """Whether a caller of a session has already got it; the end of the session then does not raise it again."""
    _inside: object = None  # the map, list, array or struct with the value that cannot be encoded: what holds it need not look
    _names: tuple[str, ...] = ()  # those of the arguments, which become attributes

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._names += tuple(cls.__annotations__)

    def __init__(self, *given: object, made: tuple[object, ...] | None = None, **named: object) -> None:
        """Takes the text, or the arguments that a class declares as attributes, of which `_text` makes it."""
        names = self._names
        if made is None and names:
            made = given if len(given) == len(names) and not named else self._every(given, named)
            self.__dict__.update(zip(names, made, strict=True))
            given = (self._text(),)
        super().__init__(*given)
        self._made = made  # the constructor's arguments, for pickling, where they differ from the text

    def _every(self, given: tuple[object, ...], named: dict[str, object]) -> tuple[object, ...]:
        """Returns all arguments in their order.  Raises TypeError for wrong ones, as a signature would."""
        defaults = {name: getattr(type(self), name) for name in self._names if hasattr(type(self), name)}
        values = defaults | dict(zip(self._names, given, strict=False)) | named
        if len(given) + len(named) > len(self._names) or values.keys() != set(self._names):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self._names)}")
        return tuple([values[name] for name in self._names])

    def _text(self) -> str:
        raise NotImplementedError

    def __reduce__(self) -> str | tuple[Any, ...]:
        return super().__reduce__() if self._made is None else (type(self), self._made)

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}... ({len(text)} characters)"
        return text if text.isprintable() else "".join([each if each.isprintable() else _escaped(each) for each in text])


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


class EncodeError(AmqpError, ValueError):
    """A value that its wire type cannot carry, a setting or an argument that is not legal, or a property that does not exist.

    `what` names the class, field, key or type; `rule` says what would have been right.

    Cause: a mistake in the program.
    What to do: correct the value that `what` names.
    In doubt: nothing.  Nothing was sent and nothing has changed.
    """

    what: str
    rule: str

    def _text(self) -> str:
        return f"{self.what}: {self.rule}"


class DecodeError(AmqpError, ValueError):
    """Octets that cannot be decoded.  Raised by the wire functions; a Connection turns it into an event.

    `what` names the class, field or type, `octet` is the offset of the first wrong octet in the octets passed in (as near as is
    known), `rule` says which rule was broken, `code` is the specification's error code: 501 for controls and frames, 503 for
    what cannot be decoded, 531 for a value outside its domain, 540 for an unknown command.

    Cause: octets from somewhere else, such as the body of a message that `Message.decoded` reads.
    What to do: for a message, reject it; redelivered, it will fail again.
    In doubt: nothing.
    """

    what: str
    octet: int
    rule: str
    code: int = 503

    def _text(self) -> str:
        return f"{self.what} at octet {self.octet}: {self.rule} ({self.code})"

    @property
    def limit(self) -> str | None:
        """The name of the limit that was exceeded; None when the octets are wrong in themselves."""
        return self.rule.split()[1] if self.rule.startswith("limit ") else None


class HeaderError(DecodeError):
    """A field of a header struct cannot be decoded.  `what` is "struct.field"; the message itself has arrived whole.

    Cause: its sender encoded the field wrongly.
    What to do: reject the message, or use the properties that can be read.
    In doubt: nothing.
    """


class LocalProtocolError(AmqpError):
    """The caller asked for something that is not allowed in the present state.

    `said` is what was asked for, `state` the state, `legal` what would have been legal, `rule` the path of the specification's
    rule or a sentence.

    Cause: a mistake in the program.
    What to do: one of `legal`.
    In doubt: nothing.  Nothing was sent and nothing has changed.
    """

    said: str
    state: str
    legal: tuple[str, ...] = ()
    rule: str = ""

    def _text(self) -> str:
        would = f"; legal now: {', '.join(self.legal)}" if self.legal else "; nothing is legal now"
        why = f" ({self.rule})" if self.rule else ""
        stands = f": {self.state}" if " " in self.state else f" in state {self.state}"
        return f"{self.said} is not legal{stands}{why}{would}"


class NoCredit(AmqpError):
    """The peer has not granted enough credit: a matter of timing, not misuse.

    `unit` is "message" or "byte"; `needed` and `available` are in that unit.

    Cause: the peer throttles us.
    What to do: wait for credit and try again; the clients of the adapters do so themselves.
    In doubt: nothing.  Nothing was sent.
    """

    destination: str
    unit: str
    needed: int
    available: int

    def _text(self) -> str:
        return f"no {self.unit} credit for destination {self.destination!r}: {self.needed} needed, {self.available} available"


class LimitError(AmqpError):
    """The call would exceed one of our own limits (see `limits.Limits`).  `limit` is its name, `asked` what would be needed: by
    default one more than its `value`.

    Cause: the program asked for more than its own settings allow.
    What to do: ask for less, or raise the limit in the config.
    In doubt: nothing.  Nothing was sent.
    """

    limit: str
    value: int
    asked: int

    def __init__(self, limit: str, value: int, asked: int | None = None) -> None:
        super().__init__(limit, value, value + 1 if asked is None else asked)

    def _text(self) -> str:
        return f"limit {self.limit} is {self.value}; {self.asked} asked for"


class ConnectionClosedError(AmqpError):
    """The connection is over or closing: a race with the peer, not misuse.

    Cause: `cause` names the side that closed it and its reason.
    What to do: connect again, or stop.
    In doubt: of this call nothing: it sent nothing.
    """

    said: str
    cause: str

    def _text(self) -> str:
        return f"{self.said}: the connection is closed: {self.cause}"


class SessionDetachedError(AmqpError):
    """The session is not attached: a race with the peer, not misuse.

    Cause: `cause` names the side that detached it and its reason.  Raised by a message: the session that delivered it is over.
    What to do: nothing for a message, which will be redelivered; otherwise open another session.
    In doubt: of this call nothing: it sent nothing.
    """

    said: str
    session: bytes
    cause: str

    def _text(self) -> str:
        return f"{self.said}: session {session_name(self.session)} is not attached: {self.cause}"


class RestoreError(AmqpError, ValueError):
    """A snapshot or journal entry that cannot be restored: it is damaged, of another version, or out of order.

    `what` names the part ("snapshot", "journal entry 12"), `rule` says what would have been right.

    Cause: a file that was damaged, or written by another version.
    What to do: restore from a copy, or with the version that wrote it.
    In doubt: nothing.  Nothing was restored.
    """

    what: str
    rule: str

    def _text(self) -> str:
        return f"{self.what}: {self.rule}"


class ChannelClosedError(AmqpError):
    """The channel is over or closing: a race with the peer, not misuse.

    Cause: `cause` names the side that closed it and its reason.
    What to do: open another channel.
    In doubt: of this call nothing: it sent nothing.
    """

    said: str
    channel: int
    cause: str

    def _text(self) -> str:
        return f"{self.said}: channel {self.channel} is closed: {self.cause}"


class StaleDelivery(ChannelClosedError):
    """A delivery that can no longer be settled, because its channel is closed.

    Cause: the channel, or its connection, ended before the message was settled.
    What to do: nothing: the server delivers the message again.
    In doubt: whether the work for the message is done twice; `redelivered` marks the next delivery.
    """


class FlowStopped(AmqpError):
    """The peer has paused publishing on a `channel` or, where that is None, on the connection: a matter of timing, not misuse.

    Cause: the server is short of memory or disk, or throttles this channel.
    What to do: wait until it takes messages again.
    In doubt: nothing.  Nothing was sent.
    """

    said: str
    channel: int | None

    def _text(self) -> str:
        where = "the connection is blocked" if self.channel is None else f"the other side has paused channel {self.channel}"
        return f"{self.said}: {where}"


class CapabilityMissing(AmqpError):
    """The peer has not announced the `capability` that this call needs.

    Cause: another server, or an older version of it.
    What to do: do without it, or use a server that has it.
    In doubt: nothing.  Nothing was sent.
    """

    said: str
    capability: str

    def _text(self) -> str:
        return f"{self.said}: the other side does not have the capability {self.capability}"


class AddressError(AmqpError, ValueError):
    """An address that cannot be parsed.  `address` is the address without its password; `rule` says what would have been right.

    Cause: a mistake in the URL, or an option that does not exist.
    What to do: correct it.
    In doubt: nothing.  Nothing was connected.
    """

    address: str
    rule: str

    def _text(self) -> str:
        return f"{self.address}: {self.rule}"


class ConnectFailed(AmqpError):
    """No connection could be opened.  `endpoint` is the address tried, `cause` what the peer or the operating system reported.

    `offered` is the version of AMQP that the last peer answered with instead, by its name in the URL option `protocol`; ""
    where none answered so.

    Cause: no broker listens there, it does not let this client in (name, password, virtual host), it speaks another protocol,
    its certificate is not trusted, or it did not answer within `connect_timeout`.
    What to do: correct the address, or try again later.
    In doubt: nothing.  Nothing was sent on a session.
    """

    endpoint: str
    cause: str
    offered: str = ""

    def _text(self) -> str:
        return f"{self.endpoint}: {self.cause}"


class ConnectionLost(AmqpError):
    """The connection ended, and the client will not reconnect.

    Cause: `cause` says which side ended it and why.  Without a retry policy the first loss is final; with one, its last
    attempt.
    What to do: connect again, or give `connect` a `RetryPolicy`, which does so automatically.
    In doubt: what was sent and not answered; the sessions' `SessionLost` lists it.
    """

    cause: str

    def _text(self) -> str:
        return quoted(self.cause)


class SessionFailed(AmqpError):
    """The peer refused a command (execution.exception), which ends the session.

    `code` is its error code, `command` the refused command when that is known, `text` the peer's explanation.

    Cause: this call's command; see `code`, such as 404 for a queue that does not exist, and 403 for what the user may not do.
    What to do: correct the command.  With a retry policy the next call opens the session again; otherwise open another one.
    In doubt: of this call nothing: the command was not executed.
    """

    session: bytes
    code: int
    text: str
    command: str = ""

    def _text(self) -> str:
        what = f" to {self.command}" if self.command else ""
        return (
            f"session {session_name(self.session)}: the other side answers {self.code}{what}: {quoted(self.text) or 'no text'}"
        )


class SharedSessionFailed(SessionFailed):
    """The peer refused another call's command, which ended the session that this call used too.

    `code`, `command` and `text` are those of the refusal; `sent` is False when this call came too late to send anything.

    Cause: a call of another task or thread, or a message that was sent before and not awaited.
    What to do: give each task that should be independent a session of its own.
    In doubt: what this call asked for, if it was `sent`, and every unanswered message of the session: each may or may not have
    been taken.  The end of the session's block does not raise this again.
    """

    sent: bool = True

    def _text(self) -> str:
        this = (
            "which may have been executed or not, as all of"
            if self.sent
            else "which was not sent; in doubt is what was sent on"
        )
        return f"{super()._text()}; that was not this call's command, {this} the session without an answer"

    def unsent(self) -> SharedSessionFailed:
        """Returns the same error for a call that has sent nothing."""
        return SharedSessionFailed(self.session, self.code, self.text, self.command, sent=False)


class SessionReopened(AmqpError):
    """The session was lost and opened again, and the exclusive `queues` that were declared on it are no longer its own.

    Cause: an exclusive queue that is auto-delete is deleted with its session; any other is free for everybody.
    What to do: declare the queues and subscribe to them, then repeat the call.
    In doubt: of this call nothing: it did nothing.
    """

    session: bytes
    queues: tuple[str, ...]

    def _text(self) -> str:
        lost = ", ".join([repr(name) for name in self.queues])
        return f"session {session_name(self.session)} was opened again, and no longer owns its exclusive queues: {lost}"


class SessionLost(AmqpError):
    """The session is over and was not resumed.

    Cause: `cause` says why: the connection was lost, the peer ended the session, or it did not answer in time.
    What to do: open another session; repeat what is in doubt where doing it twice does no harm.
    In doubt: `in_doubt`, the commands of ours that the peer never reported as complete: each may or may not have been executed.
    """

    session: bytes
    cause: str
    in_doubt: RangeSet

    def _text(self) -> str:
        doubt = f"; in doubt: {self.in_doubt}" if self.in_doubt else ""
        return f"session {session_name(self.session)} is lost: {quoted(self.cause)}{doubt}"


class NoResult(AmqpError):
    """The peer completed a command without sending its result: `command`, its `id`, and the `rule`.

    Cause: a broker that breaks the rule execution.result.
    What to do: report it to the broker's makers.
    In doubt: nothing: the command was executed.
    """

    session: bytes
    command: str
    id: int
    rule = "execution.result"

    def _text(self) -> str:
        return (
            f"session {session_name(self.session)}: {self.command} (command id {self.id}) is complete, and the other side"
            " never said its result, which comes before that (execution.result)"
        )


class SubscriptionClosed(AmqpError):
    """The subscription (`destination`, to `queue`) gets no more messages, because the program cancelled it.

    Cause: `cancel()`, or the end of its block or of its session.
    What to do: stop receiving; iteration ends by itself.
    In doubt: nothing.  Messages that arrived and were not received go back to the queue.
    """

    destination: str
    queue: str

    def _text(self) -> str:
        return f"subscription {self.destination!r} to queue {self.queue!r} was cancelled here"


class MessageReturned(AmqpError):
    """The peer returned a message that was published (message.reject, basic.return) to `exchange` with `routing_key`.

    Cause: `code` is 1 or 312 where no queue takes it (`mandatory`), 2 or 313 where no consumer could take it at once
    (`immediate`).
    What to do: declare and bind the queue, or do without the message.
    In doubt: nothing: the broker does not have the message.
    """

    code: int
    text: str
    exchange: str | None = None
    routing_key: str | None = None

    def _text(self) -> str:
        why = {1: "unroutable", 312: "unroutable"} | dict.fromkeys((2, 313), "nobody could take it at once")
        place = "" if self.exchange is None else f"exchange {self.exchange!r}, routing key {self.routing_key!r}"
        parts = (why.get(self.code, "rejected"), quoted(self.text), place)
        return ": ".join([part for part in parts if part])


class TransactionFailed(AmqpError):
    """A transaction was not committed: `outcome` is "rolled back", or "unknown" where the answer was lost.

    Cause: `text`, or the error that this one was raised from: a command in it was refused, or the session was lost.
    What to do: "rolled back": run it again.  "unknown": first find out from its effects whether it was committed.
    In doubt: the whole transaction where the outcome is "unknown", otherwise nothing.
    """

    outcome: str
    text: str = ""

    def _text(self) -> str:
        return f"the transaction is {self.outcome}{f': {self.text}' if self.text else ''}"


class BranchFailed(AmqpError):
    """A command about a branch was not answered with XA_OK: `status` is the answer, None when it was lost with the session.

    Cause: the broker's answer, or the loss of the session.
    What to do: for XA_RB..., roll the whole transaction back.  For None, ask the broker with `recover()`, and decide again.
    In doubt: the outcome of `verb` where `status` is None.
    """

    verb: str
    status: XaStatus | None

    def _text(self) -> str:
        return f"{self.verb}: {'no answer: the outcome is unknown' if self.status is None else self.status.name}"


class ChannelClosed(AmqpError):
    """The channel is closed.  The connection stays open, unless `cause` says that it was lost.

    Cause: the server refused a method, or broke a rule with one: `code`, `text` and `method` are those of channel.close.
    Without a `code` the connection is gone, or the program closed the channel.
    What to do: open another channel.
    In doubt: every method without an answer may or may not have been executed.
    """

    channel: int
    cause: str
    code: int | None = None
    text: str = ""
    method: str = ""

    def _text(self) -> str:
        return f"channel {self.channel} is closed: {self.cause}"


class InDoubt(AmqpError):
    """The server never confirmed a message: it may be on its queues, or lost.

    Cause: the channel or its connection ended first (`cause`).
    What to do: publish it again, if your consumers can detect duplicates.
    In doubt: the message.  `number` counts the publishes of the channel since it was opened, from 1.
    """

    number: int
    cause: str

    def _text(self) -> str:
        return f"publish {self.number} is in doubt: {self.cause}"


class MessageNacked(AmqpError):
    """The server did not accept a message (basic.nack).

    Cause: for example, a queue is full and rejects (x-overflow), or the server has an internal error.
    What to do: publish it again later, or do without it.
    In doubt: nothing.  `number` counts the publishes of the channel since it was opened, from 1.
    """

    number: int

    def _text(self) -> str:
        return f"the server did not take over publish {self.number} (basic.nack)"


class SubscriptionCancelled(AmqpError):
    """The server ended a subscription (basic.cancel).

    Cause: for example, its queue was deleted, or the node with it is gone.
    What to do: subscribe again once there is such a queue; `subscribe(..., resubscribe=True)` does so at once.
    In doubt: nothing.  Messages that were delivered and not settled can be settled as before.
    """

    consumer_tag: str
    queue: str

    def _text(self) -> str:
        return f"the server cancelled consumer {self.consumer_tag!r} of queue {self.queue!r}"
