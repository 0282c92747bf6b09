"""The third person: hears both speakers, in the order in which they spoke."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.captures import build
from tests.engine.overheard import (
    ATTACH,
    ENDING,
    HEADER,
    HEADERS_OCTETS,
    LAYOUT,
    WHOLE,
    WORK,
    Said,
    command,
    control,
    observe,
    opening,
    words,
)
from tests.families.channels import ALL, ONE, content, frame
from tests.families.channels import opening as channel_opening

from amqp_sansio.dialects import AMQP_0_10, AMQP_0_10_FINAL, DIALECTS, HEADERS
from amqp_sansio.engine.observer import FRAMES, OPAQUE, Ear, Observer, Speaker, _classes, _framings, _loader, _names_in
from amqp_sansio.engine.session_checker import Witness
from amqp_sansio.errors import DecodeError, LocalProtocolError
from amqp_sansio.events import CommandSeen, ControlSeen, Violation
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet
from amqp_sansio.kernel.snapshots import Dumper
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.protocol import ProtocolHeader
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.connection import Close, Open, OpenOk, Secure, SecureOk
from amqp_sansio.spec.execution import Result, Sync
from amqp_sansio.spec.message import Accept, Acquire, Acquired, Flow, Reject, Subscribe, Transfer
from amqp_sansio.spec.queue import Declare
from amqp_sansio.spec.session import Attach, Completed, Detach
from amqp_sansio.tables.connection import HANDSHAKE
from amqp_sansio.tables.session import ATTACHMENT, STREAM
from amqp_sansio.wire.framing import Assembly, Malformed
from amqp_sansio.wire.segments import SEGMENTATION, frame_command, frame_control


def test_a_whole_conversation() -> None:
    found = observe(WHOLE, Observer(strict=True))
    assert words(found) == [
        "C header",
        "S header",
        "S connection.start",
        "C connection.start-ok",
        "S connection.tune",
        "C connection.tune-ok",
        "C connection.open",
        "S connection.open-ok",
        "C session.attach",
        "S session.attached",
        "S session.command-point",
        "C session.command-point",
        "C queue.declare",
        "C message.subscribe",
        "C message.flow",
        "C message.flow",
        "C message.transfer",
        "S session.completed",
        "S message.transfer",
        "C session.completed",
        "C session.detach",
        "S session.detached",
        "C connection.close",
        "S connection.close-ok",
    ]
    ids = [(each.speaker, each.event.id) for each in found if isinstance(each.event, CommandSeen)]
    assert ids == [("C", 0), ("C", 1), ("C", 2), ("C", 3), ("C", 4), ("S", 0)]
    transfer = found[16].event
    assert isinstance(transfer, CommandSeen)
    assert (transfer.session, transfer.header, transfer.body) == (b"s", HEADERS_OCTETS, b"hello" * 2000)
    assert transfer.command == Transfer("")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "answer", [[], [Accept(RangeSet.of(3))], [Reject(RangeSet.of(3), 1)]], ids=["none", "accept", "reject"]
)
@pytest.mark.parametrize("accept_mode", [None, 0])
def test_a_server_may_accept_a_publish_or_not(accept_mode: int | None, answer: list[Command], strict: bool) -> None:
    """Deployed brokers only complete a publish that leaves accept-mode out; the letter asks for accept or reject."""
    said: list[Said] = [
        *opening(),
        *ATTACH,
        ("C", command(Declare("q")) * 3 + command(Transfer("", accept_mode), HEADERS_OCTETS, b"hello")),
        ("S", b"".join([command(each) for each in answer]) + control(Completed(RangeSet([(0, 3)])), 1)),
        *[("C", control(Completed(RangeSet.of(0)), 1)) for _ in answer],
        *ENDING,
    ]
    assert [word for word in words(observe(said, Observer(strict=strict))) if "!" in word or "?" in word] == []


@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_the_same_events_however_the_octets_are_cut(piece: int) -> None:
    assert observe(WHOLE, piece=piece) == observe(WHOLE)


def test_offsets_account_for_every_octet() -> None:
    for speaker in ("C", "S"):
        spans = [(each.start, each.end) for each in observe(WHOLE) if each.speaker == speaker]
        assert [start for start, _ in spans] == [0] + [end for _, end in spans[:-1]]
        assert spans[-1][1] == sum([len(octets) for who, octets in WHOLE if who == speaker])


def test_order_is_that_of_feeding_however_late_the_events_are_taken() -> None:
    watch = Observer()
    for speaker, octets in WHOLE:
        watch.receive_data(speaker, octets)
    assert watch.stored == sum([len(octets) for _, octets in WHOLE])
    assert list(watch.events()) == observe(WHOLE, end=False)
    assert watch.stored == 0


def test_it_goes_on_after_a_violation() -> None:
    said = [*opening(), *ATTACH, ("C", control(Open("/"))), ("S", control(OpenOk())), *WORK]
    found = words(observe(said, end=False))
    at = found.index("C !connection.sequence")
    assert found[at - 1 : at + 3] == ["C connection.open", "C !connection.sequence", "S connection.open-ok", "C queue.declare"]
    assert [word for word in found if "!" in word] == ["C !connection.sequence"]


def test_what_cannot_be_decoded_appears_with_its_number() -> None:
    said: list[Said] = [
        *opening(),
        *ATTACH,
        ("C", frame_control(0, bytes.fromhex("01630000")) + frame_control(0, bytes.fromhex("77010000"))),
        ("C", frame_command(1, bytes.fromhex("0c0101010000"))[0] + frame_command(1, b"")[0] + frame_control(1, b"\2")),
        ("C", command(Sync())),
    ]
    found = observe(said, end=False)
    assert words(found)[-11:] == [
        "C connection.99",
        "C !control.undecodable",
        "C 119.1",
        "C !control.undecodable",
        "C 12.1",
        "C !command.undecodable",
        "C ?.?",
        "C !command.undecodable",
        "C 2.?",
        "C !control.undecodable",
        "C execution.sync",
    ]
    unknown = found[-7].event
    assert isinstance(unknown, CommandSeen)
    assert (unknown.command, unknown.id, unknown.sync) == (None, 0, True)
    violation = found[-6].event
    assert isinstance(violation, Violation)
    assert violation.code == 540
    for payload, sync in (("0c010101", True), ("0c010100", False), ("0c010001", False), ("0c01", False)):  # no octet too many
        seen = observe([*opening(), *ATTACH, ("C", frame_command(1, bytes.fromhex(payload))[0])], end=False)[-2].event
        assert isinstance(seen, CommandSeen)
        assert seen.sync is sync
    last = found[-1].event
    assert isinstance(last, CommandSeen)
    assert last.id == 2


def test_a_header_that_cannot_be_read_is_a_violation() -> None:
    said: list[Said] = [*opening(), *ATTACH, ("C", command(Transfer(""), b"\0\0\0\x09\4\1", b"x"))]
    assert words(observe(said, end=False))[-2:] == ["C message.transfer", "C !header.undecodable"]


def test_a_frame_larger_than_agreed() -> None:
    said: list[Said] = [*opening(max_frame=4096), *ATTACH]
    for size, told in ((4095, []), (4096, []), (4097, ["C !connection.tune-ok.max-frame-size.max-frame-size"])):
        transfer = command(Transfer(""), None, bytes(size - 12))
        found = words(observe([*said, ("C", transfer)], end=False))
        assert [word for word in found if "!" in word] == told
        assert found[-1] == "C message.transfer"


def test_what_follows_a_frame_that_cannot_be_cut_is_opaque() -> None:
    said: list[Said] = [*opening(), ("C", b"\x0f\0\0\5" + bytes(8)), ("C", b"anything"), ("S", control(Close(501)))]
    for piece in (0, 1):
        found = observe(said, piece=piece)
        assert words(found)[8:] == [
            "C !frame.size",
            "C opaque",
            "S connection.close",
            "S ?connection.close",
        ]
        assert (found[9].start, found[9].end) == (found[8].start, found[8].start + 1)


def test_a_security_layer_is_opaque_and_no_violation() -> None:
    layered = b"\0\0\0\x40" + bytes(range(64))
    said: list[Said] = [*opening("DIGEST-MD5"), ("C", layered), ("S", layered * 2)]
    for piece in (0, 1, 7):
        found = words(observe(said, piece=piece))
        assert found[8:] == ["C opaque", "S opaque"]
    assert not [word for word in words(observe([*opening("DIGEST-MD5"), *ATTACH])) if "opaque" in word]


def test_a_security_layer_may_begin_where_authentication_ends() -> None:
    """RFC 4422 has it there; what looks like no frame then is unread, and with a mechanism that has no layer a breach."""
    layered = b"\0\0\0\x40" + bytes(range(64))
    for mechanism, expected in (("GSSAPI", ["C opaque", "S opaque"]), ("CRAM-MD5", ["C !frame.track", "S !frame.track"])):
        said: list[Said] = [*opening(mechanism)[:4], ("S", control(Secure(b"?"))), ("C", control(SecureOk(b"!")))]
        for piece in (0, 1, 7):
            found = words(observe([*said, ("C", layered), ("S", layered * 2)], piece=piece))
            assert found[:6] == words(observe(said))[:6]
            assert found[6:8] == expected, mechanism


@pytest.mark.parametrize(
    ("client", "server", "expected"),
    [
        (HEADERS["0-9-1"], HEADER, ["C header", "C ?connection.protocol-header", "S header", "S ?connection.protocol-header"]),
        (
            HEADERS["0-9-1"] + b"abc",
            HEADERS["0-9-1"] + b"xy",
            [
                "C header",
                "C ?connection.protocol-header",
                "C opaque",
                "S header",
                "S ?connection.protocol-header",
                "S opaque",
            ],
        ),
        (b"GET / HTTP/1.0\r\n", b"", ["C header", "C opaque"]),
        (b"GET / HTTP/1.0\r\n", b"HTTP/1.0 200 OK\r\n", ["C header", "C opaque", "S header", "S opaque"]),
        (b"GET / HTTP/1.0\r\n", b"220 mail ESMTP\r\n", ["C header", "C opaque", "S opaque"]),
        (b"GET / HTTP/1.0\r\n", HEADER, ["C header", "C opaque", "S header", "C !connection.start.protocol-name"]),
        (
            b"GET / HTTP/1.0\r\n",
            HEADERS["0-9-1"],
            ["C header", "C opaque", "S header", "C !connection.start.protocol-name", "S ?connection.protocol-header"],
        ),
        (b"GET /", HEADER, ["S header", "S ?connection.protocol-header", "C header", "C ?connection.protocol-header"]),
        (HEADER, b"HTTP/1.1 400\r\n", ["C header", "S header", "S !connection.start.protocol-name", "S opaque"]),
        (b"\x8f\x03\x81\x10\xff\0\x07\x0c\x99", b"\x10\x8e\x81\x10\xff\0\x07\x0c", ["C opaque", "S opaque"]),
        (b"\x8f\x03", b"", ["C opaque"]),
        (
            HEADER,
            b"\x10\x8e\x81\x10\xff\0\x07\x0c",
            ["C header", "S header", "S !connection.start.protocol-name", "S ?connection.eof"],
        ),
        (b"AMQ", b"", ["C header", "C ?connection.protocol-header"]),
        (b"", b"", []),
    ],
)
@pytest.mark.rule("connection.start.protocol-name")
def test_other_protocols(client: bytes, server: bytes, expected: list[str]) -> None:
    for piece in (0, 1):
        assert words(observe([("C", client), ("S", server)], piece=piece)) == expected


@pytest.mark.rule("connection.start.protocol-name")
@pytest.mark.parametrize(
    ("greeting", "name"), [(b"GET / HTTP/1.0\r\n", "HTTP"), (b"SSH-2.0-x\r\n", "SSH"), (b"CONNECT\n\n\0", "STOMP")]
)
def test_a_client_of_another_protocol_is_accused_when_its_server_speaks_amqp(greeting: bytes, name: str) -> None:
    both: list[Said] = [("C", greeting), ("S", HEADER)]
    for said in permutations(both):
        (accused,) = [each.event for each in observe(list(said)) if isinstance(each.event, Violation)]
        assert (accused.speaker, accused.offset, accused.said.split(":")[0]) == ("C", 0, name)


@pytest.mark.parametrize("greeting", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 408\r\n", b"220 ftp\r\n", b"\x16\3\3\0\x7a"])
@pytest.mark.parametrize("client", [b"SSH-2.0-x\r\n", b"GET / HTTP/1.0\r\n", HEADER])
def test_a_server_of_another_protocol_that_speaks_first_is_accused_of_nothing(greeting: bytes, client: bytes) -> None:
    """It did not know what its client would say."""
    for piece in (0, 1):
        found = words(observe([("S", greeting), ("C", client)], piece=piece))
        assert not [word for word in found if "!" in word]
        assert "S opaque" in found


def test_a_header_that_nobody_knows_may_be_served_all_the_same() -> None:
    said: list[Said] = [("C", b"AMQP\1\2\0\x0a"), *opening()[1:]]
    found = words(observe(said, end=False))
    assert found[:3] == ["C header", "C ?connection.protocol-header", "S header"]
    assert found[-1] == "S connection.open-ok"
    assert not [word for word in found if "!" in word]


@pytest.mark.parametrize("answer", [b"\x8f\x03\x81\x10\xff\0\x07\x0c\x99", b"\1\0\0\0\0\0\x0a\0\x0a"])
@pytest.mark.parametrize("header", [b"AMQP\1\1\0\x63", b"AMQP\0\0\x09\2"])
def test_nobody_is_accused_behind_the_header_of_a_version_that_nobody_knows(header: bytes, answer: bytes) -> None:
    for piece in (0, 1):
        found = words(observe([("C", header), ("S", answer)], piece=piece))
        assert found == ["C header", "C ?connection.protocol-header", "S opaque"]


@pytest.mark.parametrize("piece", [0, 1, 7])
@pytest.mark.parametrize("gap", [False, True])
def test_from_the_middle_what_looks_like_two_frames_accuses_nobody_of_what_follows(piece: int, gap: bool) -> None:
    """Another family's octets may look so, and a security layer's."""
    body = b"\x07\3\0\x0d\0\1\0\1\0\0\0\0x"
    watch = Observer(middle=True)
    if gap:
        watch.receive_gap("C", 0)
    found = words(observe([("S", b"\1\0\0\0" + body * 2 + channel_opening(ONE)[1][1])], watch, piece, end=False))
    assert found == ["C ?gap"] * gap + ["S opaque"]


def test_from_the_middle_nobody_is_accused_and_ids_are_unknown() -> None:
    watch = Observer(AMQP_0_10, strict=True)
    found = observe([("C", WORK[0][1][3:]), *WORK[1:], *ENDING], watch)
    assert not [word for word in words(found) if "!" in word]
    seen = [each.event for each in found if isinstance(each.event, CommandSeen)]
    assert len(seen) == 5
    assert {(each.session, each.id) for each in seen} == {(None, None)}
    found = observe([*WORK[:1], *ATTACH, *WORK], Observer(AMQP_0_10), end=False)
    ids = [each.event.id for each in found if isinstance(each.event, CommandSeen)]
    assert ids == [None, None, None, None, 0, 1, 2, 3, 4, 0]


def test_without_a_dialect_the_middle_is_opaque() -> None:
    found = words(observe(WORK))
    assert not [word for word in found if "message" in word]


def test_after_a_gap_nobody_is_accused() -> None:
    for gap in range(1, 60, 7):
        watch = Observer(strict=True)
        found = observe([*opening(), *ATTACH], watch, end=False)
        octets = WORK[0][1]
        watch.receive_gap("C", gap)
        watch.receive_data("C", octets[gap:])
        found += list(watch.events())
        found += observe([*WORK[1:], *ENDING], watch)
        told = words(found)
        assert not [word for word in told if "!" in word]
        assert "C ?gap" in told
        assert told[-1] == "S connection.close-ok"
        ends = [each.end for each in found if each.speaker == "C"]
        assert max(ends) == sum([len(octets) for who, octets in WHOLE if who == "C"])


def test_a_gap_between_two_frames_loses_nothing_more() -> None:
    watch = Observer(strict=True)
    lost = command(Sync())
    found = observe([*opening(), *ATTACH], watch, end=False)
    watch.receive_gap("C", len(lost))
    found += observe([*WORK, *ENDING], watch)
    seen = [each.event.verb for each in found if isinstance(each.event, CommandSeen)]
    assert seen == [
        "queue.declare",
        "message.subscribe",
        "message.flow",
        "message.flow",
        "message.transfer",
        "message.transfer",
    ]


def test_what_is_open_at_the_end_is_broken_and_accuses_nobody() -> None:
    transfer = command(Transfer(""), HEADERS_OCTETS, b"hello" * 2000, 4096)
    for cut in (20, 60, 5000, len(transfer) - 1):
        found = observe([*opening(), *ATTACH, ("C", transfer[:cut])])
        assert "C message.transfer broken" in words(found) or cut == 20
        assert not [word for word in words(found) if "!" in word]
        assert words(found)[-1] == "C ?stream.cut"


def test_finish_says_nothing_about_the_end() -> None:
    watch = Observer()
    observe([*opening(), *ATTACH, ("C", command(Transfer(""), b"", b"x")[:-4])], watch, end=False)
    watch.finish()
    assert words(list(watch.events())) == ["C message.transfer broken", "C ?stream.cut"]
    watch.receive_data("C", b"more")
    assert list(watch.events()) == []


def test_octets_behind_an_end_are_not_read_and_nobody_is_accused_of_what_answers_them() -> None:
    watch = Observer()
    observe([*opening(), *ATTACH, *WORK], watch, end=False)
    watch.receive_eof("C")
    found = list(watch.events())
    behind = command(Transfer("q"), b"", b"x") * 3
    for octets in (behind[:5], behind[5:]):
        watch.receive_data("C", octets)
        found += watch.events()
    watch.receive_data("S", control(Completed(RangeSet([(0, 40)])), 1))
    watch.receive_eof("S")
    found += watch.events()
    assert words(found) == ["C ?connection.eof", "C opaque", "S session.completed"]
    assert [watch.unread("C"), watch.unread("S")] == [len(behind), 0]
    watch = Observer()
    observe([*opening(), *ATTACH, *WORK], watch, end=False)
    watch.receive_eof("C")
    watch.receive_gap("C", 50)
    watch.receive_data("S", control(Completed(RangeSet([(0, 40)])), 1))
    assert words(list(watch.events())) == ["C ?connection.eof", "C ?gap", "S session.completed"]


def test_a_delivery_that_is_never_ended_is_read_and_not_complete() -> None:
    unended = command(Transfer("d"), b"", None)[:-12] + b"\x03\x02\0\x0c\0\1\0\1\0\0\0\0"
    said = [*opening(), *ATTACH, WORK[0], ("S", unended), ("S", unended), *ENDING]
    for strict, word in ((False, "S ?assembly.unended"), (True, "S !assembly.unended")):
        found = observe(said, Observer(strict=strict))
        seen = [each.event for each in found if each.speaker == "S" and isinstance(each.event, CommandSeen)]
        assert [(each.id, each.complete, each.body) for each in seen] == [(0, False, None), (1, False, None)]
        assert [each for each in words(found) if each[2] in "!?"] == [word]


def test_attaching_again_does_not_break_what_is_under_way() -> None:
    frames = frame_command(1, LAYOUT.encode_command(Transfer(""), False), HEADERS_OCTETS, b"hello" * 2000, 4096)
    said: list[Said] = [*opening(), *ATTACH]
    said += [("C", b"".join(frames[:3])), ("C", control(Attach(b"s"), 1)), ("C", b"".join(frames[3:]))]
    assert words(observe(said, end=False))[-3:] == ["C session.attach", "C ?session.attach.idempotence", "C message.transfer"]


def test_a_detach_breaks_off_what_is_under_way() -> None:
    frames = frame_command(1, LAYOUT.encode_command(Transfer(""), False), HEADERS_OCTETS, b"hello" * 2000, 4096)
    said: list[Said] = [*opening(), *ATTACH, ("C", b"".join(frames[:3])), ("C", control(Detach(b"s"), 1))]
    assert words(observe(said, end=False))[-2:] == ["C message.transfer broken", "C session.detach"]


def test_speakers_and_gaps_are_checked() -> None:
    watch = Observer()
    with pytest.raises(ValueError, match="speaker"):
        watch.receive_data("X", b"")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="lost"):
        watch.receive_gap("C", -1)


# Snapshots.


@pytest.mark.parametrize("strict", [False, True])
def test_a_snapshot_anywhere_changes_nothing(strict: bool) -> None:
    """Wherever the octets are cut, an observer restored from a snapshot says what the other one would have said."""
    whole = observe(WHOLE, Observer(strict=strict))
    octets = [(speaker, octets[at : at + 50]) for speaker, octets in WHOLE for at in range(0, len(octets), 50)]
    for cut in range(0, len(octets), 9):
        first = Observer(strict=strict)
        found = observe(octets[:cut], first, end=False)
        plain = first.snapshot()
        assert plain == pickle.loads(pickle.dumps(plain))
        second = Observer.restore(plain)
        assert second.snapshot() == plain
        found += observe(octets[cut:], second)
        assert found == whole


def test_a_snapshot_does_not_hold_octets_that_nobody_can_read() -> None:
    """What is no AMQP is counted, and not kept."""
    watch = Observer()
    watch.receive_data("C", b"GET / HTTP/1.1\r\n" + b"x" * 10_000)
    assert words(list(watch.events()))
    assert len(repr(watch.snapshot())) < 5_000


def test_a_snapshot_names_its_dialect() -> None:
    watch = Observer(AMQP_0_10_FINAL)
    assert Observer.restore(watch.snapshot()).dialect is AMQP_0_10_FINAL


def test_a_snapshot_is_taken_between_events() -> None:
    watch = Observer()
    watch.receive_data("C", HEADER)
    with pytest.raises(LocalProtocolError):
        watch.snapshot()


@pytest.mark.parametrize("plain", [(), (1, 2), (("object", 0), ()), (("object", 0), (("int",),)), (("tuple", 1), ())])
def test_what_is_no_snapshot(plain: tuple[object, ...]) -> None:
    with pytest.raises(DecodeError):
        Observer.restore(plain)


# Anything at all.


@settings(max_examples=settings().max_examples * 2)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["C", "S"]),
            st.integers(0, len(WHOLE) - 1),
            st.integers(0, 400),
            st.integers(0, 255),
            st.sampled_from(["set", "cut", "add"]),
        ),
        max_size=4,
    ),
    st.sampled_from([1, 7, 4096]),
    st.booleans(),
)
def test_mutated_conversations(mutations: list[tuple[str, int, int, int, str]], piece: int, strict: bool) -> None:
    """However a conversation is damaged, nothing but events comes out, the same ones however the octets are cut."""
    said = list(WHOLE)
    for _, turn, at, octet, how in mutations:
        speaker, octets = said[turn]
        at = min(at, len(octets))
        middle = {"set": bytes([octet]), "cut": b"", "add": bytes([octet] * 3)}[how]
        said[turn] = (speaker, octets[:at] + middle + octets[at + (how != "add") :])
    found = observe(said, Observer(strict=strict))
    assert found == observe(said, Observer(strict=strict), piece)
    assert repr(found)


@settings(max_examples=settings().max_examples * 2)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["C", "S"]), st.integers(0, 31), st.integers(0, 4), st.integers(0, 2), st.binary(max_size=20)
        ),
        max_size=15,
    ),
    st.sampled_from([1, 7, 4096]),
)
def test_random_frames_behind_a_legal_beginning(frames: list[tuple[Speaker, int, int, int, bytes]], piece: int) -> None:
    """Whatever frames follow a legal beginning, nothing but events comes out, the same ones however the octets are cut."""
    said = [*opening(), *ATTACH]
    for speaker, flags, kind, channel, payload in frames:
        size = (12 + len(payload)).to_bytes(2, "big")
        head = bytes([flags, kind]) + size + bytes([0, int(kind > 0), 0, channel, 0, 0, 0, 0])
        said.append((speaker, head + payload))
    found = observe(said)
    assert found == observe(said, piece=piece)
    firsts = [each for each in found if isinstance(each.event, ControlSeen | CommandSeen)]
    assert len(firsts) <= 10 + len(frames)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("rest", [b"", b"\x05en_US", b"\x05en_US and more", b"\x05en"])
def test_no_secret_is_shown_however_it_comes(strict: bool, rest: bytes) -> None:
    watch = Observer(strict=strict)
    header = b"AMQP\x01\x01\x00\x0a"
    payload = b"\x01\x02\x0f\x00\x00\x00\x00\x04\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x06secret" + rest
    watch.receive_data("C", header)
    watch.receive_data("S", header)
    watch.receive_data("C", frame_control(0, payload))
    watch.finish()
    shown = "\n".join([repr(observed) for observed in watch.events()])
    assert "start-ok" in shown
    assert "secret" not in shown
    assert b"secret".hex() not in shown.replace(" ", "")


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_how_long_nobody_is_held_to_anything_behind_a_gap_does_not_depend_on_the_pieces(piece: int) -> None:
    """The server's tune comes behind what answers it: the capture has it late, or the server said it late."""
    watch = Observer(strict=True)
    said = opening()
    tune = next(at for at, (speaker, octets) in enumerate(said) if speaker == "S" and at > 2)
    found = observe(said[:tune], watch, piece, end=False)
    watch.receive_gap("C", 100)
    answer = b"".join([octets for speaker, octets in said[tune:] if speaker == "C"])
    found += observe([("C", answer), said[tune]], watch, piece, end=False)
    assert [each.event.rule for each in found if isinstance(each.event, Violation)] == []


