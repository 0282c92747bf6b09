"""The channels of one connection, by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from amqp_sansio.engine.channels.base import OPENED, BaseChannel
from amqp_sansio.engine.channels.breaches import code_of, ends_channel, order_of, rule_of_unreadable
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.engine.channels.hearing import hear, hear_ack
from amqp_sansio.engine.channels.server import ServedChannel
from amqp_sansio.engine.connection import UNHEARD, AnswerEvent, Carrier, Endpoints, legal_of, violation_of
from amqp_sansio.errors import DecodeError, LimitError, LocalProtocolError
from amqp_sansio.events import ChannelRequested, Event, MessageDelivered, Origin, Violation
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet, whole
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.methods import channel as words
from amqp_sansio.spec.methods.basic import Ack, Deliver
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.tables.channel import OPEN, OPEN_OK, REPLIES, WORK
from amqp_sansio.tables.connection import CLIENT, SERVER
from amqp_sansio.wire.codec import DEFAULT_READING
from amqp_sansio.wire.framing import COMMAND, CONTROL, Assembly, Cut, Malformed, Reader
from amqp_sansio.wire.layouts.reply_codes import REPLY_CODES
from amqp_sansio.wire.method_codec import MethodCodec, RepeatedProperties
from amqp_sansio.wire.method_reader import MethodReader
from amqp_sansio.wire.primitives import blank, put_u64

_HIGHEST: Final = 65535


class Channels(Endpoints):
    """The channels of a connection that are open, opening or closing.

    With `counted`, channel-max is the number of channels; otherwise it is also the highest channel number.  With
    `blocked_raises`, publishing raises while the connection is blocked.
    """

    def __init__(self, carrier: Carrier, codec: MethodCodec, counted: bool, blocked_raises: bool = False) -> None:
        super().__init__()
        self.carrier: Final = carrier
        self.codec: Final = codec
        self.blocked_raises: Final = blocked_raises
        self.verbs: Final = codec.verbs
        """The methods of the dialect."""
        self.properties = RepeatedProperties(codec, DEFAULT_READING)
        """How contents are read."""
        self.codes: frozenset[int] | None = None
        """The reply codes of the document, where its letter counts."""
        self.used: Final[dict[int, BaseChannel]] = {}
        """Channels whose close is not answered yet, by number."""
        self.answerable: Final = frozenset([verb for verb, replies in REPLIES.items() if not codec.verbs.isdisjoint(replies)])
        """The methods to which the dialect has an answer."""
        self._counted: Final = counted
        self._free: Final = MutableRangeSet(RangeSet.span(1, _HIGHEST))  # numbers that a client does not use, nor sets aside
        self._aside: Final[dict[int, None]] = {}  # numbers on which the server may go on after its own close
        self._requests: Final[dict[int, ServedChannel]] = {}
        self._reader: MethodReader | None = None
        self._ack = 0
        """Class and method numbers of basic.ack, for a client that can receive it."""

    @property
    def all(self) -> tuple[BaseChannel, ...]:
        """The open channels, by number."""
        return tuple([channel for _, channel in sorted(self.used.items()) if channel._cause is None])

    @property
    def most(self) -> int:
        """How many channels may exist at once."""
        return min(self.carrier._channel_max, self.carrier.limits.channels)

    # --- a client's -------------------------------------------------------------------------------------------------------

    def open(self, number: int | None = None) -> Channel:
        """Sends channel.open on this number, or on the lowest free one; where there is none, on the one that the server closed
        first."""
        used, most = self.used, self.most
        if len(used) >= most:
            raise LimitError("channels", most, len(used) + 1)
        highest = _HIGHEST if self._counted else self.carrier._channel_max
        if number is None:
            number = self._free.next_from(1)
            if number is None or number > highest:
                number = next(each for each in self._aside if each not in used)  # there are fewer than `most` in use
        elif not whole(number, highest) or not number:
            legal = (f"channel 1 to {highest}",)
            raise LocalProtocolError(f"{OPEN} on channel {number!r:.80}", "open", legal, "connection.tune-ok.channel-max")
        elif number in used:
            raise LocalProtocolError(f"channel.open on channel {number}", used[number].state, ("another channel",), OPEN)
        channel = Channel(self, number)
        frame = channel._method_frame(words.Open("" if self.codec.has_argument(words.Open, "out_of_band") else None))
        channel._life.step(CLIENT, OPEN)
        used[number] = channel
        self._free.discard_id(number)
        self.carrier._write(frame)
        return channel

    # --- a server's -------------------------------------------------------------------------------------------------------

    def accept(self, number: int) -> ServedChannel:
        """Answers ChannelRequested with channel.open-ok.  Raises LocalProtocolError when no such request is pending."""
        channel = self._requested(OPEN_OK, number)
        channel_id = b"" if self.codec.has_argument(words.OpenOk, "channel_id") else None
        channel._write(channel._method_frame(words.OpenOk(channel_id)))
        channel._life.step(SERVER, OPEN_OK)
        del self._requests[number]
        return channel

    def refuse(self, number: int, code: ReplyCode = ReplyCode.RESOURCE_ERROR, text: str = "") -> None:
        """Answers ChannelRequested with channel.close.  Raises LocalProtocolError when no such request is pending."""
        channel = self._requested("channel.close", number)
        said = self.carrier._code("channel.close", code)
        channel._say_close(said, text, self.codec.numbers_of(OPEN))
        channel._cause = f"refused: {said} {text}".rstrip()
        channel._told = True  # the application has no object for it
        del self._requests[number]

    def answer_by_policy(self, accept: bool) -> None:
        """Answers by policy the requests that the application left open."""
        for number in list(self._requests):
            if accept:
                self.accept(number)
            else:
                self.refuse(number)

    def _requested(self, said: str, number: object) -> ServedChannel:
        channel = self._requests.get(number) if isinstance(number, int) else None
        if channel is None:
            legal = tuple([f"an answer to channel {each}" for each in list(self._requests)[:8]])
            rule = "no ChannelRequested of that number waits"
            raise LocalProtocolError(f"{said} for channel {number!r:.80}", "open", legal, rule)
        return channel

    # --- what the other side says (`Endpoints`) --------------------------------------------------------------------------

    def begin(self, reader: Reader) -> None:
        assert isinstance(reader, MethodReader)
        self._reader = reader
        self.properties = RepeatedProperties(self.codec, self.carrier.reading)
        acks = self.codec.numbers_of(Ack.VERB)
        if acks is not None and self.carrier.role == CLIENT:
            self._ack = acks[0] << 16 | acks[1]
        if self.carrier.profile.error_codes == "spec":
            self.codes = frozenset([int(code) for code in REPLY_CODES[self.codec.version]])

    def hear(self, unit: Assembly) -> None:
        if unit.kind != COMMAND:
            if unit.kind == CONTROL:
                text, said = "methods of class connection go on channel 0", self.codec.verb_in(unit)
                self._fail(unit.channel, unit.start, "connection.channel", said, text, ("channel 0",), ReplyCode.CHANNEL_ERROR)
            return  # frames out of band and traces: no known peer reads them
        try:
            method = self.codec.read(unit.payload, self.carrier.reading)
        except DecodeError as error:
            said = self.codec.verb_in(unit)
            rule = rule_of_unreadable(said, error)
            self._fail(unit.channel, unit.start, rule, said, str(error), legal_of(error), error.code)
            return
        assert isinstance(method, Method)  # controls have a kind of their own
        channel = self.used.get(unit.channel)
        if channel is not None:
            hear(channel, method, unit)
        elif type(method) is words.Open and self.carrier.role == SERVER:
            self._hear_open(unit)
        elif unit.channel not in self._aside or type(method) in _LIVES:
            rule, text = order_of("not-open", method.VERB if type(method) in _LIVES else WORK)
            self._fail(unit.channel, unit.start, rule, method.VERB, text, (OPEN,), ReplyCode.CHANNEL_ERROR)

    def _hear_open(self, unit: Assembly) -> None:
        most, number = self.most, unit.channel
        if len(self.used) >= most:
            rule = "connection.tune-ok.channel-max" if most == self.carrier._channel_max else "limits.channels"
            text, legal = f"{most} channels are open", (f"at most {most} channels",)
            self._fail(number, unit.start, rule, OPEN, text, legal, ReplyCode.CHANNEL_ERROR)
            return
        channel = ServedChannel(self, number)
        channel._life.step(CLIENT, OPEN)
        self.used[number] = self._requests[number] = channel
        self.carrier._emit(ChannelRequested(number))
        self.carrier._ask()

    def _fail(
        self, number: int, offset: int, rule: str, said: str, text: str, legal: tuple[str, ...] = (), code: int = 0
    ) -> None:
        """Reports a violation by the other side on an unknown channel, or one that ends the connection in any case."""
        code = code_of(rule, code, self.codes)
        self.carrier._fail(Violation(self.carrier.peer, rule, said, legal, code, number, offset, text))

    def hear_plain(self, cut: Cut) -> Event | None:
        known, header, tag, body, start, end = cut
        receiver: _Receiver = known.account
        channel, settled = receiver.channel, receiver.settled
        if receiver.as_of != channel._consumers.changes:
            settled = receiver.look()
        if (
            settled is None
            or tag is None
            or channel._life.states[0] != OPENED
            or not channel._deliveries.deliver_higher(tag, settled, self.carrier.limits.deliveries)
        ):  # the general path handles it
            at = 5 + known.payload[4]
            payload = known.payload[:at] + put_u64(tag or 0) + known.payload[at + 8 :]
            self.hear(Assembly(channel.number, 0, COMMAND, payload, header, body or None, start, end))
            return None
        if COMPILED:
            event = MessageDelivered(channel.number, known.command, header, body)
            event._tag, event._how = tag, self.properties
            return event
        made: Any = blank(MessageDelivered)  # slot by slot: half the cost of its constructor
        made.channel = channel.number
        made._method = known.command
        made.header = header
        made.body = body
        made._tag = tag  # for itself nobody can say that: a value is made of its fields
        made._how = self.properties
        made._memo = None
        return made  # type: ignore[no-any-return]

    def learn(self, channel: BaseChannel, payload: bytes, method: Deliver) -> None:
        """Remembers a delivery: most later ones to the same consumer differ in their tag and content alone."""
        if self._reader is not None and not self.carrier.eager_headers:
            receiver = _Receiver(channel, method.consumer_tag)
            self._reader.learn(channel.number, payload, method, receiver, self._read_another)

    def _read_another(self, payload: bytes) -> Method | Control | None:
        """Reads a method; returns None where `hear` must report what is wrong with it."""
        try:
            return self.codec.read(payload, self.carrier.reading)
        except DecodeError:
            return None

    def hear_answer(self) -> AnswerEvent:
        """Does the same as `Endpoints.hear_answer`, for a basic.ack of the server, the bulk of what a publisher receives."""
        reader = self._reader
        if not self._ack or reader is None or (cut := reader.cut_tag(self._ack)) is None:
            return UNHEARD
        number, tag, multiple, _ = cut
        channel = self.used.get(number)
        confirmed = None if channel is None else hear_ack(channel, tag, multiple)
        if confirmed is None:
            reader.put_back_tag()
            return UNHEARD
        return confirmed

    def hear_malformed(self, malformed: Malformed) -> None:
        channel, rule, code = self.used.get(malformed.channel), malformed.rule, malformed.code
        verb = self.codec.verb_at(*malformed.numbers)
        if channel is not None and channel._close is not None and rule == "content.interrupted":
            return  # a content that began before our close was heard: the answer to that breaks it off
        if channel is None or not ends_channel(code_of(rule, code, self.codes)):
            self.carrier._fail(violation_of(self.carrier.peer, malformed), verb)
        elif channel._cause is None:  # else it is closed already
            channel._blame(malformed.offset, rule, malformed.said or "a frame", malformed.text, malformed.legal, code, verb)

    def hear_passed(self, passed: Mapping[int, int], offset: int) -> None:
        """Counts the rest of contents on closed channels, or of a refused content, which nobody receives."""

    def lose(self, origin: Origin, text: str, violation: Violation | None) -> None:
        for _, channel in sorted(self.used.items()):
            channel._lost(origin, text, violation)
        self.used.clear()
        self._requests.clear()

    # --- what channels need of it -----------------------------------------------------------------------------------------

    def forget_content(self, number: int) -> None:
        """Drops the content under way from the other side on a channel that we have closed."""
        if self._reader is not None:
            self._reader.forget(number)

    def sweep(self, channel: BaseChannel) -> None:
        """Frees the number of a channel whose close is complete on both sides."""
        if channel._life.states[0] == "closed" and self.used.get(channel.number) is channel:
            del self.used[channel.number]
            if self._reader is not None:
                self._reader.unlearn()
            if channel.number not in self._aside:
                self._free.add(channel.number)

    def set_aside(self, number: int) -> None:
        """Notes that the other side has closed a channel.  RabbitMQ goes on to deliver on it, even after our answer, until it
        has handled that."""
        if self.carrier.role == CLIENT and not self.carrier.profile.strict:
            self._aside[number] = None

    def take_up(self, number: int) -> None:
        """Notes that the server has opened a channel: what it says on that counts."""
        self._aside.pop(number, None)

    def passes_over(self, number: int) -> bool:
        """Returns whether words that are not legal on a channel are those that `set_aside` describes."""
        return number in self._aside

    # --- nothing is gathered ----------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Does nothing: methods go out at once."""

    def go_on(self) -> None:
        """Does nothing: no channel waits for room."""


class _Receiver:
    """The channel that receives deliveries to a consumer, and whether they need no settling: None when no consumer has
    the tag."""

    __slots__ = ("_key", "as_of", "channel", "settled")

    def __init__(self, channel: BaseChannel, tag: str) -> None:
        self.channel: Final = channel
        self._key: Final = "basic", tag
        self.settled: bool | None = None
        self.as_of = -1
        """The value of `ConsumerTags.changes` when `settled` was looked up; -1 where it may change without that."""

    def look(self) -> bool | None:
        """Looks up `settled` again, and returns it."""
        consumers = self.channel._consumers
        self.settled = consumers.settled(self._key)
        self.as_of = consumers.changes if self._key in consumers.live else -1
        return self.settled


_LIVES: Final[frozenset[type[Method] | type[Control]]] = frozenset([words.Open, words.OpenOk, words.Close, words.CloseOk])
