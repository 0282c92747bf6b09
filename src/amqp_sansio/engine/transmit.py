"""How commands leave a session: checked and encoded first, then written, and only then is anything changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from amqp_sansio.engine.demarcation import Effect
from amqp_sansio.engine.speaking import check_command, check_fragments
from amqp_sansio.errors import DecodeError, EncodeError, LocalProtocolError, NoCredit
from amqp_sansio.spec import execution, message
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.wire.field_interpreter import UNWRITABLE
from amqp_sansio.wire.frames import FRAME_HEADER_SIZE
from amqp_sansio.wire.headers import HEADER_WRITERS
from amqp_sansio.wire.primitives import put_frame_begin
from amqp_sansio.wire.segments import BODY, HEADER, frame_command

if TYPE_CHECKING:
    from amqp_sansio.engine.carrier import CommandId
    from amqp_sansio.engine.session import Session
    from amqp_sansio.engine.subscriber import Subscriber

# The first two octets (flags, segment type) of a header frame with a body behind it, and of the one frame of a body.
_HEADER: Final = 0x03 << 8 | HEADER
_BODY: Final = 0x07 << 8 | BODY

Prepared: TypeAlias = tuple[bytes, bytes | None, bytes | None, list[bytes], Effect | None]
"""A command that was checked: its segments, its frames, and what happens once it is written."""


def encode_headers(session: Session, headers: tuple[Struct | bytes, ...]) -> bytes | None:
    """The header segment; None without any."""
    if not headers:
        return None
    layout = session._layout
    parts: list[bytes] = []
    for struct in headers:
        if isinstance(struct, bytes):
            try:
                layout.walk_headers(struct, 0, len(struct), session.limits)
            except DecodeError as error:
                if error.limit is None:  # limits are for what others say
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
    """Writes what was prepared: all of it or, when it cannot be kept for replay, nothing (LimitError)."""
    outbound = session._outbound
    if outbound.retain:
        octets = sum([len(payload) + len(header or b"") + len(body or b"") for payload, header, body, _, _ in prepared])
        outbound.check_room(octets, session.limits, len(prepared))
    ids: list[CommandId] = []
    for payload, header, body, frames, effect in prepared:
        write_point(session)
        session._carrier._write(b"".join(frames) if len(frames) > 1 else frames[0])
        id = outbound.say(payload, header, body)
        ids.append(id)
        if effect is not None:
            effect(id)
    return ids


def write_point(session: Session) -> None:
    """Says command-point when the other side would number the next command otherwise."""
    assert session._channel is not None
    outbound = session._outbound
    if outbound.position != outbound.next_id:
        session._channel.say(controls.CommandPoint(outbound.next_id, 0))
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
    """The one way a message goes out.  Nothing changes before everything was checked and encoded.

    Either `headers` or `header`, a header segment that is known to be right.  `split_header` splits one that does not fit
    into one frame.  `empty_body`: a body of 0 octets is a segment of its own, which is otherwise left out.
    """
    channel = session._channel
    if not session._speaks or channel is None or channel.carrier._closed_cause is not None:
        session.check_speak("message.transfer")
        raise AssertionError(session.state)
    carrier = channel.carrier
    try:
        command = channel.commands.get((destination, accept_mode, acquire_mode, sync))
    except TypeError:  # something that cannot be hashed is no destination: the encoder says so
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
        except UNWRITABLE:  # other structs, octets, values that cannot be written: the slow way does it or says why not
            header = encode_headers(session, headers) or b""
    header_octets = len(header)
    body_octets = len(content)
    largest = carrier._max_frame_size
    header_size = header_octets + FRAME_HEADER_SIZE
    body_size = body_octets + FRAME_HEADER_SIZE
    number = channel.number
    if header and content and header_size <= largest and body_size <= largest:  # what `frame_command` makes of one frame each
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
    else:  # `say`, without the call: nothing is kept
        if outbound.position != id:
            write_point(session)
            outbound.begun = True
        carrier._write(octets)
        outbound.next_id = outbound.position = (id + 1) & 0xFFFFFFFF
        outbound.outstanding.add(id)
    if producer is not None:
        producer.spend(1)
    if subscriber is not None:
        session._subscribers.delivered(subscriber, id, cost)
    return id


def say_exception(session: Session, exception: execution.Exception_) -> CommandId:
    """Says an exception and then detach: from our side the session is over."""
    channel = session._channel
    assert channel is not None
    payload = channel.layout.encode_command(exception, False)
    frames = frame_command(channel.number, payload, None, None, channel.carrier._max_frame_size)
    session._flush_pending()
    write_point(session)
    channel.carrier._write(b"".join(frames))
    id = session._outbound.say(payload, None, None)
    session._outbound.outstanding.discard_id(id)  # it ends the session: nobody will ever complete it
    channel.say(controls.Detach(session.name))
    return id


def octets_of(body: bytes) -> bytes:
    """The body as bytes.  EncodeError for what is no octets."""
    if type(body) is bytes:
        return body
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise EncodeError("body", f"octets, not {type(body).__name__}")
    return bytes(body)
