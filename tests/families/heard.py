"""What an observer plugs in for the made-up family: its verbs, and a checker."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import ClassVar, Final

from tests.families.made_up import ASK, DONE, ECHO, PUT, ROWS, LineReader, Texts

from amqp_sansio.engine.checker import Checker, ConnectionWitness, Observed, Speaker
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.observer import Ear
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import CommandSeen, ControlSeen
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Command
from amqp_sansio.wire.codec import DEFAULT_READING
from amqp_sansio.wire.framing import CONTROL, Assembly, FrameCut


class Ask(Command):
    """What the other side is to say again."""

    __slots__ = ("text",)
    VERB: ClassVar[str] = "line.ask"
    FIELDS: ClassVar[tuple[str, ...]] = ("text",)

    def __init__(self, text: str) -> None:
        self.text: Final = text


class Echo(Ask):
    """It is said again."""

    VERB: ClassVar[str] = "line.echo"


class Put(Ask):
    """A message."""

    VERB: ClassVar[str] = "line.put"


class Done(Ask):
    """The oldest message on the line is settled."""

    VERB: ClassVar[str] = "line.done"


_VERBS: Final[dict[bytes, type[Ask]]] = {ASK: Ask, ECHO: Echo, PUT: Put, DONE: Done}
_ANSWERS: Final = {"line.echo": "line.ask", "line.done": "line.put"}


class LineChecker(Checker):
    """An answer needs something to answer, on its line; a message is known by its number there."""

    FAMILY: ClassVar[str] = "lines"
    PARTS: ClassVar[tuple[type, ...]] = (LineReader,)

    def __init__(self, codec: Texts, strict: bool, limits: Limits, ears: Mapping[Speaker, Ear], said: deque[Observed]) -> None:
        super().__init__(ConnectionWitness(strict, limits, ROWS), ears, said)
        self._codec: Final = codec
        self._open: dict[tuple[str, int, str], int] = {}
        self._count: dict[tuple[str, int], int] = {}
        self._late = False

    def carries(self, class_code: int, code: int) -> bool:
        return False

    def header(self, speaker: Speaker, same: bool) -> None:
        if not same:
            self.findings.note("line.header", "nobody need answer a header")

    def hear(self, speaker: Speaker, unit: Assembly) -> None:
        self.findings.channel = unit.channel
        if unit.kind == CONTROL:
            self._control(speaker, unit)
            return
        kind, text = _VERBS.get(unit.payload[:1]), unit.payload[1:]
        command = None if kind is None else kind(text.decode("latin-1"))
        verb = f"line.{unit.payload[:1].decode('latin-1')}" if kind is None else kind.VERB
        id = None
        if kind is Put:
            id = self._count[speaker, unit.channel] = self._count.get((speaker, unit.channel), 0) + 1
        place = unit.channel, None, None if self._late else id, verb, command, False, unit.payload, None
        self.say(speaker, unit.start, unit.end, CommandSeen(*place, text if kind is Put else None))
        if kind is None:
            self.findings.breach("line.verb", verb, "there is no such verb", tuple([each.VERB for each in _VERBS.values()]))
        elif verb in _ANSWERS:
            asked = "S" if speaker == "C" else "C", unit.channel, _ANSWERS[verb]
            if self._open.get(asked, 0):
                self._open[asked] -= 1
            elif not self._late:
                self.findings.breach("line.answer", verb, "there is nothing to answer on this line")
        else:
            self._open[speaker, unit.channel, verb] = self._open.get((speaker, unit.channel, verb), 0) + 1

    def _control(self, speaker: Speaker, unit: Assembly) -> None:
        control, verb = None, "connection.?"
        try:
            control = self._codec.read_control(unit, DEFAULT_READING)
            verb = control.VERB
        except DecodeError as error:
            self.findings.breach("line.control", verb, str(error))
        self.say(speaker, unit.start, unit.end, ControlSeen(unit.channel, verb, control, unit.payload))

    def frame(self, cut: FrameCut) -> FrameSeen:
        return FrameSeen(0, cut[3], 0, cut[5], None)

    def set_incomplete_view(self, incomplete: bool) -> None:
        self._late = self._late or incomplete

    def unsettle(self) -> None:
        self._late = True

    def lost(self, speaker: Speaker) -> None:
        self._late = True

    def ended(self, speaker: Speaker) -> None:
        for (who, line, verb), count in self._open.items():
            if count and who != speaker:
                self.findings.note("line.open", f"{count} times {verb} on line {line}, and no answer")

    def state(self) -> object:
        return self.findings, self._open, self._count, self._late

    def resume(self, state: object) -> None:
        if not (isinstance(state, tuple) and len(state) == 4 and isinstance(state[0], Findings)):
            raise DecodeError("snapshot", 0, "not what was heard on lines")
        self.findings, self._open, self._count, self._late = state
