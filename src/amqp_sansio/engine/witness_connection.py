"""The part of a witness about the connection itself, in any family: headers, the handshake, the close, and the end."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.findings import Findings
from amqp_sansio.kernel.machine import Refusal, Table
from amqp_sansio.limits import Limits
from amqp_sansio.tables.connection import (
    ANSWERS,
    CLIENT,
    OTHER_PROTOCOL_HEADER,
    PROTOCOL_HEADER,
    SERVER,
    ConnectionDialogue,
)

WHO: Final[dict[str, str]] = {"C": CLIENT, "S": SERVER}
"""The observer's letters and the words of the tables."""

_OTHER: Final[dict[str, str]] = {"C": "S", "S": "C"}


class ConnectionWitness:
    """What it says collects in `findings.found`; the caller sets `findings.offset` to the frame under judgement.

    A base class, of which each family derives its own: it says what it blames, and what it forgets when something was lost.
    """

    __slots__ = ("_ended", "_excused", "_late", "dialogue", "findings", "shaky")

    def __init__(self, strict: bool, limits: Limits, handshake: Table, late: bool = False) -> None:
        self.findings: Final = Findings(strict, limits)
        self.dialogue = ConnectionDialogue.unknown(handshake) if late else ConnectionDialogue(rows=handshake)
        self.shaky = False
        """We do not have all of what a speaker says yet: the search for its frames goes on."""
        self._late = late
        self._ended = False
        self._excused: set[tuple[str, str]] = set()

    def header(self, speaker: str, same: bool) -> None:
        """A protocol header; `same`: a server says with it that it speaks the version under observation."""
        verb = PROTOCOL_HEADER if same or speaker == "C" else OTHER_PROTOCOL_HEADER
        if self.dialogue.said(WHO[speaker], verb) is not None and not self._late:
            self.findings.note("connection.protocol-header", f"the {WHO[speaker]} sends its header unasked")
            self.lost(_OTHER[speaker])  # the other side's beginning was not heard

    def lost(self, speaker: str) -> None:
        """Some octets of `speaker` were lost: every state is possible again."""
        raise NotImplementedError

    def ended(self, speaker: str) -> None:
        """`speaker`'s octets have ended."""
        if self._ended:
            return
        self._ended = True
        self.findings.channel = None
        if self._late or self._may_end():
            return
        who, state = WHO[speaker], self.dialogue.state
        if state == "closing":
            self.findings.note("connection.close-ok", f"the {who} ends the connection without close-ok")
        elif state.startswith(("authenticating", "challenged")):
            self.findings.note("connection.authentication", f"the {who} ends the connection during authentication")
        else:
            self.findings.note("connection.eof", f"the {who} ends the connection without connection.close (state {state})")

    def _may_end(self) -> bool:
        """Whether nobody has anything more to say."""
        return self.dialogue.finished

    def _legal(self, speaker: str, word: str, verb: str) -> bool:
        """Whether the machines allow `verb`, which is `word` to them; `_blame` hears of what they refuse."""
        refusal = self.dialogue.said(WHO[speaker], word)
        if refusal is None:
            return True
        if (speaker, verb) in self._excused:  # the answer to what should not have been asked
            self._excused.discard((speaker, verb))
            return False
        self._excused.update([(_OTHER[speaker], answer) for answer in ANSWERS.get(verb, ())])
        self._blame(WHO[speaker], word, verb, refusal)
        return False

    def _blame(self, who: str, word: str, verb: str, refusal: Refusal) -> None:
        """Says which rule `who` broke.  The machines stand where they stood before."""
        raise NotImplementedError