def test_a_snapshot_can_be_taken_where_a_side_was_taken_for_the_other_family_and_is_opaque_since() -> None:
    """The client says a version that nobody knows; by the server's frames the others turn out to be methods."""
    watch = Observer(dialects=ALL, middle=True)
    heard = [("C", b"AMQP\1\0\0\0" + frame(ONE, "connection.open", 0)), *[("S", frame(ONE, "basic.cancel"))] * 5]
    found = observe([("C" if speaker == "C" else "S", octets) for speaker, octets in heard], watch, end=False)
    assert "MethodSeen" in [type(each.event).__name__ for each in found]
    again = Observer.restore(watch.snapshot(), dialects=ALL)
    assert (again.frames("C"), again.unread("C")) == (watch.frames("C"), watch.unread("C"))
    more: list[Said] = [("S", frame(ONE, "basic.cancel")), ("C", b"more")]
    assert observe(more, again) == observe(more, watch)


@pytest.mark.parametrize("piece", [0, 1, 7])
def test_octets_that_a_search_gives_back_count_once(piece: int) -> None:
    watch = Observer(dialects=ALL, middle=True)
    said: list[Said] = [("S", frame(ONE, "basic.cancel")[5:] + frame(ONE, "basic.cancel") * 5 + frame(ONE, "basic.cancel")[:3])]
    assert "MethodSeen" in [type(each.event).__name__ for each in observe(said, watch, piece, end=False)]
    ear = watch._ears["S"]
    assert (ear.received, ear.heard, ear.rest) == (len(said[0][1]), len(said[0][1]), 3)


