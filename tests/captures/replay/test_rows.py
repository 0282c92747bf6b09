from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.captures.replay import made
from tests.captures.replay.made import ids, message, named
from tests.wire import strategies

from amqp_sansio.captures.json_values import compact, fields, struct
from amqp_sansio.captures.replay import rows as module
from amqp_sansio.captures.replay.rows import (
    C_LAST,
    NOTHING,
    RESULT,
    Half,
    Rows,
    TransferKind,
    TransferRecord,
    fields_text,
    place,
    properties_of,
    struct_text,
    text_of,
)
from amqp_sansio.captures.tables import COMMANDS, COMMON, MESSAGES, TABLES
from amqp_sansio.kernel.serials import TOP
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.connection import StartOk
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.spec.values import UnknownStruct


def test_a_place_counts_without_the_common_columns() -> None:
    assert place(MESSAGES, "ts") == 0
    assert place(MESSAGES, "direction") == 1


def test_a_list_for_every_table() -> None:
    rows = Rows()
    assert [*rows.by_table, "messages"] == sorted([*TABLES], key=[*rows.by_table, "messages"].index)
    assert rows.commands is rows.by_table["commands"]


def test_rows_of_any_table_that_grows_with_the_traffic_fill_it() -> None:
    rows = Rows()
    assert not rows.full(1)
    rows.transfers.append(message())
    assert rows.full(1)
    assert not rows.full(2)


def test_the_row_of_the_command_goes_out_when_nobody_will_complete_it_any_more() -> None:
    rows, one = Rows(), message()
    one.conclude(rows, ("refused", 404, "no"))
    (command,) = named(rows, "commands")
    assert (command["verb"], command["completed_at"], command["complete_latency_ns"]) == ("message.transfer", None, None)
    assert (command["outcome"], command["octets"], command["arguments"]) == ("refused", 12, None)
    assert (command["error_code"], command["error_text"]) == (404, "no")
    assert rows.messages == []


def test_settling_fills_in_times_and_leaving_happens_once() -> None:
    rows, one = Rows(), message()
    one.settle("accepted", 90)  # captured the other way round
    one.leave(rows)
    one.leave(rows)
    (row,) = named(rows, "messages")
    assert (row["outcome"], row["settled_at"], row["settle_latency_ns"]) == ("accepted", 90, None)


def test_what_columns_want_and_the_last_of_a_kind_counts() -> None:
    first = DeliveryProperties(exchange="a", routing_key="k", delivery_mode=2, priority=3, ttl=9, redelivered=True)
    message = MessageProperties(message_id=UUID(int=5), correlation_id=b"\xff", content_type="text/plain")
    read, id = properties_of((first, message))
    assert read == ("a", "k", "0xff", "text/plain", 3, True, True, 9)
    assert id == UUID(int=5).bytes
    assert properties_of((first, DeliveryProperties()))[0] == (None, None, None, None, None, False, False, None)
    assert properties_of(()) == (NOTHING, None)


def command(id: int, awaits: bool = False) -> list[object]:
    row: list[object] = [None] * (len(COMMANDS.said) - len(COMMON))
    row[0], row[4], row[C_LAST], row[RESULT] = 100, id, 100, "" if awaits else None
    return row


def half(known: bool = True) -> tuple[Half, Rows]:
    rows = Rows()
    return Half(rows, known), rows


def accept(of: Half, low: int, high: int, transaction: int | None = None) -> list[TransferRecord]:
    return of.settle(ids((low, high)), "accepted", 200, transaction, None, None, None)


def test_a_message_goes_out_when_it_is_complete_and_settled_in_either_order() -> None:
    one, rows = half()
    for id in (1, 2):
        one.send(message(id))
    accept(one, 1, 1)
    one.completed(ids((1, 2)), 150)
    accept(one, 2, 2)
    assert [(row["transfer_id"], row["outcome"], row["completed_at"]) for row in named(rows, "messages")] == [
        (1, "accepted", 150),
        (2, "accepted", 150),
    ]
    assert one.doubtful() == ids()


def test_what_needs_no_accept_goes_out_when_complete_or_after_a_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE_MESSAGES", 1)
    one, rows = half()
    one.send(message(0, settled=True))
    for id in (1, 2, 3):
        one.send(message(id, fleeting=True))
    one.completed(ids((0, 3)), 150)
    assert [(row["transfer_id"], row["outcome"]) for row in named(rows, "messages")] == [
        (0, "completed"), (1, "completed"), (2, "completed"),
    ]  # fmt: skip
    accept(one, 3, 3)
    assert named(rows, "messages")[-1]["outcome"] == "accepted"


