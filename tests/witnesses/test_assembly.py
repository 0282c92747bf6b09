"""The assembly level: the reader of frames against the grammar, frame by frame.

There is no table to compare: in every state of the grammar every frame there is, with every combination of flags, is given to
a reader that was brought there.  It takes the legal ones, hands an assembly out where the grammar may end, and
finds fault with all others.
"""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from amqp_sansio.grammar import assembly
from amqp_sansio.grammar.automaton import START, Automaton, Word
from amqp_sansio.grammar.walks import Conversation, Sampler, shortest_to_each
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.framing import Assembly, Malformed
from amqp_sansio.wire.segments import SegmentReader

KINDS = ("control", "command", "header", "body")
BITS = {"B": 8, "E": 4, "b": 2, "e": 1, "-": 0}
PAYLOAD = {"control": b"\x01\x0a", "command": b"\x04\x01", "header": bytes(8), "body": b"x"}


def octets(word: Word, channel: int = 1) -> bytes:
    """The frame of a word."""
    kind, flags = word.partition(":")[2].split()
    payload = PAYLOAD[kind]
    bits = sum(BITS[flag] for flag in flags)
    place = bytes([0, 0 if kind == "control" else 1]) + channel.to_bytes(2, "big")
    return bytes([bits, KINDS.index(kind)]) + (12 + len(payload)).to_bytes(2, "big") + place + bytes(4) + payload


def reader(carries: bool = True) -> SegmentReader:
    return SegmentReader(DEFAULT_LIMITS, strict=True, carries=lambda class_code, code: carries)


def hear(ear: SegmentReader, word: Word) -> list[Assembly | Malformed]:
    ear.receive(octets(word))
    found = []
    while (thing := ear.next()) is not None:
        found.append(thing)
    return found


def every_frame(speaker: str, kinds: tuple[str, ...]) -> tuple[Word, ...]:
    """All frames of these types with all combinations of flags."""
    flags = [set_ for count in range(5) for set_ in combinations("BEbe", count)]
    return tuple([assembly.frame(speaker, kind, "".join(set_)) for kind in kinds for set_ in flags])


SHAPES = {
    "commands with content": (assembly.commands("client"), ("command", "header", "body"), True),
    "commands without": (assembly.commands("client", "never", body=False), ("command",), False),
    "controls": (assembly.controls("client"), ("control",), True),
}


def judge(language: Automaton, state: int, word: Word, found: list[Assembly | Malformed]) -> None:
    """What a reader says of one frame is what the grammar says."""
    to = language.step(state, word)
    if to is None:
        assert found, f"{word} is taken in state {state}"
        assert isinstance(found[0], Malformed)
        assert found[0].legal
    elif to in language.finals:
        assert len(found) == 1
        assert isinstance(found[0], Assembly)
        assert found[0].complete
    else:
        assert found == []


@pytest.mark.parametrize("shape", SHAPES)
def test_every_frame_in_every_state(shape: str) -> None:
    language, kinds, carries = SHAPES[shape]
    words = every_frame("client", kinds)
    for state, way in shortest_to_each(language).items():
        for word in words:
            if late(word, carries) and way in ((), ("client:command Bbe",), ("client:command Bbe", "client:header be")):
                continue
            ear = reader(carries)
            for before in way:
                hear(ear, before)
            judge(language, state, word, hear(ear, word))


def late(word: Word, carries: bool) -> bool:
    """Whether it begins a segment that must be the last and does not say so: the reader tells later, and never takes it."""
    return (not carries and word in ("client:command Bb", "client:command Bbe")) or word in ("client:body b", "client:body be")


def test_a_body_is_the_last_segment() -> None:
    """That it is not is told by the frame behind it, whatever that is: there is none that could follow."""
    for begun in (["client:command Bbe"], ["client:command Bbe", "client:header be"]):
        for body in (["client:body be"], ["client:body b", "client:body e"]):
            for word in every_frame("client", ("command", "header", "body")):
                ear = reader()
                for before in [*begun, *body]:
                    assert hear(ear, before) == []
                assert isinstance(hear(ear, word)[0], Malformed)


def test_a_command_without_content_must_say_so_at_its_last_frame_at_the_latest() -> None:
    ear = reader(carries=False)
    assert hear(ear, "client:command Bb") == []
    (found,) = hear(ear, "client:command Be")
    assert isinstance(found, Malformed)
    assert found.rule == "assembly.segments"


# Random frames on two channels and both tracks at once: each (channel, track) has a conversation of its own, mixed in any way.
@pytest.mark.parametrize("seed", range(20))
def test_channels_and_tracks_do_not_disturb_one_another(seed: int) -> None:
    random = Random(seed)
    commands, controls = assembly.commands("client"), assembly.controls("client")
    lanes: list[tuple[Automaton, int, Conversation]] = []
    for channel in (0, 7):
        for language in (commands, controls):
            said = Sampler(language).word(random.randrange(1, 20), random.randrange)
            lanes.append((language, channel, said or ()))
    ear = reader()
    places = [[START, 0] for _ in lanes]
    while waiting := [at for at, lane in enumerate(lanes) if places[at][1] < len(lane[2])]:
        at = random.choice(waiting)
        language, channel, said = lanes[at]
        state, done = places[at]
        ear.receive(octets(said[done], channel))
        found = []
        while (thing := ear.next()) is not None:
            found.append(thing)
        judge(language, state, said[done], found)
        assert all(thing.channel == channel for thing in found)
        places[at] = [language.moves[state][said[done]], done + 1]


def test_what_real_brokers_do_is_taken_unless_one_is_strict() -> None:
    """The one deliberate difference: qpidd leaves out E on the header of a message without a body."""
    unended = ["client:command Bbe", "client:header be", "client:command Bbe"]
    tolerant = SegmentReader(DEFAULT_LIMITS)
    strict = reader()
    for word in unended[:-1]:
        assert hear(tolerant, word) == hear(strict, word) == []
    (whole,) = hear(tolerant, unended[-1])
    assert isinstance(whole, Assembly)
    assert whole.unended
    assert isinstance(hear(strict, unended[-1])[0], Malformed)
