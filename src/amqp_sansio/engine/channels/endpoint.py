"""The channels of one connection, by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from amqp_sansio.engine.carrier import UNHEARD, Answered, Carrier, Endpoints, legal_of, violation_of
from amqp_sansio.engine.channels.base import BaseChannel
from amqp_sansio.engine.channels.breaches import code_of, ends_channel, order_of, rule_of_unreadable
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.engine.channels.hearing import OPENED, hear, hear_ack
from amqp_sansio.engine.channels.server import ServedChannel
from amqp_sansio.errors import DecodeError, LimitError, LocalProtocolError
from amqp_sansio.events import ChannelRequested, Event, MessageDelivered, Origin, Violation
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet, whole
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.methods import channel as words
from amqp_sansio.spec.methods.basic import Ack, Deliver
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.tables.channel import OPEN, OPEN_OK, WORK
from amqp_sansio.tables.channel_words import REPLIES
from amqp_sansio.tables.connection import CLIENT, SERVER
from amqp_sansio.wire.framing import COMMAND, CONTROL, Assembly, Cut, Malformed, Reader
from amqp_sansio.wire.layouts.reply_codes import REPLY_CODES
from amqp_sansio.wire.method_codec import MethodCodec
from amqp_sansio.wire.method_reader import MethodReader
from amqp_sansio.wire.primitives import blank, put_u64
from amqp_sansio.wire.reading import DEFAULT_READING
from amqp_sansio.wire.repeated_properties import RepeatedProperties

_HIGHEST: Final = 65535


class Channels(Endpoints):
    """Those that are open, or on their way to that or from it.

    `counted`: channel-max is how many there may be; otherwise it is the highest number of one, too.  `blocked_raises`: what is
    published while the connection is blocked raises.
    """

    __slots__ = (
        "_ack", "_answers", "_counted", "_free", "_reader", "_requests", "blocked_raises", "carrier", "codec", "codes",
        "properties", "used", "verbs",
    )  # fmt: skip

    def __init__(self, carrier: Carrier, codec: MethodCodec, counted: bool, blocked_raises: bool = False) -> None:
        super().__init__()
        self.carrier: Final = carrier
        self.codec: Final = codec
        self.blocked_raises: Final = blocked_raises
        self.verbs: Final = codec.verbs
        """The methods that the dialect has."""
        self.properties = RepeatedProperties(codec, DEFAULT_READING)
        """How those of contents are read."""
        self.codes: frozenset[int] | None = None
        """The reply codes of the document, where its letter counts."""
        self.used: Final[dict[int, BaseChannel]] = {}
        """By number those whose close is not answered."""
        self._answers: Final = frozenset([verb for verb, replies in REPLIES.items() if not codec.verbs.isdisjoint(replies)])
        self._counted: Final = counted
        self._free: Final = MutableRangeSet(RangeSet.span(1, _HIGHEST))  # numbers that a client has not in use
        self._requests: Final[dict[int, ServedChannel]] = {}
        self._reader: MethodReader | None = None
        self._ack = 0
        """Class and method of basic.ack, for a client that can hear it."""

    def answers(self, verb: str) -> bool:
        """Whether the dialect has an answer to a method."""
        return verb in self._answers

    @property
    def all(self) -> tuple[BaseChannel, ...]:
        """Those that are open, by number."""
        return tuple([channel for _, channel in sorted(self.used.items()) if channel._cause is None])

    @property
    def most(self) -> int:
        """How many there may be at once."""
        return min(self.carrier._channel_max, self.carrier.limits.channels)

    # --- a client's -------------------------------------------------------------------------------------------------------

    def open(self, number: int | None = None) -> Channel:
        """Says channel.open on this number, or on the lowest that is free."""
        used, most = self.used, self.most
        if len(used) >= most:
            raise LimitError("channels", most, len(used) + 1)
        highest = _HIGHEST if self._counted else self.carrier._channel_max
        if number is None:
            number = self._free.next_from(1)
            assert number is not None  # there are fewer than `most`
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
        """Answers ChannelRequested: the channel is open.  LocalProtocolError when no such request waits."""
        channel = self._requested(OPEN_OK, number)
        channel_id = b"" if self.codec.has_argument(words.OpenOk, "channel_id") else None
        channel._write(channel._method_frame(words.OpenOk(channel_id)))
        channel._life.step(SERVER, OPEN_OK)
        del self._requests[number]
        return channel

    def refuse(self, number: int, code: ReplyCode = ReplyCode.RESOURCE_ERROR, text: str = "") -> None:
        """Answers ChannelRequested with channel.close.  LocalProtocolError when no such request waits."""
        channel = self._requested("channel.close", number)
        said = self.carrier._code("channel.close", code)
        channel._say_close(said, text, self.codec.numbers_of(OPEN))
        channel._cause = f"refused: {said} {text}".rstrip()
        channel._told = True  # nobody holds it
        del self._requests[number]

    def answer_by_policy(self, accept: bool) -> None:
        """Answers the requests that the application did not answer."""
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

    # --- what the other side says (engine.carrier) ------------------------------------------------------------------------

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
                text, said = "methods of class connection go on channel 0", self.codec.said_in(unit)
                self._fail(unit.channel, unit.start, "connection.channel", said, text, ("channel 0",), ReplyCode.CHANNEL_ERROR)
            return  # frames out of band, and traces, which nobody is known to read
        try:
            method = self.codec.read(unit.payload, self.carrier.reading)
        except DecodeError as error:
            said = self.codec.said_in(unit)
            rule = rule_of_unreadable(said, error)
            self._fail(unit.channel, unit.start, rule, said, str(error), legal_of(error), error.code)
            return
        assert isinstance(method, Method)  # controls have a kind of their own
        channel = self.used.get(unit.channel)
        if channel is not None:
            hear(channel, method, unit)
        elif type(method) is words.Open and self.carrier.role == SERVER:
            self._hear_open(unit)
        else:
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
        """The other side broke a rule on a channel of which nothing is known, or one that ends the connection in any case."""
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
        ):  # it is heard as any other
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
        """Remembers a delivery: most others to the same consumer differ in their tag and content alone."""
        if self._reader is not None and not self.carrier.eager_headers:
            receiver = _Receiver(channel, method.consumer_tag)
            self._reader.learn(channel.number, payload, method, receiver, self._read_another)

    def _read_another(self, payload: bytes) -> Method | Control | None:
        """A method; None where `hear` is to tell what is wrong with it."""
        try:
            return self.codec.read(payload, self.carrier.reading)
        except DecodeError:
            return None

    def hear_answer(self) -> Answered:
        """As `Endpoints.hear_answer`: a basic.ack of the server's, which is most of what a publisher hears."""
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
        """What was left of contents on channels that are closed, or of one that was refused: it goes nowhere."""

    def lose(self, origin: Origin, text: str, violation: Violation | None) -> None:
        for _, channel in sorted(self.used.items()):
            channel._lost(origin, text, violation)
        self.used.clear()
        self._requests.clear()

    # --- what channels need of it -----------------------------------------------------------------------------------------

    def forget_content(self, number: int) -> None:
        """We have closed the channel: what is under way there on the other side goes no further."""
        if self._reader is not None:
            self._reader.forget(number)

    def sweep(self, channel: BaseChannel) -> None:
        """Both sides have answered: the number is free."""
        if channel._life.states[0] == "closed" and self.used.get(channel.number) is channel:
            del self.used[channel.number]
            if self._reader is not None:
                self._reader.unlearn()
            self._requests.pop(channel.number, None)
            self._free.add(channel.number)

    # --- nothing is gathered ----------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Nothing to do: methods go out at once."""

    def go_on(self) -> None:
        """Nobody waits for room."""


class _Receiver:
    """The channel that hears deliveries to a consumer, and whether they need not be settled: None where nobody has its tag."""

    __slots__ = ("_key", "as_of", "channel", "settled")

    def __init__(self, channel: BaseChannel, tag: str) -> None:
        self.channel: Final = channel
        self._key: Final = "basic", tag
        self.settled: bool | None = None
        self.as_of = -1
        """`ConsumerTags.changes` when `settled` was looked up; -1 where it may be another all the same."""

    def look(self) -> bool | None:
        """Looks `settled` up."""
        consumers = self.channel._consumers
        self.settled = consumers.settled(self._key)
        self.as_of = consumers.changes if self._key in consumers.live else -1
        return self.settled


_LIVES: Final[frozenset[type[Method] | type[Control]]] = frozenset([words.Open, words.OpenOk, words.Close, words.CloseOk])
