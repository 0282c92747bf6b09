"""A header segment, as the model asks for it."""

from __future__ import annotations

from uuid import UUID

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.model.message import NeutralProperties
from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, ReplyTo
from amqp_sansio.spec.values import Map
from amqp_sansio.wire.layouts.layout import decode_headers, encode_headers

DELIVERY = DeliveryProperties(False, False, True, 12, 2, 1500, 7, 8, "x", "k", "r", 9)
MESSAGE = MessageProperties(
    5, UUID(int=1), b"c", ReplyTo("e", "r"), "text/plain", "utf-8", b"me", b"app", Map((("a", 1), ("b", "two")))
)
SAID = NeutralProperties(
    "x", "k", True, 12, True, 1500, 7, 8, str(UUID(int=1)), b"c", ("e", "r"), "text/plain", "utf-8", b"me", b"app",
    Map((("a", 1), ("b", "two"))),
)  # fmt: skip


def test_properties_are_what_the_structs_say() -> None:
    assert FORM.properties(encode_headers([DELIVERY, MESSAGE])) == SAID
    assert FORM.properties(b"") == NeutralProperties()


def test_what_is_written_says_the_same_but_for_what_has_no_place() -> None:
    written = FORM.properties(FORM.written(SAID))
    assert written == attrs.evolve(SAID, priority=9)
    assert FORM.properties(FORM.written(NeutralProperties(message_id="no uuid", content_type="t"))) == NeutralProperties(
        content_type="t"
    )


def test_what_cannot_be_written_is_left_out() -> None:
    long = "x" * 256
    assert FORM.properties(FORM.written(NeutralProperties("x", "k", content_type=long))) == NeutralProperties("x", "k")
    assert FORM.properties(FORM.written(NeutralProperties(long, "k"))) == NeutralProperties()


texts = st.text(max_size=300)
numbers = st.none() | st.integers(-1, 2**65)


@given(
    st.builds(
        NeutralProperties, texts, texts, st.booleans(), numbers, st.booleans(), numbers, numbers, numbers, texts,
        st.none() | st.binary(max_size=70_000), st.none() | st.tuples(texts, texts), st.none() | texts, st.none() | texts,
        st.binary(max_size=300), st.none() | st.binary(max_size=300), st.dictionaries(texts, st.integers()).map(Map),
    )
)  # fmt: skip
def test_whatever_another_family_lets_come_is_written(said: NeutralProperties) -> None:
    """What the publisher of another family says never makes a form raise."""
    written = FORM.written(said)
    assert decode_headers(written, 0, len(written))


def test_a_header_that_cannot_be_read() -> None:
    broken = encode_headers([MessageProperties(application_headers={"a": "b"})])[:-1]
    for asked in (FORM.properties, FORM.headers):
        with pytest.raises(DecodeError):
            asked(broken)


def test_what_was_stored_says_what_came() -> None:
    envelope = FORM.envelope(encode_headers([DELIVERY, MESSAGE]), True)
    assert (envelope.form, envelope.exchange, envelope.routing_key, envelope.priority) == (FORM, "x", "k", 9)
    assert (envelope.persistent, envelope.redelivered, envelope.user_id, envelope.ttl) == (True, True, b"me", 1500)
    assert envelope.empty_body
