"""Reads one speaker's frames in the older dialects, and assembles methods with their contents.

A content is a header frame and as many body frames as its size requires, after a method that carries one.  Contents of
different channels interleave; on one channel, nothing comes in between.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import lru_cache
from struct import Struct, error
from typing import Any, ClassVar, Final, TypeAlias, cast

from amqp_sansio.errors.core import many
from amqp_sansio.limits import Limits
from amqp_sansio.wire.framing import (
    AHEAD,
    BODY,
    COMMAND,
    CONNECTION_SCOPE,
    CONTROL,
    HEADER,
    Assembly,
    Carries,
    Cut,
    KnownCommand,
    Malformed,
    Partial,
    Reader,
)
from amqp_sansio.wire.method_frames import (
    CONTENT_BODY,
    CONTENT_HEADER,
    FRAME_END,
    FRAME_HEAD,
    GUESSED,
    HEADER_HEAD,
    HEARTBEAT,
    METHOD,
    NAMES,
    OVERHEAD,
    TAG_FRAME,
    find_method_frame,
    frame_head,
    plausible_frame,
    tag_frame,
)
from amqp_sansio.wire.primitives import u16, u32, u64

CONNECTION_CLASS: Final = 10
UNEXPECTED_FRAME: Final = 505
"""The code for a frame at an illegal place."""
_CHANNEL_ERROR: Final = 504
_FRAME_ERROR: Final = CONNECTION_SCOPE
_EVERY: Final = -1
"""In `_dropping`: every channel without a method since the gap."""

CutTag: TypeAlias = tuple[int, int, bool, int]
"""Its channel, the number, the bit, and where the frame begins in its speaker's stream."""


