"""The checker of sessions, by itself: what the observer's tests do not ask; its quick way says the same as the slow one."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.engine.overheard import ATTACH, observe, opening

from amqp_sansio.captures.conversation import LocatedEvent, observers
from amqp_sansio.captures.flows import Listener
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.checker import Answered, Transfers
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.observer import Ear, Observer, Speaker
from amqp_sansio.engine.session_checker import (
    UNHEARD,
    HandshakeWitness,
    SessionChecker,
    verb_of,
)
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import CommandSeen, Note, Violation
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec import connection, message, session
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.connection import Close, Open, Redirect, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.execution import Sync
from amqp_sansio.wire.layouts.layout import encode_headers
from amqp_sansio.wire.segments import frame_command, frame_control


def checker() -> SessionChecker:
    made = Observer()._checker
    assert isinstance(made, SessionChecker)
    return made


def test_only_a_transfer_and_its_kind_carry_more() -> None:
    carries = checker().carries
    assert carries(4, 1)
    assert carries(119, 1)
    assert not carries(4, 2)


def test_it_goes_on_with_a_witness_and_with_nothing_else() -> None:
    one, another = checker(), checker()
    another.resume(one.state())
    assert another.findings is one.findings
    with pytest.raises(DecodeError):
        another.resume(("not", "a witness"))


def made(mechanism: str = "") -> SessionChecker:
    """One whose sides say frames, after a handshake with this mechanism."""
    judge = checker()
    for ear in judge.ears.values():
        ear.read_frames()
    judge._witness.handshake.mechanism = mechanism
    return judge


def doubts(judge: SessionChecker) -> list[str]:
    return [ear.doubt for ear in judge.ears.values()]


@pytest.mark.parametrize(("mechanism", "doubt"), [("", UNHEARD), ("PLAIN", ""), ("DIGEST-MD5", "")])
def test_what_was_lost_may_have_held_the_mechanism(mechanism: str, doubt: str) -> None:
    judge = made(mechanism)
    judge.lost("C")
    assert doubts(judge) == [doubt, doubt]


def test_the_mechanism_tells_whether_there_may_be_a_layer() -> None:
    for mechanism, left in (("PLAIN", ""), ("GSSAPI", "behind the security layer of GSSAPI")):
        judge = made()
        judge.lost("C")
        judge._witness.handshake.mechanism = mechanism
        judge._hear_opening("C", StartOk(None, mechanism, b"", None))
        assert doubts(judge) == [left, left]


def test_both_sides_may_speak_through_a_layer_as_soon_as_its_mechanism_is_chosen() -> None:
    judge = made("DIGEST-MD5")
    judge._hear_opening("C", StartOk(None, "DIGEST-MD5", b"", None))
    assert set(doubts(judge)) == {"behind the security layer of DIGEST-MD5"}


def test_the_largest_frame_holds_from_the_answer_on() -> None:
    judge = made("PLAIN")
    judge._witness.handshake.max_frame_size = 4096
    judge._hear_opening("C", TuneOk(1, 4096, 0))
    reader = judge.ears["C"].reader
    assert reader is not None
    assert reader.max_frame_size == 4096


@pytest.mark.parametrize(
    ("kind", "payload", "verb"),
    [
        ("control", b"\x02\x01", "session.attach"), ("command", b"\x04\x01\0\0", "message.transfer"),
        ("control", b"\x01\x63", "connection.99"), ("command", b"\x77\x01", "119.1"), ("command", b"\x04", "4.?"),
        ("control", b"", "?.?"),
    ],
)  # fmt: skip
def test_a_verb_by_its_name_or_its_numbers(kind: str, payload: bytes, verb: str) -> None:
    assert verb_of(AMQP_0_10.codec, kind, payload) == verb


def test_frames_name_what_begins_in_them() -> None:
    assert checker().frame((0, 14, 0x0F, 0, 0, 3, b"\x02\x01")) == FrameSeen(0x0F, 0, 0, 3, "session.attach")
    assert checker().frame((0, 14, 0x0B, 1, 1, 3, b"\x04\x01")).verb == "message.transfer"
    assert checker().frame((0, 14, 0x05, 3, 1, 3, b"ab")).verb is None


def test_octets_that_say_nothing_are_reported_once() -> None:
    judge = checker()
    good = AMQP_0_10.codec.encode_command(Sync(), True)
    for payload in (good, good + b"more", good + b"more"):
        judge._judge_encoding("execution.sync", payload, Sync(), True)
    assert [each.rule for each in judge.findings.found] == ["encoding"]
    (found,) = judge.findings.found
    assert found.text == f"{len(good) + 4} octets where {len(good)} say the same: {good.hex(' ')}"


def test_a_header_that_cannot_be_read_is_reported() -> None:
    for header, rules in ((b"", []), (b"\0\0\0\x09", ["header"])):
        judge = checker()
        seen = CommandSeen(0, None, 0, "message.transfer", None, False, b"", header)
        judge._judge_headers(seen, header)
        assert [each.rule for each in judge.findings.found] == [f"{rule}.undecodable" for rule in rules]


DATA = Path(__file__).parents[1] / "data" / "captures"
LAYOUT = AMQP_0_10.codec
SPEAKERS: tuple[Speaker, Speaker] = ("C", "S")


def control(channel: int, what: Control) -> bytes:
    return frame_control(channel, LAYOUT.encode_control(what))


def command(channel: int, what: Command, *headers: message.DeliveryProperties, body: bytes | None = None) -> bytes:
    header = encode_headers(headers) if headers else None
    return b"".join(frame_command(channel, LAYOUT.encode_command(what, False), header, body))


def conversation(seed: int) -> list[tuple[Speaker, bytes]]:
    """An open connection on which transfers come in every shape, well formed and not, on two channels."""
    choice = random.Random(seed)
    said: list[tuple[Speaker, bytes]] = [("C", AMQP_0_10.header), ("S", AMQP_0_10.header)]
    said.append(("S", control(0, connection.Start({}, ["PLAIN"], ["en_US"]))))
    said.append(("C", control(0, connection.StartOk({}, "PLAIN", b"", "en_US"))))
    said.append(("S", control(0, connection.Tune(9, 65535, 0, 0))))
    said.append(("C", control(0, connection.TuneOk(9, 65535, 0)) + control(0, connection.Open("x"))))
    said.append(("S", control(0, connection.OpenOk())))
    for channel in (1, 2):
        said.append(("C", control(channel, session.Attach(b"%d" % channel)) + control(channel, session.CommandPoint(0, 0))))
        said.append(("S", control(channel, session.Attached(b"%d" % channel)) + control(channel, session.CommandPoint(0, 0))))
        said.append(("C", command(channel, message.Subscribe(queue="q", destination="d"))))
        said.append(("C", command(channel, message.Flow("d", 0, 9)) + command(channel, message.Flow("d", 1, 900))))
    for _ in range(60):
        speaker = choice.choice(SPEAKERS)
        channel = choice.choice((1, 1, 1, 2, 3))
        transfer = message.Transfer("d" if speaker == "S" else "x", choice.choice((0, 0, 0, 1)), 0)
        headers = [message.DeliveryProperties(routing_key="k")] * choice.choice((0, 1, 1, 1, 2))
        octets = command(channel, transfer, *headers, body=choice.choice((None, b"", b"body", b"body", b"b" * 300)))
        kind = choice.randrange(20)
        if kind == 0:
            octets = octets[:-1]
        elif kind == 1:
            at = choice.randrange(len(octets))
            octets = octets[:at] + bytes([octets[at] ^ 1 << choice.randrange(8)]) + octets[at + 1 :]
        elif kind == 2:
            octets = control(channel, session.Completed(RangeSet.of(choice.randrange(40))))
        elif kind == 3:
            octets = control(channel, choice.choice((session.Detach(b"1"), session.Detached(b"1", 0), session.Attach(b"1"))))
        elif kind == 4:
            octets = control(channel, session.CommandPoint(choice.randrange(40), 0))
        said.append((speaker, octets))
    return said


def observed(said: Iterable[tuple[Speaker, bytes]], strict: bool) -> list[object]:
    observer = Observer(strict=strict)
    found: list[object] = []
    for speaker, octets in said:
        observer.receive_data(speaker, octets)
        found += observer.events()
    for each in SPEAKERS:
        observer.receive_eof(each)
    return [*found, *observer.events()]


@pytest.mark.parametrize("seed", range(120))
def test_both_ways_report_the_same_whatever_comes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the quick way and without it, an observer tells the same events at the same places."""
    said = conversation(seed)
    pieces = [(speaker, octets[at : at + 7]) for speaker, octets in said for at in range(0, len(octets), 7)]
    quick = [observed(said, bool(seed & 1)), observed(pieces, bool(seed & 1))]
    monkeypatch.setattr(Ear, "cut", lambda self: None)
    assert quick[0] == observed(said, bool(seed & 1))
    assert quick[1] == observed(pieces, bool(seed & 1))


