"""What was asked on a channel and waits for its answer."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from amqp_sansio.engine.findings import Findings
from amqp_sansio.tables.channel_words import ANY_TIME, REPLIES

_UNEXPECTED: Final = 503


class Question(NamedTuple):
    """A method that wants an answer: its place among all of them, what it says of acknowledgements, and which consumer it
    names; "" for none."""

    place: int
    no_ack: bool
    tag: str


class Questions:
    """Those of both sides, by who asks and verb."""

    __slots__ = ("_asked", "_count", "waiting")

    def __init__(self) -> None:
        self._asked: Final[dict[tuple[str, str], deque[Question]]] = {}
        self._count = 0
        self.waiting = 0
        """How many wait."""

    def ask(self, speaker: str, verb: str, no_ack: bool, tag: str) -> None:
        """`speaker` asks."""
        self._count += 1
        self.waiting += 1
        self._asked.setdefault((speaker, verb), deque()).append(Question(self._count, no_ack, tag))

    def waits(self, speaker: str, verb: str) -> bool:
        """Whether `speaker` has asked this."""
        return (speaker, verb) in self._asked

    def answer(self, asker: str, verb: str, findings: Findings | None) -> Question | None:
        """`asker` is answered: what with.  `findings`: of who answers; None where something was not heard."""
        order = sorted([(places[0].place, asked) for (who, asked), places in self._asked.items() if who == asker])
        waiting = [asked for _, asked in order]
        found = next((asked for asked in waiting if verb in REPLIES[asked]), None)
        if found is None:
            if findings is not None:
                wanted = waiting[0] if waiting else ""
                rule = "reply.other" if waiting else "reply.unasked"
                text = f"{wanted} waits for another answer" if waiting else "nobody asked for it"
                findings.breach(rule, verb, text, REPLIES.get(wanted, ()), _UNEXPECTED)
            return None
        passed = [asked for asked in waiting[: waiting.index(found)] if asked not in ANY_TIME]
        if passed and found not in ANY_TIME and findings is not None:
            findings.divergence("reply.order", verb, f"{passed[0]} was asked before", REPLIES[passed[0]], about=verb)
        questions = self._asked[asker, found]
        question = questions.popleft()
        if not questions:
            del self._asked[asker, found]
        self.waiting -= 1
        return question

    def forget(self, *askers: str) -> None:
        """What these have asked is not answered any more."""
        for key in [key for key in self._asked if key[0] in askers]:
            self.waiting -= len(self._asked.pop(key))
