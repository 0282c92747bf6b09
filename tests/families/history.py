"""The rows of the made-up family: what is put on a line is a message, which `done` settles."""

from __future__ import annotations

from tests.families.heard import Done, Put

from amqp_sansio.captures.conversation import LocatedEvent, PacketIndex
from amqp_sansio.captures.flows import AmqpFlow
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.recorder import History, time_of
from amqp_sansio.captures.replay.rows import NOTHING, Rows, TransferKind, TransferRecord
from amqp_sansio.events.observed import CommandSeen


class LineHistory(History):
    """Writes them."""

    __slots__ = ("_open",)

    def __init__(self, talk: AmqpFlow, rows: Rows, options: ReplayOptions, late: dict[str, bool]) -> None:
        super().__init__(talk, rows, options, late)
        self._open: dict[tuple[str, int], list[TransferRecord]] = {}

    def command(self, heard: LocatedEvent, said: CommandSeen, marks: PacketIndex) -> bool:
        super().command(heard, said, marks)
        speaker, channel = heard.speaker, said.channel
        if isinstance(said.command, Put):
            kind = TransferKind(speaker, None, channel, f"line {channel}", None, True, True, False, True, len(said.payload))
            size, first = len(said.body or b""), time_of(marks, heard.start + 1)
            times = first, first, heard.time, heard.time
            message = TransferRecord(kind, NOTHING, None, said.id, 0, size, *times, heard.start, heard.packet)
            self._open.setdefault((speaker, channel), []).append(message)
            return True
        if isinstance(said.command, Done) and (waiting := self._open.get(("S" if speaker == "C" else "C", channel))):
            settled = waiting.pop(0)
            settled.accepted = heard.time
            settled.settle("accepted", heard.time)
            settled.leave(self._rows)
        return False

    def finish(self, end: str, time: int) -> None:
        for message in [message for waiting in self._open.values() for message in waiting]:
            message.outcome = "open"
            message.leave(self._rows)
