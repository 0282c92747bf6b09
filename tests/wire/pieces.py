"""Frames of every kind, and what a reader of segments makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from struct import pack

from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.wire.framing import BODY, COMMAND, CONTROL, Assembly, Malformed
from amqp_sansio.wire.segments import SegmentReader

Found = list[Assembly | Malformed]

TRANSFER = bytes.fromhex("04010100070000010 0".replace(" ", ""))
SYNC = bytes.fromhex("030101010000")
HEARTBEAT = bytes.fromhex("010a0000")


def frame(
    flags: int, kind: int, payload: bytes = b"", channel: int = 1, track: int | None = None, size: int | None = None
) -> bytes:
    """A frame with anything in it."""
    on = (0 if kind == CONTROL else 1) if track is None else track
    return pack(">BBHBBHI", flags, kind, 12 + len(payload) if size is None else size, 0, on, channel, 0) + payload


def drain(reader: SegmentReader) -> Found:
    found: Found = []
    while (thing := reader.next()) is not None:
        found.append(thing)
    return found


def carries(class_code: int, code: int) -> bool:
    return (class_code, code) == (4, 1)


def read(
    octets: bytes, *, tolerant: bool = False, limits: Limits = DEFAULT_LIMITS, strict: bool = False, chunk: int = 0
) -> Found:
    """What a reader says of the octets, then of their end.  Fed whole and in pieces: the same."""
    answers = []
    for piece in (len(octets) or 1, 1, 7):
        reader = SegmentReader(limits, tolerant=tolerant, strict=strict, carries=carries)
        found: Found = []
        for at in range(0, len(octets), piece):
            reader.receive(octets[at : at + piece])
            found += drain(reader)
        if tolerant:
            reader.finish()
            found += drain(reader)
        answers.append(found)
        assert reader.held >= 0
    assert answers[0] == answers[1] == answers[2]
    return answers[0]


def rules(found: Iterable[Assembly | Malformed]) -> list[tuple[str, int]]:
    return [(thing.rule, thing.code) for thing in found if isinstance(thing, Malformed)]


def only(found: Found) -> Assembly:
    assert len(found) == 1
    thing = found[0]
    assert isinstance(thing, Assembly)
    return thing


def summary(found: Found) -> list[str]:
    """One word each: the payload of an assembly (with ! when incomplete, ~ when unended), or the rule of a breach."""
    words = []
    for thing in found:
        if isinstance(thing, Malformed):
            words.append(thing.rule)
        else:
            words.append(thing.payload.hex()[:4] + ("" if thing.complete else "!") + ("~" if thing.unended else ""))
    return words


COMMAND_OPEN = frame(0x0A, COMMAND, TRANSFER)
BETWEEN_COMMAND = frame(0x0B, COMMAND, TRANSFER)
BODY_OPEN = BETWEEN_COMMAND + frame(0x06, BODY, b"x")
BETWEEN_BODY = BETWEEN_COMMAND + frame(0x03, BODY, b"x")
NEXT = frame(0x0F, COMMAND, SYNC)