def test_a_command_waits_for_completion_and_its_result() -> None:
    one, rows = half()
    for id in (0, 1, 2):
        one.say(id, command(id, awaits=True))
    one.result(0, 120, "{}")
    assert one.completed(ids((0, 1)), 150) == [0, 1]
    assert [row["command_id"] for row in named(rows, "commands")] == [0]
    one.result(1, 160, "[]")
    one.refused(2, 404, "not found")
    found = named(rows, "commands")
    assert [(row["outcome"], row["result"], row["error_code"]) for row in found] == [
        ("completed", "{}", None), ("completed", "[]", None), ("refused", None, 404),
    ]  # fmt: skip
    assert one.doubtful() == ids()


def test_the_latency_of_a_command_is_null_where_the_clock_went_back() -> None:
    one, rows = half()
    for id, time in ((0, 150), (1, 100), (2, 99)):
        one.say(id, command(id))
        one.completed(ids((id, id)), time)
    assert [(row["completed_at"], row["complete_latency_ns"]) for row in named(rows, "commands")] == [
        (150, 50), (100, 0), (99, None),
    ]  # fmt: skip


def test_a_delivery_that_is_accepted_before_it_is_complete_is_not_in_doubt() -> None:
    one, _ = half()
    for id in (1, 2):
        sent = message(id)
        sent.acquired = 100
        one.send(sent)
    accept(one, 1, 1)
    assert one.doubtful() == ids((2, 2))


def test_a_message_that_is_refused_has_its_row_at_once() -> None:
    one, rows = half()
    one.send(message(1))
    one.refused(1, 404, "not found")
    for table in ("messages", "commands"):
        assert [row["outcome"] for row in named(rows, table)] == ["refused"]
    one.flush("open")
    assert len(rows.messages) == 1


def test_a_result_that_never_comes_is_none_in_the_row() -> None:
    one, rows = half()
    one.say(0, command(0, awaits=True))
    one.completed(ids((0, 0)), 150)
    one.flush("open")
    assert [(row["outcome"], row["result"]) for row in named(rows, "commands")] == [("completed", None)]


def test_what_was_accepted_in_a_transaction_waits_for_it() -> None:
    one, rows = half()
    for id in (1, 2, 3):
        one.send(message(id))
    one.completed(ids((1, 3)), 150)
    found = accept(one, 1, 3, transaction=1)
    assert rows.messages == []
    one.sealed(found[:1], 300)
    one.reopened(found[1:2], True)
    one.reopened(found[2:], False)
    one.flush("open")
    assert [(row["transfer_id"], row["outcome"], row["accepted_at"], row["settled_at"]) for row in named(rows, "messages")] == [
        (1, "accepted", 200, 300), (2, "open", None, None), (3, "open", 200, None),
    ]  # fmt: skip


def test_a_message_accepted_in_a_branch_is_settled_at_once_and_its_row_names_the_branch() -> None:
    one, rows = half()
    for id in (1, 2):
        one.send(message(id))
    one.completed(ids((1, 2)), 150)
    one.settle(ids((1, 1)), "accepted", 200, xid="7:01:62")
    one.settle(ids((2, 2)), "accepted", 200)
    columns = "transfer_id", "outcome", "settled_at", "settled_xid", "settled_transaction"
    assert [tuple([row[name] for name in columns]) for row in named(rows, "messages")] == [
        (1, "accepted", 200, "7:01:62", None), (2, "accepted", 200, None, None),
    ]  # fmt: skip


