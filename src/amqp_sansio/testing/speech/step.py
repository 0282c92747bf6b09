"""One step of a conversation, and a conversation of steps, readable by people and machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias, overload

from amqp_sansio.dialects import DEFAULT
from amqp_sansio.errors import DecodeError
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.protocol import SIZE, ProtocolHeader
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.testing.transcript import fields_of
from amqp_sansio.wire.framing import Malformed
from amqp_sansio.wire.layouts.layout import encode_headers
from amqp_sansio.wire.segments import SegmentReader, frame_command, frame_control

Speaker: TypeAlias = Literal["client", "server"]
Said: TypeAlias = bytes | Control | Command
"""Raw octets (a protocol header, or frames that no encoder would write), a control or a command."""

_FRAME: Final = 65535
_SHOWN: Final = 24
"""Octets of a body that are shown."""


class Step:
    """What `speaker` says on `channel`; header structs and body only with a command.  A value: equal by its octets.

    `word` is its word of the grammar ("" for none), `note` a remark for the reader.
    """

    __slots__ = ("_octets", "body", "channel", "header", "note", "said", "speaker", "sync", "word")

    def __init__(
        self,
        speaker: Speaker,
        said: Said,
        channel: int = 0,
        *,
        sync: bool = False,
        header: Sequence[Struct] | None = None,
        body: bytes | None = None,
        word: str = "",
        note: str = "",
    ) -> None:
        self.speaker: Final[Speaker] = speaker
        self.said: Final = said
        self.channel: Final = channel
        self.sync: Final = sync
        self.header: Final = None if header is None else tuple(header)
        self.body: Final = body
        self.word: Final = word
        self.note: Final = note
        self._octets: bytes | None = None

    @property
    def octets(self) -> bytes:
        """The frames."""
        said, layout = self.said, DEFAULT.codec
        if isinstance(said, bytes):
            return said
        if self._octets is None:
            if isinstance(said, Control):
                self._octets = frame_control(self.channel, layout.encode_control(said))
            else:
                header = None if self.header is None else encode_headers(self.header)
                frames = frame_command(self.channel, layout.encode_command(said, self.sync), header, self.body, _FRAME)
                self._octets = b"".join(frames)
        return self._octets

    @property
    def verb(self) -> str:
        """Its name, such as "tx.select"; "octets" for raw octets."""
        return "octets" if isinstance(self.said, bytes) else self.said.VERB

    @property
    def line(self) -> str:
        """One line for a person."""
        said = self.said
        if isinstance(said, bytes):
            header = ProtocolHeader(said) if len(said) == 8 and said.startswith(b"AMQP") else None
            text = f"protocol header {header.name}" if header else f"octets {_cut(said)}"
        else:
            text = f"[{self.channel}] {said.VERB}{fields_of(said)}"
            text += " sync" if self.sync else ""
            text += "".join([f" {type(each).__name__}{fields_of(each)}" for each in self.header or ()])
            text += f" body {_cut(self.body)}" if self.body is not None else ""
        return f"{self.speaker} {text}" + (f"  ({self.note})" if self.note else "")

    def __eq__(self, other: object) -> bool:
        mine = self.speaker, self.channel, self.octets
        return isinstance(other, Step) and mine == (other.speaker, other.channel, other.octets)

    def __hash__(self) -> int:
        return hash((self.speaker, self.channel, self.octets))

    def __repr__(self) -> str:
        return f"<{self.line}>"


def _cut(octets: bytes) -> str:
    return repr(octets) if len(octets) <= _SHOWN else f"{octets[:_SHOWN]!r}... of {len(octets)} octets"


class StepReader:
    """Splits what one side sends into steps, from the protocol header on."""

    def __init__(self, speaker: Speaker) -> None:
        self.header = b""
        """What has arrived of the protocol header."""
        self._speaker: Final[Speaker] = speaker
        self._reader: Final = SegmentReader(DEFAULT_LIMITS, _FRAME)

    def read(self, octets: bytes) -> Iterator[Step | Malformed]:
        """Yields the steps that these octets complete, except undecodable ones; Malformed for octets that are not a frame."""
        missing = SIZE - len(self.header)
        self.header += octets[:missing]
        if missing and len(self.header) == SIZE:
            yield Step(self._speaker, self.header)
        self._reader.receive(octets[missing:])
        while (unit := self._reader.next()) is not None:
            if isinstance(unit, Malformed):
                yield unit
                continue
            try:
                said, sync = DEFAULT.codec.read_unit(unit)
            except DecodeError:
                continue
            assert isinstance(said, Control | Command)
            yield Step(self._speaker, said, unit.channel, sync=sync, body=unit.body)


class Conversation(Sequence[Step]):
    """Steps in the order in which they arrive.

    The first `opened` of them are the usual opening, and shown as one line.  `breaks` is the rule that the last step breaks; ""
    when all of it is legal.  `legal` is what would have been legal instead.
    """

    __slots__ = ("breaks", "legal", "opened", "part", "steps")

    def __init__(self, part: str, steps: Iterable[Step], opened: int = 0, breaks: str = "", legal: Sequence[str] = ()) -> None:
        self.part: Final = part
        """The name of the part, such as "tx"."""
        self.steps: Final = tuple(steps)
        self.opened: Final = opened
        self.breaks: Final = breaks
        self.legal: Final = tuple(legal)

    @property
    def said(self) -> tuple[Step, ...]:
        """The steps after the opening."""
        return self.steps[self.opened :]

    def by(self, speaker: Speaker) -> tuple[Step, ...]:
        """Returns the steps of one speaker."""
        return tuple([step for step in self.steps if step.speaker == speaker])

    def octets(self, speaker: Speaker) -> bytes:
        """Returns everything that one speaker sends."""
        return b"".join([step.octets for step in self.by(speaker)])

    @property
    def lines(self) -> list[str]:
        """A line for each step, and one for the opening."""
        lines = [f"({self.opened} steps: {_opening(self.steps[: self.opened])})"] if self.opened else []
        lines += [step.line for step in self.said]
        if self.breaks:
            lines[-1] += f"  <- breaks {self.breaks}" + (f"; legal: {', '.join(self.legal)}" if self.legal else "")
        return lines

    @overload
    def __getitem__(self, at: int) -> Step: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, at: int | slice) -> Step | tuple[Step, ...]:
        return self.steps[at]

    def __len__(self) -> int:
        return len(self.steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conversation) and (self.part, self.steps) == (other.part, other.steps)

    def __hash__(self) -> int:
        return hash((self.part, self.steps))

    def __repr__(self) -> str:
        return f"<Conversation of {self.part}:" + "".join([f"\n    {line}" for line in self.lines]) + ">"


def _opening(steps: Sequence[Step]) -> str:
    verbs = {step.verb for step in steps}
    text = "the connection is opened"
    attached = sorted({step.channel for step in steps if step.verb == "session.attached"})
    if attached:
        text += f", a session is attached on channel {', '.join(map(str, attached))}"
    prepared = [step for step in steps if isinstance(step.said, Command)]
    if prepared:
        text += f", then {', '.join([step.verb for step in prepared])}"
    return text if "connection.open-ok" in verbs else f"it begins with {', '.join(sorted(verbs))}"
