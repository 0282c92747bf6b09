"""What one channel asked of the server, and what follows from the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.channels.properties import ChannelProperties, as_text
from amqp_sansio.conversation.channels.topology import DECLARING, changed
from amqp_sansio.conversation.pending_commands import IN_FLIGHT
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.channels.base import waits
from amqp_sansio.errors import AmqpError, CapabilityMissing, EncodeError, LimitError, LocalProtocolError
from amqp_sansio.errors.checks import check_bits, check_types
from amqp_sansio.events import Origin
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic, queue
from amqp_sansio.spec.methods import channel as channels
from amqp_sansio.wire.method_codec import MethodCodec

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.core import ChannelCore


DIRECT_REPLY_TO: Final = "direct_reply_to"
REPLY_TO: Final = "amq.rabbitmq.reply-to"
"""The pseudo-queue for a channel's answers, and the tag of its consumer."""
_NOT_EXECUTED: Final = {"basic.get": ("its answer is a message", "get"), "basic.consume": ("it brings messages", "subscribe")}
"""Methods that bring messages: why `execute` does not send them, and the call that does."""


class Barrier(Ticket[None]):
    """Settled when a method is answered and all messages are settled or have failed; fails when the method does.

    It waits for one after the other, and for nothing once nobody waits for it any more.
    """

    def __init__(self, answered: Ticket[Method], messages: Iterable[Ticket[None]]) -> None:
        super().__init__()
        self._answered: Final = answered
        self._messages: Final[Iterator[Ticket[None]]] = iter(messages)
        self._at: Ticket[Method] | Ticket[None] = answered
        self._left = False  # nobody waits any more
        self._go_on()

    def on_done(self, callback: Callable[[], None]) -> None:
        if self._left:
            self._left = False
            self._go_on()
        super().on_done(callback)

    def forget(self, callback: Callable[[], None]) -> None:
        super().forget(callback)
        if not self._callbacks:
            self._left = True
            self._at.forget(self._go_on)

    def _go_on(self) -> None:
        while self._at.done:
            if self._answered.error is not None:
                self.fail(self._answered.error)
                return
            following = next(self._messages, None)
            if following is None:
                self.settle(None)
                return
            self._at = following
        self._at.on_done(self._go_on)


