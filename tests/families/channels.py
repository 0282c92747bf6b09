"""Conversations of 0-8, 0-9 and 0-9-1 for an observer."""

from __future__ import annotations

from typing import Final

from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9_1, AMQP_0_9_RABBITMQ, AMQP_0_10, Dialect
from amqp_sansio.engine.checker import Observed, Speaker
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Note, Violation
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.wire.method_codec import MethodCodec
from amqp_sansio.wire.method_frames import put_frame

EIGHT: Final = AMQP_0_8_UNBIND
NINE: Final = AMQP_0_9_RABBITMQ
ONE: Final = AMQP_0_9_1
FAMILY: Final = (ONE, NINE, EIGHT)
ALL: Final = (AMQP_0_10, *FAMILY)


Said = tuple[Speaker, bytes]


def payload(dialect: Dialect[MethodCodec], verb: str, **said: object) -> bytes:
    """A method with these arguments; the others are 0, empty or false."""
    kind = next(kind for kind in dialect.codec.kinds.values() if verb == kind.VERB)
    return dialect.codec.encode(kind(**said))


def frame(dialect: Dialect[MethodCodec], verb: str, channel: int = 1, **said: object) -> bytes:
    """The frame of a method."""
    return put_frame(1, channel, payload(dialect, verb, **said))


def content(body: bytes = b"", channel: int = 1, properties: bytes = b"\0\0", size: int | None = None, of: int = 60) -> bytes:
    """The frames of a content, one for its body."""
    octets = len(body) if size is None else size
    head = put_frame(2, channel, of.to_bytes(2, "big") + b"\0\0" + octets.to_bytes(8, "big") + properties)
    return head + (put_frame(3, channel, body) if body else b"")


def opening(
    dialect: Dialect[MethodCodec], able: tuple[str, ...] = (), channels: int = 2047, frame_max: int = 131072, opens: int = 1
) -> list[Said]:
    """A connection up to open channels; the client has the capabilities that are named, the server has those of RabbitMQ."""
    servers = ("publisher_confirms", "exchange_exchange_bindings", "basic.nack", "consumer_cancel_notify", "connection.blocked")
    properties = {"capabilities": dict.fromkeys(able, True)} if able else {}
    return [
        ("C", dialect.header),
        ("S", frame(dialect, "connection.start", 0, server_properties={"capabilities": dict.fromkeys(servers, True)},
                    mechanisms=("PLAIN", "AMQPLAIN"), locales=("en_US",))),
        ("C", frame(dialect, "connection.start-ok", 0, client_properties=properties, mechanism="PLAIN",
                    response=b"\0guest\0hush-hush", locale="en_US")),
        ("S", frame(dialect, "connection.tune", 0, channel_max=2047, max_frame_size=131072, heartbeat_max=60)),
        ("C", frame(dialect, "connection.tune-ok", 0, channel_max=channels, max_frame_size=frame_max)
         + frame(dialect, "connection.open", 0, virtual_host="/")),
        ("S", frame(dialect, "connection.open-ok", 0)),
        *[each for number in range(1, opens + 1) for each in opened(dialect, number)],
    ]  # fmt: skip


def opened(dialect: Dialect[MethodCodec], channel: int) -> list[Said]:
    """A channel is opened."""
    return [("C", frame(dialect, "channel.open", channel)), ("S", frame(dialect, "channel.open-ok", channel))]


def observe(said: list[Said], strict: bool = False, piece: int = 0, limits: Limits = DEFAULT_LIMITS) -> list[Observed]:
    """What an observer of all dialects makes of it; `piece`: in pieces of so many octets."""
    watch = Observer(strict=strict, dialects=ALL, limits=limits)
    found: list[Observed] = []
    for speaker, octets in said:
        for at in range(0, len(octets), piece or len(octets)):
            watch.receive_data(speaker, octets[at : at + (piece or len(octets))])
            found += watch.events()
    watch.finish()
    return [*found, *watch.events()]


def broken(found: list[Observed]) -> list[str]:
    """The violations, as "C rule"."""
    return [f"{event.speaker} {event.rule}" for _, _, _, event in found if isinstance(event, Violation)]


def notes(found: list[Observed]) -> list[str]:
    """The rules of the notes."""
    return [event.rule for _, _, _, event in found if isinstance(event, Note)]


def c(verb: str, **said: object) -> Said:
    """The client of 0-9-1 says a method on channel 1."""
    return "C", frame(ONE, verb, 1, **said)


def s(verb: str, **said: object) -> Said:
    """The server likewise."""
    return "S", frame(ONE, verb, 1, **said)


def told(*words: Said, strict: bool = False, limits: Limits | None = None, dialect: Dialect[MethodCodec] = ONE) -> list[str]:
    """What an observer finds in this on an open channel: violations as "C rule", and the rules of the notes."""
    found = observe([*opening(dialect), *words], strict, limits=limits or Limits())
    return broken(found) + [note for note in notes(found) if note != "framing"]
