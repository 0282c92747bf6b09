"""A fast path for contents of the older dialects that are complete in the buffer, as most are."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import lru_cache
from struct import Struct, error
from typing import Any, Final, TypeAlias

from amqp_sansio.wire.framing import Cut, KnownCommand
from amqp_sansio.wire.method_frames import (
    CONTENT_BODY,
    CONTENT_HEADER,
    FRAME_END,
    FRAME_HEAD,
    HEADER_HEAD,
    METHOD,
    OVERHEAD,
    frame_head,
)
from amqp_sansio.wire.primitives import u64

_deliver_head: Final = Struct(">BHI4xB").unpack_from
"""A method's frame: type, channel, size; and the length of the first short string after class and method."""

_TAG_OF_DELIVER: Final = FRAME_HEAD + 5
"""Where the delivery-tag is in a basic.deliver with an empty consumer-tag."""
_LONGEST_BEHIND: Final = 1 + 256 + 256
"""The most octets after the tag: the redelivered bit, exchange and routing key."""
_HEADER_BEGINS: Final = FRAME_END << 24 | CONTENT_HEADER << 16
_BODY_BEGINS: Final = FRAME_END << 24 | CONTENT_BODY << 16
"""The end of a frame and the type of the next one, before its channel."""
_body_head: Final = Struct(">II").unpack_from
"""The same with the channel as one number, and the next frame's size."""
_BASIC: Final = 60 << 16
"""Class basic, and the weight of a content."""
Reads: TypeAlias = Callable[[bytes], object]
"""Decodes a method; returns None when it cannot."""
AHEAD: Final = 64
"""How many deliveries are cut ahead of the one returned."""


class KnownConsumer(KnownCommand[Any]):
    """A consumer with deliveries; `likes` are such methods, by the octets after their tag."""

    __slots__ = ("likes", "read")

    def __init__(self, channel: int, method: object, payload: bytes, account: object, read: Reads) -> None:
        super().__init__(channel, method, False, payload, account)
        self.read: Final = read
        self.likes: Final[dict[bytes, KnownCommand[Any]]] = {}


class Consumers:
    """Consumers with deliveries, for `cut_deliveries`: at most `most`, and as many remembered methods."""

    __slots__ = ("_likes", "_most", "known")

    def __init__(self, known: dict[bytes, KnownConsumer], most: int) -> None:
        self.known: Final = known
        """By the octets of the channel and of a method up to its tag."""
        self._most: Final = most
        self._likes = 0

    def learn(self, channel: int, payload: bytes, method: object, account: object, read: Reads) -> None:
        """Remembers a delivery."""
        tag_at = 5 + payload[4]
        key = channel.to_bytes(2, "big") + payload[:tag_at]
        if key in self.known:
            return
        if len(self.known) >= self._most:
            self.clear()
        consumer = self.known[key] = KnownConsumer(channel, method, payload, account, read)
        self._like(consumer, payload[tag_at + 8 :], consumer)

    def another(self, consumer: KnownConsumer, behind_tag: bytes) -> KnownCommand[Any] | None:
        """Returns the meaning of a method with these octets after its tag; None when it cannot be decoded."""
        payload = consumer.payload[: 5 + consumer.payload[4] + 8] + behind_tag
        method = consumer.read(payload)
        if method is None:
            return None
        made = KnownCommand[Any](consumer.channel, method, False, payload, consumer.account)
        self._like(consumer, behind_tag, made)
        return made

    def _like(self, consumer: KnownConsumer, behind_tag: bytes, made: KnownCommand[Any]) -> None:
        if self._likes >= self._most:
            for each in self.known.values():
                each.likes.clear()
            self._likes = 0
        consumer.likes[behind_tag] = made
        self._likes += 1

    def clear(self) -> None:
        """Forgets all."""
        self.known.clear()
        self._likes = 0


@lru_cache(1024)  # the lengths come from the peer, which may send any
def _splitter(head: int, octets: int) -> Callable[[bytes, int], tuple[Any, ...]]:
    """Returns what splits a deliver and the head of its content.

    * `head` octets up to the tag, equal for all deliveries of one size to one consumer.
    * The tag, and `octets` octets after it.
    * `_HEADER_BEGINS` and channel as one number; size of the frame.
    * Class and weight as one number; size of the body.
    """
    return Struct(f">{head}sQ{octets}sIIIQ").unpack_from


