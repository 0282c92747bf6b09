"""The pending commands of a session, and the messages in flight among them."""

from __future__ import annotations

from collections import deque
from typing import Any, Final, TypeAlias

from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import (
    EncodeError,
    LocalProtocolError,
    MessageReturned,
    NoResult,
    SessionFailed,
    SessionLost,
    SharedSessionFailed,
)
from amqp_sansio.errors.checks import check_bits
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet, pick, serial_add, serial_le
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.wire.layouts.fields import FIELDS

IN_FLIGHT: Final = 1000
"""The most messages in flight; beyond this a publisher waits."""
IN_FLIGHT_OCTETS: Final = 16 * 1024 * 1024
"""The most octets in their bodies; a single message may be larger."""
MESSAGE: Final = "message.transfer"
CONTENT: Final = frozenset([
    MESSAGE, "file.stage", "file.return", "stream.publish", "stream.return", "stream.deliver",
])  # fmt: skip
"""Commands that carry a content."""
PublishedTo: TypeAlias = tuple[str, str | None]
"""The exchange and the routing key of a message."""
_SESSION: Final = SessionFailed, SessionLost
_COMMAND: Final = -1
"""Stands for the octets of a command without a result."""
_ASKING: Final = -2
"""Stands for the octets of a command with a result, by which alone it is settled."""


