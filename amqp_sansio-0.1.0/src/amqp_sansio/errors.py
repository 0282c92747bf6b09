"""Every exception this library raises: all of them name what, where and which rule.

A peer can never make the library raise; what a peer does wrong is an event.  What is here is raised for a *caller*: for misuse
(`LocalProtocolError`, `EncodeError`, `NoCredit`, `LimitError`), for a race with the other side (`ConnectionClosedError`,
`SessionDetachedError`), for octets handed to the wire functions directly (`DecodeError`) and for reading a header field
that the walk on receipt could not vouch for (`HeaderError`) and for what a broker is to be restored from (`RestoreError`).
"""

from __future__ import annotations

from typing import Final


class AmqpError(Exception):
    """The base of every exception of this library.

    Its text may quote what a peer said: characters that are not printable are escaped in it, so that no peer writes to a
    terminal or forges a line of a log.  The attributes hold the peer's words as they are.
    """

    seen = False
    """Whether a caller of a session has seen it: then the end of the session does not raise it again."""

    def __str__(self) -> str:
        text = super().__str__()
        return text if text.isprintable() else "".join([each if each.isprintable() else _escaped(each) for each in text])


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


class EncodeError(AmqpError, ValueError):
    """A value that its wire type cannot carry.  Nothing was sent and nothing has changed.

    `what` names the class, field or type; `rule` says what would have been right.
    """

    def __init__(self, what: str, rule: str) -> None:
        super().__init__(f"{what}: {rule}")
        self.what: Final = what
        self.rule: Final = rule
        self._inside: object = None  # the map, list, array or struct in which it was found: what holds that need not look again

    def __reduce__(self) -> tuple[type[EncodeError], tuple[str, str]]:
        return type(self), (self.what, self.rule)


class DecodeError(AmqpError, ValueError):
    """Octets that are not what they should be.  Raised by the wire functions; a Connection turns it into an event.

    `what` names the class, field or type, `octet` is the offset in the octets that were given (of the first octet that is
    wrong, as near as is known), `rule` says which rule was broken, `code` is the error code that the specification gives
    for it: 501 for controls and frames, 503 for what cannot be decoded, 531 for a value outside its domain, 540 for a
    command that nobody knows.
    """

    def __init__(self, what: str, octet: int, rule: str, code: int = 503) -> None:
        super().__init__(f"{what} at octet {octet}: {rule} ({code})")
        self.what: Final = what
        self.octet: Final = octet
        self.rule: Final = rule
        self.code: Final = code

    @property
    def limit(self) -> str | None:
        """The name of the one of our limits that stands in the way; None when the octets are wrong in themselves."""
        return self.rule.split()[1] if self.rule.startswith("limit ") else None

    def __reduce__(self) -> tuple[type[DecodeError], tuple[str, int, str, int]]:
        return type(self), (self.what, self.octet, self.rule, self.code)


class HeaderError(DecodeError):
    """A field of a header struct cannot be read.  `what` is "struct.field"; the message itself has arrived whole."""


class LocalProtocolError(AmqpError):
    """The caller asked for something that is illegal now.  Nothing was sent and nothing has changed.

    `said` is what was asked for, `state` where the conversation stands, `legal` what would have been legal,
    `rule` the path of the specification's rule or a sentence.
    """

    def __init__(self, said: str, state: str, legal: tuple[str, ...] = (), rule: str = "") -> None:
        would = f"; legal now: {', '.join(legal)}" if legal else "; nothing is legal now"
        why = f" ({rule})" if rule else ""
        super().__init__(f"{said} is not legal in state {state}{why}{would}")
        self.said: Final = said
        self.state: Final = state
        self.legal: Final = legal
        self.rule: Final = rule

    def __reduce__(self) -> tuple[type[LocalProtocolError], tuple[str, str, tuple[str, ...], str]]:
        return type(self), (self.said, self.state, self.legal, self.rule)


