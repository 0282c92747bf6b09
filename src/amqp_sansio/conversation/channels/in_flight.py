"""Messages published on a channel that are not confirmed yet."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Container
from typing import Final, TypeAlias

from amqp_sansio.conversation.pending_commands import IN_FLIGHT, IN_FLIGHT_OCTETS
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError, ChannelClosed, InDoubt, LimitError, MessageReturned, TransactionFailed
from amqp_sansio.events.channel import MessageReturned as Returned
from amqp_sansio.kernel.serials import RangeSet, pick

_Said: TypeAlias = tuple[str, str, bytes]
"""Exchange, routing key and body."""
_Publish: TypeAlias = tuple[Ticket[None], int, _Said | None]
"""A message: its ticket, the number of octets in its body, and the message itself; None where the server never returns it."""


class InFlight:
    """The messages of one channel, by the numbers of their publishes."""

    def __init__(self) -> None:
        self.most = IN_FLIGHT
        self.most_octets = IN_FLIGHT_OCTETS
        self._octets = 0
        self._publishes: Final[dict[int, _Publish]] = {}
        self._returnable: Final[dict[_Said, OrderedDict[int, None]]] = {}
        """The numbers of those that may be returned, the oldest first.  Not a plain dict, which finds its first key only by
        passing all deleted ones."""
        self._failed: Final[deque[Ticket[None]]] = deque(maxlen=IN_FLIGHT)

    def __len__(self) -> int:
        return len(self._publishes)

    @property
    def has_room(self) -> bool:
        """Whether one more message stays within both limits; a body may be larger than the rest."""
        return len(self._publishes) < self.most and self._octets < self.most_octets

    def must_have_room(self, octets: int, held: int | None = None) -> None:
        """Raises LimitError when there is no room for a body of `octets` octets; `held`: the most messages of a transaction."""
        if held is not None:
            if len(self._publishes) >= held:
                raise LimitError("unconfirmed", held, len(self._publishes) + 1)
            return
        if len(self._publishes) >= self.most:
            raise LimitError("most_in_flight", self.most, len(self._publishes) + 1)
        if self._octets >= self.most_octets:
            raise LimitError("most_in_flight_octets", self.most_octets, self._octets + octets)

    @property
    def tickets(self) -> list[Ticket[None]]:
        """The tickets of all messages in flight."""
        return [ticket for ticket, _, _ in self._publishes.values()]

    def add(self, number: int, exchange: str, routing_key: str, body: bytes, returnable: bool) -> Ticket[None]:
        """Adds a published message; `returnable`: the server may return it."""
        ticket: Ticket[None] = Ticket()
        said = (exchange, routing_key, body) if returnable else None
        self._publishes[number] = ticket, len(body), said
        if said is not None:
            self._returnable.setdefault(said, OrderedDict())[number] = None
        self._octets += len(body)
        return ticket

    def confirmed(self, ids: RangeSet) -> None:
        """Settles the messages that the server has taken over."""
        for number in pick(ids, self._publishes):
            self._take(number).settle(None)

    def refused(self, ids: RangeSet, error: Callable[[int], AmqpError]) -> None:
        """Fails the messages that the server has not taken over."""
        for number in pick(ids, self._publishes):
            self._fail(self._take(number), error(number))

    def answered(self, doubt: Container[int], rolled_back: bool) -> None:
        """Settles, without confirms, all messages before the first one in doubt: as taken, or as undone by a rollback."""
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

    def returned(self, event: Returned) -> Ticket[None] | None:
        """Fails the ticket of a returned message, which the engine identifies; otherwise of the first one that is equal in all
        respects.

        It stays in flight until it is confirmed.
        """
        number, said = event.number, event.method
        if number is None:
            number = next(iter(self._returnable.get((said.exchange, said.routing_key, event.body), ())), None)
        found = None if number is None else self._publishes.get(number)
        if number is None or found is None:
            return None
        ticket, _, published = found
        self._settled(number, published)
        self._fail(ticket, MessageReturned(said.reply_code, said.reply_text, said.exchange, said.routing_key))
        return ticket

    def lost(self, cause: AmqpError) -> None:
        """Fails all messages, because the channel is gone and their fate unknown.

        But where the server closed it for a publish, and only one message can be meant, that one was refused.
        """
        publishes = list(self._publishes.items())
        self._publishes.clear()
        self._returnable.clear()
        self._octets = 0
        refused = isinstance(cause, ChannelClosed) and cause.code is not None and cause.method == "basic.publish"
        if refused and len(publishes) == 1:
            self._fail(publishes[0][1][0], cause)
            return
        for number, (ticket, _, _) in publishes:
            doubt = InDoubt(number, str(cause))
            doubt.__cause__ = cause
            self._fail(ticket, doubt)

    def unheard(self) -> None:
        """Raises the first error of a message that failed and was never awaited."""
        while self._failed:
            ticket = self._failed.popleft()
            if not ticket.heard:
                ticket.result()

    def _take(self, number: int) -> Ticket[None]:
        ticket, octets, said = self._publishes.pop(number)
        self._octets -= octets
        self._settled(number, said)
        return ticket

    def _settled(self, number: int, said: _Said | None) -> None:
        """Notes that a message will not be returned any more: it was, or it is confirmed."""
        numbers = None if said is None else self._returnable.get(said)
        if said is not None and numbers is not None:
            numbers.pop(number, None)
            if not numbers:
                del self._returnable[said]

    def _fail(self, ticket: Ticket[None], error: AmqpError) -> None:
        if not ticket.done:
            ticket.fail(error)
            self._failed.append(ticket)
