"""Files of a stream are named after their batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.spark.rows import violations

from amqp_sansio.captures.columns.store import MANIFEST
from amqp_sansio.spark import output
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.output import Output
from amqp_sansio.spark.place import Place
from amqp_sansio.spark.writer import Writer, Written


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is the number of its rows."""

    def write_tables(records: int, place: str, prefix: str) -> list[Written]:
        out = Writer(place, prefix)
        return [*out.add("violations", violations(records)), *out.rest()]

    monkeypatch.setattr(output, "write_tables", write_tables)


def place_in(folder: Path) -> Place:
    place = Place(str(folder))
    place.open()
    return place


def rows(place: Place) -> list[int]:
    return [file.rows for file in place.published()]


def frame(count: int) -> Any:
    return count


@pytest.mark.parametrize(("name", "number"), [("b00000012-0003.parquet", 12), ("open-0000.parquet", -1), ("b1.parquet", -1)])
def test_the_number_is_read_from_the_name(name: str, number: int) -> None:
    assert Output.number(name) == number


def test_a_batch_that_is_done_again_takes_its_own_place(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    first = Output(place)
    first(frame(3), 0)
    first(frame(4), 1)
    assert rows(place) == [3, 4]
    assert first.last == 1
    Output(place)(frame(5), 1)
    assert rows(place) == [3, 5]


def test_the_first_batch_after_a_start_takes_away_what_was_open_and_the_manifest(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    out = Writer(place.work, "part")
    place.adopt([*out.add("violations", violations(9)), *out.rest()], "open")
    place.write(MANIFEST, b"{}")
    stream = Output(place)
    stream(frame(3), 0)
    assert rows(place) == [3]
    assert place.read(MANIFEST) is None
    assert stream.batches == 1


def test_no_batch_begins_after_the_end(tmp_path: Path) -> None:
    stream = Output(place_in(tmp_path))
    stream.close()
    with pytest.raises(PipelineError, match="being stopped"):
        stream(frame(3), 0)
    assert rows(stream.place) == []
