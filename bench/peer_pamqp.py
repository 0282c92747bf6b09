"""pamqp: a codec of 0-9-1 without a connection; it decodes frames that were split beforehand, at no cost to it."""

from __future__ import annotations

from datetime import UTC, datetime
from operator import attrgetter

from pamqp import body, commands, frame, header

from bench.harness import Fresh, Timed
from bench.messages import EXCHANGE, Message

read_every = attrgetter(*commands.Basic.Properties.__slots__)


def _properties(message: Message) -> object:
    if not message.rich:
        return commands.Basic.Properties()
    return commands.Basic.Properties(
        content_type=message.content_type,
        content_encoding=message.content_encoding,
        headers=message.application_headers,
        delivery_mode=message.delivery_mode,
        priority=message.priority,
        correlation_id=message.correlation_id,
        reply_to=message.reply_to,
        message_id=str(message.message_id),
        timestamp=datetime.fromtimestamp(message.timestamp, UTC),
    )


def delivered(sent: list[Message]) -> list[bytes]:
    """Returns the frames in which a broker delivers the messages: three for each."""
    frames: list[bytes] = []
    for tag, message in enumerate(sent, 1):
        deliver = commands.Basic.Deliver("consumer-1", tag, False, EXCHANGE, message.routing_key)
        frames.append(frame.marshal(deliver, 1))
        frames.append(frame.marshal(header.ContentHeader(0, len(message.body), _properties(message)), 1))
        frames.append(frame.marshal(body.ContentBody(message.body), 1))
    return frames


def receive(sent: list[Message], *, read: bool) -> Fresh:
    """Decodes deliveries; with `read`, reads every property."""
    frames = delivered(sent)
    unmarshal = frame.unmarshal

    def untouched() -> int:
        count = 0
        for octets in frames:
            unmarshal(octets)
            count += 1
        return count // 3

    def every_property() -> int:
        count = 0
        for octets in frames:
            value = unmarshal(octets)[2]
            if value.name == "ContentHeader":
                properties = value.properties
                read_every(properties)
                count += 1
        return count

    timed: Timed = every_property if read else untouched
    return lambda: timed


def publish(sent: list[Message]) -> Fresh:
    """Encodes publishes, with properties built for each message."""
    marshal = frame.marshal

    def timed() -> int:
        count = 0
        out: list[bytes] = []
        for message in sent:
            out.append(marshal(commands.Basic.Publish(exchange=EXCHANGE, routing_key=message.routing_key), 1))
            out.append(marshal(header.ContentHeader(0, len(message.body), _properties(message)), 1))
            out.append(marshal(body.ContentBody(message.body), 1))
            count += 1
        b"".join(out)
        return count

    return lambda: timed


def kept(sent: list[Message]) -> list[object]:
    """Returns what an application keeps of each received message: the decoded delivery, header and body."""
    # Each frame is its own copy, as if it came from a socket.
    frames = [bytes(bytearray(octets)) for octets in delivered(sent)]
    unmarshal = frame.unmarshal
    return [tuple([unmarshal(octets)[2] for octets in frames[at : at + 3]]) for at in range(0, len(frames), 3)]
