"""The history of a connection's sessions, told by hand what both sides say: the observer is left out."""

from __future__ import annotations

from tests.captures.fake import FakeWitness
from tests.captures.replay.made import Named, named

from amqp_sansio.captures.conversation import Conversation, LocatedEvent, PacketIndex
from amqp_sansio.captures.flows import AmqpFlow
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.recorder import SessionHistory
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.engine.observer import Speaker
from amqp_sansio.events.observed import CommandSeen
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.session import Attach, Completed

BODY = b"body"


def flow() -> AmqpFlow:
    return AmqpFlow(Conversation(FakeWitness, lambda _, __: None), (b"\1" * 4, 1, b"\2" * 4, 2), False)


class Told:
    """Each word comes 10 ns after the one before, in a packet of its own; session "s" is on channel 1.

    `late`: the speakers of whom something was missed before.  `attach`: the capture has session.attach, at 10 ns.
    """

    def __init__(self, late: str = "", attach: bool = True) -> None:
        self.rows = Rows()
        self.history = SessionHistory(flow(), self.rows, ReplayOptions(), {each: each in late for each in "CS"})
        self.time = 0
        self.ids: dict[Speaker, int] = {"C": 0, "S": 0}
        if attach:
            self.control("C", Attach(b"s"))

    def say(self, speaker: Speaker, *commands: Command) -> list[bool]:
        """Whether each is a message."""
        found = []
        for command in commands:
            self.time += 10
            body = BODY if isinstance(command, Transfer) else None
            id = self.ids[speaker]
            self.ids[speaker] += 1
            said = CommandSeen(1, b"s", id, command.VERB, command, False, b"1234", None, body)
            marks = PacketIndex()
            marks.add(100, self.time, self.time)
            found.append(self.history.command(LocatedEvent(self.time, self.time, speaker, said, 0, 100), said, marks))
        return found

    def control(self, speaker: Speaker, *controls: Control) -> None:
        for control in controls:
            self.time += 10
            self.history.control(speaker, 1, control, self.time)

    def completed(self, speaker: Speaker, *ids: int) -> None:
        self.control(speaker, Completed(RangeSet([(id, id) for id in ids])))

    def lost(self, speaker: Speaker) -> None:
        self.time += 10
        self.history.lost(speaker, self.time)

    def finish(self, end: str = "open") -> None:
        self.time += 10
        self.history.finish(end, self.time)

    def columns(self, table: str, *names: str) -> list[tuple[object, ...]]:
        rows: list[Named] = named(self.rows, table)
        return [tuple([row[name] for name in names]) for row in rows]
