"""Files and streams as a third person hears them: the rows of both classes, accusing nobody of what it missed."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.contents import Contents
from amqp_sansio.engine.findings import Findings
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.session import CommandPoint, Flush

_ANSWERS: Final = {"qos": "qos-ok", "consume": "consume-ok", "open": "open-ok", "open-ok": "stage"}
"""What the other side may answer even when it was asked at the wrong time: it is not the one to blame."""


class ContentWitness:
    """What both sides of one attachment say about files and streams.

    `late`: we missed its beginning, or it goes on from an attachment before.
    """

    __slots__ = ("_contents", "_excused", "_findings", "_late")

    def __init__(self, findings: Findings, late: bool) -> None:
        self._findings: Final = findings
        self._late = late
        # Made when first needed: most sessions have neither files nor streams.
        self._contents: Contents | None = None
        self._excused: set[str] = set()

    def hear(self, speaker: str, id: int | None, command: Command | None, octets: int, body: int | None) -> None:
        """`speaker` says a command of these classes, None when it cannot be read or is not for `speaker` to say.

        `octets` of header and body, and of `body` alone (None: unknown).
        """
        contents = self._contents
        if contents is None:
            contents = self._contents = Contents(self._findings.limits, None, self._late)
        if command is None:
            contents.forget()
            return
        wrong = contents.check(speaker, command, None if body is None else octets > body, body)
        if wrong is None:
            contents.step(speaker, command, id)
        elif wrong.rule.startswith("limits."):
            self._findings.note(wrong.rule, f"{wrong.text}: they are not followed any more")
            contents.forget()
        elif wrong.sure:
            if command.VERB in self._excused:
                self._excused.discard(command.VERB)
            else:
                self._findings.breach(wrong.rule, wrong.said, wrong.text, wrong.legal, wrong.code)
            name, _, verb = command.VERB.partition(".")
            if verb in _ANSWERS:
                self._excused.add(f"{name}.{_ANSWERS[verb]}")
            contents.forget()
        else:
            self._findings.divergence(wrong.rule, wrong.said, wrong.text, wrong.legal, wrong.code, about=wrong.said)
            contents.step(speaker, command, id)

    def completed(self, speaker: str, ids: RangeSet) -> None:
        """`speaker` has completed these commands of the other side."""
        if self._contents is not None:
            self._contents.completed(speaker, ids)

    def pointed(self, control: CommandPoint, following: int | None) -> None:
        """Somebody numbers the next command: `following` the last one that arrived (None: none did).

        Where it is another, the session began before, or says something again.
        """
        if (control.command_id or 0) != (following or 0) or control.command_offset:
            self.forget()

    def flushed(self, control: Flush) -> None:
        """Somebody asks what the other side expects, as one does to go on with a session."""
        if control.expected:
            self.forget()

    def close_window(self) -> None:
        """What may be sent in advance changes for the whole connection, in another session."""
        if self._contents is not None:
            self._contents.close_window()

    def forget(self) -> None:
        """Something was lost: everything is possible."""
        self._late = True
        if self._contents is not None:
            self._contents.forget()
