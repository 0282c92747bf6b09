"""Contents of the older dialects that lie whole in the buffer, as most do: cut in one step."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, Final

from amqp_sansio.wire.assembly import Cut, KnownCommand
from amqp_sansio.wire.method_frames import (
    CONTENT_BODY,
    CONTENT_HEADER,
    FRAME_END,
    FRAME_HEAD,
    HEADER_HEAD,
    METHOD,
    OVERHEAD,
    body_head,
    content_head,
    frame_head,
)
from amqp_sansio.wire.primitives import u64

_TAG_OF_DELIVER: Final = FRAME_HEAD + 5
"""Where the delivery-tag of basic.deliver is, behind a consumer-tag without octets."""
_SHORTEST_HEADER: Final = HEADER_HEAD + OVERHEAD
_SHORTEST: Final = _TAG_OF_DELIVER + 8 + 3 + 1 + _SHORTEST_HEADER
"""Of a delivery without names and properties, with its content."""
_BASIC: Final = 60 << 16
"""Its class, and the weight of a content."""
AHEAD: Final = 64
"""Deliveries that are cut ahead of the one that is handed out."""


def cut_content(
    buffer: bytes, at: int, channel: int, of_class: bytes, largest: int, header_octets: int
) -> tuple[bytes, bytes | None, int] | None:
    """The header and body of a content that lies whole from `at` on, in one body frame or none, and where it ends.

    It means what the frames mean one by one: everything that they could be refused for makes it give up, and they are
    read one by one then.  `largest`: octets of a frame; `header_octets`: those of a header.
    """
    body_at = at + FRAME_HEAD + HEADER_HEAD + 1
    if len(buffer) < body_at:
        return None
    kind, of, size = frame_head(buffer, at)
    if kind != CONTENT_HEADER or of != channel or not HEADER_HEAD <= size <= header_octets:
        return None
    body_at = end = at + size + OVERHEAD
    if size + OVERHEAD > largest or len(buffer) < end or buffer[end - 1] != FRAME_END:
        return None
    header = buffer[at + FRAME_HEAD : end - 1]
    octets = u64(header, 4)[0]
    if header[:4] != of_class + b"\0\0":
        return None
    if not octets:
        return header, None, end
    if len(buffer) < body_at + FRAME_HEAD:
        return None
    kind, of, size = frame_head(buffer, body_at)
    end = body_at + size + OVERHEAD
    if kind != CONTENT_BODY or of != channel or size != octets or len(buffer) < end or buffer[end - 1] != FRAME_END:
        return None
    return None if size + OVERHEAD > largest else (header, buffer[body_at + FRAME_HEAD : end - 1], end)


def cut_deliveries(
    buffer: bytes,
    at: int,
    base: int,
    known: Mapping[bytes, KnownCommand[Any]],
    under_way: Container[int],
    largest: int,
    header_octets: int,
    most: int,
) -> tuple[list[Cut], int]:
    """Deliveries from `at` on that are `known` but for their tag, with their contents, and how many frames they are.

    Each content is cut as by `cut_content`, which it repeats without the calls.  At most AHEAD of them, up to the first that is
    not whole, or not as plain as that; `under_way`: channels with a content; `most`: octets of a method with its content.
    """
    cuts: list[Cut] = []
    frames = 0
    known_of, at_hand = known.get, len(buffer)
    payload = largest - OVERHEAD
    last = at_hand - _SHORTEST
    while at <= last and len(cuts) < AHEAD:
        tag_at = at + _TAG_OF_DELIVER + buffer[at + _TAG_OF_DELIVER - 1]
        kind, channel, size = frame_head(buffer, at)
        header_at = at + size + OVERHEAD
        if header_at + _SHORTEST_HEADER > at_hand:
            break
        found = known_of(buffer[at + 1 : tag_at] + buffer[tag_at + 8 : header_at - 1])
        if found is None or kind != METHOD or size > payload or channel in under_way:
            break
        ended, kind, of, header_size, of_class, octets = content_head(buffer, header_at - 1)
        body_at = header_at + header_size + OVERHEAD
        if ended != FRAME_END or kind != CONTENT_HEADER or of != channel or of_class != _BASIC or header_size < HEADER_HEAD:
            break
        if header_size > header_octets or header_size > payload or size + header_size + octets > most:
            break
        if octets:
            end = body_at + octets + OVERHEAD
            if end > at_hand or octets > payload:
                break
            ended, kind, of, body_size = body_head(buffer, body_at - 1)
            if ended != FRAME_END or kind != CONTENT_BODY or of != channel or body_size != octets:
                break
            body = buffer[body_at + FRAME_HEAD : end - 1]
            frames += 3
        else:
            if body_at > at_hand:
                break
            end, body = body_at, b""
            frames += 2
        if buffer[end - 1] != FRAME_END:
            frames -= 3 if octets else 2
            break
        tag = u64(buffer, tag_at)[0]
        cuts.append((found, buffer[header_at + FRAME_HEAD : body_at - 1], tag, body, base + at, base + end))
        at = end
    return cuts, frames


def wanted(buffer: bytes, at: int, known: Mapping[bytes, KnownCommand[Any]], largest: int) -> int:
    """Octets that are needed from `at` on, where a delivery that is `known` begins whose content is not whole; else 0.

    It never waits for more than is certain to come, were it the frame of somebody else that comes next, nor for more than
    `largest`.
    """
    at_hand = len(buffer)
    if at_hand - at < _TAG_OF_DELIVER + 8:
        return 0
    tag_at = at + _TAG_OF_DELIVER + buffer[at + _TAG_OF_DELIVER - 1]
    _, channel, size = frame_head(buffer, at)
    end = at + size + OVERHEAD
    if end > at_hand or buffer[at + 1 : tag_at] + buffer[tag_at + 8 : end - 1] not in known:
        return 0
    for kind in (CONTENT_HEADER, CONTENT_BODY):
        begin, end = end, end + FRAME_HEAD
        if end <= at_hand:
            found, of, size = frame_head(buffer, begin)
            if found != kind or of != channel:
                return 0
            end = begin + size + OVERHEAD
        if end > at_hand:
            return end - at if end - at <= largest else 0
        if kind == CONTENT_HEADER and (size < HEADER_HEAD or not u64(buffer, begin + FRAME_HEAD + 4)[0]):
            return 0
    return 0
