"""What endpoints need of the connection that carries them, and nothing more.

A Connection is one; the tests of sessions use one made of two lists.

An underscore before a name means: not for programs.  Rooms of the engine, and the broker and the client built on it, use such
names of one another, without the checks that stand before them in what is public (docs/topics/laws.md).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from amqp_sansio.config import Profile
from amqp_sansio.engine.breach import legal_of, rule_of
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.events import Event, Violation
from amqp_sansio.kernel.serials import TOP, whole
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.wire.assembly import Assembly
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.reading import Reading

Role: TypeAlias = Literal["client", "server"]

CommandId: TypeAlias = int
"""The id of a command in one half of a session: 0 to 2**32 - 1, after which comes 0 again."""

_OTHER: Final[dict[Role, Role]] = {"client": "server", "server": "client"}


def name_of(name: object) -> bytes:
    """The name of a session, which callers may have given anything for: octets, or text, which is UTF-8.  EncodeError."""
    try:
        octets = name.encode() if isinstance(name, str) else memoryview(name).tobytes()  # type: ignore[arg-type]  # or TypeError
    except (TypeError, ValueError):
        raise EncodeError("session.name", f"takes octets or text, not {type(name).__name__} {name!r:.40}") from None
    if len(octets) > 0xFFFF:
        raise EncodeError("session.name", f"at most 65535 octets, not {len(octets)}")
    return octets


def check_seconds(seconds: object) -> None:
    """EncodeError for what is no lifetime of a detached session."""
    if seconds is not None and not whole(seconds):
        raise EncodeError("session.timeout", f"takes 0 to {TOP} seconds, or None for ever, not {seconds!r:.40}")


class Carrier:
    """A connection as its endpoints see it.  A base class, for a message asks it several things."""

    def __init__(
        self, role: Role, layout: Layout, limits: Limits, profile: Profile, max_frame_size: int, *, eager_headers: bool
    ) -> None:
        self.role: Final[Role] = role
        """Which side we are."""
        self.peer: Final[Role] = _OTHER[role]
        self.layout: Final = layout
        """How what is said becomes octets."""
        self.limits: Final = limits
        """What an endpoint may cost."""
        self.profile: Final = profile
        """How closely the letter is followed."""
        self.eager_headers: Final = eager_headers
        """True when a header field that cannot be read is a violation on receipt."""
        self.reading: Final = Reading.of(limits, canonical=profile.strict)
        """What decoding may cost and lets pass: the limits and the profile, as the layout takes them."""
        self._max_frame_size = max_frame_size
        self._closed_cause: str | None = None

    def _decode(self, unit: Assembly) -> Control | None:
        """The control of a unit; None where there is none, and then the connection has failed."""
        payload = unit.payload
        try:
            return self.layout.decode_control(payload, 0, len(payload), self.reading)
        except DecodeError as error:
            said = self.layout.verb_of("control", payload[0], payload[1]) if len(payload) > 1 else "a control without a code"
            self._fail(
                Violation(
                    self.peer, rule_of("control", error), said, legal_of(error), CloseCode.FRAMING_ERROR, unit.channel,
                    unit.start, str(error),
                )
            )  # fmt: skip
            return None

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

    def _fail(self, violation: Violation) -> None:
        """The peer broke a rule of the connection: it is told by close, and ConnectionClosed(VIOLATION) ends it all."""
        raise NotImplementedError
