"""The recorder of a connection: its counts and findings, the rare controls all, the frequent ones only around violations; the
rows of commands: those of any family (tests/families/test_history.py has them through a capture), and of sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.captures.fake import FakeWitness
from tests.captures.packets import by_connection, gathered, packet_rows, replayed, tables_of
from tests.captures.replay.books import ByHand
from tests.captures.replay.made import ids, named
from tests.captures.replay.told import Told, flow
from tests.kept.scene import DATA

from amqp_sansio.captures.conversation import Conversation, LocatedEvent, PacketIndex
from amqp_sansio.captures.flows import AmqpFlow
from amqp_sansio.captures.replay import recorder as module
from amqp_sansio.captures.replay.credit import SubscriberCommand
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.recorder import (
    HISTORIES,
    NEAR,
    SHOWN_RANGES,
    Attachment,
    Controls,
    History,
    SessionHistory,
    When,
    connection_id,
    time_of,
)
from amqp_sansio.captures.replay.rows import NOTHING, Rows, packet_number, packet_place
from amqp_sansio.captures.replay.state import _classes
from amqp_sansio.captures.replay.transactions import Branches, TransactionRecords
from amqp_sansio.dialects import AMQP_0_10, DIALECTS
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events.observed import CommandSeen, MethodSeen
from amqp_sansio.kernel.serials import TOP
from amqp_sansio.protocol import SIZE
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.connection import Heartbeat, StartOk
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.execution import Result
from amqp_sansio.spec.message import Accept, Acquire, Acquired, Flow, Subscribe, Transfer
from amqp_sansio.spec.queue import Query, QueueQueryResult
from amqp_sansio.spec.session import Attach, Attached, Completed, Detached, Timeout
from amqp_sansio.wire.framing import KnownCommand
from amqp_sansio.wire.segments import FRAME_HEADER_SIZE


@given(*[st.integers(0, top) for top in (1 << 60, (1 << 31) - 1, (1 << 47) - 1)])
def test_a_packet_number_holds_its_place_and_grows_with_the_order(order: int, file: int, offset: int) -> None:
    """File and offset come out of the number again, and a packet heard later has a higher one."""
    number = packet_number(order, file, offset)
    assert packet_place(number) == (file, offset)
    assert number < packet_number(order + 1, 0, 0)


def test_connections_on_the_same_ports_have_different_ids() -> None:
    key = (b"\x7f\0\0\1", 1, b"\x7f\0\0\1", 2)
    assert len({connection_id(key, number, mark) for number in (1, 2) for mark in (5, 6)}) == 4
    assert connection_id(key, 1, 5) == connection_id(key, 1, 5)
    assert -(1 << 63) <= connection_id(key, 1, 5) < 1 << 63


def test_what_was_found_and_what_came_again_is_counted() -> None:
    for rows in by_connection(packet_rows(str(DATA / "captures" / "errors.pcap"))).values():
        at, payload = next((at, row["payload"]) for at, row in enumerate(rows) if row["payload"])
        assert isinstance(payload, bytes)
        found = gathered(replayed([*rows[: at + 1], *rows[at:]]))
        levels = [row["level"] for row in found.get("violations", ())]
        (connection,) = found["connections"]
        assert (connection["violations"], connection["notes"]) == (levels.count("violation"), levels.count("note"))
        assert connection["repeated_octets"] == len(payload)


def test_every_dialect_has_its_history() -> None:
    assert {HISTORIES[Observer(dialect)._family()] for dialect in DIALECTS} == {SessionHistory}


PLACE = (100, 2, 24)


def test_a_rare_control_has_a_row_with_its_fields() -> None:
    rows = Rows()
    one = Controls(rows)
    one.hear(5, "C", 3, "session.attach", Attach(b"s"), PLACE)
    one.hear(6, "C", 0, "connection.start-ok", StartOk(None, "PLAIN", b"\0guest\0secret", "en_US"), PLACE)
    one.hear(7, "S", 0, "1.99", None, PLACE)
    first, second, third = named(rows, "controls")
    assert (first["ts"], first["direction"], first["channel"], first["verb"]) == (5, "C", 3, "session.attach")
    assert (first["stream_offset"], first["file_id"], first["file_offset"]) == PLACE
    assert first["arguments"] == '{"name":"s"}'
    assert "secret" not in str(second["arguments"])
    assert '"response":13' in str(second["arguments"])
    assert third["arguments"] is None


@given(st.lists(st.booleans(), max_size=80))
def test_frequent_ones_are_kept_within_reach_of_a_violation_once_each(story: list[bool]) -> None:
    """Of completions (False) with violations (True) among them, those have rows that are within NEAR of one, in order."""
    rows = Rows()
    one = Controls(rows)
    said = 0
    near: set[int] = set()
    for breach in story:
        if breach:
            one.violation()
            near.update(range(said - NEAR, said + NEAR))
        else:
            one.hear(said, "S", 1, "session.completed", Completed(ids((0, said))), PLACE)
            said += 1
    assert [row["ts"] for row in named(rows, "controls")] == sorted(n for n in near if 0 <= n < said)


def test_what_they_tell_is_bounded() -> None:
    rows = Rows()
    one = Controls(rows)
    one.hear(1, "S", 1, "session.completed", Completed(ids(*[(n * 2, n * 2) for n in range(SHOWN_RANGES + 5)])), PLACE)
    one.hear(2, "S", 0, "connection.heartbeat", Heartbeat(), PLACE)
    one.violation()
    first, second = named(rows, "controls")
    assert str(first["arguments"]).count("[") == 1 + SHOWN_RANGES
    assert second["arguments"] == "{}"


def test_all_of_its_parts_are_in_snapshots() -> None:
    known = _classes()
    assert {SessionHistory, *SessionHistory.PARTS} <= set(known.values())


@pytest.mark.parametrize(("header", "body"), [(None, b"body"), (b"", None), (b"", b"body"), (None, None)])
@pytest.mark.parametrize(("last", "content"), [(200, 100 + 2 * FRAME_HEADER_SIZE + 5), (101, 101)])
def test_a_message_has_the_time_of_the_first_octet_of_its_content(
    last: int, content: int, header: bytes | None, body: bytes | None
) -> None:
    """Behind the command's frame and the head of the next one; in one packet it is that of the packet.  Without header and body
    there is none."""
    conversation = Conversation(FakeWitness, lambda _, __: None)
    marks = conversation.marks("C")
    for octet in range(1, 201):  # each comes in a packet of its own
        marks.add(octet, octet, octet)
    talk = AmqpFlow(conversation, (b"\1" * 4, 1, b"\2" * 4, 2), False)
    history = SessionHistory(talk, Rows(), ReplayOptions(), {"C": False, "S": False})
    said = CommandSeen(1, b"s", 0, "message.transfer", Transfer("x", 1, 0), False, b"1234", header, body)
    assert history.command(LocatedEvent(7, last, "C", said, 100, 200), said, marks)
    message = history._sessions[1].client.incomplete[0]
    expected = None if header is None and body is None else content
    assert (message.first, message.content, message.last) == (101, expected, last)


PAYLOAD = AMQP_0_10.codec.encode_command(Transfer("in", 0, 0), False)


def say(one: Attachment, books: ByHand, time: int, command: SubscriberCommand) -> None:
    books.heard.hear(time, command)
    one.credit.hear(time, command)


def session(rows: Rows, books: ByHand) -> Attachment:
    made = Attachment(rows, Branches(rows), books, 1, b"s", 10, True, (True, True))
    say(made, books, 11, Subscribe(queue="q", destination="in"))
    made.tx = TransactionRecords(rows, ("s", 1), made.server)
    return made


@pytest.mark.parametrize("credit", [None, 2, 9])
@pytest.mark.parametrize("speaker", ["C", "S"])
@pytest.mark.parametrize("first", [0, TOP - 1, None])
@pytest.mark.parametrize("alike", [True, False])
def test_many_transfers_at_once_are_the_same_as_one_by_one(
    alike: bool, first: int | None, speaker: str, credit: int | None
) -> None:
    """Whether all say the same, their ids are known or go around, and credit lasts or runs out."""
    found = []
    for at_once in (False, True):
        rows = Rows()
        books = ByHand()
        one = session(rows, books)
        if credit is not None:
            say(one, books, 12, Flow("in", 0, credit))
            say(one, books, 12, Flow("in", 1, 1000))
        known = [KnownCommand(1, Transfer("in", 0, 0), False, PAYLOAD), KnownCommand(1, Transfer("in", 1, 1), False, PAYLOAD)]
        said = [known[0], known[0] if alike else known[1], known[0]]
        ids = [None if first is None else first + number & TOP for number in range(3)]
        deliver = books.heard.book.delivered if speaker == "S" else lambda *_: None
        items = [(each, 5, 7, b"b", 1000 * at, 1000 * at + 9, NOTHING, b"i" * 16) for at, each in enumerate(said)]
        places = [(100 + at, 101, 102 + at, at) for at in range(3)]
        if at_once:
            for id in ids:
                deliver(id, "in", 12, 12)
            one.transfers(speaker, first, alike, items, places, True)
        else:
            for id, item, place in zip(ids, items, places, strict=True):
                deliver(id, "in", 12, 12)
                one.transfers(speaker, id, True, [item], [place], True)
        one.finish("connection", 500)
        found.append([named(rows, table) for table in ("messages", "commands", "sessions", "credit", "transactions")])
    if first is None:  # of deliveries without ids, the last one is taken for the one that used credit up
        for rows_ in found:
            rows_[3] = [{**row, "ts": 0, "stalled_ns": 0} if row["event"] in ("exhausted", "end") else row for row in rows_[3]]
    assert found[0] == found[1]
    assert [row["queue"] for row in found[0][0]] == [None if speaker == "C" else "q"] * 3
    assert [row["transaction"] for row in found[0][0]] == [1 if speaker == "C" else None] * 3
    assert ("exhausted" in [row["event"] for row in found[0][3]]) == (speaker == "S" and credit == 2)


def test_a_capture_that_begins_between_attach_and_attached_has_the_session_from_attached_on() -> None:
    one = Told("CS", attach=False)
    one.control("S", Attached(b"s"))
    one.finish()
    assert one.columns("sessions", "session", "channel", "ts", "attached_at", "ended_at") == [("s", 1, 10, 10, 20)]


def test_a_control_on_a_channel_without_a_session_begins_none() -> None:
    one = Told("CS", attach=False)
    one.control("S", Completed(ids((0, 5))), Detached(b"s"), Timeout(300))
    one.finish()
    assert not one.rows.by_table["sessions"]


@pytest.mark.parametrize(
    ("late", "doubt", "demarcation"),
    [("", ((), (), 0), "none"), ("C", ((), None, None), None), ("S", (None, (), None), "none"), ("CS", (None,) * 3, None)],
)
def test_a_session_cannot_tell_what_is_in_doubt_of_one_side_where_octets_of_the_other_are_missing(
    late: str, doubt: tuple[object, object, object], demarcation: str | None
) -> None:
    """The other side answers; and where octets of the client are missing, it may have selected transactions."""
    one = Told(late)
    one.finish()
    doubts = "in_doubt_by_client", "in_doubt_by_server", "in_doubt"
    assert one.columns("sessions", *doubts, "demarcation") == [(*doubt, demarcation)]


def test_after_each_gap_in_what_the_server_said_the_answers_to_earlier_commands_are_unknown() -> None:
    one = Told()
    for _ in range(2):
        one.say("C", tx.Select(), Query("q"))
        one.lost("S")
    one.say("C", Query("q"))
    one.completed("S", 1, 3, 4)
    one.finish()
    assert one.columns("commands", "command_id", "outcome") == [
        (0, "unknown"), (1, "unknown"), (2, "unknown"), (3, "unknown"), (4, "completed"),
    ]  # fmt: skip


XID = Xid(7, b"\1\2", b"b")
EXPLICIT = Transfer("d", 0, 0)


def test_what_a_client_publishes_and_accepts_within_a_branch_is_counted_there() -> None:
    one = Told()
    assert one.say("C", dtx.Select(), dtx.Start(XID)) == [False, False]
    one.say("S", Result(1, dtx.XaResult(0)))
    assert one.say("S", EXPLICIT, EXPLICIT) == [True, True]
    one.say("C", EXPLICIT, EXPLICIT, Accept(ids((1, 1))), dtx.End(XID), Accept(ids((2, 2))), EXPLICIT)
    one.completed("C", 0, 1, 2)
    one.completed("S", *range(8))
    one.finish()
    assert one.columns("dtx", "xid", "status", "outcome", "transfers", "accepts") == [("7:0102:62", "ok", "active", 2, 1)]
    assert sorted(one.columns("messages", "direction", "transfer_id", "xid", "settled_xid", "body_octets"), key=str) == [
        ("C", 2, "7:0102:62", None, 4), ("C", 3, "7:0102:62", None, 4), ("C", 7, None, None, 4),
        ("S", 1, None, "7:0102:62", 4), ("S", 2, None, None, 4),
    ]  # fmt: skip
    assert one.columns("sessions", "demarcation") == [("dtx",)]


@pytest.mark.parametrize(("status", "xid"), [(0, "7:0102:62"), (2, None), (None, "7:0102:62")])
def test_what_a_client_publishes_after_the_broker_failed_to_start_a_branch_is_in_none(
    status: int | None, xid: str | None
) -> None:
    """Status 2 is XA_RBTIMEOUT; a result without a status means that all is well."""
    one = Told()
    one.say("C", dtx.Select(), dtx.Start(XID))
    one.say("S", Result(1, dtx.XaResult(status)))
    one.say("C", EXPLICIT)
    one.finish()
    assert one.columns("messages", "xid") == [(xid,)]
    assert one.columns("dtx", "transfers") == [(int(xid is not None),)]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_accepts_in_a_capture_that_may_lack_the_select_wait_for_a_first_commit(
    monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    """Those of them that wait are bounded; beyond it they count as sent outside of a transaction."""
    monkeypatch.setattr(module, "DOUBTED", 2)
    count = 2 + more
    one = Told("CS", attach=False)
    one.say("S", *[EXPLICIT] * count)
    one.completed("C", *range(count))
    one.say("C", *[Accept(ids((id, id))) for id in range(count)], tx.Commit())
    accepted = [10 * (count + 2 + id) for id in range(count)]
    one.completed("S", count)
    one.finish()
    settled = accepted if more > 0 else [one.time - 10] * count
    number = None if more > 0 else 1
    assert one.columns("messages", "outcome", "accepted_at", "settled_at", "settled_transaction") == [
        ("accepted", *times, number) for times in zip(accepted, settled, strict=True)
    ]
    assert one.columns("transactions", "outcome", "accepts") == [("committed", 0 if more > 0 else count)]
    assert one.columns("sessions", "demarcation") == [("tx",)]


def test_an_octet_has_the_time_of_its_packet_and_one_that_is_not_captured_that_of_the_last() -> None:
    marks = PacketIndex()
    marks.add(10, 1, 100)
    marks.add(20, 2, 200)
    assert [time_of(marks, end) for end in (1, 10, 11, 20, 21, 99)] == [100, 100, 200, 200, 200, 200]


def test_a_browsed_message_is_held_from_the_result_of_its_acquire_on() -> None:
    one = Told()
    one.say("S", Transfer("d", 0, 1), Transfer("d", 0, 1), EXPLICIT)
    one.say("C", Acquire(ids((0, 2))))
    one.say("S", Result(0, Acquired(ids((0, 0), (2, 2)))))
    one.finish()
    assert one.columns("messages", "transfer_id", "acquired_at") == [(0, 60), (1, None), (2, 40)]
    assert one.columns("sessions", "in_doubt_by_server") == [(((0, 0), (2, 2)),)]


def seen(id: int, command: Command) -> CommandSeen:
    return CommandSeen(1, b"s", id, command.VERB, command, False, b"1234", None, None)


def test_rows_hold_results_and_counts_of_commands() -> None:
    rows = Rows()
    one = session(rows, ByHand())
    known = KnownCommand(1, Transfer("in", 0, 0), False, PAYLOAD)
    one.transfers("C", 0, True, [(known, 5, 7, b"b", 0, 9, NOTHING, b"i" * 16)] * 2, [(100, 101, 102, 0)] * 2, True)
    one.command("C", seen(2, Query("q")), When(110, 110, 0, 0, 0))
    one.command("S", seen(0, Result(2, QueueQueryResult("q"))), When(120, 120, 0, 0, 0))
    one.command("S", seen(1, Accept(ids((0, 1)))), When(130, 130, 0, 0, 0))
    one.completed("S", ids((0, 2)), 140)
    one.finish("connection", 500)
    (query,) = [row for row in named(rows, "commands") if row["verb"] == "queue.query"]
    assert (query["result_at"], query["result"]) == (120, '{"struct":"queue.queue-query-result","queue":"q"}')
    assert [(row["commands_by_client"], row["commands_by_server"]) for row in named(rows, "sessions")] == [(3, 2)]
    messages = named(rows, "messages")
    assert [(row["outcome"], row["settled_at"]) for row in messages] == [("accepted", 130)] * 2  # the server's word is final
    assert [row["accepts"] for row in named(rows, "transactions")] == [0]


def test_it_writes_the_commands_that_sessions_have(monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(DATA / "captures" / "hello.pcap")
    known = [(row["direction"], row["verb"], row["octets"]) for row in tables_of(path)["commands"]]

    class Plain(History):
        def transfers(self, run: object, marks: object) -> None:
            raise AssertionError("the first transfer of each kind is heard alone, and there is no second one")

        def answered(self, answer: object, marks: object, time: int, file: int, offset: int) -> None:
            """Not a command."""

    monkeypatch.setitem(HISTORIES, "sessions", Plain)
    tables = tables_of(path)
    found = [(row["direction"], row["verb"], row["octets"]) for row in tables["commands"]]
    assert set(found) <= set(known)
    assert len(found) >= len(known) - 1
    (connection,) = tables["connections"]  # which of them are messages, only the family can tell
    assert (connection["transfers_by_client"], connection["transfers_by_server"]) == (0, 0)


def test_frames_that_are_asked_for_have_rows_without_a_hole() -> None:
    tables = tables_of(str(DATA / "captures" / "hello.pcap"), ReplayOptions(tables=("connections", "frames")))
    (connection,) = tables["connections"]
    for speaker, count in (("C", "frames_by_client"), ("S", "frames_by_server")):
        rows = [row for row in tables["frames"] if row["direction"] == speaker]
        assert len(rows) == connection[count]
        at = SIZE  # behind the protocol header
        for row in rows:
            assert row["stream_offset"] == at
            assert isinstance(row["octets"], int)
            at += row["octets"]


def test_a_method_is_a_row_and_no_message_unless_its_family_says_so() -> None:
    rows = Rows()
    said = MethodSeen(1, "basic.999", None, b"1234", None, None, None)
    history = History(flow(), rows, ReplayOptions(), {"C": False, "S": False})
    marks = PacketIndex()
    marks.add(112, 7, 200)
    assert history.method(LocatedEvent(7, 200, "C", said, 100, 112), said, marks) is False
    (row,) = named(rows, "commands")
    assert (row["verb"], row["arguments"], row["octets"], row["outcome"]) == ("basic.999", None, 4, "unknown")
    assert row["whole"] is False
