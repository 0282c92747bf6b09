"""Straight-line code of the older dialects against the interpreter: methods on hot paths, and the properties of class basic."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.steps import steps
from tests.wire.layouts.older_words import ANY, OLDER

from amqp_sansio.dialects import AMQP_0_9_1, AMQP_0_9_1_QPID, Dialect
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic
from amqp_sansio.wire.codec import DEFAULT_READING
from amqp_sansio.wire.layouts.basic_properties import Beginning, read_basic_properties, write_basic_properties
from amqp_sansio.wire.method_codec import PROPERTIES_AT, MethodCodec, read_properties, write_properties
from tools.codegen.older_hot import HOT

CHANGED = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=2)
"""Octets that are put in place of others, and where."""


def interpreted(codec: MethodCodec) -> MethodCodec:
    """The same methods without straight-line code."""
    codes = {kind: code for code, kind in codec.kinds.items()}
    return MethodCodec(codec.name, codes, codec.arguments, codec.carrying, codec.contents, {}, codec.profile)


def changed(octets: bytes, how: list[tuple[int, int]], from_: int) -> bytes:
    found = bytearray(octets)
    for at, octet in how:
        if from_ + at < len(found):
            found[from_ + at] = octet
    return bytes(found)


def read(codec: MethodCodec, octets: bytes) -> ValueObject | str | None:
    return told(lambda: codec.read(octets))


@pytest.mark.parametrize("dialect", OLDER, ids=lambda dialect: dialect.name)
@given(data=st.data())
def test_methods_on_hot_paths(dialect: Dialect[MethodCodec], data: st.DataObject) -> None:
    """Any octets give the same method or the same error, and it is written to the same octets."""
    quick = dialect.codec
    slow = interpreted(quick)
    kind = data.draw(st.sampled_from([kind for kind in quick.arguments if kind.VERB in HOT]))
    word = kind(**{name: data.draw(ANY[of]) for name, of, send in quick.arguments[kind] if send is None})
    octets = quick.encode(word)
    assert octets == slow.encode(word)
    octets = changed(octets, data.draw(CHANGED), 4)[: data.draw(st.integers(0, 300))]
    assert read(quick, octets) == read(slow, octets)
    assert read(quick, octets + b"\0") == read(slow, octets + b"\0")


WRONG: list[ValueObject] = [
    basic.Publish(exchange="x" * 256),
    basic.Publish(exchange=5),  # type: ignore[arg-type]
    basic.Publish(routing_key=None),  # type: ignore[arg-type]
    basic.Ack(1 << 64),
    basic.Ack(-1),
    basic.Ack("x"),  # type: ignore[arg-type]
    basic.Deliver("\ud800"),
]


@pytest.mark.parametrize("word", WRONG, ids=repr)
def test_what_cannot_be_written(word: Method) -> None:
    """The error is the interpreter's, which names the argument; a text that is None is an empty one."""
    quick = AMQP_0_9_1.codec
    said = []
    for codec in (quick, interpreted(quick)):
        try:
            said.append(codec.encode(word).hex())
        except EncodeError as why:
            said.append(str(why))
    assert said[0] == said[1]
    assert said[0].startswith(word.VERB) or said[0].startswith("003c")


def test_a_variant_reads_what_it_has() -> None:
    """Qpid's 0-9-1 has no basic.nack, though that of RabbitMQ has straight-line code."""
    octets = AMQP_0_9_1.codec.encode(basic.Nack(1))
    assert AMQP_0_9_1.codec.read(octets) == basic.Nack(1)
    with pytest.raises(DecodeError, match=r"60\.120"):
        AMQP_0_9_1_QPID.codec.read(octets)
    with pytest.raises(EncodeError, match="is not a method of 0-9-1 Qpid"):
        AMQP_0_9_1_QPID.codec.encode(basic.Nack(1))


FIELDS = AMQP_0_9_1.codec.contents[60][1]
READ_TABLE = AMQP_0_9_1.codec.read_table
READ_FLAT = AMQP_0_9_1.codec.read_flat(DEFAULT_READING)
WRITE_TABLE = AMQP_0_9_1.codec.write_table


def slowly(header: bytes) -> ValueObject:
    """By the interpreter alone."""
    return read_properties(basic.Properties, "header", FIELDS, header, PROPERTIES_AT, len(header), DEFAULT_READING, READ_TABLE)


def told(read: Callable[[], ValueObject | None]) -> ValueObject | str | None:
    """What is read, or the error."""
    try:
        return read()
    except DecodeError as why:
        return str(why)


@settings(max_examples=settings().max_examples * 5)
@given(data=st.data())
def test_properties(data: st.DataObject) -> None:
    """Any octets give the same properties, or none where the interpreter names what is at fault."""
    there = data.draw(st.sets(st.sampled_from(FIELDS)))
    properties = basic.Properties(**{name: data.draw(ANY[of]) for name, of in FIELDS if (name, of) in there})  # type: ignore[arg-type]
    octets = write_basic_properties(properties, WRITE_TABLE)
    assert octets == write_properties("header", properties, FIELDS, WRITE_TABLE)
    header = bytes(PROPERTIES_AT) + octets
    header = changed(header, data.draw(CHANGED), PROPERTIES_AT)[: data.draw(st.integers(PROPERTIES_AT, 400))]
    codec = AMQP_0_9_1.codec
    header = b"\0\x3c" + header[2:]
    said: list[ValueObject | str | None] = []
    for quick in (True, False):
        try:
            if quick:
                said.append(codec.read_properties(header))
            else:
                said.append(
                    read_properties(
                        basic.Properties, "header", FIELDS, header, PROPERTIES_AT, len(header), read_table=READ_TABLE
                    )
                )
        except DecodeError as why:
            said.append(str(why))
    assert said[0] == said[1]


@pytest.mark.skipif(COMPILED, reason="steps of compiled code are not counted")
def test_straight_line_code_is_what_runs() -> None:
    """It costs less than half the steps of the interpreter."""
    codec = AMQP_0_9_1.codec
    slow = interpreted(codec)
    deliver = basic.Deliver("tag", 7, False, "exchange", "routing.key")
    octets = codec.encode(deliver)
    for quick, other in (
        (lambda: codec.encode(deliver), lambda: slow.encode(deliver)),
        (lambda: codec.read(octets), lambda: slow.read(octets)),
    ):
        assert steps(quick) * 2 < steps(other)
    properties = basic.Properties("text/plain", delivery_mode=2, message_id="m")
    header = codec.write_header(60, 5, properties)
    end = len(header)
    assert steps(lambda: codec.read_properties(header)) * 2 < steps(lambda: slowly(header))
    assert steps(lambda: codec.write_header(60, 5, properties)) * 2 < steps(
        lambda: write_properties("header", properties, FIELDS, WRITE_TABLE)
    )
    assert (
        read_basic_properties(header, Beginning(header, PROPERTIES_AT), end + 1, DEFAULT_READING, READ_TABLE, READ_FLAT) is None
    )