class PendingCommands:
    """The tickets of one session's commands, by their ids: for completion, or for a result.

    A message is in flight as long as its command is not complete.  For one that failed, it is remembered whether the program
    has got the error (`unheard`).
    """

    def __init__(self) -> None:
        self.messages = 0
        """Messages in flight."""
        self.octets = 0
        """Octets in their bodies."""
        self._tickets: Final[dict[int, tuple[Ticket[Any], str | PublishedTo, int]]] = {}  # Any: for a result, or for none
        """With a command's verb, or a message's place; with the octets of its body, _COMMAND or _ASKING."""
        self._unconfirmed: Final[deque[Ticket[None]]] = deque(maxlen=IN_FLIGHT)
        self._returnable: Final = MutableRangeSet()  # in flight and not returned, of those sent before the last return
        self._returnable_from: int | None = None  # the first id sent since then; None: none was

    def message(self, id: int, octets: int, exchange: str = "", routing_key: str | None = None) -> Ticket[None]:
        """Adds a message with a body of `octets` octets in flight; returns the ticket for its completion."""
        ticket: Ticket[None] = Ticket()
        self._tickets[id] = (ticket, (exchange, routing_key), octets)
        self.messages += 1
        self.octets += octets
        return ticket

    def completion(self, id: int, verb: str) -> Ticket[None]:
        """Returns the ticket for the completion of a command, settled when it is executed."""
        ticket: Ticket[None] = Ticket()
        self._tickets[id] = (ticket, verb, _COMMAND)
        return ticket

    def result(self, id: int, verb: str) -> Ticket[Struct]:
        """Returns the ticket for the result of a command."""
        ticket: Ticket[Struct] = Ticket()
        self._tickets[id] = (ticket, verb, _ASKING)
        return ticket

    def verb(self, id: int | None) -> str | None:
        """Returns the verb of a pending command; None when it is not pending."""
        if id not in self._tickets:
            return None
        verb = self._tickets[id][1]
        return MESSAGE if isinstance(verb, tuple) else verb

    # --- answers -------------------------------------------------------------------------------------------------------------

    def completed(self, ids: RangeSet, name: bytes, refused: bool = False) -> None:
        """Settles commands of the session `name` that are executed.  One that has a result, and is complete without it, fails.

        It does not fail where the session was `refused`: that loses the session, and explains the missing result.
        """
        tickets = self._tickets
        if self._returnable.highs:
            self._returnable.discard(ids)
        for id in pick(ids, tickets):
            ticket, _, octets = tickets[id]
            if octets >= 0:
                self.messages -= 1
                self.octets -= octets
            elif octets == _ASKING:
                if not refused:
                    self.resulted(id, None, name)
                continue
            del tickets[id]
            ticket.settle(None)

    def resulted(self, id: int, value: Struct | None, name: bytes) -> None:
        """Settles a command with the result that came on the session `name`; None is an empty result, which fails it."""
        asked = self._tickets.get(id)
        if asked is None or asked[2] != _ASKING:
            return
        del self._tickets[id]
        if value is None:
            asked[0].fail(NoResult(name, str(asked[1]), id))
        else:
            asked[0].settle(value)

    def returned(self, ids: RangeSet, code: int, text: str) -> None:
        """Marks messages as returned by the broker.  They stay in flight until they are complete."""
        tickets = self._tickets
        if not tickets:
            return
        first, last = self._returnable_from, next(reversed(tickets))
        if first is None:
            first = next(iter(tickets))
        if serial_le(first, last):
            self._returnable.add_range(first, last)
            self._returnable_from = serial_add(last, 1)
        for id in pick(self._returnable.take(ids), tickets):
            ticket, place, _ = tickets[id]
            if isinstance(place, tuple):  # else no message has that id
                ticket.fail(MessageReturned(code, text, *place))
                self._unconfirmed.append(ticket)

    def refused(self, id: int | None, error: Exception) -> None:
        """Fails the refused command, which ends the session; None: the refusal names none."""
        if id in self._tickets:
            self._tickets[id][0].fail(error)

    def lost(self, error: Exception) -> None:
        """Fails everything pending: the session is gone."""
        self._unconfirmed.extend([ticket for ticket, _, octets in self._tickets.values() if octets >= 0])
        waiting = [each for each, _, _ in self._tickets.values()]
        self._tickets.clear()
        self._returnable.clear()
        self._returnable_from = None
        self.messages = self.octets = 0
        for ticket in waiting:
            ticket.fail(error)

    def unheard(self) -> None:
        """Raises the first error of a message that failed and whose error the program has not got.

        Where the session failed, only if no call has raised that error yet, which already says that all unanswered messages are
        in doubt.
        """
        self.lost_before()
        while self._unconfirmed:
            ticket = self._unconfirmed.popleft()
            if not ticket.heard and not isinstance(ticket.error, _SESSION):
                ticket.result()

    def lost_before(self) -> None:
        """Raises the refusal of an unawaited message, else why such messages are in doubt, unless a call has raised it."""
        untold = [ticket for ticket in self._sent() if ticket.done and not ticket.heard and _untold(ticket.error)]
        for ticket in sorted(untold, key=lambda each: isinstance(each.error, SharedSessionFailed)):
            ticket.result()

    def told(self) -> None:
        """Notes that, if the session fails, the error of the transaction reports the fate of the messages in it."""
        for ticket in self._sent():
            if not ticket.done or isinstance(ticket.error, _SESSION):
                ticket.heard = True

    def _sent(self) -> list[Ticket[None]]:
        """Returns the messages that failed, and those in flight."""
        return [*self._unconfirmed, *[ticket for ticket, _, octets in self._tickets.values() if octets >= 0]]


def check_executable(command: Command) -> None:
    """Raises an error for what `execute` does not send: a command with a content or a wrong bit, anything but a command."""
    if not isinstance(command, Command):
        raise EncodeError("command", f"a command of amqp_sansio.spec, not {type(command).__name__}")
    if command.VERB in CONTENT:
        raise LocalProtocolError(f"execute {command.VERB}", "it carries a content", ("publish",), command.VERB)
    check_bits(command, FIELDS.get(type(command), ()))


def _untold(error: Exception | None) -> bool:
    """Whether a session failed with an error that no call has raised yet; a refusal is raised by its own call only."""
    return isinstance(error, _SESSION) and not (isinstance(error, SharedSessionFailed | SessionLost) and error.seen)
