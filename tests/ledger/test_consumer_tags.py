"""Consumers by their tags: who may be delivered to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.families.channels import ONE, Said, broken, content, frame, observe, opening
from tests.steps import assert_linear

from amqp_sansio.ledger.consumer_tags import MOST, ConsumerTags, Leaving

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


def test_changes_counts_each_change_of_the_holder_of_a_tag() -> None:
    """What somebody knows of a consumer holds as long as `changes` does."""
    book, seen = ConsumerTags(False), [0]
    for change in (
        lambda: book.consume(A, True, waits=False),
        lambda: book.cancel(A, waits=False),
        lambda: book.consume(A, True, waits=False),
        lambda: book.drop(A),
        lambda: book.consume(A, True, waits=False),
        lambda: book.cancelled(A),
    ):
        change()
        assert book.changes > seen[-1]
        seen.append(book.changes)


def test_beyond_the_bound_of_cancelled_ones_any_may_exist() -> None:
    book = ConsumerTags(False)
    for name in ("a", "b"):
        book.consume(("basic", name), True, waits=False)
        book.cancel(("basic", name), waits=False)
    book.bound_leaving(2)
    assert (len(book), book.unnamed) == (2, False)
    book.bound_leaving(1)
    assert (len(book), book.unnamed, book.settled(("basic", "a")), book.settled(("basic", "b"))) == (1, True, None, True)


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


def test_of_two_alike_without_a_name_one_still_waits_when_the_other_has_its_tag() -> None:
    book = ConsumerTags(False)
    for _ in range(2):
        book.consume(("basic", ""), False, waits=True)
    book.started(("basic", "first"), named=False, settled=False)
    assert (book.settled(("basic", "any")), book.held) == (False, 2)


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


def test_an_answer_ends_its_cancel_and_those_before_it() -> None:
    leaving = Leaving()
    leaving.cancel(True, waits=False)
    leaving.cancel(False, waits=True)
    leaving.cancel(True, waits=True)
    assert (leaving.consumers, leaving.settled) == (2, True)  # 2 or more
    assert not leaving.answered()
    assert (leaving.consumers, leaving.settled) == (1, True)
    assert leaving.answered()
    assert (leaving.consumers, leaving.settled) == (0, None)


def test_of_cancels_without_an_answer_the_last_is_kept() -> None:
    leaving = Leaving()
    for _ in range(1000):
        leaving.cancel(False, waits=False)
    leaving.cancel(None, waits=False)
    assert leaving.consumers == 1
    leaving.revoke()  # there were more, and which of them the server cancels nobody knows
    assert leaving.settled is False


def test_what_the_server_cancels_is_gone() -> None:
    leaving = Leaving()
    leaving.cancel(False, waits=True)
    leaving.revoke()
    assert leaving.settled is None
    assert leaving.answered()


def test_what_the_server_cancels_leaves_the_answers_that_the_client_waits_for() -> None:
    leaving = Leaving()
    leaving.cancel(False, waits=True)
    leaving.cancel(None, waits=True)
    leaving.revoke()
    assert [leaving.answered(), leaving.answered()] == [False, True]


@pytest.mark.parametrize("first", [True, False])
def test_cancels_beyond_the_most_share_one_entry_which_must_be_settled_if_any_of_them_must(first: bool) -> None:
    leaving, settled = Leaving(), [first is (number < MOST + 5) for number in range(3 * MOST)]
    for each in settled:
        leaving.cancel(each, waits=True)
    assert len(leaving._cancels) <= MOST
    found = []
    for _ in settled[1:]:
        assert not leaving.answered()
        found.append(leaving.settled)
    assert found == [first and number < MOST - 2 for number in range(3 * MOST - 1)]
    assert leaving.answered()


def test_cancels_of_no_consumer_are_answered_one_by_one_and_cost_nothing() -> None:
    leaving = Leaving()
    leaving.cancel(True, waits=False)
    for _ in range(1000):
        leaving.cancel(None, waits=True)
    leaving.cancel(None, waits=False)
    leaving.cancel(False, waits=False)
    assert len(leaving._cancels) == 3
    assert [leaving.answered() for _ in range(1000)] == [False] * 1000
    assert leaving.settled is False


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("C:consume C:cancel S:cancel S:cancel-ok", ""),
        ("C:consume C:cancel S:cancel S:deliver", "S basic.deliver.consumer-tag"),
        ("S:cancel", "S basic.cancel.consumer-tag"),
        ("C:consume S:cancel S:cancel", "S basic.cancel.consumer-tag"),
        ("C:consume S:cancel S:consume-ok S:deliver", "S basic.deliver.consumer-tag"),
        ("C:cancel C:consume+ C:cancel+ S:cancel-ok S:deliver", ""),
        ("C:consume+ C:cancel C:consume+ S:cancel C:consume", ""),
        ("C:consume+ C:cancel C:consume+ S:cancel S:cancel-ok S:deliver", ""),
    ],
)
def test_cancels_that_cross(words: str, wrong: str) -> None:
    said: list[Said] = []
    for word in words.split():
        verb = f"basic.{word[2:].rstrip('+')}"
        if verb == "basic.deliver":
            octets = frame(ONE, verb, consumer_tag="t", delivery_tag=1) + content()
        elif verb.endswith("-ok"):
            octets = frame(ONE, verb, consumer_tag="t")
        else:
            octets = frame(ONE, verb, consumer_tag="t", no_wait=word.endswith("+") or word[0] == "S")
        said.append(("C" if word[0] == "C" else "S", octets))
    assert broken(observe([*opening(ONE, able=("consumer_cancel_notify",)), *said])) == ([wrong] if wrong else [])
