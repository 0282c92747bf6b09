"""Consumers that were cancelled, and may still be delivered to."""

from __future__ import annotations

import pytest
from tests.families.channels import ONE, Said, broken, content, frame, observe, opening

from amqp_sansio.ledger.leaving import MOST, Leaving


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


def test_of_a_great_many_the_last_ones_leave_together_and_must_be_settled_where_they_differ() -> None:
    leaving, settled = Leaving(), [number < MOST + 5 for number in range(3 * MOST)]
    for each in settled:
        leaving.cancel(each, waits=True)
    assert len(leaving._cancels) <= MOST
    found = []
    for _ in settled[1:]:
        assert not leaving.answered()
        found.append(leaving.settled)
    assert found == [number < MOST - 2 for number in range(3 * MOST - 1)]
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