@pytest.mark.parametrize("piece", [1, 7])
def test_the_observer_reports_frames_after_the_method_that_cuts_off_a_content_in_their_order(piece: int) -> None:
    publish = frame(ONE, "basic.publish")
    said: list[Said] = [*channel_opening(ONE), ("C", publish + publish + content(b"m"))]
    found = [observe(said, Observer(dialects=ALL, frames=True), each) for each in (0, piece)]
    assert found[0] == found[1]


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


def test_a_side_of_which_nothing_more_can_be_read_counts_as_searching() -> None:
    ear = Ear(DEFAULT_LIMITS, SEGMENTATION, carries)
    ear.be_opaque("behind a security layer", 8)
    assert not ear.searching
    ear.told = True
    assert ear.searching


@pytest.mark.parametrize(("octets", "late"), [(b"GET / HTTP/1.1\r\n", True), (b"\x16\x03\x01\0\x05\x01\0\0\1\0", False)])
def test_behind_the_middle_of_the_other_side_only_tls_needs_no_frames(octets: bytes, late: bool) -> None:
    ear = Ear(DEFAULT_LIMITS, SEGMENTATION, carries, True)
    ear.joined = True
    ear.receive(octets)
    ear.next()
    assert ear.late is late


CHECKER = Observer()._checker


