"""The witness of one channel of an older dialect: its life, and what it is used for."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.channel_witness_use import ChannelUse
from amqp_sansio.engine.channels.breaches import order_of
from amqp_sansio.engine.findings import Findings
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.spec.base import Method
from amqp_sansio.tables.channel import CLOSE, CLOSE_OK, LIFE, OPEN, OPEN_OK, RESUME, RESUMED, WORK
from amqp_sansio.tables.connection import CLIENT, SERVER

_CHANNEL_ERROR: Final = 504
_LIVES: Final = (OPEN, OPEN_OK, CLOSE, CLOSE_OK)


class NumberedWitness:
    """One channel from one opening to the next.  What it says collects in `findings`, whose speaker and offset the caller sets.

    `late`: we missed some of its words, and nobody is held to what depends on them.
    """

    __slots__ = ("_findings", "_late", "_life", "_use")

    def __init__(self, findings: Findings, late: bool) -> None:
        self._findings: Final = findings
        self._late = late
        self._life = Machine.unknown(LIFE) if late else Machine(LIFE)
        self._use: ChannelUse | None = None
        """None while it is unused: most of a great many channels are idle."""

    @property
    def reopens(self) -> bool:
        """Whether an open begins it anew."""
        return self._life.can(CLIENT, OPEN)

    def hear(self, speaker: str, verb: str, method: Method) -> None:
        """A method that its speaker may say at all."""
        resumes = verb in (RESUME, RESUMED) and self._life.can(speaker, verb)
        word = verb if resumes or verb in _LIVES else WORK
        before = self._life.state
        refusal = self._life.step(speaker, word)
        if refusal is not None:
            rule, text = order_of(before, word)
            self._findings.breach(rule, verb, text, refusal.legal_for(speaker), _CHANNEL_ERROR)
            if before in ("not-open", "closed"):
                self.lose()  # the other side may treat it as open
            elif word == WORK:
                self.refused(speaker, verb)
        elif word == WORK:
            self._used().hear(speaker, verb, method)
        elif self._use is not None and verb == CLOSE:
            self._use.close(speaker)
        elif self._use is not None and verb == CLOSE_OK:
            self._use.close(CLIENT, SERVER)

    def may_break_off(self, speaker: str) -> bool:
        """Whether `speaker` owes close-ok, for which it may leave its content unfinished."""
        return self._life.can(speaker, CLOSE_OK)

    def broken_off(self, speaker: str, verb: str, method: Method) -> None:
        """A method whose content we do not have whole."""
        self._used().break_off(speaker, verb, method)

    def refused(self, speaker: str, verb: str) -> None:
        """A method at the wrong time.  The other side may take it all the same, and nobody is held to that."""
        self._used().ask(speaker, verb, None)
        self._used().taken(verb)

    def lose(self) -> None:
        """We missed some of its words."""
        self._late = True
        self._life.forget()
        if self._use is not None:
            self._use.lose()

    def _used(self) -> ChannelUse:
        if self._use is None:
            self._use = ChannelUse(self._findings, self._late)
        return self._use
