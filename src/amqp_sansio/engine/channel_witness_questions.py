"""What was asked on a channel and waits for its answer."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.engine.findings import Findings
from amqp_sansio.ledger.pending_replies import PendingReplies
from amqp_sansio.tables.channel_words import REPLIES

_UNEXPECTED: Final = 503


class Question(NamedTuple):
    """A method that wants an answer: what it says of acknowledgements, and which consumer it names; "" for none."""

    no_ack: bool
    tag: str


class Questions:
    """Those of both sides, by the asking side."""

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        self._asked: Final[dict[str, PendingReplies[Question]]] = {}

    def ask(self, speaker: str, verb: str, no_ack: bool, tag: str, most: int) -> bool:
        """`speaker` asks; of more than so many of its questions the oldest goes: whether it did."""
        asked = self._asked.setdefault(speaker, PendingReplies())
        asked.ask(verb, Question(no_ack, tag))
        return asked.bound(most)

    def waits(self, speaker: str, verb: str) -> bool:
        """Whether `speaker` has asked this."""
        asked = self._asked.get(speaker)
        return asked is not None and asked.waits(verb)

    def answer(self, asker: str, verb: str, findings: Findings | None) -> Question | None:
        """`asker` is answered: what with.  `findings`: of the answering side; None where we missed something."""
        asked = self._asked.get(asker)
        answered = None if asked is None else asked.answer(verb)
        if answered is None:
            if findings is not None:
                wanted = "" if asked is None else asked.oldest
                rule = "reply.other" if wanted else "reply.unasked"
                text = f"{wanted} waits for another answer" if wanted else "nobody asked for it"
                findings.breach(rule, verb, text, REPLIES.get(wanted, ()), _UNEXPECTED)
            return None
        passed = answered.passed
        if passed and findings is not None:
            text, legal = f"{passed} was asked before", REPLIES[passed]
            findings.divergence("reply.order", verb, text, legal, _UNEXPECTED, about=verb)
        return answered.kept

    def forget(self, *askers: str) -> None:
        """What these have asked is not answered any more."""
        for asker in askers:
            self._asked.pop(asker, None)
