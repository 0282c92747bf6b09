"""Turns the commands and methods of a connection into rows; the base class of each family's history."""

from __future__ import annotations

from typing import ClassVar, Final

from amqp_sansio.captures.conversation import Heard
from amqp_sansio.captures.flows import Talk
from amqp_sansio.captures.json_values import fields_text
from amqp_sansio.captures.packet import packet_place
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.rows import UNKNOWN, Properties, Rows
from amqp_sansio.engine.checker import Answered, Transfers
from amqp_sansio.events.observed import CommandSeen, MethodSeen
from amqp_sansio.kernel.value import Value
from amqp_sansio.spec.base import Control


class History:
    """Base class.  Rows go to `rows`; `late` says for each speaker whether its beginning was missed."""

    __slots__ = ("_head", "_rows", "_talk", "late")

    PARTS: ClassVar[tuple[type, ...]] = ()
    """The classes of its parts, for a snapshot."""

    def __init__(self, talk: Talk, rows: Rows, options: ReplayOptions, late: dict[str, bool]) -> None:
        self._talk: Final = talk
        self._rows: Final = rows
        self._head: Final = options.body_head
        self.late: Final = late
        """For each speaker, whether something was missed."""

    def command(self, heard: Heard, said: CommandSeen) -> bool:
        """Takes a command; returns whether it is a message."""
        self._row(heard, said, said.command, said.id, bool(said.sync))
        return False

    def method(self, heard: Heard, said: MethodSeen) -> bool:
        """Takes a method; returns whether it is a message."""
        self._row(heard, said, said.method)
        return False

    def _row(
        self, heard: Heard, said: CommandSeen | MethodSeen, word: Value | None, id: int | None = None, sync: bool = False
    ) -> None:
        """Writes a row of `commands`; `word` None: it could not be decoded."""
        first = self._talk.conversation.time_of(heard.speaker, heard.start + 1)
        arguments = None if word is None else fields_text(word, False)
        octets = len(said.payload) + len(said.header or b"") + len(said.body or b"")
        self._rows.commands.append(
            (first, heard.speaker, None, said.channel, id, said.verb, sync, said.complete and word is not None, arguments,
             octets, heard.time, None, None, None, None, UNKNOWN, None, None, heard.start, *packet_place(heard.packet))
        )  # fmt: skip

    def control(self, speaker: str, channel: int, control: Control, time: int) -> None:
        """Takes a control that is not about the connection; its own row is written elsewhere."""

    def transfers(self, run: Transfers[Properties]) -> None:
        """Takes consecutive messages, as `command` would one by one."""
        raise NotImplementedError

    def answered(self, answer: Answered, time: int, file: int, offset: int) -> None:
        """Takes answers to messages, sent at that time and in that packet, as `command` and `control` would."""
        raise NotImplementedError

    def lost(self, speaker: str, time: int) -> None:
        """Notes a gap in a speaker's stream, which makes everything that depends on it unknown."""
        self.late[speaker] = True

    def finish(self, end: str, time: int) -> None:
        """Writes the rows of what is open.  `end` is how the connection ended."""
