"""The base of channels in both roles: state, methods, closing, and the fewest methods that name a set of tags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias

from amqp_sansio.engine.channels.breaches import code_of, ends_channel
from amqp_sansio.engine.channels.returns import Returnable
from amqp_sansio.engine.connection import Role, clip
from amqp_sansio.errors import (
    CapabilityMissing,
    ChannelClosedError,
    ConnectionClosedError,
    EncodeError,
    LimitError,
    LocalProtocolError,
)
from amqp_sansio.errors.core import many
from amqp_sansio.events import ChannelClosed, Origin, Violation
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import EMPTY, HALF, MODULUS, TOP, MutableRangeSet, RangeSet, serial_add, whole
from amqp_sansio.kernel.value import octets_of
from amqp_sansio.ledger.consumer_tags import ConsumerTags
from amqp_sansio.ledger.pending_replies import AnsweredRequest, PendingReplies
from amqp_sansio.ledger.tags import Deliveries, Tags
from amqp_sansio.spec.base import Method, Struct
from amqp_sansio.spec.methods import channel as words
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.tables.channel import (
    ANSWERS,
    ANY_TIME,
    CAPABILITIES,
    CLOSE,
    CLOSE_OK,
    COMMIT,
    LIFE,
    MODE,
    REPLIES,
    ROLLBACK,
    WORK,
    may_say,
)
from amqp_sansio.wire.method_codec import NO_PROPERTIES, Publishing
from amqp_sansio.wire.method_frames import CONTENT_BODY, OVERHEAD, frame_content, frame_method, put_frame
from amqp_sansio.wire.primitives import u16

if TYPE_CHECKING:
    from amqp_sansio.engine.channels.endpoint import Channels


MethodId: TypeAlias = int
"""The id of a method that this side sends on a channel: counted from 1 in 32 bits, with 0 after the largest."""

ContentProperties: TypeAlias = "Struct | bytes | None"
"""The properties of a content, such as `basic.Properties`, or octets as they came (`property_octets`); None for none."""

PLAIN, CONFIRMING, TRANSACTED = "plain", "confirming", "transacted"
OPENED: Final = "open"
"""The state of a channel between channel.open-ok and the first channel.close."""
_LIVES: Final = frozenset(["channel.open", "channel.open-ok", CLOSE_OK, "channel.resume"])
LARGEST: Final = (1 << 64) - 1
"""The largest tag of a delivery, and size of a content."""


class Asked(NamedTuple):
    """A method that awaits its answer.

    `settled`: its deliveries need no settling; `tag`: the consumer that it names, "" for none; `taken`: the number of the last
    publish that the other side has taken when it answers, 0 for none.
    """

    id: MethodId
    settled: bool
    tag: str
    taken: int


OnceWritten: TypeAlias = Callable[[MethodId], object]
"""What a method changes once it is written."""
AnsweredMethod: TypeAlias = AnsweredRequest[Asked] | None
"""The request that a method answers."""
MethodCheck: TypeAlias = Callable[
    [Any, Any, AnsweredMethod], OnceWritten | None
]  # Any: each row takes its own method, and one of two roles


class BaseChannel:
    """The part that the channels of both roles share.

    Every method that sends either raises and changes nothing, or sends its method.  All raise ChannelClosedError when the
    channel is closed or closing, ConnectionClosedError when the connection is, EncodeError for values that the wire cannot
    carry, LimitError where a local limit applies, and CapabilityMissing for an extension that the other side lacks.
    """

    _checks: ClassVar[Mapping[type[Method], MethodCheck]] = {}
    """The checks on methods of the role, by class."""

    __slots__ = (
        "_asked", "_body_left", "_carrier", "_cause", "_channels", "_close", "_confirm_base", "_consumers", "_deliveries",
        "_ended", "_flow", "_heard", "_heard_ids", "_last_answered", "_last_id", "_life", "_mode", "_owed", "_published",
        "_returnable", "_told", "_writer", "number",
    )  # fmt: skip

    def __init__(self, channels: Channels, number: int) -> None:
        self.number: Final = number
        """That of the channel, from 1 on."""
        self._channels: Final = channels
        self._carrier: Final = channels.carrier
        self._life: Final = Machine(LIFE)
        self._mode: Final = Machine(MODE)
        self._cause: str | None = None
        self._close: words.Close | None = None  # this side's, until it is answered
        self._told = False  # ChannelClosed was queued
        self._asked: Final[PendingReplies[Asked]] = PendingReplies()  # by this side
        self._heard: Final[PendingReplies[Asked]] = PendingReplies()  # by the other side
        self._last_id = 0
        self._last_answered = 0
        self._heard_ids = 0
        self._body_left = 0  # octets of our content not sent yet
        self._consumers: Final = ConsumerTags(False)
        self._ended: Final[dict[str, bool]] = {}  # tags of the last consumers that ended: whether deliveries need no settling
        self._deliveries: Final = Deliveries(False)
        self._published: Final = Tags(False)
        self._confirm_base = 0  # the number of the last publish before confirm mode
        self._returnable: Final = Returnable()
        self._flow = True
        self._owed: Final[list[Method]] = []  # methods to send after the content under way
        self._writer: Publishing | None = None  # of publishes while the channel is open, with flow, and between contents

    # --- where it stands --------------------------------------------------------------------------------------------------

    @property
    def role(self) -> Role:
        """The role of this side."""
        return self._carrier.role

    @property
    def state(self) -> str:
        """The state of the channel, in one word."""
        return self._life.state

    @property
    def mode(self) -> str:
        """ "plain", "confirming" or "transacted"."""
        return self._mode.state

    @property
    def closed_cause(self) -> str | None:
        """Why the channel can send nothing more; None while it can."""
        return self._carrier._closed_cause if self._cause is None else self._cause

    @property
    def consumers(self) -> tuple[str, ...]:
        """The tags of consumers that are not cancelled, as far as they have one."""
        return tuple([tag for _, tag in self._consumers.tags])

    @property
    def unsettled(self) -> RangeSet:
        """The tags of deliveries that the client has yet to settle."""
        return self._deliveries.tags.ids.outstanding.freeze()

    @property
    def in_doubt(self) -> RangeSet:
        """The numbers of messages that were published and neither confirmed nor known to have been taken."""
        return self._published.ids.outstanding.freeze()

    @property
    def body_left(self) -> int:
        """How many octets of the content under way are left for `body` to send; 0 when there is none."""
        return self._body_left

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.number} {self.state}>"

    # --- saying methods ---------------------------------------------------------------------------------------------------

    def send(
        self, method: Method, properties: ContentProperties = None, body: bytes | None = None, *, size: int | None = None
    ) -> MethodId:
        """Sends any method that is legal now, and returns the id by which `MethodAnswered` names it.

        `properties` and `body` are for methods that carry a content.  `size` is the size of the whole body in octets; send what
        `body` lacks of it by `body()`, before anything else on the channel.
        """
        answered = self._may_say(method)
        check = self._checks.get(type(method))
        frames = self._frames(method, properties, body, size)  # the fields have their types from here on
        effect = None if check is None else check(self, method, answered)
        if answered is not None:
            self._heard.answer(method.VERB)
        id = self._said(method, frames)
        if effect is not None:
            effect(id)
        return id

    def body(self, octets: bytes) -> None:
        """Sends the next octets of the body that `size` announced.  Raises LocalProtocolError for more than are left."""
        self._must_be_alive("a body")
        left, data = self._body_left, octets_of(octets)
        if len(data) > left:
            legal = (f"at most {many(left, 'octet')}",) if left else ("a method",)
            raise LocalProtocolError(f"a body of {many(len(data), 'octet')}", self.state, legal, "content.size")
        most = self._carrier._max_frame_size - OVERHEAD
        for at in range(0, len(data), most):
            self._carrier._write(put_frame(CONTENT_BODY, self.number, data[at : at + most]))
        self._body_left = left - len(data)
        if not self._body_left and self._owed:
            for method in self._owed:
                self._write(self._method_frame(method))
            self._owed.clear()

    def _say_soon(self, method: Method) -> None:
        """Sends a method that no caller asked for, after the content under way, whose frames nothing may interrupt."""
        if self._body_left:
            self._owed.append(method)
        else:
            self._write(self._method_frame(method))

    def reply(
        self,
        id: MethodId,
        method: Method,
        properties: ContentProperties = None,
        body: bytes | None = None,
        *,
        size: int | None = None,
    ) -> MethodId:
        """Answers the method to which `MethodReceived` gave this id.

        Raises LocalProtocolError when `method` is not an answer to it, or another method must be answered first.
        """
        self._must_be_alive(_method(method).VERB)
        answered = self._heard.find(method.VERB)
        if answered is None or answered.kept.id != id:
            legal = tuple([f"an answer to method {each.id}" for each in self._heard.kept[:8]])
            raise LocalProtocolError(
                f"{method.VERB} for method {id}", self.state, legal, "answers come in the order of methods"
            )
        return self.send(method, properties, body, size=size)

    def close(self, code: ReplyCode = ReplyCode.REPLY_SUCCESS, text: str = "", method: str = "") -> None:
        """Sends channel.close; ChannelClosed follows when it is answered, and the number is free then.

        `code` is one of the dialect's reply codes, `text` has at most 255 octets, `method` names the method at fault.
        """
        self._must_be_alive(CLOSE)
        if self._body_left:
            raise self._in_content(CLOSE)
        refusal = None if self._life.can(self.role, CLOSE) else self._life.step(self.role, CLOSE)
        if refusal is not None:
            raise LocalProtocolError(CLOSE, self.state, refusal.legal_for(self.role), "channel.close")
        carrier = self._carrier
        said = carrier._code(CLOSE, code)
        self._say_close(said, text, carrier._at_fault(method))
        self._cause = f"closed by us: {said} {text}".rstrip()

    def _say_close(self, code: int, text: str, at_fault: tuple[int, int] | None) -> None:
        close = words.Close(code, text, *(at_fault or (0, 0)))
        self._write(self._method_frame(close))
        self._life.step(self.role, CLOSE)
        self._writer = None
        self._close = close
        self._channels.forget_content(self.number)

    # --- what stands before every method ----------------------------------------------------------------------------------

    def _must_be_alive(self, said: str) -> None:
        if (cause := self._carrier._closed_cause) is not None:
            raise ConnectionClosedError(said, cause)
        if self._cause is not None:
            raise ChannelClosedError(said, self.number, self._cause)

    def _in_content(self, verb: str) -> LocalProtocolError:
        legal = (f"body of {many(self._body_left, 'octet')}",)
        return LocalProtocolError(verb, "a content is under way", legal, "content.interrupted")

    def _may_say(self, method: Method) -> AnsweredRequest[Asked] | None:
        """Raises unless the method is legal now, whatever it is; returns the request that it answers."""
        verb = _method(method).VERB
        self._must_be_alive(verb)
        if self._body_left:
            raise self._in_content(verb)
        if verb in _LIVES or verb == CLOSE:
            raise LocalProtocolError(verb, self.state, ("close", "channel of the connection"), "the life of a channel")
        role = self.role
        channels = self._channels
        if not may_say(role, verb, channels.codec.extended):
            raise LocalProtocolError(verb, f"{role} role", (), f"only the {self._carrier.peer} says it")
        if not self._life.can(role, WORK):
            raise LocalProtocolError(verb, self.state, self._life.table.legal(self._life.states), "channel.not-open")
        capability = CAPABILITIES.get((role, verb))
        if capability is not None and not self._carrier.capable(capability):
            raise CapabilityMissing(verb, capability)
        if verb in ANSWERS:
            answered = self._heard.find(verb)
            if answered is None or answered.passed:
                legal = REPLIES.get(self._heard.oldest, ())
                raise LocalProtocolError(verb, self.state, legal, "an answer to what was asked first")
            return answered
        most = self._carrier.limits.calls
        if verb in channels.answerable and self._asked.waiting >= most and waits(method):
            raise LimitError("calls", most, self._asked.waiting + 1)
        return None

    # --- octets -----------------------------------------------------------------------------------------------------------

    def _write(self, octets: bytes) -> None:
        self._carrier._write(octets)

    def _method_frame(self, method: Method) -> bytes:
        channels = self._channels
        return frame_method(self.number, channels.codec.encode(method), self._carrier._max_frame_size)

    def _frames(self, method: Method, properties: ContentProperties, body: bytes | None, size: int | None) -> tuple[bytes, int]:
        """Encodes a method, with its content if it carries one; also returns how many octets of its body follow later."""
        channels = self._channels
        codec = channels.codec
        if method.VERB not in codec.carrying:
            if properties is not None or body is not None or size is not None:
                raise EncodeError(method.VERB, "carries no content")
            return self._method_frame(method), 0
        payload = codec.encode(method)
        data = _NOTHING if body is None else octets_of(body)
        octets = len(data)
        if size is not None:
            if not whole(size, LARGEST) or size < octets:
                rule = f"takes a number of 64 bits, at least the {octets} octets of the body so far, not {size!r:.80}"
                raise EncodeError(f"{method.VERB} size", rule)
            octets = size
        class_code: int = u16(payload, 0)[0]
        if properties is None:
            flags = NO_PROPERTIES
        elif isinstance(properties, bytes):
            codec.check_properties(class_code, properties, self._carrier.reading)
            flags = properties
        else:
            flags = codec.write_properties(class_code, properties)
        most = self._carrier._max_frame_size
        return b"".join(frame_content(self.number, payload, class_code, flags, data, most, octets)), octets - len(data)

    def _said(self, method: Method, frames: tuple[bytes, int]) -> MethodId:
        """Writes a checked method and returns its id."""
        octets, self._body_left = frames
        if self._body_left:
            self._writer = None
        self._write(octets)
        id = self._last_id = self._last_id + 1 & TOP
        verb = method.VERB
        if verb in self._channels.answerable and waits(method):
            self._asked.ask(verb, self._question(method, id))
        return id

    def _question(self, method: Method, id: MethodId) -> Asked:
        verb = method.VERB
        taken = 0
        mode = self._mode.states[0]
        if mode == TRANSACTED and verb in (COMMIT, ROLLBACK):
            taken = self._published.last
        elif verb not in ANY_TIME:  # where it is transacted, 0: confirms and transactions exclude each other
            taken = self._published.last if mode == PLAIN else self._confirm_base
        settled, tag = getattr(method, "no_ack", False), getattr(method, "consumer_tag", "")
        return Asked(id, bool(settled), tag or "", taken)

    # --- its end ----------------------------------------------------------------------------------------------------------

    def _tell_closed(
        self, origin: Origin, code: int | None, text: str, verb: str = "", violation: Violation | None = None
    ) -> None:
        """Queues ChannelClosed once, with what was outstanding."""
        if self._told:
            return
        self._told = True
        calls = RangeSet.of(*[each.id for each in self._asked.kept])
        behind = serial_add(self._last_answered, 1)
        concerned = EMPTY if self._last_answered == self._last_id else RangeSet.span(behind, self._last_id)
        doubt = EMPTY if self._published.doubt else self.in_doubt
        self._carrier._emit(
            ChannelClosed(self.number, origin, code, text, verb, violation, calls, concerned, doubt, self.unsettled)
        )
        self._body_left = 0

    def _hear_close(self, close: words.Close) -> None:
        """Handles channel.close of the other side, and answers it at once."""
        verb = self._channels.codec.verb_at(close.class_id, close.method_id)
        self._writer = None
        if self._cause is None:
            self._cause = f"the other side closed the channel ({close.reply_code}): {close.reply_text}".rstrip(": ")
        self._write(self._method_frame(words.CloseOk()))
        self._life.step(self.role, CLOSE_OK)
        self._channels.set_aside(self.number)
        self._tell_closed(Origin.PEER, close.reply_code, close.reply_text, verb)
        self._channels.sweep(self)

    def _hear_close_ok(self) -> None:
        close = self._close
        if close is not None:
            if self._mode.states[0] == PLAIN:  # the server received our close after all that was sent before it
                self._published.settle_all()
            self._last_answered = self._last_id
            verb = self._channels.codec.verb_at(close.class_id, close.method_id)
            self._tell_closed(Origin.LOCAL, close.reply_code, close.reply_text, verb)
        self._channels.sweep(self)

    def _lost(self, origin: Origin, text: str, violation: Violation | None) -> None:
        """Ends the channel because the connection ends."""
        if self._cause is None:
            self._cause = text
        self._tell_closed(origin, None, text, "", violation)

    # --- what the other side does wrong -----------------------------------------------------------------------------------

    def _blame(
        self, offset: int, rule: str, said: str, text: str, legal: tuple[str, ...] = (), code: int = 0, verb: str = ""
    ) -> None:
        """Reports a violation by the other side in what begins at `offset`; the code decides whether channel or connection
        ends.

        `verb` is the method at fault, where `said` does not begin with it.  The connection also ends where we cannot close the
        channel: in the middle of a content of ours, and after our close.
        """
        channels = self._channels
        code = code_of(rule, code, channels.codes)
        violation = Violation(self._carrier.peer, rule, said, legal, code, self.number, offset, text)
        if self._body_left or not ends_channel(code) or not self._life.can(self.role, CLOSE):
            self._carrier._fail(violation, verb)
            return
        told, verb = f"{said}: {text}", verb or said.partition(" ")[0]
        verb = verb if verb in channels.verbs else ""
        self._say_close(code, clip(told), channels.codec.numbers_of(verb))
        self._cause = f"{self._carrier.peer} broke {rule}: {told}"
        self._tell_closed(Origin.VIOLATION, code, told, verb, violation)


_NOTHING: Final = b""


def _method(method: object) -> Method:
    if not isinstance(method, Method):
        raise EncodeError("method", f"a method of spec.methods, not {type(method).__name__}")
    return method


def waits(method: Method) -> bool:
    """Returns whether a method awaits an answer: it has no no-wait bit, or it is not set."""
    return not (getattr(method, "no_wait", False) or getattr(method, "nowait", False))


def fewest(tags: RangeSet, outstanding: MutableRangeSet, next_tag: int) -> Iterator[tuple[int, bool]]:
    """Returns the fewest acknowledgements that name exactly `tags`, all of them `outstanding`: each a tag, and whether it
    includes all before it.

    One acknowledgement covers the oldest outstanding tags, as far as all of them are named; the others need one each.
    `next_tag` is that of the next delivery: serial numbers are ordered by it.
    """
    ranges = tags.ranges
    begin = serial_add(next_tag, -HALF)
    first = outstanding.next_from(begin)
    taken = 0
    last = None
    for low, high in ranges:
        if first != low:
            break
        last, taken = high, taken + 1
        first = outstanding.next_from(serial_add(high, 1))
    if last is not None:
        yield last, ranges[0][0] != last
    for low, high in ranges[taken:]:
        yield from _each(low, high)


def one_by_one(tags: RangeSet) -> Iterator[tuple[int, bool]]:
    """Returns acknowledgements of one tag each."""
    for low, high in tags.ranges:
        yield from _each(low, high)


def _each(low: int, high: int) -> Iterator[tuple[int, bool]]:
    """Yields each tag of a range.  All are outstanding, so that a limit bounds how many there are."""
    for tag in range(low, high + 1 if low <= high else high + 1 + MODULUS):
        yield tag & TOP, False
