"""Errors of the core, which programs that embed connections and sessions get as well."""

from __future__ import annotations

from typing import Any, Final

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


class AmqpError(Exception):
    """The base of every exception of this library.

    Its text may quote a peer.  Characters that are not printable are escaped in it, so that no peer can control a terminal or
    forge a line of a log, and it is cut, so that no peer can flood one.  The attributes hold the peer's text unchanged.
    """

    seen = False
    """Whether a caller of a session has already got it; the end of the session then does not raise it again."""

    def __init__(self, *text: object, made: tuple[object, ...] | None = None) -> None:
        super().__init__(*text)
        self._made = made  # the constructor's arguments, for pickling, where they differ from the text

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

    def __init__(self, what: str, rule: str) -> None:
        super().__init__(f"{what}: {rule}", made=(what, rule))
        self.what: Final = what
        self.rule: Final = rule
        self._inside: object = None  # the map, list, array or struct in which it was found: what holds that need not look again


class DecodeError(AmqpError, ValueError):
    """Octets that cannot be decoded.  Raised by the wire functions; a Connection turns it into an event.

    `what` names the class, field or type, `octet` is the offset of the first wrong octet in the octets passed in (as near as is
    known), `rule` says which rule was broken, `code` is the specification's error code: 501 for controls and frames, 503 for
    what cannot be decoded, 531 for a value outside its domain, 540 for an unknown command.

    Cause: octets from somewhere else, such as the body of a message that `Message.decoded` reads.
    What to do: for a message, reject it; redelivered, it will fail again.
    In doubt: nothing.
    """

    def __init__(self, what: str, octet: int, rule: str, code: int = 503) -> None:
        super().__init__(f"{what} at octet {octet}: {rule} ({code})", made=(what, octet, rule, code))
        self.what: Final = what
        self.octet: Final = octet
        self.rule: Final = rule
        self.code: Final = code

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

    def __init__(self, said: str, state: str, legal: tuple[str, ...] = (), rule: str = "") -> None:
        would = f"; legal now: {', '.join(legal)}" if legal else "; nothing is legal now"
        why = f" ({rule})" if rule else ""
        stands = f": {state}" if " " in state else f" in state {state}"
        super().__init__(f"{said} is not legal{stands}{why}{would}", made=(said, state, legal, rule))
        self.said: Final = said
        self.state: Final = state
        self.legal: Final = legal
        self.rule: Final = rule


class NoCredit(AmqpError):
    """The peer has not granted enough credit: a matter of timing, not misuse.

    `unit` is "message" or "byte"; `needed` and `available` are in that unit.

    Cause: the peer throttles us.
    What to do: wait for credit and try again; the clients of the adapters do so themselves.
    In doubt: nothing.  Nothing was sent.
    """

    def __init__(self, destination: str, unit: str, needed: int, available: int) -> None:
        super().__init__(
            f"no {unit} credit for destination {destination!r}: {needed} needed, {available} available",
            made=(destination, unit, needed, available),
        )
        self.destination: Final = destination
        self.unit: Final = unit
        self.needed: Final = needed
        self.available: Final = available


class LimitError(AmqpError):
    """The call would exceed one of our own limits (see `limits.Limits`).  `limit` is its name, `asked` what would be needed: by
    default one more than its `value`.

    Cause: the program asked for more than its own settings allow.
    What to do: ask for less, or raise the limit in the config.
    In doubt: nothing.  Nothing was sent.
    """

    def __init__(self, limit: str, value: int, asked: int | None = None) -> None:
        asked = value + 1 if asked is None else asked
        super().__init__(f"limit {limit} is {value}; {asked} asked for", made=(limit, value, asked))
        self.limit: Final = limit
        self.value: Final = value
        self.asked: Final = asked


class ConnectionClosedError(AmqpError):
    """The connection is over or closing: a race with the peer, not misuse.

    Cause: `cause` names the side that closed it and its reason.
    What to do: connect again, or stop.
    In doubt: of this call nothing: it sent nothing.
    """

    def __init__(self, said: str, cause: str) -> None:
        super().__init__(f"{said}: the connection is closed: {cause}", made=(said, cause))
        self.said: Final = said
        self.cause: Final = cause


class SessionDetachedError(AmqpError):
    """The session is not attached: a race with the peer, not misuse.

    Cause: `cause` names the side that detached it and its reason.  Raised by a message: the session that delivered it is over.
    What to do: nothing for a message, which will be redelivered; otherwise open another session.
    In doubt: of this call nothing: it sent nothing.
    """

    def __init__(self, said: str, session: bytes, cause: str) -> None:
        super().__init__(f"{said}: session {session_name(session)} is not attached: {cause}", made=(said, session, cause))
        self.said: Final = said
        self.session: Final = session
        self.cause: Final = cause


class RestoreError(AmqpError, ValueError):
    """A snapshot or journal entry that cannot be restored: it is damaged, of another version, or out of order.

    `what` names the part ("snapshot", "journal entry 12"), `rule` says what would have been right.

    Cause: a file that was damaged, or written by another version.
    What to do: restore from a copy, or with the version that wrote it.
    In doubt: nothing.  Nothing was restored.
    """

    def __init__(self, what: str, rule: str) -> None:
        super().__init__(f"{what}: {rule}", made=(what, rule))
        self.what: Final = what
        self.rule: Final = rule


class ChannelClosedError(AmqpError):
    """The channel is over or closing: a race with the peer, not misuse.

    Cause: `cause` names the side that closed it and its reason.
    What to do: open another channel.
    In doubt: of this call nothing: it sent nothing.
    """

    def __init__(self, said: str, channel: int, cause: str) -> None:
        super().__init__(f"{said}: channel {channel} is closed: {cause}", made=(said, channel, cause))
        self.said: Final = said
        self.channel: Final = channel
        self.cause: Final = cause


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

    def __init__(self, said: str, channel: int | None) -> None:
        where = "the connection is blocked" if channel is None else f"the other side has paused channel {channel}"
        super().__init__(f"{said}: {where}", made=(said, channel))
        self.said: Final = said
        self.channel: Final = channel


class CapabilityMissing(AmqpError):
    """The peer has not announced the `capability` that this call needs.

    Cause: another server, or an older version of it.
    What to do: do without it, or use a server that has it.
    In doubt: nothing.  Nothing was sent.
    """

    def __init__(self, said: str, capability: str) -> None:
        super().__init__(f"{said}: the other side does not have the capability {capability}", made=(said, capability))
        self.said: Final = said
        self.capability: Final = capability
