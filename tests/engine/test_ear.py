"""One speaker's octets: a header, frames, or what nobody can read."""

from __future__ import annotations

import pytest

from amqp_sansio.dialects import HEADERS
from amqp_sansio.engine.ear import FRAMES, OPAQUE, Ear
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.protocol import ProtocolHeader
from amqp_sansio.wire.frames import frame_command, frame_control
from amqp_sansio.wire.framing import Assembly, Malformed
from amqp_sansio.wire.segments import SEGMENTATION

HEADER = HEADERS["0-10"]
HEARTBEAT = frame_control(0, bytes.fromhex("010a0000"))
SYNC = frame_command(1, bytes.fromhex("030101000000"))[0]


def carries(class_code: int, code: int) -> bool:
    return (class_code, code) == (4, 1)


def drain(ear: Ear) -> list[tuple[str, int, int]]:
    """(what, start, end) of everything; frames are read behind a header."""
    found = []
    while (heard := ear.next()) is not None:
        thing = heard.thing
        if isinstance(thing, ProtocolHeader):
            ear.read_frames()
            name = "header"
        elif isinstance(thing, Malformed):
            name = thing.rule
        else:
            assert isinstance(thing, Assembly)
            name = thing.payload.hex()[:4]
        found.append((name, heard.start, heard.end))
    return found


def hear(octets: bytes, late: bool = False) -> tuple[Ear, list[tuple[str, int, int]]]:
    """The same whole and in pieces."""
    answers = []
    for piece in (1000, 1, 7):
        ear = Ear(DEFAULT_LIMITS, SEGMENTATION, carries, late)
        found = []
        for at in range(0, len(octets), piece):
            ear.receive(octets[at : at + piece])
            found += drain(ear)
        ear.finish()
        found += drain(ear)
        answers.append((ear, found))
    assert answers[0][1] == answers[1][1] == answers[2][1]
    assert answers[0][0].opaque == answers[1][0].opaque
    return answers[0]


def test_a_header_and_frames() -> None:
    ear, found = hear(HEADER + HEARTBEAT + SYNC)
    assert found == [("header", 0, 8), ("010a", 8, 24), ("0301", 24, 42)]
    assert (ear.state, ear.late, ear.rest, ear.opaque) == (FRAMES, False, 0, 0)


def test_a_header_cut_short() -> None:
    assert hear(HEADER[:3])[1] == [("header", 0, 3)]
    assert hear(b"")[1] == []


def test_a_frame_cut_short() -> None:
    ear, found = hear(HEADER + HEARTBEAT + SYNC[:-1])
    assert found == [("header", 0, 8), ("010a", 8, 24)]
    assert ear.rest == 17


def test_from_the_middle_when_the_dialect_is_known() -> None:
    ear, found = hear(SYNC[5:] + HEARTBEAT + SYNC, late=True)
    assert found == [("010a", 13, 29), ("0301", 29, 47)]
    assert ear.late
    ear, found = hear(HEADER + SYNC, late=True)
    assert found == [("header", 0, 8), ("0301", 8, 26)]
    assert not ear.late


def test_something_else_is_no_middle() -> None:
    ear = Ear(DEFAULT_LIMITS, SEGMENTATION, carries, True)
    ear.receive(b"GET / HTTP/1.1\r\n")
    heard = ear.next()
    assert heard is not None
    assert heard.thing == ProtocolHeader(b"GET / HT")


def test_opaque_octets_are_counted() -> None:
    ear, found = hear(HEADER + SYNC + HEARTBEAT[:2] + b"\0\5" + HEARTBEAT[4:] + SYNC)
    assert [name for name, _, _ in found] == ["header", "0301", "frame.size"]
    assert (ear.state, ear.opaque_start, ear.opaque) == (OPAQUE, 26, 34)
    ear.receive(b"more")
    assert ear.opaque == 38


def test_a_security_layer_is_noticed_where_frames_end() -> None:
    layer = b"\0\0\0\x20" + bytes(range(100, 132))
    for piece in (1000, 1, 7):
        ear = Ear(DEFAULT_LIMITS, SEGMENTATION, carries)
        octets = HEADER + HEARTBEAT + layer
        names = []
        for at in range(0, len(octets), piece):
            ear.receive(octets[at : at + piece])
            while (heard := ear.next()) is not None:
                if isinstance(heard.thing, ProtocolHeader):
                    ear.read_frames()
                    ear.doubt = "behind a security layer"
                else:
                    assert isinstance(heard.thing, Assembly)
                    names.append(heard.thing.payload[:2])
        ear.finish()
        assert ear.next() is None
        assert names == [b"\1\x0a"]
        assert (ear.opaque, ear.reason) == (36, "behind a security layer")


def test_octets_lost() -> None:
    ear = Ear(DEFAULT_LIMITS, SEGMENTATION, carries)
    ear.receive(HEADER + HEARTBEAT)
    assert [name for name, _, _ in drain(ear)] == ["header", "010a"]
    ear.lost(100)
    ear.receive(SYNC[7:] + HEARTBEAT + SYNC)
    assert drain(ear) == [("010a", 135, 151), ("0301", 151, 169)]
    ear.lost(0)
    ear.finish()
    assert ear.received == 169


@pytest.mark.parametrize("known", [False, True])
def test_a_header_lost(known: bool) -> None:
    ear = Ear(DEFAULT_LIMITS, SEGMENTATION, carries, known)
    ear.lost(8)
    ear.receive(HEARTBEAT + SYNC)
    ear.finish()
    assert [name for name, _, _ in drain(ear)] == ["010a", "0301"]
    assert not ear.unread


def test_what_never_was_a_frame() -> None:
    ear = Ear(DEFAULT_LIMITS, SEGMENTATION, carries, True)
    ear.receive(b"nothing that anybody knows")
    ear.finish()
    assert drain(ear) == []
    assert ear.unread
    assert ear.heard == 26
    assert ear.unfinished == 1  # where a word about its first octet will end


@pytest.mark.parametrize(
    ("known", "octets", "searching"),
    [(True, b"", False), (True, b"AM", False), (True, b"HT", True), (False, b"", False), (False, b"HT", False)],
)
def test_it_searches_where_the_dialect_is_known_and_no_header_comes(known: bool, octets: bytes, searching: bool) -> None:
    """Before the first whole thing it is looking for a frame only when there may be one without a header before it."""
    ear = Ear(DEFAULT_LIMITS, SEGMENTATION, lambda *_: True, known)
    ear.receive(octets)
    assert ear.searching is searching