class MethodReader(Reader):
    """Reads one speaker's frames, and assembles contents.

    * A unit's `kind` is CONTROL for methods of class connection and heartbeats (no payload), and COMMAND for all other methods;
      out-of-band and trace frames, where the dialect has them (`extra`), have their frame type as kind.
    * `header` is the payload of the header frame, with class and size.
    * `carries(class_code, code)` returns whether a method has a content.
    * `opening`: only small methods on channel 0.
    """

    HEAD: ClassVar[int] = FRAME_HEAD

    def __init__(
        self,
        limits: Limits,
        max_frame_size: int,
        tolerant: bool,
        carries: Carries,
        *,
        offset: int = 0,
        opening: bool = False,
        extra: bool = False,
    ) -> None:
        super().__init__(limits, max_frame_size, tolerant, offset, opening)
        self._carries: Final = carries
        self._extra: Final = extra
        self._sizes: Final[dict[int, int]] = {}  # outstanding octets of a body, by channel, once its header has arrived
        self._dropping: Final[dict[int, bool]] = {}  # channels on which the rest of a content is skipped
        self._consumers: DeliveryConsumers | None = None  # those with learned deliveries; an observer has none

    # --- see Reader -----------------------------------------------------------------------------------------------------------

    def _plausible_at(self, octets: bytes, at: int) -> bool:
        return plausible_frame(octets, at, self._largest)

    def _find(self, octets: bytes, start: int) -> tuple[int, int]:
        return find_method_frame(octets, start, min(self._largest, GUESSED), self._ended)

    @property
    def _largest(self) -> int:
        """Octets of the largest frame that is waited for."""
        return min(self.max_frame_size, self.limits.assembly_octets + OVERHEAD)

    def forget(self, channel: int) -> None:
        if self._drop(channel) is not None:
            self._dropping[channel] = True

    def break_off(self) -> bool:
        self._sizes.clear()
        self._dropping.clear()
        return super().break_off()

    def _begin_search(self) -> None:
        self._dropping[_EVERY] = True

    # --- frames -------------------------------------------------------------------------------------------------------------

    def next(self) -> Assembly | Malformed | None:
        if self.ahead:
            self._return_ahead()
        queue = self.queue
        while not queue:
            if self.dead or (self._searching and not self._search()):
                return None
            if len(self.buffer) - self.position < self._needed and not self.ready():
                return None
            buffer, at = self.buffer, self.position
            if self.wary and not plausible_frame(buffer, at, self._largest):
                return None
            kind, channel, size = frame_head(buffer, at)
            start = self._base + at
            if (refused := self._refused(kind, channel, size, start)) is not None:
                self._die(refused)
                break
            whole = size + OVERHEAD
            if len(buffer) - at < whole:
                self._needed = whole
                continue
            self._needed = FRAME_HEAD
            if buffer[at + whole - 1] != FRAME_END:
                self._die(_no_end(channel, start, size, buffer[at + whole - 1]))
                break
            self.position = at + whole
            self.frames += 1
            payload = buffer[at + FRAME_HEAD : at + FRAME_HEAD + size]
            if self.trace is not None:
                self.trace.append((start, whole, 0, kind, 0, channel, payload[:4]))
            unit = self._frame(kind, channel, start, payload)
            if unit is not None:
                if not queue:
                    return unit
                queue.append(unit)
        return queue.popleft()

    def next_answer(self, heads: tuple[bytes, ...], until: int) -> Assembly | Malformed | None:
        """See `Reader.next_answer`."""
        self.queue.clear()
        if self.ahead:
            self._return_ahead()
        while not self.dead and self._base + self.position <= until:
            if len(self.buffer) - self.position < self._needed and not self.ready():
                break
            buffer, at = self.buffer, self.position
            kind, channel, size = frame_head(buffer, at)
            whole, start = size + OVERHEAD, self._base + at
            if (refused := self._refused(kind, channel, size, start)) is not None:
                self._die(refused)
                return self.queue.popleft()
            if len(buffer) - at < whole:
                self._needed = whole
                continue
            self._needed = FRAME_HEAD
            if buffer[at + whole - 1] != FRAME_END:
                self._die(_no_end(channel, start, size, buffer[at + whole - 1]))
                return self.queue.popleft()
            self.position = at + whole
            if kind == METHOD and buffer.startswith(heads, at + FRAME_HEAD, at + whole - 1):
                payload = buffer[at + FRAME_HEAD : at + whole - 1]
                return Assembly(channel, 0, CONTROL, payload, None, None, start, start + whole)
        return None

    def cut_tag(self, code: int) -> CutTag | None:
        """Reads the next frame if it is complete and its method has this code (class and method), a 64-bit number and one bit.

        Returns None for any other frame, and when a content is incomplete on its channel: `next` reads the same octets with
        every check.
        """
        buffer, at = self.buffer, self.position
        if len(buffer) - at < TAG_FRAME or self.dead or self._searching or self.wary or self._opening:
            return None
        kind, channel, size, method, tag, bit, end = tag_frame(buffer, at)
        if method != code or kind != METHOD or size != TAG_FRAME - OVERHEAD or end != FRAME_END or bit > 1:
            return None
        if channel in self._open or self._dropping or self.queue or self.ahead or self.trace is not None:
            return None
        self.position = at + TAG_FRAME
        self.frames += 1
        self._needed = FRAME_HEAD
        return channel, tag, bit == 1, self._base + at

    def put_back_tag(self) -> None:
        """Undoes the last `cut_tag`."""
        self.position -= TAG_FRAME
        self.frames -= 1

    def _refused(self, kind: int, channel: int, size: int, start: int) -> Malformed | None:
        """Returns why nothing after this frame head can be read, without waiting for the frame's octets."""
        whole = size + OVERHEAD
        if whole > self._largest and not METHOD <= kind <= HEARTBEAT:
            rule, legal, text = "frame.type", "method, header, body or heartbeat", "nobody knows this frame type"
        elif self._opening and size > self.limits.handshake_octets:
            most = self.limits.handshake_octets
            rule, legal = "limits.handshake_octets", f"at most {most} octets"
            text = "more than our limit handshake_octets before the connection is open"
        elif whole > self.max_frame_size:
            rule, legal = "connection.tune-ok.frame-max", f"at most {self.max_frame_size} octets"
            text = "a frame larger than what was agreed"
        elif whole > self._largest and not (  # one of a content that was refused before is passed over
            kind == CONTENT_BODY and channel in self._dropping and whole <= self.limits.inbox_octets
        ):
            rule, legal = "limits.assembly_octets", f"at most {self._largest} octets"
            text = "more than our limit assembly_octets"
        else:
            return None
        return Malformed(rule, text, _FRAME_ERROR, channel, start, True, f"a {_name(kind)} frame of {whole} octets", (legal,))

    def _frame(self, kind: int, channel: int, start: int, payload: bytes) -> Assembly | None:
        """Handles a complete frame; returns the unit that it completes, or None: `queue` may have a violation."""
        if kind == METHOD:
            return self._method(channel, start, payload)
        if kind == CONTENT_HEADER:
            return self._header(channel, start, payload)
        if kind == CONTENT_BODY:
            return self._body(channel, start, payload)
        end = start + OVERHEAD + len(payload)
        legal: tuple[str, ...]
        if kind == HEARTBEAT:
            if not channel and not payload:
                return Assembly(0, 0, CONTROL, b"", None, None, start, end)
            said = f"a heartbeat of {many(len(payload), 'octet')} on channel {channel}"
            self._tell(
                "frame.heartbeat", "a heartbeat is empty, on channel 0", _FRAME_ERROR, channel, start, said, ("channel 0",)
            )
        elif self._extra and kind < HEARTBEAT and kind:
            return Assembly(channel, 0, kind, payload, None, None, start, end)
        else:
            said, legal = f"frame type {kind}", ("method", "header", "body", "heartbeat")
            self._tell("frame.type", "nobody knows this frame type", _FRAME_ERROR, channel, start, said, legal)
        return None

    def _method(self, channel: int, start: int, payload: bytes) -> Assembly | None:
        if _EVERY in self._dropping:
            self._dropping[channel] = False
        else:
            self._dropping.pop(channel, None)
        if (partial := self._open.get(channel)) is not None:
            self._break_off(channel)
            self._tell(
                "content.interrupted", "the content before this method is not complete", UNEXPECTED_FRAME, channel, start,
                _method_of(payload), ("header", "body"), partial,
            )  # fmt: skip
        if len(payload) < 4:
            said = f"a method frame of {many(len(payload), 'octet')}"
            self._tell(
                "frame.method", "class and method take 4 octets", _FRAME_ERROR, channel, start, said, ("4 octets or more",)
            )
            return None
        class_code = u16(payload, 0)[0]
        if self._opening and (channel or class_code != CONNECTION_CLASS):
            legal = ("a method of class connection on channel 0",)
            text = "the connection is not open yet"
            self._tell("connection.handshake", text, _CHANNEL_ERROR, channel, start, "a method frame", legal)
            return None
        kind = CONTROL if class_code == CONNECTION_CLASS else COMMAND
        if kind == CONTROL or not self._carries(class_code, u16(payload, 2)[0]):
            return Assembly(channel, 0, kind, payload, None, None, start, start + OVERHEAD + len(payload))
        if len(self._open) >= self.limits.channels:
            most = self.limits.channels
            self._tell("limits.channels", "too many contents under way", 506, channel, start, "a method", (f"at most {most}",))
            self._dropping[channel] = True
            return None
        if (unit := self._at_once(channel, start, payload)) is not None:
            return unit
        partial = self._open[channel] = Partial(channel, 0, kind, start)
        self._add(partial, payload, start)
        partial.end_segment()
        return None

    def _at_once(self, channel: int, start: int, payload: bytes) -> Assembly | None:
        """Returns the method with its content when that follows whole: see `_content`."""
        # A violation found just now is reported before the frames of the content.
        found = None if self.wary or self.queue else self._content(channel, self.position, payload[:2], len(payload))
        if found is None:
            return None
        header, body, end = found
        if self.trace is not None:
            at, body_at = self.position, self.position + len(header) + OVERHEAD
            self.trace.append((self._base + at, body_at - at, 0, CONTENT_HEADER, 0, channel, header[:4]))
            if body is not None:
                self.trace.append((self._base + body_at, end - body_at, 0, CONTENT_BODY, 0, channel, body[:4]))
        self.position = end
        self.frames += 1 if body is None else 2
        return Assembly(channel, 0, COMMAND, payload, header, body, start, self._base + end)

    def _content(self, channel: int, at: int, of_class: bytes, octets_before: int) -> tuple[bytes, bytes | None, int] | None:
        """Returns the content that begins at `at` (`cut_content`), if it is whole and within our limits."""
        limits = self.limits
        found = cut_content(self.buffer, at, channel, of_class, self._largest, limits.header_octets)
        if found is not None:
            header, body, _ = found
            octets = octets_before + len(header) + (0 if body is None else len(body))
            if octets > limits.assembly_octets or self.held + octets > limits.buffered_octets:
                return None
        return found

    # --- deliveries that repeat earlier ones ----------------------------------------------------------------------------------

    def learn(self, channel: int, payload: bytes, method: object, account: object, read: Reads) -> None:
        """Remembers a basic.deliver: later ones to the consumer have another tag, and often no other difference.

        `read` decodes another one to the same consumer.
        """
        if self._consumers is None:
            self._consumers = DeliveryConsumers(cast("dict[bytes, KnownConsumer]", self.known), self.limits.cached_commands)
        self._consumers.learn(channel, payload, method, account, read)

    def unlearn(self) -> None:
        self._consumers = None
        super().unlearn()

    def cut_run(self, head: int, most: int) -> list[Cut]:
        """Returns consecutive deliveries like learned ones, with whole bodies; the third item of each is its delivery-tag.

        Leaves all others to `next`, which reads the same octets with every check.
        """
        consumers = self._consumers
        if consumers is None or self.queue or self._searching or self.dead or self.wary or self._dropping:
            return []
        if self.trace is not None:
            return []
        limits, at = self.limits, self.position
        octets = min(limits.assembly_octets, limits.buffered_octets - self.held)
        cuts, frames = cut_deliveries(
            self.buffer, at, self._base, consumers, self._open, self._largest, limits.header_octets, octets, most
        )
        if cuts:
            self.position = cuts[-1][5] - self._base
            self.frames += frames
            self._needed = FRAME_HEAD
        if len(cuts) < most and not self._ended:
            needed = wanted(self.buffer, self.position, consumers, self._largest)
            self._needed = needed or self._needed
        return cuts

    def _header(self, channel: int, start: int, payload: bytes) -> Assembly | None:
        partial = self._open.get(channel)
        if partial is None or channel in self._sizes:
            self._stray(channel, start, payload, "header", partial is not None)
            return None
        class_code = u16(partial.payload, 0)[0]
        if len(payload) < HEADER_HEAD:
            said, legal = f"a header of {many(len(payload), 'octet')}", f"{HEADER_HEAD} octets or more"
            self._refuse(channel, "content.header", "not the header of a content", _FRAME_ERROR, start, said, legal)
            return None
        if (of := u16(payload, 0)[0]) != class_code:
            text, said, legal = "a header of another class than its method", f"a header of class {of}", f"class {class_code}"
            self._refuse(channel, "content.class", text, UNEXPECTED_FRAME, start, said, legal)
            return None
        if self.tolerant and (weight := u16(payload, 2)[0]):  # RabbitMQ refuses it with this code; our sides ignore it
            self._tell(
                "content.weight", "the weight of a content is 0", UNEXPECTED_FRAME, channel, start, f"weight {weight}", ("0",)
            )
        size = u64(payload, 4)[0]
        limits = self.limits
        if len(payload) > limits.header_octets:
            legal = f"at most {limits.header_octets}"
            self._refuse(channel, "limits.header_octets", "more than our limit", 506, start, f"{len(payload)} octets", legal)
            return None
        if partial.octets + len(payload) + size > limits.assembly_octets:
            legal = f"at most {limits.assembly_octets}"
            self._refuse(
                channel, "limits.assembly_octets", "more than our limit", 506, start, f"a body of {size} octets", legal
            )
            return None
        partial.begin_segment(HEADER, 0)
        if not self._add(partial, payload, start):
            return None
        partial.end_segment()
        if not size:
            return self._whole(channel, partial)
        self._sizes[channel] = size
        partial.begin_segment(BODY, 0)
        return None

    def _body(self, channel: int, start: int, payload: bytes) -> Assembly | None:
        left = self._sizes.get(channel)
        if left is None:
            self._stray(channel, start, payload, "body", channel in self._open)
            return None
        partial = self._open[channel]
        if len(payload) > left:
            legal = f"at most {many(left, 'octet, which is', 'octets, which are')} left of the body"
            said = many(len(payload), "octet")
            self._refuse(channel, "content.size", "more octets than the header says", _FRAME_ERROR, start, said, legal)
            return None
        if not payload:
            partial.empties += 1
            if partial.empties > self.limits.empty_frames:
                legal = f"at most {self.limits.empty_frames}"
                self._refuse(channel, "limits.empty_frames", "more than our limit", 506, start, "a body without octets", legal)
                return None
        if not self._add(partial, payload, start):
            return None
        if len(payload) == left:
            partial.end_segment()
            return self._whole(channel, partial)
        self._sizes[channel] = left - len(payload)
        return None

    def _stray(self, channel: int, start: int, payload: bytes, what: str, under_way: bool) -> None:
        """Handles a header or body frame at an illegal place."""
        if self._dropping.get(channel, _EVERY in self._dropping):
            self.passed[channel] = self.passed.get(channel, 0) + OVERHEAD + len(payload)
            return
        legal = "body" if what == "header" and under_way else "header" if under_way else "method"
        before = "a header" if what == "body" else "a method that carries a content"
        text = f"a {what} frame without {before} before it"
        if under_way:
            self._refuse(channel, f"content.{what}-unexpected", text, UNEXPECTED_FRAME, start, f"a {what} frame", legal)
        else:
            self._tell(f"content.{what}-unexpected", text, UNEXPECTED_FRAME, channel, start, f"a {what} frame", (legal,))

    # --- contents -----------------------------------------------------------------------------------------------------------

    def _add(self, partial: Partial, payload: bytes, start: int) -> bool:
        """Keeps the octets of a frame; returns False when they exceed the limit."""
        if self.held + len(payload) > self.limits.buffered_octets:
            legal = f"at most {self.limits.buffered_octets}"
            said = f"{self.held + len(payload)} octets in contents"
            self._refuse(partial.channel, "limits.buffered_octets", "more than our limit", 506, start, said, legal)
            return False
        if payload:
            partial.empties = 0
        partial.end = start + OVERHEAD + len(payload)
        partial.add(payload)
        self.held += len(payload)
        return True

    def _whole(self, channel: int, partial: Partial) -> Assembly:
        self._drop(channel)
        return partial.assembly(True)

    def _drop(self, channel: int) -> Partial | None:
        partial = self._open.pop(channel, None)
        self._sizes.pop(channel, None)
        if partial is not None:
            self.held -= partial.octets
        return partial

    def _break_off(self, channel: int) -> None:
        partial = self._drop(channel)
        if partial is not None and self.tolerant:
            self.queue.append(partial.assembly(False))

    def _refuse(self, channel: int, rule: str, text: str, code: int, start: int, said: str, legal: str) -> None:
        """Breaks off what is incomplete on a channel, and skips the rest of it."""
        partial = self._open.get(channel)
        if partial is not None:
            said = f"{said} behind {_method_of(partial.payload)}"
        self._break_off(channel)
        self._dropping[channel] = True
        self._tell(rule, text, code, channel, start, said, (legal,), partial)

    def _tell(
        self, rule: str, text: str, code: int, channel: int, start: int, said: str, legal: tuple[str, ...],
        under_way: Partial | None = None,
    ) -> None:  # fmt: skip
        payload = b"" if under_way is None else under_way.payload
        method: int = u32(payload, 0)[0] if len(payload) >= 4 else 0
        self.queue.append(Malformed(rule, text, code, channel, start, False, said, legal, method))