def dump(value: object) -> tuple[object, ...]:
    return Dumper(_classes(CHECKER), _framings(DIALECTS)).dump(value)


def load(plain: tuple[object, ...]) -> object:
    return _loader(CHECKER, DIALECTS, CHECKER.carries).load(plain)


def everything_in(plain: object) -> Iterator[object]:
    yield plain
    if isinstance(plain, tuple):
        for each in plain:
            yield from everything_in(each)


def test_what_comes_out_is_plain() -> None:
    plain = dump((Witness(True, Limits()), MutableRangeSet()))
    assert {type(each) for each in everything_in(plain)} <= {tuple, str, bytes, int, bool, float, type(None)}


@pytest.mark.parametrize("table", [HANDSHAKE, *ATTACHMENT.values(), *STREAM.values()])
def test_a_machine_finds_its_table_again(table: object) -> None:
    machine = Machine(table)  # type: ignore[arg-type]  # a table: the list above holds nothing else
    again = load(dump(machine))
    assert isinstance(again, Machine)
    assert again.table is table
    assert again.state == machine.state


def test_what_is_no_snapshot_is_refused() -> None:
    for plain in (("NoSuchClass",), ("Machine", "no such table")):
        with pytest.raises(DecodeError):
            load(plain)


def test_a_snapshot_names_its_dialect_and_the_recognised_one() -> None:
    assert _names_in(Observer(AMQP_0_10).snapshot()) == ("0-10", "0-10")
    assert _names_in(Observer().snapshot()) == ("0-10", None)
    assert _names_in(()) == (None, None)


