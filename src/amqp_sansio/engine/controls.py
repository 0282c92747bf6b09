"""The controls of a session: handles the peer's, and sends the feedback about its commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.engine import replaying
from amqp_sansio.engine.halves import ASKED_COMPLETED, ASKED_CONFIRMED, ASKED_EXPECTED
from amqp_sansio.engine.transmit import violate
from amqp_sansio.events import CommandsCompleted, CommandsConfirmed, CommandsSkipped, TimeoutGranted
from amqp_sansio.kernel.serials import EMPTY, RangeSet
from amqp_sansio.ledger.credit import least
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import DetachCode, ErrorCode
from amqp_sansio.spec.message import Accept
from amqp_sansio.tables.session import EXPECTED, FLUSH_EXPECTED
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.segments import OneRange

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session


def _request_timeout(session: Session, control: controls.RequestTimeout) -> None:
    granted = least(control.timeout, session._max_timeout)
    session._say(controls.Timeout(granted))
    session._granted(granted)


def _timeout(session: Session, control: controls.Timeout) -> None:
    session._granted(least(control.timeout, session._wanted))
    session._emit(TimeoutGranted(session.name, control.timeout))


def _command_point(session: Session, control: controls.CommandPoint) -> None:
    id = control.command_id or 0
    if control.command_offset:
        # We keep no part of a command, so nothing can be continued.
        violate(
            session,
            "session.command-point.nonzero-offset",
            f"command-point({id}, {control.command_offset})",
            (f"command-point({id}, 0)",),
            DetachCode.UNKNOWN_IDS,
            "nothing is kept of a command that was not received whole",
        )
        return
    session._inbound.point(id)
    _check_ranges(session, control.VERB)


def _check_ranges(session: Session, said: str) -> None:
    most = session.limits.ranges
    ranges = max(session._inbound.ranges, session._outbound.known.range_count)
    if ranges > most:
        violate(
            session,
            "limits.ranges",
            said,
            (f"at most {most} ranges",),
            ErrorCode.RESOURCE_LIMIT_EXCEEDED,
            f"what is kept of it falls into {ranges} ranges",
        )


def _beyond(session: Session, verb: str, ids: RangeSet, beyond: RangeSet) -> bool:
    """Returns whether a set with ids that nobody has sent ends the session.  It does wherever an observer would report it."""
    if not beyond:
        return False
    violate(
        session,
        f"{verb}.commands",
        f"{verb} {ids}",
        (f"{verb} without {beyond}",),
        ErrorCode.INVALID_ARGUMENT,
        f"{beyond} were never sent",
    )
    return True


def _expected(session: Session, control: controls.Expected) -> None:
    outbound = session._outbound
    ids = control.commands or EMPTY
    if not outbound.hear_expected():
        if session.profile.strict:
            violate(
                session,
                control.VERB,
                f"session.expected {ids}",
                ("session.completed", "session.confirmed"),
                ErrorCode.ILLEGAL_STATE,
                "expected only answers a flush",
            )
        return
    if session.state == "resuming":
        replaying.resume(session, ids)


def _confirmed(session: Session, control: controls.Confirmed) -> None:
    ids = control.commands or EMPTY
    outbound = session._outbound
    beyond = outbound.beyond(ids)
    if not session.profile.strict and beyond.ranges == ((outbound.next_id, outbound.next_id),):
        beyond = EMPTY  # qpidd's set ends one id too late
    if _beyond(session, control.VERB, ids, beyond):
        return
    news = outbound.confirm(ids)
    if news:
        session._emit(CommandsConfirmed(session.name, news))


def completed(session: Session, ids: RangeSet, timely: bool) -> None:
    """Handles session.completed: the peer has executed these commands."""
    outbound = session._outbound
    beyond = outbound.beyond(ids)
    if beyond and _beyond(session, controls.Completed.VERB, ids, beyond):
        return
    news = outbound.completed(ids, timely, beyond)
    if outbound.known.range_count > session.limits.ranges:
        _check_ranges(session, controls.Completed.VERB)
        if session._channel is None:
            return
    if timely:
        session._touch()
    if not news:
        return
    session._subscribers.completed(news)
    if session._subscriptions.withdrawals and session._subscriptions.withdraw(news):
        session._place.channels.unlearn()
    if session._contents is not None:
        session._contents.completed(session.peer, news)
    session._emit(CommandsCompleted(session.name, news))
    if session._outbound.asked:
        for event in session._outbound.executed(news):
            session._emit(event)


def completed_run(session: Session, low: int, high: int, timely: bool) -> CommandsCompleted | None:
    """Does the same as `completed` for one range of ids.

    Returns the event if it is the only effect, instead of queueing it.
    """
    outbound, subscribers = session._outbound, session._subscribers
    if (
        subscribers.windows or subscribers.replenished or session._subscriptions.withdrawals or session._outbound.asked
        or session._contents is not None or (news := outbound.completed_run(low, high, timely)) is None
    ):  # fmt: skip
        completed(session, RangeSet.span(low, high), timely)
        return None
    if timely:
        session._touch()
    return CommandsCompleted(session.name, news)


def _known_completed(session: Session, control: controls.KnownCompleted) -> None:
    ids = control.commands or EMPTY
    if not _beyond(session, control.VERB, ids, session._inbound.beyond(ids)):
        session._inbound.known_completed(ids)


def _flush(session: Session, control: controls.Flush) -> None:
    inbound = session._inbound
    if control.expected:
        inbound.stream.step(session.peer, FLUSH_EXPECTED)
    asked = ASKED_EXPECTED * control.expected | ASKED_CONFIRMED * control.confirmed | ASKED_COMPLETED * control.completed
    answer_flush(session, inbound.ask(asked))
    session._touch()


def _gap(session: Session, control: controls.Gap) -> None:
    ids, channel = control.commands or EMPTY, session._place
    if session._inbound.begun and session._inbound.cursor in ids:
        channel.channels.break_off(channel.number)
    news = session._inbound.gap(ids)
    _check_ranges(session, control.VERB)
    if session._channel is not None:
        if news:
            session._emit(CommandsSkipped(session.name, news))
        if session._inbound.due:
            session._subscriptions.give_back(session._transfers.complete(ids))
            session._touch()


CONTROLS: Final[dict[type[Control], Callable[[Session, Any], None]]] = {  # Any: each row takes its own control
    controls.RequestTimeout: _request_timeout,
    controls.Timeout: _timeout,
    controls.CommandPoint: _command_point,
    controls.Expected: _expected,
    controls.Confirmed: _confirmed,
    controls.Completed: lambda session, control: completed(session, control.commands or EMPTY, control.timely_reply),
    controls.KnownCompleted: _known_completed,
    controls.Flush: _flush,
    controls.Gap: _gap,
}
"""What handles each control of class session other than attach, attached, detach and detached."""


# --- the feedback that we send: expected, confirmed, completed, and known-completed ------------------------------------------


def tell(session: Session) -> None:
    """Sends what was gathered since the last call, on an attached session."""
    inbound, outbound = session._inbound, session._outbound
    if inbound.asked or inbound.answered:
        answer_flush(session, inbound.take_asked())
    if inbound.due:
        _tell_completed(session, inbound.wants_timely())
    if outbound.known_due:
        for part in parts(session, outbound.take_known()):
            session._say(controls.KnownCompleted(part))


def answer_flush(session: Session, asked: int) -> None:
    """Sends what the peer's flush asks for: see `Inbound.asked`."""
    channel, inbound = session._place, session._inbound
    if asked & ASKED_EXPECTED:
        # A single control.  If it is too small for all holes, it names the first ones: its greatest id stands for everything
        # after it, so we receive some commands twice and discard them.
        channel.say(controls.Expected(parts(session, inbound.expected(new=session._attachments <= 1))[0]))
        inbound.stream.step(session.role, EXPECTED)
    if asked & ASKED_CONFIRMED:
        for part in parts(session, inbound.tell_confirmed()):
            channel.say(controls.Confirmed(part))
    if asked & ASKED_COMPLETED:
        _tell_completed(session, timely=bool(inbound.known))


