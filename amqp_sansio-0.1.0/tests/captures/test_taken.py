"""What a stream remembers of the names that it has taken."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio.captures import taken as module
from amqp_sansio.captures.files import order
from amqp_sansio.captures.taken import Taken

NOTHING = {"last": "", "floor": "", "taken": ""}


def test_what_was_taken_stays_so_in_an_offset_and_whatever_its_ending_of_compression() -> None:
    taken = Taken(NOTHING)
    assert taken.without(["x1", "x2", "x10"]) == ["x1", "x2", "x10"]
    taken.add(["x1", "x10"], ["x1", "x2", "x10"])
    again = Taken({"last": "x10", **taken.told()})
    assert again.without(["x1.gz", "x2", "x10.zst", "x11"]) == ["x2", "x11"]
    assert "\udcff" not in again  # a name that is no UTF-8


def test_an_offset_of_before_tells_the_last_name_only() -> None:
    assert Taken({"last": "x2"}).without(["x1", "x2", "x3"]) == ["x3"]
    assert Taken({"last": ""}).without(["x1"]) == ["x1"]


@pytest.mark.parametrize("deletes", [False, True])
def test_names_are_bounded_and_none_is_taken_twice(monkeypatch: pytest.MonkeyPatch, deletes: bool) -> None:
    """What is older than all that is remembered counts as taken, also in a folder whose old files go."""
    monkeypatch.setattr(module, "TAKEN_NAMES", 8)
    offset: dict[str, Any] = NOTHING
    for number in range(10, 60):
        taken = Taken(offset)
        there = [f"x{each}" for each in range(number - 2 if deletes else 10, number + 1)]
        new = f"x{number}"
        assert (taken.without([new])) == [new]
        taken.add([new], there)
        offset = {"last": new, **taken.told()}
        assert len(offset["taken"]) <= 8 * 8
        every = [f"x{each}" for each in range(10, number + 1)]
        assert Taken(offset).without(sorted(every, key=order)) == []
    assert Taken(offset).without(["x1", "x59a"]) == ["x59a"]