class Calls:
    """The tickets of methods that wait for an answer, by the ids of the methods."""

    def __init__(self, core: ChannelCore) -> None:
        self._core: Final = core
        self._methods: Final[dict[int, tuple[Ticket[Method], Method]]] = {}
        self._gets: Final[dict[int, tuple[Ticket[Message | None], str]]] = {}  # and from which queue
        self._asked: tuple[int, Ticket[Method]] | None = None  # the last `ask`, with its id
        self.active = True
        """Whether deliveries go on: the user may pause them (channel.flow)."""
        self._declared = ""  # the queue that "" means to the server: the last one that was declared on the channel
        self.recovering = 0
        """How many basic.recover-ok are still to come; each says that the server has taken back what it delivered before."""

    def __len__(self) -> int:
        """Returns how many methods wait for an answer, without those that fetch a message."""
        return len(self._methods)

    def begin(self) -> None:
        """Starts again on a new channel, on the next connection."""
        self.active = True
        self._declared = ""

    def call(self, method: Method) -> Ticket[Method]:
        """Sends a method; settled with its answer, or at once with the method itself where none comes."""
        core = self._core
        channel, topology = core.channel, core.client.topology
        if isinstance(method, DECLARING):
            channel._channels.codec.encode(method)  # raises for wrong fields, before the topology reads them
        declares = topology.must_have_room(method)
        core.flush()
        id = channel.send(method)
        if isinstance(method, basic.Recover | basic.RecoverAsync | basic.RecoverSync):
            core.taken_back()
        elif isinstance(method, basic.Qos):
            core.consumers.asked(method.prefetch_count or channel._carrier.limits.deliveries)
        ticket: Ticket[Method] = Ticket()
        if method.VERB in channel._channels.answerable and waits(method):
            self._methods[id] = ticket, method
            self.recovering += isinstance(method, basic.Recover | basic.RecoverSync)
            if declares:
                topology.expect(ticket)
        else:
            self._executed(method, None)
            ticket.settle(method)
        core.client.wake()
        return ticket

    def ask(self) -> Ticket[Method]:
        """Requests an answer after everything sent so far: channel.flow, which changes nothing and is always answered."""
        core, asked = self._core, self._asked
        core.flush()
        channel = core.channel
        if asked is not None and not asked[1].done and asked[0] == channel._last_id:
            return asked[1]  # nothing was said since
        answer = self.call(channels.Flow(self.active))
        self._asked = channel._last_id, answer
        return answer

    def get(self, queue: str, accept: bool = True) -> Ticket[Message | None]:
        """Fetches one message; settled with None when the queue is empty."""
        check_types(str, queue=queue)
        core = self._core
        channel = core.channel
        core.flush()
        id = channel.get(queue, no_ack=not accept)
        ticket: Ticket[Message | None] = Ticket()
        self._gets[id] = ticket, queue
        core.client.wake()
        return ticket

    def came_empty(self, id: int) -> bool:
        """Handles an answer without a message (basic.get-empty); returns whether it answers a `get`."""
        got = self._gets.pop(id, None)
        if got is not None:
            got[0].settle(None)
        return got is not None

    def answered(self, id: int, answer: Method) -> None:
        """Handles the answer to a method."""
        asked = self._methods.pop(id, None)
        if asked is not None:
            self._executed(asked[1], answer)
            asked[0].settle(answer)

    def _executed(self, method: Method, answer: Method | None) -> None:
        """Handles a method that the server has executed; `answer` is None for one that wanted none."""
        core = self._core
        if isinstance(method, queue.Declare):
            self._declared = answer.queue if isinstance(answer, queue.DeclareOk) else method.queue
        elif isinstance(method, basic.Consume) and not method.queue:
            core.consumers.named(method.consumer_tag, self._declared)
        elif isinstance(method, basic.Cancel) and answer is None:
            core.consumers.cancelled(method.consumer_tag, Origin.LOCAL)
        core.client.topology.hear(with_queue(method, self._declared), answer)

    def fail(self, error: AmqpError) -> None:
        """Fails all tickets: no answer will come."""
        fails = [*[ticket.fail for ticket, _ in self._methods.values()], *[ticket.fail for ticket, _ in self._gets.values()]]
        self._methods.clear()
        self._gets.clear()
        self.recovering = 0
        for fail in fails:
            fail(error)


class Fetch:
    """One `get` of a caller who may leave before the message comes."""

    def __init__(self, core: ChannelCore, queue: str) -> None:
        self._core: Final = core
        self._queue: Final = queue
        self._ticket: Ticket[Message | None] | None = None

    def say(self) -> Ticket[Message | None]:
        """Sends basic.get; returns the ticket for the message."""
        self._ticket = self._core.calls.get(self._queue)
        return self._ticket

    def leave(self) -> None:
        """Puts the message back on its queue, now or as soon as it comes: the caller no longer wants it."""
        if self._ticket is not None:
            self._ticket.on_done(self._release)

    def _release(self) -> None:
        ticket = self._ticket
        assert ticket is not None  # `leave` checks it
        message = ticket.result() if ticket.error is None else None
        if message is not None:
            with suppress(AmqpError):  # the channel is over, and the server has the message back
                self._core.put_back(message._channel, RangeSet.of(message.tag))


