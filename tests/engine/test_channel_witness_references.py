"""References of 0-9's class message, as the observer follows them."""

from __future__ import annotations

import pytest
from tests.families.channels import NINE, broken, frame, notes, observe, opening

from amqp_sansio.engine.observed import Speaker
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import BodyContent


def said(*verbs: str, who: Speaker = "C", name: bytes = b"r") -> list[tuple[Speaker, bytes]]:
    """What a side says of one reference, each answered."""
    found: list[tuple[Speaker, bytes]] = []
    for verb in verbs:
        if verb == "transfer":
            found.append((who, frame(NINE, "message.transfer", body=BodyContent(name, True))))
        else:
            found.append((who, frame(NINE, f"message.{verb}", reference=name)))
        answer = "message.offset" if verb == "resume" else "message.ok"
        found.append(("S" if who == "C" else "C", frame(NINE, answer)))
    return found


@pytest.mark.parametrize("who", ["C", "S"])
@pytest.mark.parametrize(
    ("verbs", "rule"),
    [
        (("open", "append", "transfer", "checkpoint", "close", "resume", "append", "close"), ""),
        (("open", "open"), "message.open.reference.duplicate-reference"),
        (("open", "resume"), "message.resume.reference.non-existent-reference"),
        (("append",), "message.append.reference.non-existent-reference"),
        (("transfer",), "message.transfer.reference.non-existent-reference"),
        (("open", "close", "checkpoint"), "message.checkpoint.reference.non-existent-reference"),
        (("open", "close", "close"), "message.close.reference.non-existent-reference"),
    ],
)
def test_lives_of_a_reference(who: Speaker, verbs: tuple[str, ...], rule: str) -> None:
    found = observe([*opening(NINE), *said(*verbs, who=who)])
    assert broken(found) == ([f"{who} {rule}"] if rule else [])


def test_a_reference_belongs_to_the_side_and_channel_that_opened_it() -> None:
    other = said("append", who="S")
    assert broken(observe([*opening(NINE), *said("open"), *other])) == ["S message.append.reference.non-existent-reference"]
    again = ("C", frame(NINE, "message.open", 2, reference=b"r"))
    assert broken(observe([*opening(NINE, opens=2), *said("open"), ("C", again[1])])) == []


@pytest.mark.parametrize(("most", "told"), [(1, True), (2, False), (3, False)])
def test_references_that_are_followed(most: int, told: bool) -> None:
    """One more than are followed: nobody is accused of what nobody remembers."""
    both = [*said("open", name=b"a"), *said("open", name=b"b")]
    wrong = said("close", "close", name=b"b")
    found = observe([*opening(NINE), *both, *wrong], limits=Limits(subscriptions=most))
    assert ("limits.subscriptions" in notes(found)) is told
    assert broken(found) == ([] if told else ["C message.close.reference.non-existent-reference"])


# "A recipient MUST NOT acknowledge a message until its reference is closed": other answers pass it.
def test_the_answer_to_a_transfer_by_reference_may_come_last() -> None:
    words: list[tuple[Speaker, bytes]] = [
        ("C", frame(NINE, "message.open", reference=b"r")),
        ("C", frame(NINE, "message.transfer", body=BodyContent(b"r", True))),
        ("C", frame(NINE, "message.resume", reference=b"s")),
        ("C", frame(NINE, "message.get")),
        ("S", frame(NINE, "message.offset")),
        ("S", frame(NINE, "message.empty")),
        ("S", frame(NINE, "message.ok")),
        ("S", frame(NINE, "message.ok")),
    ]
    assert broken(observe([*opening(NINE), *words], strict=True)) == []