class NoCredit(AmqpError):
    """The other side has not granted the credit that this needs: a matter of timing, not misuse.  Nothing was sent.

    `unit` is "message" or "byte"; `needed` and `available` are in that unit.
    """

    def __init__(self, destination: str, unit: str, needed: int, available: int) -> None:
        super().__init__(f"no {unit} credit for destination {destination!r}: {needed} needed, {available} available")
        self.destination: Final = destination
        self.unit: Final = unit
        self.needed: Final = needed
        self.available: Final = available

    def __reduce__(self) -> tuple[type[NoCredit], tuple[str, str, int, int]]:
        return type(self), (self.destination, self.unit, self.needed, self.available)


class LimitError(AmqpError):
    """One of our own limits (see `limits.Limits`) stands in the way.  `limit` is its name.  Nothing was sent."""

    def __init__(self, limit: str, value: int, asked: int) -> None:
        super().__init__(f"limit {limit} is {value}; {asked} asked for")
        self.limit: Final = limit
        self.value: Final = value
        self.asked: Final = asked

    def __reduce__(self) -> tuple[type[LimitError], tuple[str, int, int]]:
        return type(self), (self.limit, self.value, self.asked)


class ConnectionClosedError(AmqpError):
    """The connection is over or closing: a race with the other side, not misuse.  `cause` tells who closed it and why."""

    def __init__(self, said: str, cause: str) -> None:
        super().__init__(f"{said}: the connection is closed: {cause}")
        self.said: Final = said
        self.cause: Final = cause

    def __reduce__(self) -> tuple[type[ConnectionClosedError], tuple[str, str]]:
        return type(self), (self.said, self.cause)


class SessionDetachedError(AmqpError):
    """The session is not attached now: a race with the other side, not misuse.  `cause` tells who detached it and why."""

    def __init__(self, said: str, session: bytes, cause: str) -> None:
        super().__init__(f"{said}: session {session!r} is not attached: {cause}")
        self.said: Final = said
        self.session: Final = session
        self.cause: Final = cause

    def __reduce__(self) -> tuple[type[SessionDetachedError], tuple[str, bytes, str]]:
        return type(self), (self.said, self.session, self.cause)


class RestoreError(AmqpError, ValueError):
    """Nothing can be restored from this snapshot or journal entry: it is damaged, of another version, or out of order.

    `what` names the part ("snapshot", "journal entry 12"), `rule` says what would have been right.  Nothing was restored.
    """

    def __init__(self, what: str, rule: str) -> None:
        super().__init__(f"{what}: {rule}")
        self.what: Final = what
        self.rule: Final = rule

    def __reduce__(self) -> tuple[type[RestoreError], tuple[str, str]]:
        return type(self), (self.what, self.rule)


class ChannelClosedError(AmqpError):
    """The channel is over or closing: a race with the other side, not misuse.  `cause` tells who closed it and why."""

    def __init__(self, said: str, channel: int, cause: str) -> None:
        super().__init__(f"{said}: channel {channel} is closed: {cause}")
        self.said: Final = said
        self.channel: Final = channel
        self.cause: Final = cause

    def __reduce__(self) -> tuple[type[ChannelClosedError], tuple[str, int, str]]:
        return type(self), (self.said, self.channel, self.cause)


class StaleDelivery(ChannelClosedError):
    """The delivery came on a channel that is closed: the server delivers it again, and it cannot be settled any more."""


class FlowStopped(AmqpError):
    """The other side has paused what is published (`channel`), or the server of the connection is blocked (None): a matter of
    timing, not misuse.  Nothing was sent."""

    def __init__(self, said: str, channel: int | None) -> None:
        where = "the connection is blocked" if channel is None else f"the other side has paused channel {channel}"
        super().__init__(f"{said}: {where}")
        self.said: Final = said
        self.channel: Final = channel

    def __reduce__(self) -> tuple[type[FlowStopped], tuple[str, int | None]]:
        return type(self), (self.said, self.channel)


class CapabilityMissing(AmqpError):
    """The other side has not said that it has the `capability` that this needs.  Nothing was sent."""

    def __init__(self, said: str, capability: str) -> None:
        super().__init__(f"{said}: the other side does not have the capability {capability}")
        self.said: Final = said
        self.capability: Final = capability

    def __reduce__(self) -> tuple[type[CapabilityMissing], tuple[str, str]]:
        return type(self), (self.said, self.capability)
