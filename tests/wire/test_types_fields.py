"""Reading and writing by tables of fields is what straight-line code does: of all verbs, whichever have some."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.strategies import CODED, COMMANDS, CONTROLS, things

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.dtx import Start, Xid
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.encoding import write_fields
from amqp_sansio.wire.layouts.fields import FIELDS, SHAPES
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.primitives import u16
from amqp_sansio.wire.types import mask, read_fields
from tools.codegen.layouts import errata_module
from tools.codegen.model import load


def _layout(*verbs: str) -> Layout:
    """The layout with straight-line code for these verbs."""
    module = ModuleType("amqp_sansio.wire.layouts.made")
    exec(errata_module(load(), verbs), module.__dict__)
    made: Layout = module.__dict__["LAYOUT"]
    return made


VERBS: tuple[type[Control | Command], ...] = (*CONTROLS, *COMMANDS)
STRAIGHT = _layout(*[kind.VERB for kind in VERBS])
INTERPRETED = _layout()
FEW = max(1, min(settings().max_examples // 6, 30))
"""Examples of each of 84 verbs: ten, or thirty in `make soak`."""
READINGS = (DEFAULT_READING, Reading(text="surrogateescape"), Reading(canonical=True), Reading(nesting=1, ranges=1))


def _found(made: object) -> object:
    """A value with the type of each part, for an int that is a `Uint8` equals a plain one."""
    if isinstance(made, ValueObject):
        return type(made), tuple(_found(value) for value in made.values())
    if isinstance(made, tuple):
        return type(made), tuple(_found(value) for value in made)
    return type(made), repr(made)


def _outcome(call: Callable[[], object]) -> object:
    """What a call gives, or all that its error says."""
    try:
        return _found(call())
    except DecodeError as why:
        return why.what, why.octet, why.rule, why.code
    except EncodeError as why:
        return why.what, why.rule


def _both(kind: type[Control | Command], b: bytes, reading: Reading) -> None:
    if issubclass(kind, Control):
        quick, slow = STRAIGHT.decode_control, INTERPRETED.decode_control
        assert _outcome(lambda: slow(b, 0, len(b), reading)) == _outcome(lambda: quick(b, 0, len(b), reading))
    else:
        straight, tables = STRAIGHT.decode_command, INTERPRETED.decode_command
        assert _outcome(lambda: tables(b, 0, len(b), reading)) == _outcome(lambda: straight(b, 0, len(b), reading))


def _octets(layout: Layout, thing: Control | Command) -> bytes:
    return layout.encode_control(thing) if isinstance(thing, Control) else layout.encode_command(thing, True)


@pytest.mark.parametrize("kind", VERBS)
@settings(max_examples=FEW)
@given(data=st.data())
def test_what_is_written_and_read_is_the_same(kind: type[Control | Command], data: st.DataObject) -> None:
    """Octets, and the values and types that are read from them."""
    thing = data.draw(things(kind))
    b = _octets(STRAIGHT, thing)
    assert _octets(INTERPRETED, thing) == b
    for reading in READINGS:
        _both(kind, b, reading)


@pytest.mark.parametrize("kind", VERBS)
@settings(max_examples=FEW)
@given(data=st.data())
def test_damaged_octets_are_read_the_same(kind: type[Control | Command], data: st.DataObject) -> None:
    """Cut, changed or with octets behind it: the same value, or the same error with its field, octet, rule and code."""
    b = bytearray(_octets(STRAIGHT, data.draw(things(kind))))
    for _ in range(data.draw(st.integers(1, 3))):
        if len(b) > 2:
            b[data.draw(st.integers(2, len(b) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(b)))
    reading = data.draw(st.sampled_from(READINGS))
    _both(kind, bytes(b[:end]), reading)
    _both(kind, bytes(b) + data.draw(st.binary(max_size=20)), reading)


WRONG = (-1, 256, 1 << 16, 1 << 64, 0.5, "x" * 256, "\ud800", b"y" * 70_000, ("\ud800",), {"k": object()}, object(), Xid(-1))


@pytest.mark.parametrize("kind", VERBS)
def test_values_that_no_field_holds_are_named_the_same(kind: type[Control | Command]) -> None:
    """Every field with every kind of wrong value: the same octets, or the same error."""
    for number in range(len(FIELDS[kind])):
        for value in WRONG:
            try:
                thing = kind(**{kind.FIELDS[number]: value})
            except (TypeError, EncodeError):  # a compiled class looks at what it is given, and a map at what it is made of
                continue
            straight, tables = [_outcome(partial(_octets, layout, thing)) for layout in (STRAIGHT, INTERPRETED)]
            assert straight == tables, value


@pytest.mark.parametrize("kind", CODED)
@settings(max_examples=15)
@given(data=st.data(), octets=st.binary(max_size=60))
def test_structs(kind: type[Struct], data: st.DataObject, octets: bytes) -> None:
    """On any octets, tables and generated code read the same struct, or both refuse; tables write what generated code does."""
    struct = data.draw(things(kind))
    head = LAYOUT.encode_struct32(struct)
    flags, content = write_fields(struct, FIELDS[kind], SHAPES)
    assert head[6:] == flags.to_bytes(2, "big") + content
    assert _found(read_fields(kind, kind.NAME, FIELDS[kind], SHAPES, head, 8, len(head), flags, DEFAULT_READING, True)) == (
        _found(LAYOUT.decode_struct32(head, 0, len(head)))
    )
    cut = data.draw(st.integers(8, len(head)))
    b = head[:cut] + octets
    b = (len(b) - 4).to_bytes(4, "big") + b[4:]
    try:
        slow = read_fields(kind, kind.NAME, FIELDS[kind], SHAPES, b, 8, len(b), u16(b, 6)[0], DEFAULT_READING, True)
    except DecodeError:
        with pytest.raises(DecodeError):
            LAYOUT.decode_struct32(b, 0, len(b))
    else:
        assert _found(LAYOUT.decode_struct32(b, 0, len(b))) == _found(slow)


def test_masks() -> None:
    """Field 0 is 0x0100, field 7 0x8000, field 8 0x0001."""
    assert [mask(index) for index in (0, 7, 8, 15)] == [0x0100, 0x8000, 0x0001, 0x0080]


def test_an_error_names_verb_field_and_octet() -> None:
    b = INTERPRETED.encode_command(Start(Xid(1, b"global", b"branch")), False)
    with pytest.raises(DecodeError) as raised:
        INTERPRETED.decode_command(b, 0, len(b) - 1)
    assert (raised.value.what, raised.value.octet) == ("dtx.start.xid", 6)
    with pytest.raises(EncodeError, match=r"dtx\.start\.xid\.format_"):
        INTERPRETED.encode_command(Start(Xid(-1)), False)
