"""A line keeps entries by position."""

from __future__ import annotations

import random
from operator import attrgetter

import pytest
from tests.broker.model.things import message

from amqp_sansio.broker.model.block_list import BLOCK, Line
from amqp_sansio.broker.model.entry import AVAILABLE, Entry
from amqp_sansio.broker.model.queue import Queue

QUEUE = Queue("q")
SENT = message()


def entries(count: int) -> list[Entry]:
    return [Entry(QUEUE, SENT, position, AVAILABLE) for position in range(count)]


def test_an_empty_line() -> None:
    line = Line()
    assert not line
    assert (line.head, line.after(-1), list(line)) == (None, None, [])


@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK])
def test_what_is_appended_comes_in_order(count: int) -> None:
    line, all_of_them = Line(), entries(count)
    for entry in all_of_them:
        line.append(entry)
    assert list(line) == all_of_them
    for entry in all_of_them:
        assert line.head is entry
        line.remove(entry)
    assert not line


def test_what_is_put_back_in_any_order_comes_in_order() -> None:
    line, all_of_them = Line(), entries(5 * BLOCK)
    shuffled = all_of_them[:]
    random.Random(1).shuffle(shuffled)
    for entry in shuffled:
        line.insert(entry)
    assert list(line) == all_of_them
    for entry in shuffled[: 4 * BLOCK]:
        line.remove(entry)
    left = sorted(shuffled[4 * BLOCK :], key=lambda entry: entry.position)
    assert list(line) == left
    assert line.head is left[0]


def test_what_comes_after_a_position() -> None:
    line, all_of_them = Line(), entries(3 * BLOCK)
    for entry in all_of_them[::2]:
        line.append(entry)
    for position in range(-1, 3 * BLOCK - 2):
        found = line.after(position)
        assert found is not None
        assert found.position == position + 2 - position % 2
    assert line.after(3 * BLOCK - 2) is None


def test_a_line_by_another_number() -> None:
    line, all_of_them = Line(attrgetter("released")), entries(3 * BLOCK)
    for entry in all_of_them:
        entry.released = 5 * BLOCK - entry.position
        line.insert(entry)
    assert list(line) == all_of_them[::-1]
    assert line.after(5 * BLOCK - 1) is all_of_them[0]
    for entry in all_of_them[1::2]:
        line.remove(entry)
    assert list(line) == all_of_them[::2][::-1]
