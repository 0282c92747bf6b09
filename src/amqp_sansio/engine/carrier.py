"""What a channel and its session need of the connection that carries them, and nothing more.

A Connection is one; the tests of sessions use one made of two lists.

An underscore before a name means: not for programs.  Rooms of the engine, and the broker and the client built on it, use such
names of one another, without the checks that stand before them in what is public (docs/topics/laws.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from amqp_sansio.config import Profile
from amqp_sansio.errors import EncodeError
from amqp_sansio.events import Event, Violation
from amqp_sansio.kernel.serials import TOP, whole
from amqp_sansio.limits import Limits
from amqp_sansio.spec.message import Transfer
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.reading import Reading

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session
    from amqp_sansio.engine.standing import Standing
    from amqp_sansio.engine.subscription import Subscription

Role: TypeAlias = Literal["client", "server"]

CommandId: TypeAlias = int
"""The id of a command in one half of a session: 0 to 2**32 - 1, after which comes 0 again."""


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


class Carrier(Protocol):
    """A connection as its channels see it."""

    @property
    def role(self) -> Role:
        """Which side we are."""
        ...

    @property
    def layout(self) -> Layout:
        """How controls, commands and structs become octets."""
        ...

    @property
    def limits(self) -> Limits:
        """What a session may cost."""
        ...

    @property
    def profile(self) -> Profile:
        """How closely the letter is followed."""
        ...

    @property
    def eager_headers(self) -> bool:
        """True when a header field that cannot be read is a violation on receipt."""
        ...

    @property
    def reading(self) -> Reading:
        """What decoding may cost and lets pass: the limits and the profile, as the layout takes them."""
        ...

    @property
    def _max_frame_size(self) -> int:
        """Octets of the largest frame, its header included, as agreed."""
        ...

    @property
    def _closed_cause(self) -> str | None:
        """Why nothing may be said any more on the connection; None while it is open."""
        ...

    def _write(self, octets: bytes) -> None:
        """Appends whole frames to the output."""
        ...

    @property
    def _has_room(self) -> bool:
        """Whether there is room for more of what can wait."""
        ...

    def _wait_for_room(self, session: Session) -> None:
        """`replaying.go_on(session)` wants to be called when octets were taken."""
        ...

    def _emit(self, event: Event) -> None:
        """Puts an event behind those that are waiting to be handed out."""
        ...

    def _fail(self, violation: Violation) -> None:
        """The peer broke a rule of the connection: close 501, and ConnectionClosed(VIOLATION) in the end."""
        ...

    def _touch(self, session: Standing) -> None:
        """`session._flush_pending()` wants to be called before the next octets are taken."""
        ...

    def _forget(self, channel: int) -> None:
        """Drops what is under way on track 1 of a channel (`SegmentReader.forget`)."""
        ...

    def _learn(self, channel: int, payload: bytes, transfer: Transfer, sync: bool, subscription: Subscription | None) -> None:
        """A transfer command was decoded from this segment: the same octets mean the same again, for the same subscription."""
        ...

    def _unlearn(self) -> None:
        """Subscriptions have changed: what was learned is forgotten."""
        ...

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions on this connection."""
        ...

    def session_named(self, name: bytes) -> Session | None:
        """The session of that name that is attached on any channel of this connection, None when there is none."""
        ...


class Assembly(Protocol):
    """What a channel reads of a command assembly (see `wire.segments.Assembly`)."""

    @property
    def payload(self) -> bytes:
        """The command segment."""
        ...

    @property
    def header(self) -> bytes | None:
        """The header segment; None when there was none."""
        ...

    @property
    def body(self) -> bytes | None:
        """The body segment; None when there was none."""
        ...

    @property
    def start(self) -> int:
        """The offset of its first frame in the peer's octets."""
        ...
