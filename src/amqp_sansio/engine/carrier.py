"""What endpoints need of the connection that carries them, and nothing more.

A Connection is one; the tests of sessions use one made of two lists.

An underscore before a name means: not for programs.  Rooms of the engine, and the broker and the client built on it, use such
names of one another, without the checks that stand before them in what is public (docs/topics/laws.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from amqp_sansio.config import Profile
from amqp_sansio.engine.capabilities import Capabilities
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.events import Event, Violation
from amqp_sansio.limits import MAX_CHANNELS, Limits
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.wire.assembly import Assembly, Malformed
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.reading import Reading

Role: TypeAlias = Literal["client", "server"]

CommandId: TypeAlias = int
"""The id of a command in one half of a session: 0 to 2**32 - 1, after which comes 0 again."""

_OTHER: Final[dict[Role, Role]] = {"client": "server", "server": "client"}


def octets_of(data: object, what: str = "body") -> bytes:
    """Octets that the application gives, as bytes.  EncodeError for what is none: bytes() would make some of a number, too."""
    if type(data) is bytes:
        return data
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise EncodeError(what, f"takes octets, not {type(data).__name__}")
    return bytes(data)


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

    def _fail(self, violation: Violation) -> None:
        """The peer broke a rule of the connection: sends it a close; ConnectionClosed(VIOLATION) is the last event."""
        raise NotImplementedError
