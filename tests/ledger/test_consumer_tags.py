"""Consumers by their tags: who may be delivered to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.steps import assert_linear

from amqp_sansio.ledger.consumer_tags import ConsumerTags

A = ("basic", "a")


def test_a_consumer_lives_from_its_consume_to_the_answer_of_its_cancel() -> None:
    book = ConsumerTags(False)
    assert book.settled(A) is None
    book.consume(A, True, waits=True)
    assert (book.settled(A), book.taken(A), len(book), book.tags) == (True, True, 1, (A,))
    book.started(A, named=True, settled=True)
    assert book.cancel(A, waits=True)
    assert (book.settled(A), book.taken(A)) == (True, False)
    book.left(A)
    assert (book.settled(A), len(book)) == (None, 0)


def test_the_first_message_may_come_before_the_name_that_the_server_gives() -> None:
    book = ConsumerTags(False)
    book.consume(("basic", ""), False, waits=True)
    assert book.settled(("basic", "given")) is False
    assert book.settled(("file", "given")) is None
    book.started(("basic", "given"), named=False, settled=False)
    assert (book.settled(("basic", "given")), book.settled(("basic", "other"))) == (False, None)


def test_the_server_may_name_one_and_tell_nobody() -> None:
    book = ConsumerTags(False)
    book.consume(("basic", ""), False, waits=False)
    assert book.unnamed
    assert book.cancelled(("basic", "anybody"))


def test_a_cancel_of_the_server_may_cross_one_of_the_client() -> None:
    book = ConsumerTags(False)
    assert not book.cancelled(A)
    book.consume(A, False, waits=True)
    book.cancel(A, waits=True)
    book.consume(A, True, waits=True)
    assert book.cancelled(A)  # of which of the two, nobody knows
    assert not book.taken(A)
    book.cancel(A, waits=False)
    book.consume(A, True, waits=True)
    assert book.taken(A)


@pytest.mark.parametrize("more", [0, 1])
def test_at_the_bound_the_oldest_goes_and_there_may_be_any(more: int) -> None:
    book, tags = ConsumerTags(False), [("basic", str(number)) for number in range(2 + more)]
    for key in tags:
        book.consume(key, True, waits=True)
    assert (book.bound(2), book.unnamed, book.tags) == (bool(more), bool(more), tuple(tags[more:]))


def test_those_that_are_cancelled_or_have_no_name_yet_go_when_no_others_are_left() -> None:
    book = ConsumerTags(False)
    book.consume(A, True, waits=True)
    book.cancel(A, waits=True)
    book.consume(("basic", ""), True, waits=True)
    assert [(book.bound(most), len(book), book.settled(A)) for most in (1, 0)] == [(True, 1, True), (True, 0, None)]


def test_of_several_without_a_name_the_oldest_of_a_class_is_the_first_to_get() -> None:
    book = ConsumerTags(False)
    for of, settled in [("file", True), ("basic", False), ("basic", True), ("basic", False)]:
        book.consume((of, ""), settled, waits=True)
    found = [book.settled(("basic", "any"))]
    for number, settled in enumerate([False, False, True]):
        book.started(("basic", str(number)), named=False, settled=settled)
        found.append(book.settled(("basic", "any")))
    assert found == [False, True, True, None]
    assert (book.settled(("file", "any")), len(book)) == (True, 4)
    assert [book.bound(0) for _ in range(5)] == [True, True, True, True, False]


# Whoever asks for many without a name, and delivers to nobody or answers others first, makes linear cost.
@pytest.mark.parametrize("answered", [False, True])
def test_many_without_a_name_cost_linear(answered: bool) -> None:
    def work(count: int) -> Callable[[], object]:
        book = ConsumerTags(False)

        def run() -> None:
            for of in ("file", "basic"):
                for _ in range(count):
                    book.consume((of, ""), False, waits=True)
            for number in range(count):
                book.settled(("stream", "any"))
                book.settled(("basic", "any"))
                if answered:
                    book.started(("basic", str(number)), named=False, settled=False)

        return run

    assert_linear(work, 300)


# A client that cancels one tag again and again, while the server answers none of it and delivers or cancels, makes linear cost.
@pytest.mark.parametrize("consumes", [False, True])
def test_many_cancels_of_one_tag_cost_linear(consumes: bool) -> None:
    def work(count: int) -> Callable[[], object]:
        book = ConsumerTags(False)

        def run() -> None:
            for _ in range(count):
                if consumes:
                    book.consume(A, False, waits=True)
                book.cancel(A, waits=True)
            for _ in range(count):
                book.settled(A)
                book.cancelled(A)

        return run

    assert_linear(work, 300)