def _tell_completed(session: Session, timely: bool) -> None:
    """Sends the completions that the peer does not know of, even if there are none."""
    channel, inbound = session._channel, session._inbound
    assert channel is not None
    one = inbound.tell_one_range()
    if one is not None:  # nearly always: what follows with its calls inlined
        low, high = one
        channel.carrier._write(replies_of(channel.layout).control(channel.number, low, high, timely))
    else:
        for part in parts(session, inbound.tell_completed()):
            channel.say(controls.Completed(part, timely))
    if session._subscriptions.unreported:
        session._subscriptions.reported()


def parts(session: Session, ids: RangeSet) -> list[RangeSet]:
    """Splits a set so that each part fits into one control."""
    ranges = ids.ranges
    if len(ranges) <= 1:
        return [ids]
    room = (session._place.carrier._max_frame_size - 18) // 8
    return [RangeSet(ranges[at : at + room]) for at in range(0, len(ranges), room)]


@cache
def replies_of(layout: Layout) -> OneRange:
    """Returns what cuts runs of answers to messages: session.completed and message.accept."""
    ids = RangeSet.of(0)
    completed, timely = layout.encode_control(controls.Completed(ids)), layout.encode_control(controls.Completed(ids, True))
    return OneRange(completed, timely, layout.encode_command(Accept(ids), False), layout.encode_command(Accept(ids), True))
