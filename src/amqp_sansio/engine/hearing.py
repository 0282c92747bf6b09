"""What a session does with what the other side says: controls, commands, transfers, and what breaks the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from amqp_sansio.engine.credit import CREDIT_MODE, INFINITE, MESSAGE, OCTET, WINDOW_MODE, Credit
from amqp_sansio.engine.results import Owed, exception_of
from amqp_sansio.engine.subscription import Subscriber
from amqp_sansio.engine.transfers import EXPLICIT, NONE, Delivery
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import (
    CommandReceived,
    CommandsCompleted,
    CommandsConfirmed,
    CommandsSkipped,
    ExceptionReceived,
    Origin,
    ProducerCreditChanged,
    ResultReceived,
    TimeoutGranted,
    TransferReceived,
    Violation,
)
from amqp_sansio.kernel.serials import EMPTY, RangeSet, pick, serial_lt
from amqp_sansio.spec import execution, message
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.codes import DetachCode, ErrorCode
from amqp_sansio.tables import transfer as rows
from amqp_sansio.tables.session import COMMAND_SPEAKERS, RULE_UNPOINTED
from amqp_sansio.wire.segments import frame_command

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session

_ERROR_CODES: Final = frozenset(ErrorCode)
_NOT_ACQUIRED: Final = rows.NOT_ACQUIRED
_ACQUIRED: Final = rows.ACQUIRED


def violate(
    session: Session,
    rule: str,
    said: str,
    legal: tuple[str, ...],
    code: int,
    offset: int,
    text: str,
    id: int | None = None,
    codes: tuple[int | None, int | None] = (None, None),
) -> None:
    """The other side broke a rule: it is told, the session is over.

    A detach code (0 to 4) goes out in detached, an error code in execution.exception and a detach behind it.
    """
    channel = session.channel
    assert channel is not None
    peer = "server" if session.role == "client" else "client"
    violation = Violation(peer, rule, said, legal, code, channel.number, offset, text)
    if code <= DetachCode.UNKNOWN_IDS:
        channel.say(controls.Detached(session.name, code))
    else:
        session.flush_pending()
        session.write_point()
        exception = execution.Exception_(code, id, codes[0], codes[1], None, f"{rule}: {text}"[:1000])
        payload = channel.carrier.layout.encode_command(exception, False)
        for frame in frame_command(channel.number, payload, None, None, channel.carrier.max_frame_size):
            channel.carrier.write(frame)
        channel.say(controls.Detach(session.name))
    session.leave(Origin.VIOLATION, code, text, ended=True, violation=violation)


# --- controls ---------------------------------------------------------------------------------------------------------------


def hear_control(session: Session, control: Control, offset: int) -> None:
    """A control of class session other than attach, attached, detach and detached."""
    hear = _CONTROLS.get(control.VERB)
    if hear is not None:
        hear(session, control, offset)


def _request_timeout(session: Session, control: Control, offset: int) -> None:
    assert isinstance(control, controls.RequestTimeout)
    assert session.channel is not None
    asked, most = control.timeout, session.max_timeout
    granted = asked if most is None else most if asked is None else min(asked, most)
    session.channel.say(controls.Timeout(granted))
    session.granted(granted)


def _timeout(session: Session, control: Control, offset: int) -> None:
    assert isinstance(control, controls.Timeout)
    session.granted(control.timeout)
    session.emit(TimeoutGranted(session.name, control.timeout))


def _command_point(session: Session, control: Control, offset: int) -> None:
    assert isinstance(control, controls.CommandPoint)
    id = control.command_id or 0
    if control.command_offset:
        # We keep no part of a command, so there is nothing that could be continued.
        violate(
            session,
            "session.command-point.nonzero-offset",
            f"command-point({id}, {control.command_offset})",
            (f"command-point({id}, 0)",),
            DetachCode.UNKNOWN_IDS,
            offset,
            "nothing is kept of a command that was not received whole",
        )
        return
    session.inbound.point(id)
    _check_ranges(session, control.VERB, offset)


def _check_ranges(session: Session, said: str, offset: int) -> None:
    most = session.limits.ranges
    if session.inbound.ranges > most:
        violate(
            session,
            "limits.ranges",
            said,
            (f"at most {most} ranges",),
            ErrorCode.RESOURCE_LIMIT_EXCEEDED,
            offset,
            f"what was received falls into {session.inbound.ranges} ranges",
        )


def _beyond(session: Session, verb: str, ids: RangeSet, beyond: RangeSet, offset: int) -> bool:
    """Whether ids that nobody has sent end the session, which only the letter demands."""
    if not beyond or not session.profile.strict:
        return False
    violate(
        session,
        verb,
        f"{verb} {ids}",
        (f"{verb} without {beyond}",),
        ErrorCode.INVALID_ARGUMENT,
        offset,
        f"{beyond} were never sent",
    )
    return True


def _expected(session: Session, control: Control, offset: int) -> None:
    assert isinstance(control, controls.Expected)
    outbound = session.outbound
    ids = control.commands or EMPTY
    if not outbound.expected_asked:
        if session.profile.strict:
            violate(
                session,
                control.VERB,
                f"session.expected {ids}",
                ("session.completed", "session.confirmed"),
                ErrorCode.ILLEGAL_STATE,
                offset,
                "expected is only said in answer to a flush",
            )
        return
    outbound.expected_asked -= 1
    if session.state == "resuming":
        _resume(session, ids, offset)


def _resume(session: Session, ids: RangeSet, offset: int) -> None:
    """The other side has told what it expects: say again what it has not got."""
    outbound, channel = session.outbound, session.channel
    assert channel is not None
    if not ids and not session.has_state:
        session.ready(False)
        return
    if not ids:
        _give_up(session, Origin.PEER, "the other side has no state of this session: it is lost")
        return
    if serial_lt(outbound.next_id, ids.last):
        violate(
            session,
            "session.expected.include-next-command",
            f"session.expected {ids}",
            (f"session.expected {RangeSet.of(outbound.next_id)}",),
            ErrorCode.INVALID_ARGUMENT,
            offset,
            f"the next command was never sent: {outbound.next_id}",
        )
        return
    plan = outbound.replay(ids)
    if plan.missing:
        _give_up(session, Origin.LOCAL, f"commands {plan.missing} are expected and were not kept")
        return
    room = channel.carrier.max_frame_size - 12
    for id in plan.ids:
        payload, header, body = outbound.kept[id]
        if len(payload) > room or len(header or b"") > room:
            _give_up(session, Origin.LOCAL, f"command {id} does not fit into the frames of this connection")
            return
    if plan.gap:
        channel.say(controls.Gap(plan.gap))
    for id in plan.ids:
        payload, header, body = outbound.kept[id]
        if outbound.position != id:
            channel.say(controls.CommandPoint(id, 0))
        for frame in frame_command(channel.number, payload, header, body, room + 12):
            channel.carrier.write(frame)
        outbound.position = (id + 1) & 0xFFFFFFFF
    session.ready(True)
    session.inbound.due = bool(session.inbound.completed)
    if session.inbound.due:
        session.touch()


def _give_up(session: Session, origin: Origin, text: str) -> None:
    assert session.channel is not None
    session.channel.say(controls.Detach(session.name))
    session.leave(origin, None, text, ended=True)


def _confirmed(session: Session, control: Control, offset: int) -> None:
    assert isinstance(control, controls.Confirmed)
    ids = control.commands or EMPTY
    if _beyond(session, control.VERB, ids, session.outbound.beyond(ids), offset):
        return
    news = session.outbound.confirm(ids)
    if news:
        session.emit(CommandsConfirmed(session.name, news))


def _completed(session: Session, control: Control, offset: int) -> None:
    assert isinstance(control, controls.Completed)
    ids = control.commands or EMPTY
    if _beyond(session, control.VERB, ids, session.outbound.beyond(ids), offset):
        return
    news = session.outbound.completed(ids, control.timely_reply)
    if control.timely_reply:
        session.touch()
    if not news:
        return
    for id in pick(news, session.windows):
        subscriber, octets = session.windows.pop(id)
        subscriber.flow.complete(1, octets)
    for id in pick(news, session.flushes):
        session.flushes.pop(id).flow.end_flush(id)
    for id in pick(news, session.cancels):
        subscription = session.cancels.pop(id)
        if session.subscriptions.get(subscription.destination) is subscription:
            del session.subscriptions[subscription.destination]
    session.emit(CommandsCompleted(session.name, news))


def _known_completed(session: Session, control: Control, offset: int) -> None:
    assert isinstance(control, controls.KnownCompleted)
    ids = control.commands or EMPTY
    received = session.inbound.received
    beyond = ids
    if received is not None:
        beyond = ids & RangeSet([(received, (received + 0x7FFFFFFF) & 0xFFFFFFFF)])
    if not _beyond(session, control.VERB, ids, beyond, offset):
        session.inbound.known_completed(ids)


def _flush(session: Session, control: Control, offset: int) -> None:
    assert isinstance(control, controls.Flush)
    assert session.channel is not None
    inbound = session.inbound
    if control.expected:
        session.channel.say(controls.Expected(inbound.expected(new=session.attachments <= 1)))
    if control.confirmed:
        session.write_confirmed()
    if control.completed:
        inbound.due = False
        session.write_completed(timely=bool(inbound.completed))


def _gap(session: Session, control: Control, offset: int) -> None:
    assert isinstance(control, controls.Gap)
    assert session.channel is not None
    ids = control.commands or EMPTY
    if session.inbound.received is not None and session.inbound.cursor in ids:
        session.channel.carrier.forget(session.channel.number)
    news = session.inbound.gap(ids)
    _check_ranges(session, control.VERB, offset)
    if news and session.channel is not None:
        session.emit(CommandsSkipped(session.name, news))
        session.touch()


_CONTROLS: Final[dict[str, Callable[[Session, Control, int], None]]] = {
    "session.request-timeout": _request_timeout,
    "session.timeout": _timeout,
    "session.command-point": _command_point,
    "session.expected": _expected,
    "session.confirmed": _confirmed,
    "session.completed": _completed,
    "session.known-completed": _known_completed,
    "session.flush": _flush,
    "session.gap": _gap,
}


# --- commands ---------------------------------------------------------------------------------------------------------------


def hear_assembly(session: Session, payload: bytes, header: bytes | None, body: bytes | None, offset: int) -> None:
    """A command arrived, as octets."""
    carrier = session.carrier
    inbound = session.inbound
    if not inbound.pointed:
        unpointed(session, carrier.layout.verb_of("command", *_codes(payload)), offset)
        return
    id = inbound.take()
    if id < 0:
        if inbound.due:
            session.touch()
        return
    if session.state == "refused":
        inbound.incomplete.add(id)
        return
    try:
        command, sync = carrier.layout.decode_command(payload, 0, len(payload))
        if header:
            carrier.layout.walk_headers(header, 0, len(header), carrier.limits)
    except DecodeError as error:
        undecodable(session, id, _codes(payload), error, offset)
        return
    if isinstance(command, message.Transfer):
        if header is not None and session.channel is not None:
            carrier.learn(session.channel.number, payload, command, sync)
        event = hear_transfer(session, id, command, header or b"", body or b"", sync, offset)
        if event is not None:
            carrier.emit(event)
    else:
        _hear_command(session, id, command, header or b"", body or b"", sync, offset, _codes(payload))


def _codes(payload: bytes) -> tuple[int, int]:
    return (payload[0], payload[1]) if len(payload) >= 2 else (0, 0)


def unpointed(session: Session, said: str, offset: int) -> None:
    """Command data came before any command-point on this attachment."""
    code: int = DetachCode.UNKNOWN_IDS if session.profile.unpointed == "unknown-ids" else ErrorCode.ILLEGAL_STATE
    violate(session, RULE_UNPOINTED, said, ("session.command-point",), code, offset, "command data before any command-point")


def undecodable(session: Session, id: int, codes: tuple[int, int], error: DecodeError, offset: int) -> None:
    """A command that cannot be read."""
    session.inbound.incomplete.add(id)
    said = session.carrier.layout.verb_of("command", *codes)
    code = error.code if error.code in _ERROR_CODES else ErrorCode.COMMAND_INVALID
    violate(session, error.rule, said, (), code, offset, str(error), id, codes)


def hear_transfer(
    session: Session, id: int, transfer: message.Transfer, header: bytes, body: bytes, sync: bool, offset: int
) -> TransferReceived | None:
    """A message with a fresh id: its event, which is not emitted here; None when it broke a rule."""
    accept_mode = transfer.accept_mode
    event = TransferReceived(session.name, id, transfer, header, body, sync)
    if session.eager_headers and header:
        try:
            _ = event.headers
        except DecodeError as error:
            undecodable(session, id, (4, 1), error, offset)
            return None
    inbound = session.inbound
    if accept_mode == NONE and session.completes_on_hand_out:
        subscription = session.subscriptions.get(transfer.destination or "")
        if subscription is not None and subscription.flow.mode == CREDIT_MODE:  # a window is given back at once
            subscription.flow.transfer(len(header) + len(body) if session.counts_headers else len(body))
        inbound.completed.add(id)
        if inbound.syncs:
            inbound.settle_syncs()
        if not inbound.due:
            inbound.due = True
            session.touch()
        return event
    acquire_mode = transfer.acquire_mode
    if (accept_mode and accept_mode != NONE) or (acquire_mode and acquire_mode != 1):
        inbound.incomplete.add(id)
        field = "message.accept-mode" if accept_mode and accept_mode != NONE else "message.acquire-mode"
        text = "no such mode"
        said = f"message.transfer({accept_mode}, {acquire_mode})"
        violate(session, field, said, ("0", "1"), ErrorCode.ILLEGAL_ARGUMENT, offset, text, id, (4, 1))
        return None
    inbound.incomplete.add(id)
    subscription = session.subscriptions.get(transfer.destination or "")
    octets = len(header) + len(body) if session.counts_headers else len(body)
    if subscription is not None:
        subscription.flow.transfer(octets)
    if not accept_mode or subscription is not None:
        state = _NOT_ACQUIRED if acquire_mode else _ACQUIRED
        session.transfers.deliveries[id] = Delivery(state, accept_mode or EXPLICIT, subscription, octets, False)
    if session.profile.completion == "on_hand_out":
        session.complete_now(RangeSet.of(id))
    return event


def _hear_command(
    session: Session,
    id: int,
    command: Command,
    header: bytes,
    body: bytes,
    sync: bool,
    offset: int,
    codes: tuple[int, int],
) -> None:
    inbound = session.inbound
    if isinstance(command, execution.Result):
        _done(session, id)
        _hear_result(session, command, offset)
        return
    if isinstance(command, execution.Exception_):
        _done(session, id)
        _hear_exception(session, command)
        return
    if isinstance(command, execution.Sync):
        inbound.syncs.append(id)
        inbound.settle_syncs()
        session.touch()
        session.emit(CommandReceived(session.name, id, command, sync))
        return
    inbound.incomplete.add(id)
    if COMMAND_SPEAKERS.get(command.VERB) == session.role:
        text = f"only the {session.role} says {command.VERB}"
        violate(session, command.VERB, command.VERB, (), ErrorCode.NOT_IMPLEMENTED, offset, text, id, codes)
        return
    session.results.owed[id] = Owed(codes[0], codes[1], command.RESULT)
    note = _NOTES.get(command.VERB)
    throttled = session.producer.available if session.producer is not None else INFINITE
    if note is not None:
        wrong = note(session, id, command)
        if wrong is not None:
            code, text = wrong
            violate(session, command.VERB, command.VERB, (), code, offset, text, id, codes)
            return
    session.emit(CommandReceived(session.name, id, command, sync, header, body))
    available = session.producer.available if session.producer is not None else INFINITE
    if available != throttled:
        session.emit(ProducerCreditChanged(session.name, None if available == INFINITE else available))
    if session.completes_on_hand_out and not command.RESULT:
        session.complete_now(RangeSet.of(id))


def _done(session: Session, id: int) -> None:
    """A command of class execution is complete as soon as it is heard."""
    session.inbound.completed.add(id)
    session.inbound.settle_syncs()
    session.touch()


def _hear_result(session: Session, command: execution.Result, offset: int) -> None:
    id = command.command_id
    asked = None if id is None else session.results.received(id)
    if id is None or asked is None:
        if session.profile.strict:
            text = "no command waits for this result"
            legal = tuple([f"execution.result for {waiting}" for waiting in list(session.results.asked)[:8]])
            violate(session, command.VERB, f"execution.result for {id}", legal, ErrorCode.INVALID_ARGUMENT, offset, text)
        return
    if isinstance(asked, message.Acquire):
        value = command.value
        acquired = value.transfers if isinstance(value, message.Acquired) else None
        session.transfers.acquired(asked.transfers or EMPTY, acquired or EMPTY)
    session.emit(ResultReceived(session.name, id, command.value))


def _hear_exception(session: Session, command: execution.Exception_) -> None:
    id, class_code, command_code, field_index = exception_of(command)
    error_code = command.error_code or 0
    description = command.description or ""
    session.emit(
        ExceptionReceived(
            session.name, error_code, id, class_code, command_code, field_index, description, command.error_info
        )
    )  # fmt: skip
    session.flush_pending()
    session.state = "refused"
    session.timeout = 0
    session.cause = f"the other side refused it with {error_code}: {description}".rstrip(": ")


# What the other side's commands about credit mean to us; an error code and a sentence when they mean nothing.

_Wrong = tuple[int, str] | None


def _note_subscribe(session: Session, id: int, command: Command) -> _Wrong:
    assert isinstance(command, message.Subscribe)
    destination = command.destination or ""
    if destination in session.subscribers:
        return None  # the application refuses it, or not
    if len(session.subscribers) >= session.limits.subscriptions:
        return ErrorCode.RESOURCE_LIMIT_EXCEEDED, f"limit subscriptions is {session.limits.subscriptions}"
    accept_mode, acquire_mode = command.accept_mode or 0, command.acquire_mode or 0
    if accept_mode > 1 or acquire_mode > 1:
        return ErrorCode.ILLEGAL_ARGUMENT, "no such mode"
    session.subscribers[destination] = Subscriber(command.queue or "", destination, accept_mode, acquire_mode)
    return None


def _note_cancel(session: Session, id: int, command: Command) -> _Wrong:
    assert isinstance(command, message.Cancel)
    session.subscribers.pop(command.destination or "", None)
    return None


def _note_flush(session: Session, id: int, command: Command) -> _Wrong:
    assert isinstance(command, message.Flush)
    subscriber = session.subscribers.get(command.destination or "")
    if subscriber is not None:
        subscriber.flow.begin_flush(id)
        session.subscriber_flushes[id] = subscriber
    return None


def _note_stop(session: Session, id: int, command: Command) -> _Wrong:
    assert isinstance(command, message.Stop)
    subscriber = session.subscribers.get(command.destination or "")
    if subscriber is not None:
        subscriber.flow.stop()
    elif not command.destination:
        session.producer = Credit()
    return None


def _note_flow(session: Session, id: int, command: Command) -> _Wrong:
    assert isinstance(command, message.Flow)
    unit = command.unit or 0
    if unit not in (MESSAGE, OCTET):
        return ErrorCode.ILLEGAL_ARGUMENT, "no such unit"
    value = INFINITE if command.value is None else command.value
    subscriber = session.subscribers.get(command.destination or "")
    if subscriber is not None:
        subscriber.flow.grant(unit, value)
    elif not command.destination and unit == MESSAGE and session.producer is not None:
        session.producer.grant(value)
    return None


def _note_set_flow_mode(session: Session, id: int, command: Command) -> _Wrong:
    assert isinstance(command, message.SetFlowMode)
    mode = command.flow_mode or 0
    if mode not in (CREDIT_MODE, WINDOW_MODE):
        return ErrorCode.ILLEGAL_ARGUMENT, "no such flow mode"
    subscriber = session.subscribers.get(command.destination or "")
    if subscriber is not None and subscriber.flow.mode != mode:
        subscriber.flow.set_mode(mode)
        for sent in [sent for sent, (whose, _) in session.windows.items() if whose is subscriber]:
            del session.windows[sent]
    return None


_NOTES: Final[dict[str, Callable[[Session, int, Command], _Wrong]]] = {
    "message.subscribe": _note_subscribe,
    "message.cancel": _note_cancel,
    "message.flush": _note_flush,
    "message.stop": _note_stop,
    "message.flow": _note_flow,
    "message.set-flow-mode": _note_set_flow_mode,
}