class Requests:
    """The pending requests of one channel, by their correlation ids."""

    def __init__(self, core: ChannelCore) -> None:
        self._core: Final = core
        self.most = IN_FLIGHT
        self._made = 0
        self._waiting: Final[dict[str, Ticket[Message]]] = {}

    def publish(self, exchange: str, routing_key: str, body: bytes, properties: ChannelProperties) -> Ticket[Message]:
        """Publishes a request, whose answer comes by direct reply-to (RabbitMQ).  Raises CapabilityMissing without it."""
        core = self._core
        channel = core.channel
        if not channel._carrier.capable(DIRECT_REPLY_TO):
            raise CapabilityMissing("request", DIRECT_REPLY_TO)
        if properties.get("reply_to") not in (None, REPLY_TO):
            raise EncodeError("request: reply_to", f"is {REPLY_TO}; to have answers elsewhere, publish and subscribe")
        if core.transaction.open:
            legal = ("after its end", "on another channel")
            raise LocalProtocolError("a request", "inside of a transaction, whose commit would send it", legal)
        if REPLY_TO not in channel.consumers:
            core.calls.call(basic.Consume(REPLY_TO, REPLY_TO, False, True, False, True, 0, {}, {}))
        self._made += 1
        known = properties.get("correlation_id") or f"{core.client.prefix}-{core.index}-request-{self._made}"
        said: ChannelProperties = {**properties, "reply_to": REPLY_TO, "correlation_id": known}
        id = as_text("correlation_id", known)
        if not isinstance(id, str):
            raise EncodeError("request: correlation_id", f"text or bytes, not {id!r}")
        answer = self.ask(id)
        try:
            taken = core.publish(exchange, routing_key, body, said)
        except AmqpError:
            self.forget(answer)
            raise
        taken.heard = True  # whoever waits for the answer hears of that
        taken.on_done(lambda: self.failed(id, taken.error) if taken.error is not None else None)
        return answer

    def ask(self, id: str) -> Ticket[Message]:
        """Registers a request before it is published.  Raises LimitError for too many, LocalProtocolError for an id in use."""
        if len(self._waiting) >= self.most:
            raise LimitError("requests", self.most, len(self._waiting) + 1)
        if id in self._waiting:
            raise LocalProtocolError(f"a request with correlation_id {id!r}", "another one waits", ("an id of its own",))
        answer: Ticket[Message] = Ticket()
        self._waiting[id] = answer
        return answer

    def answered(self, id: str, message: Message) -> None:
        """Settles a request with an answer; ignores an answer without a pending request."""
        answer = self._waiting.pop(id, None)
        if answer is not None:
            answer.settle(message)

    def failed(self, id: str, error: Exception) -> None:
        """Fails a request that did not reach a queue and will get no answer."""
        answer = self._waiting.pop(id, None)
        if answer is not None:
            answer.fail(error)

    def forget(self, answer: Ticket[Message]) -> None:
        """Forgets a request whose caller does not wait any more."""
        if not answer.done:  # else it is settled
            for id in [id for id, each in self._waiting.items() if each is answer]:
                del self._waiting[id]

    def lost(self, error: AmqpError) -> None:
        """Fails all requests: the channel is gone."""
        waiting = list(self._waiting.values())
        self._waiting.clear()
        for answer in waiting:
            answer.fail(error)


def check_executable(method: Method, codec: MethodCodec) -> None:
    """Raises an error for what `execute` does not send: methods with a content or a wrong bit, and basic.get."""
    if not isinstance(method, Method):
        raise EncodeError("method", f"a method of amqp_sansio.spec.methods, not {type(method).__name__}")
    why, instead = (
        ("it carries a content", "publish") if method.VERB in codec.carrying else _NOT_EXECUTED.get(method.VERB, ("", ""))
    )
    if why:
        raise LocalProtocolError(f"execute {method.VERB}", why, (instead,), method.VERB)
    check_bits(method, codec.arguments.get(type(method), ()))


def with_queue(method: Method, declared: str) -> Method:
    """Returns the method with the queue's name instead of "", which means the queue that was declared last on the channel.

    If the routing key of a binding is "" as well, it becomes that name, too.
    """
    if not isinstance(method, queue.Bind | queue.Unbind | queue.Delete) or method.queue:
        return method
    binds = not isinstance(method, queue.Delete) and not method.routing_key
    return changed(method, queue=declared, **({"routing_key": declared} if binds else {}))


def check_mode(now: str | None, mode: str, method: Method) -> None:
    """Raises an error where the channel is in another mode than the one that a method selects."""
    if now not in (None, mode):
        raise LocalProtocolError(
            method.VERB, f"the channel is in {now} mode", ("another channel",), "confirms or transactions, not both"
        )