def test_a_later_version_is_refused_by_both_numbers() -> None:
    state, records = Observer().snapshot()
    assert isinstance(state, tuple)
    with pytest.raises(DecodeError, match="its version is 4, this library reads 1 to 3"):
        Observer.restore(((state[0], 4, *state[2:]), records))


@pytest.mark.parametrize(("place", "wrong"), [(-1, 5), (-3, ("list",)), (-4, 1), (-6, ("tuple", 1, 2))])
def test_a_snapshot_whose_parts_are_of_other_kinds_is_refused(place: int, wrong: object) -> None:
    state, records = Observer().snapshot()
    assert isinstance(state, tuple)
    forged = [*state]
    forged[place] = wrong
    with pytest.raises(DecodeError):
        Observer.restore((tuple(forged), records))


OCTETS = [
    ("C", build.HEADER), ("S", build.HEADER + build.START), ("C", build.START_OK), ("S", build.TUNE),
    ("C", build.TUNE_OK + build.OPEN), ("S", build.OPEN_OK), ("C", build.ATTACH), ("S", build.ATTACHED),
    ("C", build.POINT + build.transfer(b"x" * 100)), ("S", build.completed(0)), ("C", build.CLOSE), ("S", build.CLOSE_OK),
]  # fmt: skip


@pytest.mark.parametrize("strict", [False, True])
def test_an_observer_that_is_stored_after_every_octet_hears_the_same(strict: bool) -> None:
    straight, stored = Observer(strict=strict), Observer(strict=strict)
    for speaker, octets in OCTETS:
        for at in range(len(octets)):
            straight.receive_data(speaker, octets[at : at + 1])  # type: ignore[arg-type]  # "C" or "S", from the list above
            stored.receive_data(speaker, octets[at : at + 1])  # type: ignore[arg-type]
            assert list(straight.events()) == list(stored.events())
            stored = Observer.restore(stored.snapshot())
    assert stored.snapshot() == straight.snapshot()


def test_what_is_asked_of_transfers_and_not_answered_is_stored_too() -> None:
    said: list[Said] = [
        *opening(),
        *ATTACH,
        ("C", command(Subscribe("q", "d", 0, 1))),
        *[("C", command(Flow("d", unit, 100))) for unit in (0, 1)],
        ("S", command(Transfer("d", 0, 1))),
        ("C", command(Acquire(RangeSet.of(0)))),
    ]
    watch = Observer(strict=True)
    for speaker, octets in said:
        watch.receive_data(speaker, octets)
        list(watch.events())
        watch = Observer.restore(watch.snapshot())
    for speaker, octets in (("S", command(Result(3, Acquired(RangeSet.of(0))))), ("C", command(Accept(RangeSet.of(0))))):
        watch.receive_data("S" if speaker == "S" else "C", octets)
        assert [each.event.rule for each in watch.events() if isinstance(each.event, Violation)] == []
