"""What was heard, as rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.captures import build
from tests.captures.fake import FakeWitness

from amqp_sansio.captures import rows as module
from amqp_sansio.captures.conversation import LocatedEvent
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.flows import AmqpFlow
from amqp_sansio.captures.rows import DecodedLine, headers_of, row_of, transcript
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.events.observed import CommandSeen, ControlSeen, HeaderSeen, Note, Observation, OpaqueSeen
from amqp_sansio.events.violation import Violation
from amqp_sansio.spec.connection import SecureOk
from amqp_sansio.spec.message import DeliveryProperties, Transfer

HEADER = AMQP_0_10.codec.encode_struct32(DeliveryProperties(routing_key="k"))


def row(said: Observation, secrets: bool = False) -> DecodedLine:
    found = row_of("f", "a>b#1", LocatedEvent(7, 99, "C", said, 0, 20), secrets)
    assert found is not None
    assert (found["file"], found["packet"], found["time"], found["connection"], found["speaker"]) == ("f", 7, 99, "a>b#1", "C")
    return found


def test_a_command() -> None:
    found = row(CommandSeen(3, b"s", 5, "message.transfer", Transfer("x", 1, 0), True, b"", HEADER, b"body", False))
    assert (found["kind"], found["channel"], found["verb"], found["command_id"]) == ("command", 3, "message.transfer", 5)
    assert (found["sync"], found["complete"], found["body_octets"]) == (True, False, 4)
    assert found["fields"] == {"destination": "x", "accept_mode": 1, "acquire_mode": 0}
    assert found["headers"] == [{"struct": "message.delivery-properties", "routing_key": "k"}]
    bare = row(CommandSeen(3, None, None, "119.1", None, False, b"w\1"))
    assert (bare["fields"], bare["headers"], bare["body_octets"], bare["command_id"]) == ({}, [], 0, None)


def test_a_control_shows_no_secret_unless_asked() -> None:
    said = ControlSeen(0, "connection.secure-ok", SecureOk(b"hush"), b"")
    assert row(said)["fields"] == {"response": 4}
    assert row(said, secrets=True)["fields"] == {"response": b"hush".hex()}
    broken = row(ControlSeen(2, "connection.99", None, b"\1\x63", False))
    assert (broken["kind"], broken["channel"], broken["complete"], broken["fields"]) == ("control", 2, False, {})


@pytest.mark.parametrize(("octets", "complete"), [(b"AMQP\1\1\0\x0a", True), (b"AMQP", False)])
def test_a_protocol_header(octets: bytes, complete: bool) -> None:
    found = row(HeaderSeen(octets, "0-10"))
    assert (found["kind"], found["channel"], found["complete"]) == ("header", None, complete)
    assert found["fields"] == {"octets": octets.hex(), "version": "0-10"}


def test_what_cannot_be_read() -> None:
    found = row(OpaqueSeen("why"))
    assert (found["kind"], found["body_octets"], found["fields"]) == ("opaque", 0, {"reason": "why"})


def test_violations_and_notes_are_no_rows() -> None:
    for said in (Note("r", "t"), Violation("C", "r", "s")):
        assert row_of("f", "c", LocatedEvent(1, 1, "C", said, 0, 0)) is None


def test_a_header_segment_that_cannot_be_read_is_given_as_octets() -> None:
    assert headers_of(HEADER * 2) == headers_of(HEADER) * 2
    assert headers_of(b"\0\0\0\x09broken") == [{"struct": None, "octets": b"\0\0\0\x09broken".hex()}]


def rows(path: str) -> list[DecodedLine]:
    return [row for _, row in transcript(path, FakeWitness, (), lambda text: None)]


def two(tmp_path: Path) -> str:
    """A long transfer on one connection, during which another connection says all it has to say."""
    base = build.Segment(True, 0, client_port=41000)
    slow = build.conversation([b"x" * 4000], chunk=500).segments
    quick = build.conversation([b"y"], base).segments
    at = len(slow) // 2
    return build.write(tmp_path / "x", build.pcap(build.records([*slow[:at], *quick, *slow[at:]])))


def test_rows_come_in_the_order_of_the_packets_that_brought_their_last_octet(tmp_path: Path) -> None:
    found = rows(two(tmp_path))
    packets = [row["packet"] for row in found]
    assert packets == sorted(packets)
    assert len({row["connection"] for row in found}) == 2
    assert [row["body_octets"] for row in found if row["verb"] == "4.1"] == [1, 4000]


def test_what_waits_to_be_recognised_keeps_its_place(tmp_path: Path) -> None:
    """A header of which nobody knows yet whose it is comes before what other connections said after it."""
    waits = build.conversation([b"x"]).segments[3:]  # without the SYN
    other = build.conversation([b"y"], build.Segment(True, 0, client_port=41000)).segments
    segments = [waits[0], *other, *waits[1:]]
    found = rows(build.write(tmp_path / "x", build.pcap(build.records(segments))))
    assert (found[0]["packet"], found[0]["verb"], found[0]["connection"][:14]) == (1, None, "10.0.0.1:40000")
    assert [row["packet"] for row in found] == sorted(row["packet"] for row in found)


@pytest.mark.parametrize(("limit", "value"), [("HELD_ROWS", 0), ("HELD_OCTETS", 0)])
def test_a_limit_on_what_waits_loses_nothing(limit: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = two(tmp_path)
    before = rows(path)
    monkeypatch.setattr(module, limit, value)
    after = rows(path)
    assert sorted(map(repr, after)) == sorted(map(repr, before))


def test_what_was_good_comes_before_the_error(tmp_path: Path) -> None:
    octets = build.pcap(build.records(build.conversation([b"x"]).segments))
    path = build.write(tmp_path / "x", octets + b"\xff" * 16 + b"x")
    found: list[tuple[AmqpFlow, DecodedLine]] = []
    with pytest.raises(CaptureError):
        found.extend(transcript(path, FakeWitness, (), lambda text: None))
    assert found[-1][1]["verb"] == "1.12"
