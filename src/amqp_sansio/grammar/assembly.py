"""The assembly level: the frames, by type and flags, that one (channel, track) may carry.

A word is "speaker:type flags" with the flags set in the frame header: B and E for the first and last segment of the assembly, b
and e for the first and last frame of the segment.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import one_of, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton, Word


def frame(speaker: str, kind: str, flags: str) -> Word:
    """Returns the word for one frame; a frame without flags has a dash."""
    return f"{speaker}:{kind} {flags or '-'}"


def segment(speaker: str, kind: str, place: str) -> Automaton:
    """Returns one segment of 1 to n frames; `place` ("B" for the first segment, "E" for the last) is in every frame."""
    alone = frame(speaker, kind, place + "be")
    parted = sequence(
        frame(speaker, kind, place + "b"), repeated(frame(speaker, kind, place)), frame(speaker, kind, place + "e")
    )  # fmt: skip
    return one_of(alone, parted)


def controls(speaker: str) -> Automaton:
    """Returns the language of track 0: controls, each one segment."""
    return repeated(segment(speaker, "control", "BE"))


def assembly(speaker: str, header: str = "optional", body: bool = True) -> Automaton:
    """Returns one command: its segment, perhaps a header ("optional", "required" or "never"), and perhaps a body."""
    shapes: list[tuple[str, ...]] = [(), ("header",), ("body",), ("header", "body")]
    if header == "required":
        shapes = [shape for shape in shapes if "header" in shape]
    elif header == "never":
        shapes = [shape for shape in shapes if "header" not in shape]
    if not body:
        shapes = [shape for shape in shapes if "body" not in shape]
    choices: list[Automaton] = []
    for shape in shapes:
        kinds = ("command", *shape)
        last = len(kinds) - 1
        places = [("B" if at == 0 else "") + ("E" if at == last else "") for at in range(len(kinds))]
        choices.append(sequence(*[segment(speaker, kind, place) for kind, place in zip(kinds, places, strict=True)]))
    return one_of(*choices)


def commands(speaker: str, header: str = "optional", body: bool = True) -> Automaton:
    """Returns the language of track 1: commands of one shape."""
    return repeated(assembly(speaker, header, body))
