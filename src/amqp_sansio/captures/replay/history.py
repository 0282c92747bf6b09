"""The words on the channels of a connection as rows: what every family's history does, unless it knows better."""

from __future__ import annotations

from typing import ClassVar, Final

from amqp_sansio.captures.conversation import Heard
from amqp_sansio.captures.flows import Talk
from amqp_sansio.captures.json_values import fields_text
from amqp_sansio.captures.packet import packet_place
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.rows import UNKNOWN, Properties, Rows
from amqp_sansio.engine.observed import Answered, Transfers
from amqp_sansio.events.observed import CommandSeen, MethodSeen
from amqp_sansio.kernel.value import Value
from amqp_sansio.spec.base import Control


class History:
    """The rows go to `rows`; `late` tells of each speaker whether we missed its beginning.  A base class."""

    __slots__ = ("_head", "_rows", "_talk", "late")

    PARTS: ClassVar[tuple[type, ...]] = ()
    """The classes of which it consists, for a snapshot."""

    def __init__(self, talk: Talk, rows: Rows, options: ReplayOptions, late: dict[str, bool]) -> None:
        self._talk: Final = talk
        self._rows: Final = rows
        self._head: Final = options.body_head
        self.late: Final = late
        """Whether we missed something that a speaker said."""

    def command(self, heard: Heard, said: CommandSeen) -> bool:
        """One command heard; whether it is a message."""
        self._row(heard, said, said.command, said.id, bool(said.sync))
        return False

    def method(self, heard: Heard, said: MethodSeen) -> bool:
        """One method heard; whether it is a message."""
        self._row(heard, said, said.method)
        return False

    def _row(
        self, heard: Heard, said: CommandSeen | MethodSeen, word: Value | None, id: int | None = None, sync: bool = False
    ) -> None:
        """A row of `commands`; `word` None: it could not be read."""
        first = self._talk.conversation.time_of(heard.speaker, heard.start + 1)
        arguments = None if word is None else fields_text(word, False)
        octets = len(said.payload) + len(said.header or b"") + len(said.body or b"")
        self._rows.commands.append(
            (first, heard.speaker, None, said.channel, id, said.verb, sync, said.complete and word is not None, arguments,
             octets, heard.time, None, None, None, None, UNKNOWN, None, None, heard.start, *packet_place(heard.packet))
        )  # fmt: skip

    def control(self, speaker: str, channel: int, control: Control, time: int) -> None:
        """One control heard that is not about the connection; its own row is written."""

    def transfers(self, run: Transfers[Properties]) -> None:
        """Many messages heard, one behind the other: as `command` does it one by one."""
        raise NotImplementedError

    def answered(self, answer: Answered, time: int, file: int, offset: int) -> None:
        """What answers messages, said then and in that packet: as `command` and `control` do it."""
        raise NotImplementedError

    def lost(self, speaker: str, time: int) -> None:
        """Some of a speaker's words were lost: what depends on them is unknown."""
        self.late[speaker] = True

    def finish(self, end: str, time: int) -> None:
        """Nothing more comes: the rows of what is open.  `end` is how the connection ended."""
