"""`amqp-sansio serve --log conversation`: logs each method, one line each, without payloads and secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TextIO

from amqp_sansio.cli.output import complain
from amqp_sansio.testing.transcript import Transcript

LONGEST: Final = 400
"""The most characters of a line, because clients may choose long names."""


class Conversations:
    """Logs all conversations in one stream: `seconds [connection] speaker: [channel] method`."""

    def __init__(self, out: TextIO, clock: Callable[[], float]) -> None:
        self._out: Final = out
        self._clock: Final = clock
        self._start: Final = clock()
        self._count = 0
        self._broken = False

    def connection(self) -> Conversation:
        """Returns the log of the next connection, which gets the next number."""
        self._count += 1
        return Conversation(self, self._count)

    def write(self, number: int, text: str) -> None:
        """Writes one line, in ASCII, and flushes it."""
        plain = ascii(text)[1:-1].replace("\\'", "'").replace("\\\\", "\\")
        cut = plain if len(plain) <= LONGEST else plain[:LONGEST] + "..."
        if self._broken:
            return
        try:
            self._out.write(f"{self._clock() - self._start:9.3f} [{number}] {cut}\n")
            self._out.flush()
        except (OSError, ValueError):  # the reader has gone: the broker goes on
            self._broken = True
            complain("nobody reads the log any more")


class Conversation:
    """The log of one connection."""

    def __init__(self, log: Conversations, number: int) -> None:
        self._log: Final = log
        self._number: Final = number
        self._transcript: Final = Transcript()
        self._lost = False
        self._transcript.begin(0, number)
        self._transcript.lines.clear()

    def hear(self, speaker: str, octets: bytes) -> None:
        """Takes octets that `speaker` sent; logs what is complete."""
        if self._lost:
            return
        try:
            self._transcript.hear(0, speaker, octets)
        except Exception as error:  # a failing log must not end the connection
            self._lost = True
            self.note(f"cannot follow the conversation any more ({type(error).__name__})")
        for line in self._transcript.lines:
            self._log.write(self._number, line.lstrip(" 0"))
        self._transcript.lines.clear()

    def note(self, text: str) -> None:
        """Logs a remark that neither speaker sent."""
        self._log.write(self._number, text)
