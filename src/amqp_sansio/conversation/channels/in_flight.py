"""Messages that were published on a channel and are not confirmed yet."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Container
from typing import Final, TypeAlias

from amqp_sansio.conversation.answers import IN_FLIGHT, IN_FLIGHT_OCTETS
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError, ChannelClosed, InDoubt, LimitError, MessageReturned, TransactionFailed
from amqp_sansio.events.channel import MessageReturned as Returned
from amqp_sansio.kernel.picking import pick
from amqp_sansio.kernel.serials import RangeSet

_Said: TypeAlias = tuple[str, str, bytes]
"""Exchange, routing key and body."""


class _Publish:
    """What is kept of one message."""

    __slots__ = ("octets", "said", "ticket")

    def __init__(self, ticket: Ticket[None], octets: int, said: _Said | None) -> None:
        self.ticket: Final = ticket
        self.octets: Final = octets
        self.said: Final = said
        """None where the server never returns it."""


class InFlight:
    """The messages of one channel, by the numbers of their publishes."""

    __slots__ = ("_failed", "_octets", "_publishes", "_returnable", "most", "most_octets")

    def __init__(self) -> None:
        self.most = IN_FLIGHT
        self.most_octets = IN_FLIGHT_OCTETS
        self._octets = 0
        self._publishes: Final[dict[int, _Publish]] = {}
        self._returnable: Final[dict[_Said, OrderedDict[int, None]]] = {}
        """The numbers of those that may come back, the oldest first: not a dict, whose first one is found behind all that were
        taken away."""
        self._failed: Final[deque[Ticket[None]]] = deque(maxlen=IN_FLIGHT)

    def __len__(self) -> int:
        return len(self._publishes)

    @property
    def has_room(self) -> bool:
        """Whether one more message stays within both limits; a body may be larger than what is left."""
        return len(self._publishes) < self.most and self._octets < self.most_octets

    def must_have_room(self, octets: int) -> None:
        """LimitError when there is no room for a body of `octets` octets."""
        if len(self._publishes) >= self.most:
            raise LimitError("most_in_flight", self.most, len(self._publishes) + 1)
        if self._octets >= self.most_octets:
            raise LimitError("most_in_flight_octets", self.most_octets, self._octets + octets)

    @property
    def tickets(self) -> list[Ticket[None]]:
        """Of all that is in flight."""
        return [each.ticket for each in self._publishes.values()]

    def add(self, number: int, exchange: str, routing_key: str, body: bytes, returnable: bool) -> Ticket[None]:
        """A message was published; `returnable`: the server may give it back."""
        ticket: Ticket[None] = Ticket()
        said = (exchange, routing_key, body) if returnable else None
        self._publishes[number] = _Publish(ticket, len(body), said)
        if said is not None:
            self._returnable.setdefault(said, OrderedDict())[number] = None
        self._octets += len(body)
        return ticket

    def confirmed(self, ids: RangeSet) -> None:
        """The server has taken these over."""
        for number in pick(ids, self._publishes):
            self._take(number).settle(None)

    def refused(self, ids: RangeSet, error: Callable[[int], AmqpError]) -> None:
        """The server has not taken these over."""
        for number in pick(ids, self._publishes):
            self._fail(self._take(number), error(number))

    def answered(self, doubt: Container[int], rolled_back: bool) -> None:
        """Without confirms: all before the first one in doubt are taken; or undone, by a rollback."""
        done = []
        for number in self._publishes:
            if number in doubt:
                break
            done.append(number)
        for number in done:
            ticket = self._take(number)
            if rolled_back:
                ticket.fail(TransactionFailed("rolled back"))
            else:
                ticket.settle(None)

    def returned(self, event: Returned) -> None:
        """A message comes back: the engine says which one, or else it is the first one that is the same in all respects.

        It stays in flight until it is confirmed.
        """
        number, said = event.number, event.method
        if number is None:
            number = next(iter(self._returnable.get((said.exchange, said.routing_key, event.body), ())), None)
        found = None if number is None else self._publishes.get(number)
        if number is not None and found is not None:
            self._settled(number, found.said)
            self._fail(found.ticket, MessageReturned(said.reply_code, said.reply_text))

    def lost(self, cause: AmqpError) -> None:
        """The channel is gone: nobody knows what became of them.

        But where the server closed it for a publish, and there is only one that it can mean, that one was refused.
        """
        publishes = list(self._publishes.items())
        self._publishes.clear()
        self._returnable.clear()
        self._octets = 0
        refused = isinstance(cause, ChannelClosed) and cause.code is not None and cause.method == "basic.publish"
        if refused and len(publishes) == 1:
            self._fail(publishes[0][1].ticket, cause)
            return
        for number, each in publishes:
            doubt = InDoubt(number, str(cause))
            doubt.__cause__ = cause
            self._fail(each.ticket, doubt)

    def unheard(self) -> None:
        """Raises the first error of a message that went wrong and that nobody asked about."""
        while self._failed:
            ticket = self._failed.popleft()
            if not ticket.heard:
                ticket.result()

    def _take(self, number: int) -> Ticket[None]:
        each = self._publishes.pop(number)
        self._octets -= each.octets
        self._settled(number, each.said)
        return each.ticket

    def _settled(self, number: int, said: _Said | None) -> None:
        """It will not come back: it has, or it is confirmed."""
        numbers = None if said is None else self._returnable.get(said)
        if said is not None and numbers is not None:
            numbers.pop(number, None)
            if not numbers:
                del self._returnable[said]

    def _fail(self, ticket: Ticket[None], error: AmqpError) -> None:
        if not ticket.done:
            ticket.fail(error)
            self._failed.append(ticket)