@pytest.mark.parametrize("name", ["credit", "tx", "dtx", "cpp_hello", "errors", "maps", "hello"])
def test_recordings_give_the_same_both_ways(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def heard() -> list[LocatedEvent]:
        found: list[LocatedEvent] = []
        listener = Listener(observers(), lambda talk, one: found.append(one), lambda talk: None)
        for packet in read_packets(str(DATA / f"{name}.pcap"), lambda text: None):
            listener.hear(packet)
        listener.finish()
        return found

    quick = heard()
    monkeypatch.setattr(Ear, "cut", lambda self: None)
    assert quick == heard()


def begun(deliveries: int) -> Observer:
    """An observer of an open session to which so many messages were delivered."""
    observer = Observer()
    for speaker, octets in conversation(0)[:10]:
        observer.receive_data(speaker, octets)
    transfer = command(1, message.Transfer("d", 0, 0), message.DeliveryProperties(routing_key="k"), body=b"body")
    observer.receive_data("S", transfer * deliveries)
    return observer


def read_at_once(observer: Observer) -> int:
    """How many transfers are read many at once, next."""
    found = observer.next_alike(observer.read_headers(lambda structs: (len(structs), None)))
    return len(found.items) if isinstance(found, Transfers) else 0


def test_completions_and_accepts_are_taken_at_once_where_nothing_else_changes() -> None:
    """The first answer on a channel is heard with every check, the next ones at once, until a state may change."""
    observer = begun(3)
    list(observer.events())
    headers = observer.read_headers(lambda structs: (len(structs), None))
    first = control(1, session.Completed(RangeSet.of(0))) + command(1, message.Accept(RangeSet.of(0)))
    observer.receive_data("C", first)
    assert observer.next_alike(headers) is None
    assert len(list(observer.events())) == 2
    observer.receive_data("C", first.replace(b"\0\0\0\0\0\0\0\0", b"\0\0\0\1\0\0\0\2"))
    found = [observer.next_alike(headers) for _ in range(3)]
    ids = RangeSet([(1, 2)])
    assert found[:2] == [
        ("C", 1, b"1", False, False, None, ids, 211, 237),
        ("C", 1, b"1", True, False, 2, ids, 237, 265),
    ]
    assert found[2] is None
    assert observer.next_event() is None
    observer.receive_data("C", control(1, session.Detach(b"1")))
    list(observer.events())
    observer.receive_data("C", first)
    assert observer.next_alike(headers) is None


def test_findings_about_an_answer_come_after_it() -> None:
    """Completion of what was never sent is heard at once, and the breach stands behind it."""
    observer = begun(1)
    observer.receive_data("C", control(1, session.Completed(RangeSet.of(0))))
    list(observer.events())
    headers = observer.read_headers(lambda structs: (len(structs), None))
    observer.receive_data("C", control(1, session.Completed(RangeSet.of(99))))
    assert isinstance(observer.next_alike(headers), Answered)
    assert observer.next_alike(headers) is None
    (told,) = observer.events()
    assert isinstance(told.event, Violation)
    assert (told.event.rule, told.event.channel) == ("session.completed.commands", 1)
    assert told.event.offset == told.start < told.end


def test_what_comes_again_is_read_many_at_once_until_something_of_either_side_is_lost() -> None:
    """Transfers like one before them are read at once; behind octets that are missing, of whomever, with every check."""
    transfer = command(1, message.Transfer("d", 0, 0), message.DeliveryProperties(routing_key="k"), body=b"body")
    for lost in (False, True):
        observer = begun(1)
        list(observer.events())
        if lost:
            observer.receive_gap("C", 7)
            list(observer.events())
        observer.receive_data("S", transfer * 3)
        assert read_at_once(observer) == (0 if lost else 3)


def test_transfers_beyond_the_credit_are_reported_after_the_first_of_them() -> None:
    """Nine messages were granted and one was sent: the ninth of twelve more is one too many; the rest is heard after that."""
    transfer = command(1, message.Transfer("d", 0, 0), message.DeliveryProperties(routing_key="k"), body=b"body")
    observer = begun(0)
    observer.receive_data("C", command(1, message.Flow("d", 0, 9)) + command(1, message.Flow("d", 1, 900)))
    observer.receive_data("S", transfer)
    list(observer.events())
    observer.receive_data("S", transfer * 12)
    headers = observer.read_headers(lambda structs: (len(structs), None))
    found = observer.next_alike(headers)
    assert isinstance(found, Transfers)
    assert (found.id, len(found.items)) == (1, 9)
    assert observer.next_alike(headers) is None
    told = observer.next_event()
    assert told is not None
    assert isinstance(told.event, Note)
    assert (told.event.rule, (told.start, told.end)) == ("message.flow", found.place)
    rest = observer.next_alike(headers)
    assert isinstance(rest, Transfers)
    assert (rest.id, len(rest.items)) == (10, 3)
    assert not list(observer.events())


def test_a_header_whose_sizes_are_right_is_read_once_and_remembered_by_the_event() -> None:
    """The quick way reads a header itself, and leaves to others only what cannot be read."""
    quick = checker()
    good = encode_headers([message.DeliveryProperties(routing_key="k"), message.MessageProperties(content_type="t")])
    for header, read in ((good, True), (good, True), (good[:-1] + b"\xff", False), (good[:-2] + b"\x02t", False)):
        seen = CommandSeen(1, b"s", 0, "message.transfer", None, False, b"", header, b"", True)
        assert quick._read_headers(seen, header) is read


def test_the_subscriptions_of_a_channel_are_known_once_it_was_used() -> None:
    watch = Observer()
    subscribe = command(1, message.Subscribe("q", "d"))
    observe([*opening(), *ATTACH, ("C", subscribe)], watch, end=False)
    found = watch._books(1)
    assert found is not None
    assert list(found.entries) == ["d"]
    assert watch._books(2) is None


def test_a_control_of_the_connection_is_on_no_channel() -> None:
    beyond = control(1, session.Completed(RangeSet([(0, 4)])))
    found = [each.event for each in observe([*opening(), *ATTACH, ("C", beyond + control(0, Open("x")))], end=False)]
    assert [(each.rule, each.channel) for each in found if isinstance(each, Violation)] == [
        ("session.completed.commands", 1),
        ("connection.sequence", None),
    ]


def test_nothing_is_learned_where_a_state_may_change() -> None:
    """A transfer is remembered on no channel but one on which both sides are attached."""
    quick = checker()
    assert quick._learn("S", 1) is False
    assert quick._quiet_on("S", 1) is None


START = Start({}, ("ANONYMOUS", "PLAIN"), ("en_US",))
TUNE = Tune(100, 8192, 10, 60)


def handshake(*controls: Control, strict: bool = False) -> tuple[HandshakeWitness, list[tuple[str, str]]]:
    """The witness, and (rule, kind) of what it found."""
    findings = Findings(strict, DEFAULT_LIMITS)
    witness = HandshakeWitness(findings)
    for control in controls:
        findings.speaker = "S" if isinstance(control, Start | Tune | Redirect) else "C"
        witness.hear(control)
    return witness, [(each.rule, "violation" if isinstance(each, Violation) else "note") for each in findings.found]


def test_a_clean_opening() -> None:
    witness, found = handshake(START, StartOk({}, "PLAIN", b"", "en_US"), TUNE, TuneOk(50, 4096, 30), Open("/"), strict=True)
    assert found == []
    assert (witness.channels, witness.max_frame_size, witness.mechanism, witness.layered) == (50, 4096, "PLAIN", False)


def test_a_mechanism_that_was_not_offered() -> None:
    assert handshake(START, StartOk({}, "NOSUCH", b"", "en_US"))[1] == [("connection.start-ok.mechanism.validity", "violation")]
    assert handshake(StartOk({}, "NOSUCH", b"", "en_US"))[1] == []


def test_what_python_clients_leave_out() -> None:
    controls = (START, StartOk({}, "PLAIN", b""), TUNE, TuneOk(), Open())
    assert handshake(*controls)[1] == []
    assert [rule for rule, _ in handshake(*controls, strict=True)[1]] == [
        "connection.start-ok.locale",
        "connection.tune-ok.channel-max",
        "connection.open.virtual-host",
    ]


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (TuneOk(99, 8192, 60), None),
        (TuneOk(100, 8192, 60), None),
        (TuneOk(101, 8192, 60), "connection.tune-ok.channel-max.upper-limit"),
        (TuneOk(100, 8191, 60), None),
        (TuneOk(100, 8193, 60), "connection.tune-ok.max-frame-size.upper-limit"),
        (TuneOk(100, 4095, 60), "connection.tune-ok.max-frame-size.minimum"),
        (TuneOk(100, 4096, 60), None),
        (TuneOk(100, 0, 60), None),
        (TuneOk(100, 4096, 61), "connection.tune-ok.heartbeat.permitted-range"),
        (TuneOk(100, 4096, 9), "connection.tune-ok.heartbeat.permitted-range"),
        (TuneOk(100, 4096, 10), None),
        (TuneOk(100, 4096, 0), None),
        (TuneOk(0, 0, 0), None),
    ],
)
def test_the_answer_to_tune(answer: TuneOk, rule: str | None) -> None:
    assert handshake(TUNE, answer)[1] == ([] if rule is None else [(rule, "violation")])


