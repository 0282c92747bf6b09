"""Messages as they come, numbered."""

from __future__ import annotations

from tests.broker.model.things import message

from amqp_sansio.broker.model.intake import Intake


def test_messages_are_numbered_from_one() -> None:
    intake = Intake()
    envelope = message("k").envelope
    assert [intake.made(envelope, b"").number for _ in range(3)] == [1, 2, 3]
    assert Intake(last=7).made(envelope, b"").number == 8


def test_a_ttl_begins_when_the_message_comes() -> None:
    made = Intake().made(message("k", ttl=1500).envelope, b"", 10.0, 3)
    assert (made.expires, made.arrived, made.publisher) == (11.5, 10.0, 3)
    assert Intake().made(message("k").envelope, b"", 10.0).expires is None


def test_what_was_stored_comes_back() -> None:
    stored = message("k", b"body", priority=3, delivery_mode=2, user_id=b"u")
    intake = Intake()
    again = intake.restored(9, stored.envelope.form.envelope(stored.header, False), stored.body, 5.0)
    assert again.envelope == stored.envelope
    assert (again.number, again.body, again.expires) == (9, b"body", 5.0)
    assert intake.made(again.envelope, b"").number == 10


def test_a_copy_has_a_number_of_its_own() -> None:
    intake = Intake()
    first = intake.made(message("k").envelope, b"body")
    copy = intake.copy(first)
    assert (copy.number, copy.envelope, copy.body) == (2, first.envelope, b"body")
