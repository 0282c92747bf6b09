"""The transactions of one session as a third person hears them."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.demarcation import state_of
from amqp_sansio.engine.findings import Findings
from amqp_sansio.ledger.demarcation import Demarcation
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.message import Cancel, Subscribe
from amqp_sansio.tables import demarcation as rows


class DemarcationWitness:
    """Holds the client to the rows.  What deployed brokers let pass is a note, unless strict.

    A client may have said something before it heard that its dtx.start had failed: it is held to neither.
    """

    __slots__ = ("_demarcation", "_findings", "_unaccepting")

    def __init__(self, findings: Findings, late: bool) -> None:
        self._findings: Final = findings
        self._demarcation: Final = Demarcation()
        self._unaccepting: set[str] = set()
        """Destinations of subscriptions with accept-mode none."""
        if late:
            self._demarcation.lost()

    def hear(self, id: int | None, command: Command) -> None:
        """The client says a command of class tx or dtx, or one about its subscriptions, as its command `id`."""
        demarcation = self._demarcation
        if isinstance(command, Cancel):
            self._unaccepting.discard(command.destination or "")
            return
        if isinstance(command, Subscribe):
            if not command.accept_mode:
                return
            if len(self._unaccepting) < self._findings.limits.subscriptions:
                self._unaccepting.add(command.destination or "")
            verb: str | None = rows.SUBSCRIBE_NONE
        else:
            verb = demarcation.verb(command, isinstance(command, tx.Select) and bool(self._unaccepting))
        if verb is None:
            return
        cell = demarcation.refusal(verb)
        if cell is not None:
            self._blame(verb, command, cell)
            if cell.qpid is not None:
                return
        demarcation.said(verb, command, id, cell)
        excess = demarcation.bound(self._findings.limits.suspended_branches)
        self._findings.bounded(excess, "suspended_branches", "suspended branches")

    def _blame(self, verb: str, command: Command, cell: rows.Forbidden) -> None:
        words = self._demarcation.words(verb, command)
        legal, text = self._demarcation.legal(verb), f"{words} in state {state_of(self._demarcation)}"
        if cell.qpid is None:
            self._findings.divergence(cell.rule, words, text, legal, cell.spec, about=words)
        else:
            self._findings.breach(cell.rule, words, text, legal, cell.spec if self._findings.strict else cell.qpid)

    def answered(self, id: int | None, value: object) -> None:
        """The server says the result of the client's command `id`."""
        if isinstance(value, dtx.XaResult) and value.status is not None:
            self._demarcation.answered(id, value.status, heard=False)

    def lost(self) -> None:
        """We missed something that the client sent, or it sends it again."""
        self._demarcation.lost()
