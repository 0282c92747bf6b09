"""What a peer can make files and streams cost: twice the words, at most 2.2 times the steps, whatever it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

import pytest
from tests.steps import assert_linear

from amqp_sansio.engine.contents import Contents
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec import file, stream
from amqp_sansio.spec.base import Command

CLIENT: Final = "client"
SERVER: Final = "server"
Word: TypeAlias = tuple[str, Command] | RangeSet
"""Who says what; or what the server has heard that the client completed."""
Attack: TypeAlias = tuple[list[Word], list[Word]]


def consumers(n: int) -> Iterator[Word]:
    for number in range(n):
        yield CLIENT, file.Consume("q", f"t{number}", nowait=True)


def delivered(n: int) -> Iterator[Word]:
    yield CLIENT, file.Consume("q", "t", nowait=True)
    for number in range(n):
        yield SERVER, file.Open(f"f{number}", 1)
        yield CLIENT, file.OpenOk(0)
        yield SERVER, file.Stage()
        yield SERVER, file.Deliver("t", number + 1, False, "", "q", f"f{number}")


def acked(n: int, tags: Iterable[int], multiple: bool = False) -> Attack:
    return [*delivered(n)], [(CLIENT, file.Ack(tag, multiple)) for tag in tags]


def staged_and_left(n: int) -> Iterator[Word]:
    for number in range(n):
        yield CLIENT, file.Open(f"f{number}", 1)
        yield SERVER, file.OpenOk(0)
        yield CLIENT, file.Stage()


def again_and_again(n: int) -> Iterator[Word]:
    for _ in range(n):
        yield CLIENT, file.Open("f", 1)
        yield SERVER, file.OpenOk(0)
        yield CLIENT, file.Stage()
        yield CLIENT, file.Publish("", "q", False, False, "f")


def streams(n: int) -> Iterator[Word]:
    for number in range(n):
        yield CLIENT, stream.Consume("q", f"t{number}", nowait=True)
    for number in reversed(range(n)):
        yield SERVER, stream.Deliver(f"t{number}", number + 1)
        yield CLIENT, stream.Cancel(f"t{number}")


ALL: Final[Word] = (CLIENT, file.Ack(0, True))
SHAPES: Final[dict[str, Callable[[int], Attack]]] = {
    "consumers": lambda n: ([], [*consumers(n)]),
    "consumers, cancelled from the last on": lambda n: (
        [*consumers(n)], [(CLIENT, file.Cancel(f"t{number}")) for number in reversed(range(n))],
    ),
    "deliveries": lambda n: ([], [*delivered(n)]),
    "deliveries acknowledged from the first on": lambda n: acked(n, range(1, n + 1)),
    "deliveries acknowledged from the last on": lambda n: acked(n, range(n, 0, -1)),
    "deliveries acknowledged up to each": lambda n: acked(n, range(1, n + 1), True),
    "deliveries that are not there acknowledged": lambda n: acked(n, range(n + 1, 2 * n + 1)),
    "all acknowledged, again and again": lambda n: ([*delivered(n)], [ALL] * n),
    "every second completed": lambda n: ([*delivered(n)], [RangeSet.of(4 * number) for number in range(1, n, 2)]),
    "staged and never used": lambda n: ([], [*staged_and_left(n)]),
    "one name, again and again": lambda n: ([*staged_and_left(n)], [*again_and_again(n)]),
    "streams": lambda n: ([], [*streams(n)]),
}  # fmt: skip
"""What is said before, and what is counted."""


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("late", [False, True])
def test_twice_the_words_cost_twice_the_steps(name: str, late: bool) -> None:
    def prepared(size: int) -> Callable[[], object]:
        before, words = SHAPES[name](size)
        contents = Contents(Limits(), SERVER, late)
        say(contents, before, 0)
        return lambda: say(contents, words, len(before))

    assert_linear(prepared, 100)


def say(contents: Contents, words: Iterable[Word], first: int) -> None:
    """Says what is legal of it."""
    for id, word in enumerate(words, first):
        if isinstance(word, RangeSet):
            contents.completed(CLIENT, word)
            continue
        speaker, command = word
        with_header = isinstance(command, file.Stage | stream.Deliver)
        if contents.check(speaker, command, with_header, 1 if with_header else 0) is None:
            contents.step(speaker, command, id)
