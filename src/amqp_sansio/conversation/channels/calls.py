"""What one channel asked of the server, and what follows from the answers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.channels.topology import DECLARING
from amqp_sansio.conversation.channels.words import with_queue
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.channels.base import waits
from amqp_sansio.errors import AmqpError
from amqp_sansio.errors.checks import check_types
from amqp_sansio.events import Origin
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic, queue
from amqp_sansio.spec.methods import channel as channels
from amqp_sansio.tables.channel import REPLIES

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.core import ChannelCore


class Calls:
    """The tickets of methods that wait for an answer, by the ids of the methods."""

    __slots__ = ("_asked", "_core", "_declared", "_gets", "_methods", "active", "recovering")

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
            channel._channels.codec.methods.encode(method)  # raises for wrong fields, before the topology reads them
        declares = topology.must_have_room(method)
        core.flush()
        id = channel.send(method)
        if isinstance(method, basic.Recover | basic.RecoverAsync | basic.RecoverSync):
            core.taken_back()
        elif isinstance(method, basic.Qos):
            core.consumers.asked(method.prefetch_count or channel._channels.carrier.limits.deliveries)
        ticket: Ticket[Method] = Ticket()
        if method.VERB in REPLIES and waits(method) and channel._channels.answers(method.VERB):
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

    def get(self, queue: str, accept: bool) -> Ticket[Message | None]:
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

    def got(self, id: int) -> tuple[Ticket[Message | None], str]:
        """Handles a message that answers a `get`; returns its ticket and its queue."""
        return self._gets.pop(id)

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

    __slots__ = ("_core", "_queue", "_ticket")

    def __init__(self, core: ChannelCore, queue: str) -> None:
        self._core: Final = core
        self._queue: Final = queue
        self._ticket: Ticket[Message | None] | None = None

    def say(self) -> Ticket[Message | None]:
        """Sends basic.get; returns the ticket for the message."""
        self._ticket = self._core.get(self._queue)
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
