"""The book of one subscription's credit, for whoever hears both sides of it: our client, and an observer.

It answers two questions: what the subscriber has granted, and how much the deliverer may still believe that it has.  The
second is an upper bound, so whoever sends more has broken its credit whatever the timing was.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from amqp_sansio.engine.credit import INFINITE, MESSAGE, OCTET, WINDOW_MODE, Flow, FlowState

BookState: TypeAlias = tuple[
    FlowState, tuple[int | None, int | None], tuple[int, int | None, int | None] | None, tuple[int, int]
]
"""A CreditBook as a plain value: its flow, what the deliverer may still send, the barrier, what is not reported yet."""


class CreditBook:
    """`flow` is what the subscriber has granted, as the deployed servers count it.

    The upper bound follows the letter of message.set-flow-mode and message.flow, which allow more than that:

    * A grant counts from when it was sent.
    * What stop, flush or cancel takes away counts until the deliverer has completed the last of them, the `barrier`.
    * In window mode a completion gives its credit back when it is reported, also after a stop.
    """

    __slots__ = (
        "_barrier",
        "_messages",
        "_octets",
        "_since_messages",
        "_since_octets",
        "_unreported_messages",
        "_unreported_octets",
        "flow",
        "limited",
    )

    def __init__(self, flow: Flow | None = None) -> None:
        self.flow: Final = flow or Flow()
        self.limited = True
        """False while neither unit has a limit and nothing is being taken back: then there is nothing to count."""
        # What the deliverer may still send; None: without limit.
        self._messages: int | None = 0
        self._octets: int | None = 0
        self._barrier: int | None = None
        # What of that was given after the barrier.
        self._since_messages: int | None = 0
        self._since_octets: int | None = 0
        # What was completed since completions were last reported.
        self._unreported_messages = 0
        self._unreported_octets = 0

    @property
    def messages(self) -> int | None:
        """How many messages the deliverer may still send at most; None: any number."""
        return self._messages

    @property
    def octets(self) -> int | None:
        """How many octets the deliverer may still send at most; None: any number."""
        return self._octets

    @classmethod
    def behind(cls, cancelled: CreditBook) -> CreditBook:
        """The book of a subscription with the destination of one whose cancel the deliverer has not completed yet: what comes
        until then may still be for that one."""
        book = cls()
        book._messages, book._octets, book._barrier = cancelled._messages, cancelled._octets, cancelled._barrier
        return book

    # --- what the subscriber says --------------------------------------------------------------------------------------------

    def grant(self, unit: int, value: int) -> None:
        """message.flow."""
        self.flow.grant(unit, value)
        added = None if value == INFINITE else value
        if unit == OCTET:
            self._octets = _sum(self._octets, added)
            self._since_octets = _sum(self._since_octets, added)
        else:
            self._messages = _sum(self._messages, added)
            self._since_messages = _sum(self._since_messages, added)
        self._look()

    def take_back(self, id: int, flush: bool = False) -> None:
        """message.stop or message.cancel, or else message.flush, as command `id`."""
        if flush:
            self.flow.begin_flush(id)
        else:
            self.flow.stop()
        self._barrier = id
        self._since_messages = self._since_octets = 0
        self.limited = True

    def set_mode(self, mode: int) -> None:
        """message.set-flow-mode."""
        self.flow.set_mode(mode)

    def complete(self, messages: int, octets: int, charge: int) -> None:
        """Transfers of so many octets together, which were charged with `charge`, are completed; not reported yet."""
        self.flow.complete(messages, octets)
        self._unreported_messages += messages
        self._unreported_octets += charge

    def reported(self) -> None:
        """The deliverer is told of what was completed: a window moves."""
        messages, octets = self._unreported_messages, self._unreported_octets
        self._unreported_messages = self._unreported_octets = 0
        if self.flow.mode == WINDOW_MODE:
            self._messages = _sum(self._messages, messages)
            self._octets = _sum(self._octets, octets)
            if self._barrier is not None:
                self._since_messages = _sum(self._since_messages, messages)
                self._since_octets = _sum(self._since_octets, octets)

    # --- what the deliverer says ---------------------------------------------------------------------------------------------

    def spend(self, octets: int, charge: int) -> int | None:
        """A transfer of so many octets, charged with `charge`.  The unit of which there was not enough, None when there was."""
        self.flow.transfer(octets)
        if not self.limited:
            return None
        excess: int | None = None
        left = self._messages
        if left is not None:
            if left < 1:
                excess = MESSAGE
            else:
                self._messages = left - 1
        left = self._octets
        if left is not None:
            if left < charge:
                excess = OCTET if excess is None else excess
            else:
                self._octets = left - charge
        return excess

    def spend_run(self, messages: int, charge: int) -> bool:
        """`spend` for so many transfers charged with `charge` together, if there is enough for all; else nothing changes."""
        most, octets = self._messages, self._octets
        if (most is not None and most < messages) or (octets is not None and octets < charge):
            return False
        flow = self.flow
        if flow.mode == WINDOW_MODE:
            flow.messages.use(messages)
            flow.octets.use(charge)
        else:
            flow.messages.spend(messages)
            flow.octets.spend(charge)
        if most is not None:
            self._messages = most - messages
        if octets is not None:
            self._octets = octets - charge
        return True

    def carried_out(self, id: int) -> None:
        """The deliverer has completed a stop, flush or cancel: what was granted before it is gone."""
        self.flow.end_flush(id)
        if id == self._barrier:  # an earlier one takes away no more than the last one will
            self._messages = _least(self._messages, self._since_messages)
            self._octets = _least(self._octets, self._since_octets)
            self._barrier = None
            self._look()

    def _look(self) -> None:
        self.limited = self._messages is not None or self._octets is not None or self._barrier is not None

    # --- plain values --------------------------------------------------------------------------------------------------------

    def snapshot(self) -> BookState:
        """A plain value; see `restore`."""
        barrier = None if self._barrier is None else (self._barrier, self._since_messages, self._since_octets)
        left = self._messages, self._octets
        return self.flow.snapshot(), left, barrier, (self._unreported_messages, self._unreported_octets)

    @classmethod
    def restore(
        cls,
        flow: FlowState,
        left: tuple[int | None, int | None],
        barrier: tuple[int, int | None, int | None] | None,
        unreported: tuple[int, int],
    ) -> CreditBook:
        """The book that `snapshot` described."""
        book = cls(Flow.restore(*flow))
        book._messages, book._octets = left
        if barrier is not None:
            book._barrier, book._since_messages, book._since_octets = barrier
        book._unreported_messages, book._unreported_octets = unreported
        book._look()
        return book

    @property
    def owes_report(self) -> bool:
        """Whether something was completed that the deliverer was not told of."""
        return bool(self._unreported_messages)


def _sum(amount: int | None, more: int | None) -> int | None:
    return None if amount is None or more is None else amount + more


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


CREDIT_RULE: Final = "message.flow"
"""What a transfer beyond the credit of its destination breaks."""
DESTINATION_RULE: Final = "message.transfer.destination"
"""What a transfer to a destination without subscription breaks."""
UNITS: Final = ("message", "byte")
"""The units of credit by their numbers, as message.credit-unit calls them."""
