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
"""The observer's letter of each side, and the table's word for it."""


class ConnectionWitness:
    """Judges what concerns the connection.  A base class: each family decides what to report, and what to forget after a gap.

    Findings collect in `findings.found`; the caller sets `findings.offset` to the unit under judgement.
    """

    __slots__ = ("_ended", "_excused", "_late", "dialogue", "findings", "shaky")

    def __init__(self, strict: bool, limits: Limits, handshake: Table) -> None:
        self.findings: Final = Findings(strict, limits)
        self.dialogue = ConnectionDialogue(rows=handshake)
        self.shaky = False
        """Whether units of a speaker may be missing, because the search for its frames goes on."""
        self._late = False
        self._ended = False
        self._excused: set[tuple[str, str]] = set()

    def header(self, speaker: str, same: bool) -> None:
        """Judges a protocol header; `same`: the server's, for the version under observation."""
        verb = PROTOCOL_HEADER if same or speaker == "C" else OTHER_PROTOCOL_HEADER
        if self.dialogue.said(WHO[speaker], verb) is not None and not self._late:
            self.findings.note("connection.protocol-header", f"the {WHO[speaker]} sends its header unasked")
            self.lost("S" if speaker == "C" else "C")  # we missed the beginning of the other side

    def lost(self, speaker: str) -> None:
        """Makes every state possible again: octets of `speaker` were lost."""
        raise NotImplementedError

    def ended(self, speaker: str) -> None:
        """Judges the end of `speaker`'s octets."""
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
        """Returns whether neither side has anything left to send."""
        return self.dialogue.finished

    def _legal(self, speaker: str, word: str, verb: str) -> bool:
        """Returns whether the machines accept `verb`, which their tables call `word`; reports what they refuse to `_blame`."""
        refusal = self.dialogue.said(WHO[speaker], word)
        if refusal is None:
            return True
        if (speaker, verb) in self._excused:  # the answer to a request that was illegal itself
            self._excused.discard((speaker, verb))
            return False
        other = "S" if speaker == "C" else "C"
        self._excused.update([(other, answer) for answer in ANSWERS.get(verb, ())])
        self._blame(WHO[speaker], word, verb, refusal)
        return False

    def _blame(self, who: str, word: str, verb: str, refusal: Refusal) -> None:
        """Reports the rule that `who` broke.  The machines have kept their states."""
        raise NotImplementedError
