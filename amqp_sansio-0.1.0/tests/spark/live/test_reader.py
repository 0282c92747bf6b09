"""Offsets, drains and what the progress tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.served import Served
from tests.spark.live.stage import ORDERS, InMemory, at_step, declare, send, source

from amqp_sansio.spark.live.errors import LiveSetupError
from amqp_sansio.spark.live.reader import Reader

BODIES = [b"order %d" % number for number in range(20)]


@pytest.fixture
def broker() -> Iterator[InMemory]:
    with Served() as served:
        declare(served.url, ORDERS)
        yield InMemory(served)


def test_a_drain_takes_what_was_there_and_ends(broker: InMemory, tmp_path: Path) -> None:
    """What comes after the drain began is left on its queue, however the segments fall."""
    send(broker.url, BODIES)
    reader = Reader(source(broker.url, tmp_path))
    reader.until_now()
    send(broker.url, [b"late"] * 5)
    offset, rows = reader.initial(), []
    while (following := reader.latest(offset)) != offset:
        rows.append(following["rows"] - offset["rows"])
        offset = following
    assert rows == [7, 7, 6]
    assert reader.latest(offset, everything=True) == offset
    reader.close()
    assert broker.served.depth(ORDERS) == 5


def test_a_drain_whose_messages_do_not_come_says_so(broker: InMemory, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    send(broker.url, [b"x" * 2000])
    reader = Reader(source(broker.url, tmp_path, prefetchOctets="1000", waitSeconds="0"))
    reader.until_now()
    assert reader.latest(reader.initial()) == reader.initial()
    reader.close()
    assert "1 messages are on orders and do not come" in caplog.text
    assert "prefetchOctets" in caplog.text
    assert broker.served.depth(ORDERS) == 1


def test_everything_is_several_segments_at_once(broker: InMemory, tmp_path: Path) -> None:
    send(broker.url, BODIES)
    reader = Reader(source(broker.url, tmp_path))
    start = reader.initial()
    assert reader.report() is None
    end = reader.latest(start, everything=True)
    assert (end["segment"], end["rows"]) == (3, 20)
    assert [number for number, _ in reader.between(start, end)] == [1, 2, 3]
    reader.commit(end)
    with pytest.raises(LiveSetupError, match="do not belong together"):
        reader.between(start, end)
    reader.close()


def test_a_segment_whose_commit_was_not_answered_is_handed_out(broker: InMemory, tmp_path: Path) -> None:
    send(broker.url, BODIES[:7])
    reader = Reader(source(broker.url, tmp_path), at_step("recorded", 1, broker.cut))
    reader.until_now()
    end = reader.latest(reader.initial())
    assert (end["segment"], end["rows"]) == (1, 7)
    assert reader.latest(end) == end
    assert reader.report() == {**end, "lag": 0, "in_doubt": 0, "mode": "exactly-once"}
    reader.close()


def test_a_checkpoint_has_one_spool(broker: InMemory, tmp_path: Path) -> None:
    one, two = Reader(source(broker.url, tmp_path / "one")), Reader(source(broker.url, tmp_path / "two"))
    with pytest.raises(LiveSetupError, match="is not the spool of this checkpoint"):
        one.latest(two.initial())
