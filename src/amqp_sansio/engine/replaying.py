"""Replays the commands of a resumed session, as fast as its connection has room."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from amqp_sansio.engine.transmit import say_exception, violate
from amqp_sansio.events import Origin
from amqp_sansio.kernel.serials import TOP, MutableRangeSet, Range, RangeSet, serial_lt
from amqp_sansio.spec import execution
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.wire.frames import frame_command
from amqp_sansio.wire.framing import Assembly
from amqp_sansio.wire.segments import codes_of

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session


class Replaying:
    """Steps through the ids that the peer expects: first those that were not kept, then those of the commands to replay.

    Each step costs the same however much is kept, and skips what is no longer kept.
    """

    __slots__ = ("_gaps", "_ids")

    def __init__(self, kept: MutableRangeSet, wanted: RangeSet) -> None:
        spans: list[Range] = []
        for low, high in wanted.ranges:
            spans += [(low, high)] if low <= high else [(low, TOP), (0, high)]
        self._gaps: Final = _gaps(kept, spans)
        self._ids: Final = _ids(kept, spans)

    def gap(self, most: int) -> RangeSet:
        """Returns the next ids that are expected and not kept, in at most `most` ranges; none when all were returned."""
        return RangeSet(islice(self._gaps, most))

    def next(self) -> int | None:
        """Returns the next id to replay; None after the last one."""
        return next(self._ids, None)


def _gaps(kept: MutableRangeSet, spans: list[Range]) -> Iterator[Range]:
    """Yields the ranges of the spans that are not kept."""
    for start, stop in spans:
        while start <= stop:
            low, high = kept.first_within(start, stop) or (stop + 1, stop)
            if start < low:
                yield start, low - 1
            start = high + 1


def _ids(kept: MutableRangeSet, spans: list[Range]) -> Iterator[int]:
    """Yields the ids of the spans that are kept."""
    for start, stop in spans:
        while start <= stop and (first := kept.first_within(start, stop)) is not None:
            yield first[0]
            start = first[0] + 1


def resume(session: Session, ids: RangeSet) -> None:
    """Starts the replay of the commands that the peer has reported as missing."""
    outbound = session._outbound
    if not ids and not session.has_state:
        session._resumed(False)
        return
    if not ids:
        _give_up(session, Origin.PEER, f"the {session.peer} has no state of this session: it is lost")
        return
    if serial_lt(outbound.next_id, ids.last):
        violate(
            session,
            "session.expected.include-next-command",
            f"session.expected {ids}",
            (f"session.expected {RangeSet.of(outbound.next_id)}",),
            ErrorCode.INVALID_ARGUMENT,
            f"the next command was never sent: {outbound.next_id}",
        )
        return
    wanted = outbound.wanted(ids)
    missing = outbound.missing(wanted)
    if missing:
        _give_up(session, Origin.LOCAL, f"the {session.peer} expects commands {missing}, which the {session.role} did not keep")
        return
    session._replaying = Replaying(outbound.kept.ids, outbound.ever(wanted))
    go_on(session)


def go_on(session: Session) -> None:
    """Replays as much as the output has room for; after the last command the session is attached."""
    replaying, channel, outbound = session._replaying, session._place, session._outbound
    assert replaying is not None
    carrier = channel.carrier
    size = carrier._max_frame_size
    while carrier._has_room:
        gap = replaying.gap((size - 18) // 8)
        if gap:
            channel.say(controls.Gap(gap))
            continue
        id = replaying.next()
        if id is None:
            session._resumed()
            if session._inbound.resume():
                session._touch()
            return
        payload, header, body = outbound.kept[id]
        # Only deliveries may split their headers.
        if len(payload) > size - 12 or (len(header or b"") > size - 12 and not session.delivers):
            _give_up(session, Origin.LOCAL, f"command {id} does not fit into the frames of this connection")
            return
        if outbound.position != id:
            channel.say(controls.CommandPoint(id, 0))
            outbound.point(id)
        outbound.say_again(id)
        for frame in frame_command(channel.number, payload, header, body, size, session.delivers):
            carrier._write(frame)
    channel.channels.wait_for_room(session)


def octets_in(assembly: Assembly) -> int:
    """Returns the octets of the segments of a command."""
    return len(assembly.payload) + len(assembly.header or b"") + len(assembly.body or b"")


def holds(session: Session, assembly: Assembly) -> bool:
    """Returns whether a command that came before the session is attached can wait until then, by its octets."""
    octets, most = session._hold(octets_in(assembly)), session.limits.early_octets
    if octets <= most:
        return True
    said = session._place.layout.verb_of("command", *codes_of(assembly.payload))
    text = f"{octets} octets of commands came before all that was in doubt was sent again"
    legal = ("session.expected", f"at most {most} octets of commands before")
    violate(session, "limits.early_octets", said, legal, ErrorCode.RESOURCE_LIMIT_EXCEEDED, text)
    return False


def _give_up(session: Session, origin: Origin, text: str) -> None:
    """Ends a session that cannot be resumed.

    Tells the client why in an exception: session.detach has neither code nor text.
    """
    if session.role == "server":
        why = f"session cannot be resumed: {text}"
        say_exception(session, execution.Exception_(ErrorCode.ILLEGAL_STATE, description=why))
    else:
        session._say(controls.Detach(session.name))
    session._leave(origin, None, text, ended=True)
