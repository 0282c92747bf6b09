"""A connection and its endpoints, one for each channel number, as they see one another: what each asks of the other.

A Connection is a carrier; the tests of sessions use one made of two lists.

An underscore before a name means: not for programs.  Rooms of the engine, and the broker and the client built on it, use such
names of one another, without the checks that stand before them in what is public (docs/topics/laws.md).
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
"""The id of a command in one half of a session: 0 to 2**32 - 1, after which comes 0 again."""

_OTHER: Final[dict[Role, Role]] = {"client": "server", "server": "client"}


def rule_of(what: str, error: DecodeError) -> str:
    """The rule that octets break: a limit of ours, or that a control, command or header ("what") can be read at all."""
    return f"limits.{error.limit}" if error.limit is not None else f"{what}.undecodable"


def legal_of(error: DecodeError) -> tuple[str, ...]:
    """What would have been let pass: as much as the limit; nothing that can be listed where the octets are wrong."""
    return (error.rule.partition(";")[0],) if error.limit is not None else ()


def violation_of(speaker: str, malformed: Malformed) -> Violation:
    """What is wrong with a frame, as what its speaker did."""
    rule, said, legal, text = malformed.rule, malformed.said, malformed.legal, malformed.text
    return Violation(speaker, rule, said, legal, malformed.code, malformed.channel, malformed.offset, text)


def clip(text: str) -> str:
    """As much of a text as a str8 carries: 255 octets."""
    return text.encode(errors="replace")[:255].decode(errors="ignore")


class Carrier:
    """A connection as its endpoints see it.  A base class, for a message asks it several things."""

    def __init__(
        self, role: Role, codec: Codec, limits: Limits, profile: Profile, max_frame_size: int, *, eager_headers: bool
    ) -> None:
        self.role: Final[Role] = role
        """Which side we are."""
        self.peer: Final[Role] = _OTHER[role]
        self.codec: Final = codec
        """Encodes and decodes methods."""
        self.limits: Final = limits
        """What an endpoint may cost."""
        self.profile: Final = profile
        """How closely the letter is followed."""
        self.eager_headers: Final = eager_headers
        """True when a header field that cannot be read is a violation on receipt."""
        self.reading: Final = Reading.of(limits, canonical=profile.strict)
        """What decoding may cost and lets pass: the limits and the profile, as the layout takes them."""
        self._capabilities = Capabilities()
        self._blocked = False
        self._max_frame_size = max_frame_size
        self._channel_max = MAX_CHANNELS - 1
        self._closed_cause: str | None = None
        self._wake: Callable[[], object] | None = None  # called when there is something to take, or an end, and was none before

    @property
    def capabilities(self) -> Capabilities:
        """What both sides said that they can do beyond their version (0-8 to 0-9-1)."""
        return self._capabilities

    @property
    def blocked(self) -> bool:
        """Whether the server said that it reads nothing of what is published (connection.blocked, 0-9-1)."""
        return self._blocked

    def capable(self, capability: str) -> bool:
        """Whether the other side said that it can do this."""
        return capability in self.capabilities.of(self.peer)

    def _decode(self, unit: Assembly) -> Control | None:
        """The control of a unit; None where there is none, and then the connection has failed."""
        try:
            return self.codec.read_control(unit, self.reading)
        except DecodeError as error:
            said, code = self.codec.said_in(unit), self.codec.code_of(error)
            self._blame(unit, rule_of("control", error), said, legal_of(error), str(error), code)
            return None

    def _blame(
        self, unit: Assembly, rule: str, said: str, legal: tuple[str, ...], text: str, code: int = CloseCode.FRAMING_ERROR
    ) -> None:
        """The peer broke a rule of the connection with this unit: see `_fail`."""
        self._fail(Violation(self.peer, rule, said, legal, code, unit.channel, unit.start, text))

    def _write(self, octets: bytes) -> None:
        """Appends whole frames to the output."""
        raise NotImplementedError

    @property
    def _has_room(self) -> bool:
        """Whether there is room for more of what can wait."""
        raise NotImplementedError

    def _emit(self, event: Event) -> None:
        """Puts an event behind those that wait to be handed out."""
        raise NotImplementedError

    def _ask(self) -> None:
        """The application was asked something: if it does not answer, the policy does."""
        raise NotImplementedError

    def _code(self, said: str, code: object) -> int:
        """A code that the application gives for a close.  LocalProtocolError for one that the dialect does not have."""
        raise NotImplementedError

    def _at_fault(self, verb: object) -> tuple[int, int] | None:
        """Class and method of the one that the application blames, None for "".  EncodeError for what is none."""
        found = self.codec.numbers_of(verb) if isinstance(verb, str) else None
        if found is None and verb != "":
            raise EncodeError("method", f'takes the name of one that the dialect has, such as "queue.bind", not {verb!r:.80}')
        return found

    def _close_for(self, code: int, text: str, verb: str) -> None:
        """The application refuses what the other side said by ending the connection; `verb` names it, "" for nothing."""
        raise NotImplementedError

    def _fail(self, violation: Violation, verb: str = "") -> None:
        """The peer broke a rule of the connection: sends it a close; ConnectionClosed(VIOLATION) is the last event.

        `verb` is the method at fault, where what the violation says does not begin with it.
        """
        raise NotImplementedError


class Unheard:
    """No answer was next."""

    __slots__ = ()


UNHEARD: Final = Unheard()

Answered: TypeAlias = Event | Unheard | None
"""The event of an answer, None where it has none or that waits with others, UNHEARD where the next unit is none."""


class Endpoints:
    """Those of one connection.  A base class, for every message goes through it.

    A Connection hands every unit to them that is not its own, on a channel that was agreed on, and takes the frames of what
    they gathered before its octets are taken.
    """

    def __init__(self) -> None:
        self.pending = 0
        """How many of them have something to write that they gathered: 0 when `flush` would do nothing."""
        self.roomless = 0
        """How many of them have more to say than there was room for: 0 when `go_on` would do nothing."""

    def begin(self, reader: Reader) -> None:
        """The other side's protocol header has arrived: `reader` reads the frames after it."""
        raise NotImplementedError

    def flush(self) -> None:
        """Writes what they gathered."""
        raise NotImplementedError

    def go_on(self) -> None:
        """Octets were taken and there is room again: the first of those that wait for it goes on."""
        raise NotImplementedError

    def hear(self, unit: Assembly) -> None:
        """A whole unit that is not the connection's own."""
        raise NotImplementedError

    def hear_plain(self, cut: Cut) -> Event | None:
        """A message like others before it (`Reader.cut_run`): its event, None where it has none."""
        raise NotImplementedError

    def hear_answer(self) -> Answered:
        """Reads the next unit if it is what tells that messages are safe, and nothing is under way."""
        raise NotImplementedError

    def hear_malformed(self, malformed: Malformed) -> None:
        """What is wrong with a frame, where that concerns one endpoint alone."""
        raise NotImplementedError

    def hear_passed(self, passed: Mapping[int, int], offset: int) -> None:
        """Octets of what was broken off were passed over, up to `offset` in the stream; `passed` counts them by channel."""
        raise NotImplementedError

    def lose(self, origin: Origin, text: str, violation: Violation | None) -> None:
        """The connection ends: they hear of it before ConnectionClosed is queued."""
        raise NotImplementedError