def test_what_was_agreed() -> None:
    assert handshake(TUNE, TuneOk(0, 0, 0))[0].max_frame_size == 8192
    assert handshake(TUNE, TuneOk())[0].channels == 100
    assert handshake(Tune(), TuneOk())[0].max_frame_size == 65535
    assert handshake(Tune(), TuneOk())[0].channels == 65536


@pytest.mark.parametrize(
    ("tune", "rule"),
    [
        (Tune(1, 4095), "connection.tune.max-frame-size.minimum"),
        (Tune(1, 4096), None),
        (Tune(1, 4096, 10, 9), "connection.tune.heartbeat-max.permitted-range"),
        (Tune(1, 4096, 10, 10), None),
    ],
)
def test_tune_itself(tune: Tune, rule: str | None) -> None:
    assert handshake(tune)[1] == ([] if rule is None else [(rule, "violation")])


def test_a_heartbeat_that_the_server_did_not_offer() -> None:
    assert handshake(Tune(1, 4096), TuneOk(1, 4096, 5))[1] == [("connection.tune-ok.heartbeat.no-heartbeat-min", "note")]
    assert handshake(Tune(1, 4096, None, 5), strict=True)[1] == [
        ("connection.tune.heartbeat-max.no-heartbeat-min", "violation")
    ]


