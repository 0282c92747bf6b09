"""The interface between a connection and its endpoints, one for each channel number.

A Connection is a carrier; the tests of sessions use one made of two lists.

Names with a leading underscore are not for applications.  The engine's modules, and the broker and the client that are built on
it, call them on one another to skip the checks of the public methods (docs/topics/laws.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from amqp_sansio.config import Profile
from amqp_sansio.engine.capabilities import Capabilities
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.events import Event, Origin, Violation
from amqp_sansio.limits import MAX_CHANNELS, Limits
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import Assembly, Cut, Malformed, Reader
from amqp_sansio.wire.reading import Reading

Role: TypeAlias = Literal["client", "server"]

CommandId: TypeAlias = int
"""The id of a command in one half of a session: 0 to 2**32 - 1, then 0 again."""


def rule_of(what: str, error: DecodeError) -> str:
    """Returns the rule that undecodable octets break: one of our limits, or that a `what` (such as a control) be decodable."""
    return f"limits.{error.limit}" if error.limit is not None else f"{what}.undecodable"


def legal_of(error: DecodeError) -> tuple[str, ...]:
    """Returns what would have been accepted: the limit's value, or nothing where the octets are malformed."""
    return (error.rule.partition(";")[0],) if error.limit is not None else ()


def violation_of(speaker: str, malformed: Malformed) -> Violation:
    """Returns the violation that the sender of a malformed frame committed."""
    return Violation(
        speaker, malformed.rule, malformed.said, malformed.legal, malformed.code, malformed.channel, malformed.offset,
        malformed.text,
    )  # fmt: skip


def clip(text: str) -> str:
    """Truncates a text to what a str8 holds: 255 octets."""
    return text.encode(errors="replace")[:255].decode(errors="ignore")


class Carrier:
    """A connection as its endpoints see it.

    A base class rather than a protocol: each message makes several calls to it.
    """

    def __init__(
        self, role: Role, codec: Codec, limits: Limits, profile: Profile, max_frame_size: int, *, eager_headers: bool
    ) -> None:
        self.role: Final[Role] = role
        """The role of this side."""
        self.peer: Final[Role] = "server" if role == "client" else "client"
        self.codec: Final = codec
        """Encodes and decodes methods."""
        self.limits: Final = limits
        """The limits on what a peer may cost."""
        self.profile: Final = profile
        """How closely to follow the letter of the specification."""
        self.eager_headers: Final = eager_headers
        """True when an undecodable header field is a violation on receipt."""
        self.reading: Final = Reading.of(limits, canonical=profile.strict)
        """The limits and the profile in the form that the layout takes."""
        self._capabilities = Capabilities()
        self._blocked = False
        self._max_frame_size = max_frame_size
        self._channel_max = MAX_CHANNELS - 1
        self._closed_cause: str | None = None
        self._wake: Callable[[], object] | None = None  # called once there is output to take, or the connection has ended
        self._outbox: list[bytes] = []
        self._written = 0  # octets, those in the outbox included
        self._taken = 0

    @property
    def capabilities(self) -> Capabilities:
        """What both sides announced that they support beyond their version (0-8 to 0-9-1)."""
        return self._capabilities

    @property
    def blocked(self) -> bool:
        """Whether the server has paused publishing on the connection (connection.blocked, 0-9-1)."""
        return self._blocked

    def capable(self, capability: str) -> bool:
        """Returns whether the other side announced this capability."""
        return capability in self.capabilities.of(self.peer)

    def _decode(self, unit: Assembly) -> Control | None:
        """Decodes the control of a unit; None when it cannot be decoded, and then the connection has failed."""
        try:
            return self.codec.read_control(unit, self.reading)
        except DecodeError as error:
            said, code = self.codec.said_in(unit), self.codec.code_of(error)
            self._blame(unit, rule_of("control", error), said, legal_of(error), str(error), code)
            return None

    def _blame(
        self, unit: Assembly, rule: str, said: str, legal: tuple[str, ...], text: str, code: int = CloseCode.FRAMING_ERROR
    ) -> None:
        """Reports that the peer broke a rule of the connection with this unit; see `_fail`."""
        self._fail(Violation(self.peer, rule, said, legal, code, unit.channel, unit.start, text))

    def _write(self, octets: bytes) -> None:
        """Appends whole frames to the output."""
        if self._wake is not None and self._written == self._taken:
            self._wake()
        self._outbox.append(octets)
        self._written += len(octets)

    @property
    def _has_room(self) -> bool:
        """Whether the output has room for frames that can wait."""
        raise NotImplementedError

    def _emit(self, event: Event) -> None:
        """Queues an event."""
        raise NotImplementedError

    def _ask(self) -> None:
        """Notes that the application was asked something: if it does not answer, the configured policy does."""
        raise NotImplementedError

    def _code(self, said: str, code: object) -> int:
        """Checks the code that the application gives for a close.  Raises LocalProtocolError for one that the dialect lacks."""
        raise NotImplementedError

    def _at_fault(self, verb: object) -> tuple[int, int] | None:
        """Returns class and method number of the verb at fault; None for "".  Raises EncodeError for an unknown verb."""
        found = self.codec.numbers_of(verb) if isinstance(verb, str) else None
        if found is None and verb != "":
            raise EncodeError("method", f'takes the name of one that the dialect has, such as "queue.bind", not {verb!r:.80}')
        return found

    def _close_for(self, code: int, text: str, verb: str) -> None:
        """Closes the connection because the application refuses what the other side sent; `verb` names it, "" for nothing."""
        raise NotImplementedError

    def _fail(self, violation: Violation, verb: str = "") -> None:
        """Closes the connection because the peer broke a rule; ConnectionClosed(VIOLATION) is the last event.

        `verb` is the method at fault, where the violation's `said` does not begin with it.
        """
        raise NotImplementedError


