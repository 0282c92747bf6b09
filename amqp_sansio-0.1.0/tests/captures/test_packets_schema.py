"""The table of packets as words."""

from __future__ import annotations

import pytest

from amqp_sansio.captures.packets_schema import NAMES, PACKETS, ddl, picked


def test_the_columns_stand_in_their_order_once_each() -> None:
    assert len(set(NAMES)) == len(NAMES) == len(PACKETS)
    assert NAMES[:4] == ("capture", "file_id", "offset", "ts_ns")


def test_picked_columns_stand_in_the_order_of_the_table() -> None:
    assert [column.name for column in picked("payload, ts_ns")] == ["ts_ns", "payload"]
    assert picked(None) == picked(NAMES) == PACKETS


@pytest.mark.parametrize("words", ["nothing", "", "ts_ns,,payload", ()])
def test_a_column_that_is_none_is_refused(words: str | tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="there are capture, file_id"):
        picked(words)


def test_spark_gets_what_may_be_null() -> None:
    assert ddl(picked("ts_ns,note")) == "`ts_ns` bigint NOT NULL, `note` string"
