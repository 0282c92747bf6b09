from __future__ import annotations

from uuid import UUID

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.captures.replay.made import message

from amqp_sansio.captures.columns.messages import Shared, message_batch, transfer_batch, uuids
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.replay.rows import COMPLETE, Rows
from amqp_sansio.captures.tables import COMMANDS, MESSAGES

COMMON = "file", "broker", 7


@given(st.lists(st.none() | st.binary(min_size=16, max_size=16), max_size=20))
def test_ids_are_written_as_the_library_writes_them(ids: list[bytes | None]) -> None:
    assert uuids(ids).to_pylist() == [None if each is None else str(UUID(bytes=each)) for each in ids]


@given(st.lists(st.integers(0, 5), min_size=1))
def test_a_column_of_shared_things_has_a_value_for_every_row(numbers: list[int]) -> None:
    things = [(f"thing {number}",) for number in range(6)]
    shared = Shared([things[number] for number in numbers])
    assert shared.column(lambda thing: thing[0], table_schema(MESSAGES).field("session").type).to_pylist() == [
        f"thing {number}" for number in numbers
    ]


def test_batches_have_the_schemas_of_their_tables_and_fates_where_there_are_any() -> None:
    one, other = message(1), message(2)
    other.fated().rejected = 13_999
    other.fated().code = 5
    other.settle("rejected", 90)
    for each in (one, other):
        each.completed = 120
        each.conclude(Rows(), COMPLETE)
    found = message_batch(COMMON, [one, other])
    assert found.schema == table_schema(MESSAGES)
    assert transfer_batch(COMMON, [one, other]).schema == table_schema(COMMANDS)
    assert found.column("rejected_at").cast(pa.int64()).to_pylist() == [None, 13]
    assert found.column("reject_code").to_pylist() == [None, 5]
    assert found.column("settle_latency_ns").to_pylist() == [None, None], "it was settled before it was seen: no latency"
    assert message_batch(COMMON, [one]).column("rejected_at").null_count == 1