class Unheard:
    """The type of UNHEARD: the next unit is not an answer."""

    __slots__ = ()


UNHEARD: Final = Unheard()

Answered: TypeAlias = Event | Unheard | None
"""The event of an answer; None where it has none, or shares one with other answers; UNHEARD when the next unit is not an
answer."""


class Endpoints:
    """All endpoints of one connection.

    A base class rather than a protocol: every message passes through it.  A Connection hands over each unit that is not its
    own, on a channel within the negotiated range, and calls `flush` before its octets are taken.
    """

    def __init__(self) -> None:
        self.pending = 0
        """The number of endpoints that have gathered something to write; when 0, `flush` does nothing."""
        self.roomless = 0
        """The number of endpoints that wait for room in the output; when 0, `go_on` does nothing."""

    def begin(self, reader: Reader) -> None:
        """Receives the reader of the other side's frames, once its protocol header has arrived."""
        raise NotImplementedError

    def flush(self) -> None:
        """Writes what the endpoints have gathered."""
        raise NotImplementedError

    def go_on(self) -> None:
        """Lets the first endpoint that waits for room continue, after octets were taken."""
        raise NotImplementedError

    def hear(self, unit: Assembly) -> None:
        """Handles a complete unit that does not belong to the connection itself."""
        raise NotImplementedError

    def hear_plain(self, cut: Cut) -> Event | None:
        """Handles a message that repeats an earlier one (`Reader.cut_run`); returns its event, or None when it has none."""
        raise NotImplementedError

    def hear_answer(self) -> Answered:
        """Reads the next unit if it confirms messages and no other unit is incomplete."""
        raise NotImplementedError

    def hear_malformed(self, malformed: Malformed) -> None:
        """Handles a malformed frame that concerns a single endpoint."""
        raise NotImplementedError

    def hear_passed(self, passed: Mapping[int, int], offset: int) -> None:
        """Counts skipped octets of aborted contents, by channel in `passed`, up to `offset` in the stream."""
        raise NotImplementedError

    def lose(self, origin: Origin, text: str, violation: Violation | None) -> None:
        """Ends all endpoints before ConnectionClosed is queued, because the connection ends."""
        raise NotImplementedError
