"""What is published: prepared heads give the octets that the frames one by one give."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.families.channels import FAMILY

from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.methods.basic import Properties, Publish
from amqp_sansio.wire.method_codec import PROPERTIES_AT
from amqp_sansio.wire.method_frames import frame_content
from amqp_sansio.wire.publishing import Publishing

NAMES = st.sampled_from(["", "a", "é" * 100])
PROPERTIES = st.sampled_from(
    [Properties(), Properties(content_type="text", delivery_mode=2), Properties(headers={"x": [1, "two", None]}), Properties()]
)
MESSAGES = st.tuples(NAMES, NAMES, PROPERTIES, st.binary(max_size=40), st.booleans(), st.booleans(), st.integers(0, 2))


def written(write: Callable[[], list[bytes]]) -> bytes | str:
    try:
        return b"".join(write())
    except EncodeError as error:
        return str(error)


# Whatever is published in whatever order, its octets are those of the method, the header and the body written for it alone.
@given(st.sampled_from(FAMILY), st.lists(MESSAGES, max_size=12), st.sampled_from([1, 2, 256]), st.sampled_from([4096, 22 + 8]))
def test_a_prepared_head_is_the_head(dialect, said, most, largest) -> None:  # type: ignore[no-untyped-def]
    codec = dialect.codec
    writer = Publishing(codec, 7, largest, Limits(cached_commands=most))
    for exchange, key, properties, body, mandatory, immediate, ticket in said:
        method = codec.methods.encode(Publish(exchange, key, mandatory, immediate, ticket))
        octets = codec.write_header(60, 0, properties)[PROPERTIES_AT:]
        alone = partial(frame_content, 7, method, 60, octets, body, largest)
        assert written(partial(writer.write, exchange, key, properties, body, mandatory, immediate, ticket)) == written(alone)


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_heads_that_are_remembered(keys: int) -> None:
    writer = Publishing(FAMILY[0].codec, 1, 4096, Limits(cached_commands=2))
    for key in [str(number) for number in range(keys)]:
        head = writer.write("", key, Properties(), b"")[0]
        assert writer.write("", key, Properties(priority=1), b"")[0] is head
    again = writer.write("", "0", Properties(), b"")[0]
    assert (again is writer.write("", "0", Properties(), b"")[0]) is True
    assert writer.remembered == (keys if keys <= 2 else 2)


def test_what_cannot_be_written_is_named_and_nothing_is_remembered() -> None:
    writer = Publishing(FAMILY[0].codec, 1, 4096, DEFAULT_LIMITS)
    with pytest.raises(EncodeError, match=r"basic\.publish\.routing_key"):
        writer.write("", "k" * 256, Properties(), b"")
    with pytest.raises(EncodeError, match="header"):
        writer.write("", "", Properties(headers={"x": "y" * 5000}), b"")
    assert writer.remembered == 0


@pytest.mark.parametrize("octets", [0, 1, 21, 22, 23, 44, 45])
def test_a_body_is_split_where_a_frame_is_full(octets: int) -> None:
    codec, body = FAMILY[0].codec, bytes(octets)
    method, properties = codec.methods.encode(Publish()), codec.write_header(60, 0, Properties())[PROPERTIES_AT:]
    parts = Publishing(codec, 7, 30, DEFAULT_LIMITS).write("", "", Properties(), body)
    assert b"".join(parts) == b"".join(frame_content(7, method, 60, properties, body, 30))