def cut_content(
    buffer: bytes, at: int, channel: int, of_class: bytes, largest: int, header_octets: int
) -> tuple[bytes, bytes | None, int] | None:
    """Returns header and body of a content that begins at `at`, complete and with at most one body frame, and its end.

    Equivalent to reading the frames one by one: it gives up on anything for which they could be refused.  `largest`: octets of
    a frame; `header_octets`: those of a header.
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
    consumers: Consumers,
    under_way: Container[int],
    largest: int,
    header_octets: int,
    most: int,
) -> tuple[list[Cut], int]:
    """Returns the deliveries from `at` on to known consumers, with their contents, and their number of frames.

    Cuts each content as `cut_content` does, inlined.  Returns at most AHEAD of them, up to the first that is incomplete or
    unusual; `under_way`: channels with an incomplete content; `most`: octets of a method with its content.
    """
    cuts: list[Cut] = []
    bodiless = 0
    at_hand = len(buffer)
    payload = largest - OVERHEAD
    most_header = min(header_octets, payload)
    close = most < 3 * payload  # three frames may hold more than `most`
    head, size, to_tag, to_header, header_begins, body_begins = b"", 0, 0, 0, 0, 0
    consumer: KnownConsumer | None = None
    likes: dict[bytes, KnownCommand[Any]] = {}
    split = _splitter(1, 0)
    try:
        for _ in range(AHEAD):
            found_head, tag, behind_tag, begins, header_size, of_class, octets = split(buffer, at)
            if found_head != head:  # most have one size and one consumer
                kind, channel, size, tag_octets = _deliver_head(buffer, at)
                to_tag, to_header = _TAG_OF_DELIVER + tag_octets, size + OVERHEAD
                behind = to_header - to_tag - 9
                if kind != METHOD or size > payload or channel in under_way or not 0 <= behind <= _LONGEST_BEHIND:
                    break
                head = buffer[at : at + to_tag]
                consumer = consumers.known.get(head[1:3] + head[FRAME_HEAD:])
                if consumer is None:
                    break
                likes, split = consumer.likes, _splitter(to_tag, behind)
                header_begins, body_begins = _HEADER_BEGINS | channel, _BODY_BEGINS | channel
                _, tag, behind_tag, begins, header_size, of_class, octets = split(buffer, at)
            if begins != header_begins or of_class != _BASIC or not HEADER_HEAD <= header_size <= most_header:
                break
            if close and size + header_size + octets > most:
                break
            header_at = at + to_header + FRAME_HEAD
            body_at = end = header_at + header_size + 1
            body = b""
            if octets:
                end += octets + OVERHEAD
                if end > at_hand or octets > payload:
                    break
                begins, body_size = _body_head(buffer, body_at - 1)
                if begins != body_begins or body_size != octets:
                    break
                body = buffer[body_at + FRAME_HEAD : end - 1]
            elif end > at_hand:
                break
            if buffer[end - 1] != FRAME_END:
                break
            found = likes.get(behind_tag)
            if found is None and (consumer is None or (found := consumers.another(consumer, behind_tag)) is None):
                break
            if not octets:
                bodiless += 1
            cuts.append((found, buffer[header_at : body_at - 1], tag, body, base + at, base + end))
            at = end
    except error:
        pass  # the next one is not whole
    return cuts, 3 * len(cuts) - bodiless


def wanted(buffer: bytes, at: int, consumers: Consumers, largest: int) -> int:
    """Returns the octets needed from `at` on for an incomplete delivery to a known consumer; 0 for anything else.

    Never waits for more than will certainly come, even if the next frame is a different one, nor for more than `largest`.
    """
    at_hand = len(buffer)
    if at_hand - at < _TAG_OF_DELIVER + 8:
        return 0
    tag_at = at + _TAG_OF_DELIVER + buffer[at + _TAG_OF_DELIVER - 1]
    _, channel, size = frame_head(buffer, at)
    end = at + size + OVERHEAD
    consumer = consumers.known.get(buffer[at + 1 : at + 3] + buffer[at + FRAME_HEAD : tag_at]) if end <= at_hand else None
    if consumer is None:
        return 0
    behind_tag = buffer[tag_at + 8 : end - 1]
    if behind_tag not in consumer.likes and consumers.another(consumer, behind_tag) is None:
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