def _method_of(payload: bytes) -> str:
    """Describes a method by its numbers, to which the codes of close refer."""
    return f"method {u16(payload, 0)[0]}.{u16(payload, 2)[0]}" if len(payload) >= 4 else "a method frame"


def _name(kind: int) -> str:
    return NAMES[kind] if kind < len(NAMES) else f"type {kind}"


def _no_end(channel: int, start: int, size: int, octet: int) -> Malformed:
    said = f"the octet {octet:#04x} behind a frame of {size} octets"
    return Malformed("frame.end", "a frame ends with 0xce", _FRAME_ERROR, channel, start, True, said, ("0xce",))


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


class KnownConsumer(KnownCommand[Any]):
    """A consumer with deliveries; `likes` are such methods, by the octets after their tag."""

    __slots__ = ("likes", "read")

    def __init__(self, channel: int, method: object, payload: bytes, account: object, read: Reads) -> None:
        super().__init__(channel, method, False, payload, account)
        self.read: Final = read
        self.likes: Final[dict[bytes, KnownCommand[Any]]] = {}


class DeliveryConsumers:
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
    consumers: DeliveryConsumers,
    under_way: Container[int],
    largest: int,
    header_octets: int,
    most_octets: int,
    most: int = AHEAD,
) -> tuple[list[Cut], int]:
    """Returns the deliveries from `at` on to known consumers, with their contents, and their number of frames.

    Cuts each content as `cut_content` does, inlined.  Returns at most `most` of them, up to the first that is incomplete or
    unusual; `under_way`: channels with an incomplete content; `most_octets`: those of a method with its content.
    """
    cuts: list[Cut] = []
    bodiless = 0
    at_hand = len(buffer)
    payload = largest - OVERHEAD
    most_header = min(header_octets, payload)
    close = most_octets < 3 * payload  # three frames may hold more
    head, size, to_tag, to_header, header_begins, body_begins = b"", 0, 0, 0, 0, 0
    consumer: KnownConsumer | None = None
    likes: dict[bytes, KnownCommand[Any]] = {}
    split = _splitter(1, 0)
    try:
        for _ in range(most):
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
            if close and size + header_size + octets > most_octets:
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


def wanted(buffer: bytes, at: int, consumers: DeliveryConsumers, largest: int) -> int:
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