def test_what_is_open_at_the_end_is_in_doubt_and_nothing_is_where_octets_are_missing() -> None:
    one, rows = half()
    one.say(5, command(5, awaits=True))
    one.send(message(6, fleeting=True))
    one.send(message(None))
    one.completed(ids((6, 6)), 150)
    assert one.doubtful() == ids()
    one.known = False
    assert one.doubtful() is None
    one.flush("unknown")
    assert [row["outcome"] for row in named(rows, "messages")] == ["unknown", "completed"]
    assert sorted(str(row["outcome"]) for row in named(rows, "commands")) == ["completed", "unknown", "unknown"]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_open_messages_are_bounded(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    monkeypatch.setattr(module, "OPEN_MESSAGES", 10)
    one, rows = half()
    for id in range(10 + more):
        one.send(made.message(id))
    assert [(row["transfer_id"], row["outcome"]) for row in named(rows, "messages")] == [(0, "unknown")] * max(0, more)
    assert accept(one, 0, 0) == [] if more > 0 else True


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_messages_that_are_complete_and_not_settled_are_bounded_too(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    monkeypatch.setattr(module, "OPEN_MESSAGES", 10)
    one, rows = half()
    for id in range(10 + more):
        one.send(made.message(id))
        one.completed(ids((id, id)), 150)
    assert [(row["transfer_id"], row["outcome"]) for row in named(rows, "messages")] == [(0, "unknown")] * max(0, more)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_open_commands_are_bounded(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    monkeypatch.setattr(module, "OPEN_COMMANDS", 10)
    one, rows = half()
    for id in range(10 + more):
        one.say(id, command(id))
    assert len(rows.commands) == max(0, more)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_complete_commands_that_await_a_result_are_bounded(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    monkeypatch.setattr(module, "OPEN_COMMANDS", 10)
    one, rows = half()
    for id in range(10 + more):
        one.say(id, command(id, awaits=True))
        one.completed(ids((id, id)), 150)
    assert [row["command_id"] for row in named(rows, "commands")] == [0] * max(0, more)


@pytest.mark.parametrize("fleeting", [False, True])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_messages_that_have_left_are_in_doubt_until_somebody_answers_them(
    monkeypatch: pytest.MonkeyPatch, more: int, fleeting: bool
) -> None:
    """Their ids are bounded as ranges: beyond it nobody can say what is in doubt."""
    monkeypatch.setattr(module, "OPEN_MESSAGES", 1)
    monkeypatch.setattr(module, "RANGES", 10)
    one, _ = half()
    for id in range(0, 2 * (11 + more), 2):
        sent = message(id, fleeting=fleeting)
        sent.acquired = 1
        one.send(sent)
    if more > 0:
        assert one.doubtful() is None
        return
    assert one.doubtful() == ids(*[(id, id) for id in range(0, 2 * (11 + more), 2)])
    one.completed(ids((0, 3)), 150)
    if not fleeting:
        accept(one, 0, 3)
    assert one.doubtful() == ids(*[(id, id) for id in range(4, 2 * (11 + more), 2)])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.booleans()), max_size=6), st.integers(2, 20))
def test_many_messages_at_once_are_the_same_as_one_by_one(runs: list[tuple[int, int, bool]], room: int) -> None:
    """Of whatever ids, and also where there is no room for all of them."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "OPEN_MESSAGES", room)
        for at_once in (False, True):
            one, rows = half()
            next_ = TOP - 3
            for skipped, count, settled in runs:
                first = next_ + skipped
                sent = [message((first + number) & TOP, settled=settled) for number in range(count)]
                if at_once and first + count <= TOP:
                    one.send_all(sent, True)
                else:
                    for each in sent:
                        one.send(each)
                next_ = (first + count) & TOP
            held = list(one.incomplete), list(one.unsettled), one.doubtful()
            found.append((held, named(rows, "messages"), named(rows, "commands")))
    assert found[0] == found[1]


@pytest.mark.parametrize(("acquires", "outcomes"), [(False, ["completed"]), (True, [])])
def test_what_was_only_looked_at_is_over_after_a_grace(
    acquires: bool, outcomes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE_MESSAGES", 0)
    one, rows = half()
    kind = TransferKind("S", None, 1, None, None, True, acquires, False, True, 12)
    one.send(TransferRecord(kind, NOTHING, None, 1, 0, 0, 100, 100, 100, None, 0, 0))
    one.completed(ids((1, 1)), 150)
    assert [row["outcome"] for row in named(rows, "messages")] == outcomes


@pytest.mark.parametrize(
    ("octets", "text"),
    [(None, None), (b"", ""), (b"orders", "orders"), (b"\xff", "0xff"), (b"a\nb", "0x610a62"), (b"0x41", "0x30783431")],
)
def test_octets_are_text_where_they_can_be_and_never_taken_for_hex(octets: bytes | None, text: str | None) -> None:
    assert text_of(octets) == text


@pytest.mark.parametrize("kind", [*strategies.COMMANDS, *strategies.CODED])
@settings(max_examples=15)
@given(data=st.data(), secrets=st.booleans())
def test_fields_as_text_are_what_two_steps_make(kind: type[Any], data: st.DataObject, secrets: bool) -> None:
    """Of any command and any struct."""
    value = data.draw(strategies.things(kind))
    assert fields_text(value, secrets) == compact(fields(value, secrets))
    if isinstance(value, Struct):
        assert struct_text(value) == compact(struct(value))


def test_secrets_and_what_is_unknown_as_text() -> None:
    said = StartOk(None, "PLAIN", b"\0a\0hush", "en_US")
    assert fields_text(said, False) == compact(fields(said, False)) == '{"mechanism":"PLAIN","response":7,"locale":"en_US"}'
    unknown = UnknownStruct(4, 99, b"\x01")
    assert struct_text(unknown) == compact(struct(unknown))
