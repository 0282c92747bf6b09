"""A message shares what its header says with those that say the same."""

from __future__ import annotations

import pytest
from tests.broker.model.things import message

from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.model.message import Envelope, Intake, Message
from amqp_sansio.errors import HeaderError
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.wire.headers import decode_headers, encode_headers


def test_the_mark_changes_nothing_else() -> None:
    sent = message("k", b"body", "x", priority=7, user_id=b"me", application_headers={"a": 1}, content_type="t")
    plain = decode_headers(sent.header, 0, len(sent.header))
    marked = decode_headers(sent.redelivered_header, 0, len(sent.redelivered_header))
    assert isinstance(marked[0], DeliveryProperties)
    assert isinstance(plain[0], DeliveryProperties)
    assert (plain[0].redelivered, marked[0].redelivered) == (False, True)
    assert [v for f, v in zip(plain[0].FIELDS, plain[0].values(), strict=True) if f != "redelivered"] == [
        v for f, v in zip(marked[0].FIELDS, marked[0].values(), strict=True) if f != "redelivered"
    ]
    assert plain[1:] == marked[1:]
    assert len(sent.header) == len(sent.redelivered_header)
    assert sent.redelivered_header is sent.redelivered_header


def test_size_is_header_and_body() -> None:
    sent = message("k", b"body")
    assert sent.size == len(sent.header) + 4


def test_application_headers_are_read_when_asked_for() -> None:
    assert message(application_headers={"a": "b"}).application_headers == {"a": "b"}
    assert message().application_headers == {}
    assert message(content_type="x").application_headers == {}


def test_application_headers_that_cannot_be_read() -> None:
    header = encode_headers([MessageProperties(application_headers={"a": "b"})])[:-1] + b""
    broken = Message(1, Envelope(FORM, header), b"")
    with pytest.raises(HeaderError):
        broken.application_headers  # noqa: B018  # reading it is the point


def test_it_shows_no_content() -> None:
    assert "secret" not in repr(message("k", b"secret"))
    assert "octets" in repr(Envelope(FORM, b"secret"))
    assert "secret" not in repr(Envelope(FORM, b"secret"))


def test_what_its_header_says() -> None:
    sent = message("k", b"", "x", priority=9, delivery_mode=2, redelivered=True, user_id=b"me")
    assert (sent.routing_key, sent.exchange, sent.priority, sent.persistent, sent.redelivered, sent.user_id) == (
        "k", "x", 9, True, True, b"me",
    )  # fmt: skip


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
