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
FLAGS = st.sampled_from([b"\0\0", b"\x10\0\2", b"\x80\0\1x"])
MESSAGES = st.tuples(NAMES, NAMES, FLAGS, st.binary(max_size=40), st.booleans(), st.booleans(), st.integers(0, 2))


def written(write: Callable[[], list[bytes] | bytes]) -> bytes | str:
    try:
        made = write()
    except EncodeError as error:
        return str(error)
    return made if isinstance(made, bytes) else b"".join(made)


# Whatever is published in whatever order, its octets are those of the method, the header and the body written for it alone.
@given(st.sampled_from(FAMILY), st.lists(MESSAGES, max_size=12), st.sampled_from([1, 2, 256]), st.sampled_from([4096, 22 + 8]))
def test_a_prepared_head_is_the_head(dialect, said, most, largest) -> None:  # type: ignore[no-untyped-def]
    codec = dialect.codec
    writer = Publishing(codec, 7, largest, Limits(cached_commands=most))
    for exchange, key, flags, body, mandatory, immediate, ticket in said:
        method = codec.methods.encode(Publish(exchange, key, mandatory, immediate, ticket))
        alone = partial(frame_content, 7, method, 60, flags, body, largest)
        assert written(partial(writer.write, exchange, key, flags, body, mandatory, immediate, ticket)) == written(alone)


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_heads_that_are_remembered(keys: int) -> None:
    writer = Publishing(FAMILY[0].codec, 1, 4096, Limits(cached_commands=2))
    for key in [str(number) for number in range(keys)]:
        once = writer.write("", key, b"\0\0", b"")
        before = writer.remembered
        assert (writer.write("", key, b"\0\0", b""), writer.remembered) == (once, before)
    assert writer.remembered == (keys if keys <= 2 else 1)


def test_properties_of_one_object_are_written_once_and_others_each() -> None:
    codec = FAMILY[0].codec
    writer, first, second = Publishing(codec, 1, 4096, DEFAULT_LIMITS), Properties(priority=1), Properties(priority=2)
    octets = writer.flags_of(first)
    assert writer.flags_of(first) is octets == codec.write_properties(60, first)
    assert writer.flags_of(second) == codec.write_properties(60, second)
    assert writer.flags_of(first) == octets


def test_what_cannot_be_written_is_named_and_nothing_is_remembered() -> None:
    writer = Publishing(FAMILY[0].codec, 1, 4096, DEFAULT_LIMITS)
    with pytest.raises(EncodeError, match=r"basic\.publish\.routing_key"):
        writer.write("", "k" * 256, b"\0\0", b"")
    assert writer.remembered == 0
    with pytest.raises(EncodeError, match="header"):
        writer.write("", "", bytes(5000), b"")


@pytest.mark.parametrize("octets", [0, 1, 21, 22, 23, 44, 45])
def test_a_body_is_split_where_a_frame_is_full(octets: int) -> None:
    codec, body = FAMILY[0].codec, bytes(octets)
    method, flags = codec.methods.encode(Publish()), codec.write_header(60, 0, Properties())[PROPERTIES_AT:]
    whole = Publishing(codec, 7, 30, DEFAULT_LIMITS).write("", "", flags, body)
    assert whole == b"".join(frame_content(7, method, 60, flags, body, 30))
