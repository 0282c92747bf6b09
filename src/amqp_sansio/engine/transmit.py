"""Sends the commands of a session: each is checked and encoded first, then written, and only then does the state change."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from amqp_sansio.engine import demarcation
from amqp_sansio.engine.contents import CONTENT_VERBS, say_content
from amqp_sansio.engine.demarcation import Effect
from amqp_sansio.engine.subscription import Subscriber, Subscription
from amqp_sansio.errors import DecodeError, EncodeError, LimitError, LocalProtocolError, NoCredit
from amqp_sansio.events import Origin, Violation
from amqp_sansio.kernel.machine import spoken_by
from amqp_sansio.kernel.octets import octets_of
from amqp_sansio.kernel.serials import EMPTY, RangeSet
from amqp_sansio.ledger.credit import CREDIT_MODE, INFINITE, MESSAGE, OCTET, WINDOW_MODE, CreditBook
from amqp_sansio.ledger.ids import Transfers
from amqp_sansio.spec import dtx, execution, message
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import DetachCode
from amqp_sansio.tables import transfer as rows
from amqp_sansio.tables.demarcation import COORDINATION, SUBSCRIBE_NONE, TX
from amqp_sansio.tables.session import COMMAND_SPEAKERS
from amqp_sansio.wire.field_interpreter import UNWRITABLE
from amqp_sansio.wire.frames import FRAME_HEADER_SIZE, frame_command
from amqp_sansio.wire.framing import BODY, HEADER
from amqp_sansio.wire.headers import HEADER_WRITERS
from amqp_sansio.wire.primitives import put_frame_begin

if TYPE_CHECKING:
    from amqp_sansio.engine.carrier import CommandId
    from amqp_sansio.engine.session import Session


# --- checks ---------------------------------------------------------------------------------------------------------------
# Each looks at one command, raises when it is illegal now, changes nothing, and returns the effect of writing it.


def check_command(session: Session, command: Command, header: bool = False, octets: int = 0) -> Effect | None:
    """Checks `command` (not a transfer) with a header and `octets` octets of body; returns its effect."""
    verb = command.VERB
    speaker = COMMAND_SPEAKERS.get(verb)
    if speaker is not None and speaker != session.role:
        raise LocalProtocolError(verb, f"{session.role} role", (f"{speaker}:{verb}",), f"only the {speaker} sends it")
    if verb in CONTENT_VERBS:
        return say_content(session, command, header, octets)
    check = _CHECKS.get(type(command))
    effect = check(session, command) if check is not None else None
    if not command.RESULT:
        return effect

    def asked(id: int) -> None:
        session._outbound.expect_answer(id, command)
        if effect is not None:
            effect(id)

    return asked


def _subscribe(session: Session, command: message.Subscribe) -> Effect | None:
    destination = command.destination or ""  # without a destination its name is the empty string
    held = session._subscriptions.current.get(destination)
    if held is not None and not held.cancelled:
        raise LocalProtocolError(
            f"message.subscribe {destination!r}",
            "subscribed",
            (f"message.cancel {destination!r}", "another destination"),
            "message.subscribe.destination.unique-subscriber-destination",
        )
    if held is None and len(session._subscriptions.current) >= session.limits.subscriptions:
        raise LimitError("subscriptions", session.limits.subscriptions)
    accept_mode, acquire_mode = command.accept_mode or 0, command.acquire_mode or 0
    check_modes(accept_mode, acquire_mode)
    if accept_mode:
        demarcation.check_verb(session, SUBSCRIBE_NONE)
    book = CreditBook() if held is None else CreditBook.behind(held._book)
    subscription = Subscription(session, command.queue or "", destination, accept_mode, acquire_mode, book)

    def effect(_: int) -> None:
        session._subscriptions.add(subscription)
        if session._channel is not None:
            session._channel.channels.unlearn()

    return effect


def check_modes(accept_mode: int, acquire_mode: int) -> None:
    """Raises EncodeError for an undefined accept-mode or acquire-mode."""
    if accept_mode not in (0, 1):
        raise EncodeError("message.accept-mode", f"0 explicit or 1 none, not {accept_mode}")
    if acquire_mode not in (0, 1):
        raise EncodeError("message.acquire-mode", f"0 pre-acquired or 1 not-acquired, not {acquire_mode}")


def _take_back(session: Session, command: message.Stop | message.Flush | message.Cancel) -> Effect | None:
    subscription = session._subscriptions.named(command)
    return None if subscription is None else lambda id: session._subscriptions.take_back(subscription, id, command)


def _flow(session: Session, command: message.Flow) -> Effect | None:
    unit = command.unit or 0
    value = INFINITE if command.value is None else command.value
    if unit not in (MESSAGE, OCTET):
        raise EncodeError("message.flow.unit", f"0 message or 1 byte, not {unit}")
    if not 0 <= value <= INFINITE:
        raise EncodeError("message.flow.value", f"0 to {INFINITE}, not {value}")
    subscription = session._subscriptions.named(command)
    return None if subscription is None else lambda _: subscription._book.grant(unit, value)


def _set_flow_mode(session: Session, command: message.SetFlowMode) -> Effect | None:
    mode, subscription = command.flow_mode or 0, session._subscriptions.named(command)
    if subscription is None:
        return None
    if mode not in (CREDIT_MODE, WINDOW_MODE):
        raise EncodeError("message.set-flow-mode.flow-mode", f"0 credit or 1 window, not {mode}")
    if not subscription._book.empty:
        credit = f"credit of {subscription.message_credit} messages and {subscription.octet_credit} octets"
        said, rule = f"message.set-flow-mode {subscription.destination!r}", "message.set-flow-mode.mode-switching"
        raise LocalProtocolError(said, credit, ("message.stop", "message.flush"), rule)
    return lambda _: subscription._book.set_mode(mode)


def _settle(session: Session, command: message.Accept | message.Reject | message.Release | message.Acquire) -> Effect | None:
    ids: RangeSet = EMPTY if command.transfers is None else command.transfers
    planned, bad = session._transfers.plan(command.VERB, ids)
    if len(planned) != len(ids) or not ids:
        raise _unsettleable(session._transfers, command.VERB, ids, bad)
    completes = session.profile.completion != "manual"
    transactions = session._transactions
    provisional = transactions is not None and transactions.state == TX and isinstance(command, message.Accept)

    def effect(_: int) -> None:
        if provisional:
            session._transfers.accepted_provisionally(planned)
        done, given = session._transfers.apply(planned, ids, completes)
        session._subscriptions.give_back(given)
        if done:
            session._inbound.complete(done)
            session._touch()

    return effect


def _unsettleable(transfers: Transfers[Subscription], verb: str, ids: RangeSet, bad: list[int]) -> LocalProtocolError:
    able: list[int] = []
    for id, delivery in transfers.deliveries.items():
        if (delivery.state, rows.RECIPIENT, verb) in rows.TRANSFER[delivery.accept_mode].moves:
            able.append(id)
    legal = [f"{verb} {RangeSet.of(*able)}"] if able else []
    if bad:
        delivery = transfers.deliveries[bad[0]]
        words = rows.TRANSFER[delivery.accept_mode].legal([delivery.state])
        legal += [f"{word} {bad[0]}" for word in spoken_by(rows.RECIPIENT, words)]
        state = f"{bad[0]} is {delivery.state}"
    else:
        state = "no such unsettled transfer" if ids else "no ids"
    rule = f"{verb}.acquisition" if verb in (rows.ACCEPT, rows.REJECT) else "message"
    return LocalProtocolError(f"{verb} {ids}", state, tuple(legal), rule)


def _result(session: Session, command: execution.Result) -> Effect | None:
    id = command.command_id
    if id is None:
        raise EncodeError("execution.result.command-id", "names the command that it answers")
    session._inbound.check_result(id, command.value)

    def effect(_: int) -> None:
        session._inbound.given(id)
        if isinstance(command.value, dtx.XaResult):
            session._demarcation.answered(id, command.value.status or 0, heard=False)
        if session.completes_on_hand_out:
            session._complete_now(RangeSet.of(id))

    return effect


def check_fragments(session: Session, said: str) -> None:
    """Raises LocalProtocolError unless the profile allows fragments and message.resume, at which qpidd drops the connection."""
    if not session.profile.fragments:
        raise LocalProtocolError(said, "profile without fragments", (f"{said} with Profile(fragments=True)",))


_CHECKS: Final[dict[type[Command], Callable[[Session, Any], Effect | None]]] = {  # Any: each row takes its own command
    message.Subscribe: _subscribe,
    **dict.fromkeys((message.Cancel, message.Flush, message.Stop), _take_back),
    message.Flow: _flow,
    message.SetFlowMode: _set_flow_mode,
    **dict.fromkeys((message.Accept, message.Reject, message.Release, message.Acquire), _settle),
    message.Resume: lambda session, command: check_fragments(session, command.VERB),
    execution.Result: _result,
    **dict.fromkeys(demarcation.COMMANDS, demarcation.check),
}

_CARRYING: Final = CONTENT_VERBS | {"message.transfer", "execution.exception"}
ALONE: Final = frozenset([each.VERB for each in _CHECKS]) - {"message.flow", *COORDINATION} | _CARRYING
"""Commands that change what is legal next, or that carry content."""


# The first two octets (flags, segment type) of a header frame followed by a body, and of a single body frame.
_HEADER: Final = 0x03 << 8 | HEADER
_BODY: Final = 0x07 << 8 | BODY

Prepared: TypeAlias = tuple[bytes, bytes | None, bytes | None, list[bytes], Effect | None]
"""A checked command: its segments, its frames, and its effect once it is written."""


def encode_headers(session: Session, headers: tuple[Struct | bytes, ...]) -> bytes | None:
    """Encodes the header segment; None without headers."""
    if not headers:
        return None
    layout = session._place.layout
    parts: list[bytes] = []
    for struct in headers:
        if isinstance(struct, bytes):
            try:
                layout.walk_headers(struct, 0, len(struct), session.limits)
            except DecodeError as error:
                if error.limit is None:  # limits apply to what peers send
                    raise EncodeError("header", f"takes octets of whole structs; {error}") from None
            parts.append(struct)
        elif not isinstance(struct, Struct):
            raise EncodeError("header", f"takes structs, or octets of encoded ones, not {type(struct).__name__}")
        else:
            if isinstance(struct, message.FragmentProperties):
                check_fragments(session, "message.fragment-properties")
            parts.append(layout.encode_struct32(struct))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def prepare(session: Session, command: Command, headers: tuple[Struct | bytes, ...], body: bytes, sync: bool) -> Prepared:
    """Checks and encodes; changes nothing."""
    assert session._channel is not None
    carrier, layout = session._channel.carrier, session._channel.layout
    verb = command.VERB
    if (headers or body) and verb not in layout.segments:
        raise LocalProtocolError(f"{verb} with content", "a command without segments", (f"{verb} without content",))
    payload = layout.encode_command(command, sync)
    header = encode_headers(session, headers)
    content = octets_of(body) or None
    effect = check_command(session, command, bool(header), len(content or b""))
    frames = frame_command(session._channel.number, payload, header, content, carrier._max_frame_size)
    return payload, header, content, frames, effect


def say(session: Session, prepared: list[Prepared]) -> list[CommandId]:
    """Writes what was prepared.  Raises LimitError, and writes nothing, when it cannot all be kept for replay."""
    assert session._channel is not None
    outbound, carrier = session._outbound, session._channel.carrier
    if outbound.retain:
        octets = sum([len(payload) + len(header or b"") + len(body or b"") for payload, header, body, _, _ in prepared])
        outbound.check_room(octets, session.limits, len(prepared))
    ids: list[CommandId] = []
    for payload, header, body, frames, effect in prepared:
        write_point(session)
        carrier._write(b"".join(frames) if len(frames) > 1 else frames[0])
        id = outbound.say(payload, header, body)
        ids.append(id)
        if effect is not None:
            effect(id)
    return ids


def write_point(session: Session) -> None:
    """Sends a command-point when the peer would give the next command another id."""
    outbound = session._outbound
    if outbound.position != outbound.next_id:
        session._say(controls.CommandPoint(outbound.next_id, 0))
        outbound.point(outbound.next_id)


def transfer(
    session: Session,
    destination: str,
    accept_mode: int,
    acquire_mode: int,
    headers: tuple[Struct | bytes, ...],
    body: bytes,
    sync: bool,
    header: bytes = b"",
    split_header: bool = False,
    empty_body: bool = False,
) -> CommandId:
    """Sends a message; the only place that does.  Nothing changes before everything is checked and encoded.

    Takes either `headers`, or `header`, a valid header segment.  `split_header` splits one that does not fit into one frame.
    `empty_body` sends a body of 0 octets as a segment, which is otherwise left out.
    """
    channel = session._channel
    if not session._speaks or channel is None or channel.carrier._closed_cause is not None:
        session.check_speak("message.transfer")
        raise AssertionError(session.state)
    carrier = channel.carrier
    try:
        command = channel.commands.get((destination, accept_mode, acquire_mode, sync))
    except TypeError:  # an unhashable destination: the encoder reports it
        command = None
    if command is None:
        command = channel.encode_transfer(destination, accept_mode, acquire_mode, sync)
    payload, frame = command
    content = body if type(body) is bytes else octets_of(body)
    if headers:
        try:
            if len(headers) == 2:  # nearly always
                first, second = headers
                header = HEADER_WRITERS[type(first)](first) + HEADER_WRITERS[type(second)](second)
            else:
                header = b"".join([HEADER_WRITERS[type(struct)](struct) for struct in headers])
        except UNWRITABLE:  # other structs, octets, unwritable values: the slow path encodes them, or reports why it cannot
            header = encode_headers(session, headers) or b""
    header_octets = len(header)
    body_octets = len(content)
    largest = carrier._max_frame_size
    header_size = header_octets + FRAME_HEADER_SIZE
    body_size = body_octets + FRAME_HEADER_SIZE
    number = channel.number
    if header and content and header_size <= largest and body_size <= largest:  # `frame_command` for one frame each
        place = 1 << 16 | number
        octets = b"".join(
            (frame, put_frame_begin(_HEADER, header_size, place), header, put_frame_begin(_BODY, body_size, place), content)
        )
    else:
        segment = content if content or empty_body else None
        octets = b"".join(frame_command(number, payload, header or None, segment, largest, split_header))
    outbound = session._outbound
    producer = outbound.producer
    if producer is not None and not producer.allows(1):
        raise NoCredit("", "message", 1, 0)
    subscriber: Subscriber | None = None
    cost = 0
    if session.delivers:
        cost = header_octets + body_octets if session.counts_headers else body_octets
        subscriber = session._subscribers.able(destination, cost)
    id = outbound.next_id
    if outbound.retain:
        outbound.check_room(len(payload) + header_octets + body_octets, session.limits)
        if outbound.position != id:
            write_point(session)
        carrier._write(octets)
        outbound.say(payload, header or None, content if content or empty_body else None)
    else:  # `Outbound.say`, `Carrier._write` and `MutableRangeSet.add` inlined: nothing is kept
        if outbound.position != id:
            write_point(session)
            outbound.begun = True
        if carrier._wake is not None and carrier._written == carrier._taken:
            carrier._wake()
        carrier._outbox.append(octets)
        carrier._written += len(octets)
        outbound.next_id = outbound.position = (id + 1) & 0xFFFFFFFF
        highs = outbound.outstanding.highs
        if highs and highs[-1] == id - 1:
            highs[-1] = id
        else:
            outbound.outstanding.add(id)
    if producer is not None:
        producer.spend(1)
    if subscriber is not None:
        session._subscribers.delivered(subscriber, id, cost)
    return id


def say_exception(session: Session, exception: execution.Exception_) -> CommandId:
    """Sends an exception and then detach; for our side the session is over."""
    channel = session._place
    payload = channel.layout.encode_command(exception, False)
    frames = frame_command(channel.number, payload, None, None, channel.carrier._max_frame_size)
    session._flush_pending()
    write_point(session)
    channel.carrier._write(b"".join(frames))
    id = session._outbound.say(payload, None, None)
    session._outbound.outstanding.discard_id(id)  # it ends the session, so it will never be completed
    channel.say(controls.Detach(session.name))
    return id


def violate(
    session: Session,
    rule: str,
    said: str,
    legal: tuple[str, ...],
    code: int,
    text: str,
    id: int | None = None,
    codes: tuple[int | None, int | None] = (None, None),
) -> None:
    """Reports the rule that the peer broke, and ends the session.

    A detach code (0 to 4) goes out in session.detached; an error code goes out in execution.exception, followed by a detach.
    """
    channel = session._place
    code = int(code)
    violation = Violation(session.peer, rule, said, legal, code, channel.number, channel.channels.offset, text)
    detach_code = code if code <= DetachCode.UNKNOWN_IDS else None
    if detach_code is not None:
        channel.say(controls.Detached(session.name, code))
    else:
        say_exception(session, execution.Exception_(code, id, codes[0], codes[1], None, f"{rule}: {text}"[:1000]))
    session._leave(Origin.VIOLATION, detach_code, text, ended=True, violation=violation)