def test_redirecting_a_client_that_insists() -> None:
    assert handshake(Open("/"), Redirect("h"))[1] == [("connection.redirect", "note")]
    assert handshake(Open("/", None, True), Redirect("h"))[1] == [
        ("connection.open.insist.behavior", "violation"),
        ("connection.redirect", "note"),
    ]


def test_a_close_with_a_reason_is_a_note() -> None:
    assert handshake(Close(200, "bye"))[1] == []
    assert handshake(Close(320, "out"))[1] == [("connection.close", "note")]
    assert handshake(Close(777, "?"), strict=True)[1] == [
        ("connection.close.reply-code", "violation"),
        ("connection.close", "note"),
    ]


@pytest.mark.parametrize(
    ("mechanism", "layered"), [("PLAIN", False), ("SCRAM-SHA-256", False), ("DIGEST-MD5", True), ("GSSAPI", True)]
)
def test_mechanisms_that_may_bring_a_security_layer(mechanism: str, layered: bool) -> None:
    assert handshake(StartOk({}, mechanism))[0].layered is layered


def test_notes_do_not_grow_with_the_words() -> None:
    findings = Findings(False, DEFAULT_LIMITS)
    HandshakeWitness(findings).hear(Close(320, "x" * 255))
    note = findings.found[0]
    assert isinstance(note, Note)
    assert len(note.text) < 300


def test_an_offer_that_is_too_small_is_named_by_its_field() -> None:
    for tune, said in (
        (Tune(100, 4095, 10, 60), "connection.tune with max-frame-size 4095"),
        (Tune(100, 8192, 60, 10), "connection.tune with heartbeat-min 60, heartbeat-max 10"),
    ):
        findings = Findings(False, DEFAULT_LIMITS)
        HandshakeWitness(findings).hear(tune)
        assert [each.said for each in findings.found if isinstance(each, Violation)] == [said]
