"""The feedback that a session sends about the peer's commands: expected, confirmed, completed, and known-completed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from amqp_sansio.engine.inbound import ASKED_COMPLETED, ASKED_CONFIRMED, ASKED_EXPECTED
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.message import Accept
from amqp_sansio.spec.session import Completed, Confirmed, Expected, KnownCompleted
from amqp_sansio.tables.session import EXPECTED
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.segments import OneRange

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session


def tell(session: Session) -> None:
    """Sends what was gathered since the last call, on an attached session."""
    inbound, outbound = session._inbound, session._outbound
    if inbound.asked or inbound.answered:
        answer_flush(session, inbound.take_asked())
    if inbound.due:
        _completed(session, inbound.wants_timely())
    if outbound.known_due:
        for part in parts(session, outbound.take_known()):
            session._say(KnownCompleted(part))


def answer_flush(session: Session, asked: int) -> None:
    """Sends what the peer's flush asks for: see `Inbound.asked`."""
    channel, inbound = session._channel, session._inbound
    assert channel is not None
    if asked & ASKED_EXPECTED:
        # A single control.  If it is too small for all holes, it names the first ones: its greatest id stands for everything
        # after it, so we receive some commands twice and discard them.
        channel.say(Expected(parts(session, inbound.expected(new=session._attachments <= 1))[0]))
        inbound.stream.step(session.role, EXPECTED)
    if asked & ASKED_CONFIRMED:
        for part in parts(session, inbound.tell_confirmed()):
            channel.say(Confirmed(part))
    if asked & ASKED_COMPLETED:
        _completed(session, timely=bool(inbound.known))


def _completed(session: Session, timely: bool) -> None:
    """Sends the completions that the peer does not know of, even if there are none."""
    assert session._channel is not None
    for part in parts(session, session._inbound.tell_completed()):
        session._channel.say(Completed(part, timely))
    if session._subscriptions.unreported:
        session._subscriptions.reported()


def parts(session: Session, ids: RangeSet) -> list[RangeSet]:
    """Splits a set so that each part fits into one control."""
    ranges = ids.ranges
    if len(ranges) <= 1:
        return [ids]
    room = (session._carrier._max_frame_size - 18) // 8
    return [RangeSet(ranges[at : at + room]) for at in range(0, len(ranges), room)]


@cache
def replies_of(layout: Layout) -> OneRange:
    """Returns what cuts runs of answers to messages: session.completed and message.accept."""
    ids = RangeSet.of(0)
    completed, timely = layout.encode_control(Completed(ids)), layout.encode_control(Completed(ids, True))
    return OneRange(completed, timely, layout.encode_command(Accept(ids), False), layout.encode_command(Accept(ids), True))
