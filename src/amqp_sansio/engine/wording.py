"""How what a reader of frames found is called: verbs, violations, frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from amqp_sansio.dialects import Dialect
from amqp_sansio.events import Violation
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.wire.frames import FIRST_FRAME, FIRST_SEGMENT
from amqp_sansio.wire.segments import COMMAND, Malformed

_BEGINS: Final = FIRST_SEGMENT | FIRST_FRAME


def carries_of(dialect: Dialect) -> Callable[[int, int], bool]:
    """Whether a command may have header and body; of an unknown one nobody can say that it may not."""
    layout = dialect.layout

    def carries(class_code: int, code: int) -> bool:
        verb = layout.verb_of("command", class_code, code)
        return verb in layout.segments or verb.rpartition(".")[2].isdigit()

    return carries


def verb_of(dialect: Dialect, kind: str, payload: bytes) -> str:
    """What is said, by its name or its numbers; "?" for a number that did not come."""
    if len(payload) >= 2:
        return dialect.layout.verb_of(kind, payload[0], payload[1])
    return f"{payload[0]}.?" if payload else "?.?"


def violation_of(speaker: str, malformed: Malformed) -> Violation:
    """What is wrong with a frame, as what its speaker did."""
    return Violation(
        speaker,
        malformed.rule,
        malformed.said,
        malformed.legal,
        malformed.code,
        malformed.channel,
        malformed.offset,
        malformed.text,
    )


def frame_of(dialect: Dialect, cut: tuple[int, int, int, int, int, int, bytes]) -> FrameSeen:
    """A frame as it stands in `SegmentReader.trace`."""
    _, _, flags, kind, track, channel, payload = cut
    verb = None
    if kind <= COMMAND and flags & _BEGINS == _BEGINS:
        verb = verb_of(dialect, ("control", "command")[kind], payload)
    return FrameSeen(flags, kind, track, channel, verb)
