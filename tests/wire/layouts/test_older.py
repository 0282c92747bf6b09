"""Every method, header and property of every older dialect and variant: written, read, and written again to the same octets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.layouts.older_words import ANY, OLDER, held, same

from amqp_sansio.dialects import AMQP_0_9_UNBIND, Dialect
from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.methods import queue
from amqp_sansio.wire.codec import ArgumentTable
from amqp_sansio.wire.method_codec import PROPERTIES_AT, MethodCodec

EACH = pytest.mark.parametrize("dialect", OLDER, ids=lambda dialect: dialect.name)


def test_the_unbind_of_class_queue_has_its_bit_before_its_table() -> None:
    """As its page prints it, and as queue.bind has it."""
    word = queue.Unbind("q", "e", "k", {}, 7, True)
    octets = bytes.fromhex("0032 0032 0007 0171 0165 016b 01 00000000")
    assert AMQP_0_9_UNBIND.codec.encode(word) == octets
    assert AMQP_0_9_UNBIND.codec.read(octets) == word


def said(arguments: ArgumentTable) -> tuple[tuple[str, str], ...]:
    """The arguments that are not reserved."""
    return tuple([(name, of) for name, of, send in arguments if send is None])


def written_again(codec: MethodCodec, word: Method | Control) -> bytes:
    """The octets of a method, once it was read and written again to the same ones."""
    octets = codec.encode(word)
    again = codec.read(octets)
    assert same(again, word)
    assert codec.encode(again) == octets
    assert codec.verb_of(octets) == word.VERB
    return octets


@EACH
@pytest.mark.parametrize("high", [False, True], ids=["lowest", "highest"])
def test_every_method_at_its_extremes(dialect: Dialect[MethodCodec], high: bool) -> None:
    """No prefix of a method is one, nor it with an octet behind it."""
    codec = dialect.codec
    for kind, arguments in codec.arguments.items():
        octets = written_again(codec, kind(**held(said(arguments), high)))
        for wrong in (octets + b"\0", *[octets[:cut] for cut in range(3, min(len(octets), 40))]):
            with pytest.raises(DecodeError) as raised:
                codec.read(wrong)
            assert raised.value.code == 502


@EACH
@given(data=st.data())
def test_any_method(dialect: Dialect[MethodCodec], data: st.DataObject) -> None:
    """What it holds are any values of its types; each octet that is changed gives a method or an error that names the verb."""
    codec = dialect.codec
    kind = data.draw(st.sampled_from(list(codec.arguments)))
    word = kind(**{name: data.draw(ANY[of]) for name, of in said(codec.arguments[kind])})
    octets = bytearray(written_again(codec, word))
    if len(octets) == 4:
        return
    octets[data.draw(st.integers(4, len(octets) - 1))] ^= data.draw(st.integers(1, 255))
    error: DecodeError | None = None
    try:
        codec.read(bytes(octets))
    except DecodeError as why:
        error = why
    if error is not None:
        assert error.what.startswith(kind.VERB)
        assert error.code in (502, 506)
        assert 0 <= error.octet <= len(octets)


@EACH
def test_what_a_reserved_argument_holds_is_passed_over(dialect: Dialect[MethodCodec]) -> None:
    """It need not even be text, and is sent as nothing."""
    codec = dialect.codec
    found = 0
    for kind, arguments in codec.arguments.items():
        if arguments and arguments[0][2] is not None and arguments[0][1] in ("vbin8", "uint16"):
            octets = codec.encode(kind(**held(said(arguments), True)))
            head, rest = octets[:4], octets[4 + (1 if arguments[0][1] == "vbin8" else 2) :]
            filled = head + (b"\x02\xff\xfe" if arguments[0][1] == "vbin8" else b"\xff\xff") + rest
            assert codec.encode(codec.read(filled)) == octets
            found += 1
    assert (found > 0) == ("0-9-1" in dialect.name)


def contents(codec: MethodCodec) -> list[tuple[int, type[ValueObject], tuple[tuple[str, str], ...]]]:
    """The properties of each class that has contents: its number, what holds them, names and types."""
    return [(code, kind, tuple(fields)) for code, (kind, fields) in codec.contents.items()]


@EACH
def test_every_property_alone_and_with_all_others(dialect: Dialect[MethodCodec]) -> None:
    """The first property has the highest bit of the flags; what is there comes back, and nothing else."""
    codec = dialect.codec
    for code, kind, fields in contents(codec):
        for high in (False, True):
            everything = held(fields, high)
            header = codec.write_header(code, (1 << 64) - 1, kind(**everything))
            assert codec.read_properties(header) == kind(**everything)
            for place, (name, _) in enumerate(fields):
                properties = kind(**{name: everything[name]})
                header = codec.write_header(code, 0, properties)
                assert header[PROPERTIES_AT : PROPERTIES_AT + 2] == (0x8000 >> place).to_bytes(2, "big")
                assert codec.read_properties(header) == properties
                with pytest.raises(DecodeError):
                    codec.read_properties(header + b"\0")


@EACH
@given(data=st.data())
def test_any_properties(dialect: Dialect[MethodCodec], data: st.DataObject) -> None:
    """Any of them, with any values, are written, read and written again to the same octets; a prefix is refused."""
    codec = dialect.codec
    code, kind, fields = data.draw(st.sampled_from(contents(codec)))
    there = data.draw(st.sets(st.sampled_from(fields)))
    properties = kind(**{name: data.draw(ANY[of]) for name, of in fields if (name, of) in there})
    header = codec.write_header(code, data.draw(st.integers(0, (1 << 64) - 1)), properties)
    assert codec.read_properties(header) == properties
    cut = data.draw(st.integers(PROPERTIES_AT, len(header) - 1))
    with pytest.raises(DecodeError) as raised:
        codec.read_properties(header[:cut])
    assert raised.value.code == 502


@EACH
def test_flags_that_continue_or_belong_to_nothing(dialect: Dialect[MethodCodec]) -> None:
    """No class of these dialects has more than 15 properties: a continuation and a flag behind the last are refused."""
    codec = dialect.codec
    for code, _, fields in contents(codec):
        head = code.to_bytes(2, "big") + bytes(10)
        for flags in (1, 0x8000 >> len(fields)):
            for behind in (b"", b"\0\0"):
                with pytest.raises(DecodeError, match=r"no further word|belongs to none") as raised:
                    codec.read_properties(head + flags.to_bytes(2, "big") + behind)
                assert raised.value.code == 502
