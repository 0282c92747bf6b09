"""Credit, as an observer can judge it: violations by deliveries to one side's subscriptions."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.findings import CREDIT_RULE, DESTINATION_RULE, UNITS, Findings
from amqp_sansio.ledger.credit import INFINITE, MESSAGE, OCTET
from amqp_sansio.ledger.subscriptions import Subscriptions
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.spec.message import Cancel, Flow, Flush, SetFlowMode, Stop, Subscribe


class CreditWitness:
    """Feeds the ledger of one side's subscriptions in a session, and reports violations.

    A delivery's `charge` is the octets of its body and, when strict, of its header, which Broker-J does not count.
    """

    __slots__ = ("_findings", "book")

    def __init__(self, findings: Findings, doubt: bool) -> None:
        self._findings: Final = findings
        self.book: Final = Subscriptions(findings.limits.subscriptions, findings.limits.replay_commands)
        self.book.doubt = doubt

    def hear(self, id: int | None, command: Command, judged: bool = True) -> None:
        """Records the subscriber's command `id` if it is about credit; not `judged`: it was refused already."""
        if not isinstance(command, Cancel | Flow | Flush | SetFlowMode | Stop | Subscribe):
            return
        destination = command.destination or ""
        book = self.book
        if isinstance(command, Subscribe):
            if not book.subscribe(destination) and judged and not book.doubt:
                self._twice(destination)
        elif isinstance(command, Flow):
            book.grant(destination, OCTET if command.unit else MESSAGE, INFINITE if command.value is None else command.value)
        elif isinstance(command, SetFlowMode):
            self._mode(destination, command.flow_mode or 0, judged)
        else:
            book.take_back(destination, id, isinstance(command, Flush), isinstance(command, Cancel))

    def _twice(self, destination: str) -> None:
        """Reports a second subscription to a destination: deployed brokers refuse it; qpidd accepts it for the empty name."""
        tell = self._findings.breach if destination else self._findings.letter
        tell(
            "message.subscribe.destination.unique-subscriber-destination",
            f"message.subscribe of destination {destination[:80]!r}",
            "a subscription of this session has this destination",
            ("another destination", f"message.cancel of destination {destination[:80]!r}"),
            ErrorCode.NOT_ALLOWED,
        )

    def _mode(self, destination: str, mode: int, judged: bool) -> None:
        entry = self.book.entries.get(destination)
        judged = judged and entry is not None and not entry.doubt and not self.book.doubt
        if not self.book.set_mode(destination, mode) and judged:
            self._findings.letter(
                "message.set-flow-mode.mode-switching",
                f"message.set-flow-mode of destination {destination[:80]!r}",
                "the mode changes only while there is no credit",
                ("message.stop", "message.flush"),
                about=destination[:80],
            )

    def delivered(self, id: int | None, destination: str, octets: int, charge: int) -> None:
        """Judges a transfer with `octets` octets of header and body, charged with `charge`."""
        book = self.book
        entry = book.entries.get(destination)
        if entry is not None:
            unit = book.delivered(id, destination, octets, charge)
            if unit is not None and not entry.doubt and not book.doubt:
                entry.doubt = True
                self._excess(entry.book.most_octets if unit == OCTET else entry.book.most_messages, destination, unit, charge)
        elif not book.doubt:
            self._findings.divergence(
                DESTINATION_RULE,
                f"message.transfer to destination {destination[:80]!r}",
                "a transfer to a destination that nobody subscribed with",
                tuple([repr(name[:80]) for name in list(book.entries)[:10]]),
                about=destination[:80],
            )

    def _excess(self, left: int | None, destination: str, unit: int, charge: int) -> None:
        cost = charge if unit == OCTET else 1
        self._findings.divergence(
            CREDIT_RULE,
            f"message.transfer to destination {destination[:80]!r}",
            f"a transfer of {cost} beyond the {UNITS[unit]} credit of its destination, of which {left or 0} was left",
            (f"message.transfer of at most {left}",) if left else (),
            about=destination[:80],
        )
