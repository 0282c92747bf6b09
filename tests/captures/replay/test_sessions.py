"""The rows of commands: those of any family (tests/families/test_history.py has them through a capture), and of sessions."""

from __future__ import annotations

import pytest
from tests.captures.fake import FakeWitness
from tests.captures.packets import tables_of
from tests.captures.replay.books import ByHand
from tests.captures.replay.made import ids, named
from tests.kept.scene import DATA

from amqp_sansio.captures.conversation import Conversation, LocatedEvent, PacketIndex
from amqp_sansio.captures.flows import AmqpFlow
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.recorder import HISTORIES
from amqp_sansio.captures.replay.rows import NOTHING, Rows
from amqp_sansio.captures.replay.sessions import Attachment, History, SessionHistory, When
from amqp_sansio.captures.replay.state import _classes
from amqp_sansio.captures.replay.transactions import Branches, TransactionRecords
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.events.observed import CommandSeen, MethodSeen
from amqp_sansio.kernel.serials import TOP
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.execution import Result
from amqp_sansio.spec.message import Accept, Flow, Subscribe, Transfer
from amqp_sansio.spec.queue import Query, QueueQueryResult
from amqp_sansio.wire.framing import KnownCommand
from amqp_sansio.wire.segments import FRAME_HEADER_SIZE


def test_all_of_its_parts_are_in_snapshots() -> None:
    known = _classes()
    assert {SessionHistory, *SessionHistory.PARTS} <= set(known.values())


@pytest.mark.parametrize(("last", "content"), [(200, 100 + 2 * FRAME_HEADER_SIZE + 5), (101, 101)])
def test_a_message_has_the_time_of_the_first_octet_of_its_content(last: int, content: int) -> None:
    """Behind the command's frame and the head of the next one; in one packet it is that of the packet: there may be none."""
    conversation = Conversation(FakeWitness, lambda _, __: None)
    marks = conversation.marks("C")
    for octet in range(1, 201):  # each comes in a packet of its own
        marks.add(octet, octet, octet)
    talk = AmqpFlow(conversation, (b"\1" * 4, 1, b"\2" * 4, 2), False)
    history = SessionHistory(talk, Rows(), ReplayOptions(), {"C": False, "S": False})
    said = CommandSeen(1, b"s", 0, "message.transfer", Transfer("x", 1, 0), False, b"1234", None, b"body")
    assert history.command(LocatedEvent(7, last, "C", said, 100, 200), said, marks)
    message = history._sessions[1].client.incomplete[0]
    assert (message.first, message.content, message.last) == (101, content, last)


PAYLOAD = AMQP_0_10.codec.encode_command(Transfer("in", 0, 0), False)


def say(one: Attachment, books: ByHand, time: int, command: Command) -> None:
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
    found = [(row["direction"], row["verb"], row["octets"]) for row in tables_of(path)["commands"]]
    assert set(found) <= set(known)
    assert len(found) >= len(known) - 1


def test_a_method_is_a_row_and_no_message_unless_its_family_says_so() -> None:
    talk = AmqpFlow(Conversation(FakeWitness, lambda _, __: None), (b"\1" * 4, 1, b"\2" * 4, 2), False)
    rows = Rows()
    said = MethodSeen(1, "basic.999", None, b"1234", None, None, None)
    history = History(talk, rows, ReplayOptions(), {"C": False, "S": False})
    marks = PacketIndex()
    marks.add(112, 7, 200)
    assert history.method(LocatedEvent(7, 200, "C", said, 100, 112), said, marks) is False
    (row,) = named(rows, "commands")
    assert (row["verb"], row["arguments"], row["octets"], row["outcome"]) == ("basic.999", None, 4, "unknown")
    assert row["whole"] is False
