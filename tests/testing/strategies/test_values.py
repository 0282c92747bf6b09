"""Values, controls, commands and structs that are drawn."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import find, given, settings

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import values as v
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.connection import Start
from amqp_sansio.spec.session import Flush
from amqp_sansio.spec.tx import Commit
from amqp_sansio.testing.strategies import (
    commands,
    controls,
    header_structs,
    headers,
    maps,
    range_sets,
    signed,
    structs,
    things,
    unsigned,
    values,
)
from amqp_sansio.testing.strategies.values import BY_NAME, COMMANDS, CONTROLS, classes
from amqp_sansio.wire.layouts.layout import decode_headers, encode_headers

LAYOUT = AMQP_0_10.codec


# What is drawn can be written, and comes back as it was.
@given(maps(values()))
def test_values_come_back(drawn: v.Map) -> None:
    octets = LAYOUT.encode_control(Start(drawn))
    again = LAYOUT.decode_control(octets, 0, len(octets))
    assert LAYOUT.encode_control(again) == octets


def test_many_types_comes() -> None:
    seen: set[type] = set()

    @settings(max_examples=600)
    @given(values())
    def look(value: v.Value) -> None:
        seen.add(type(value))

    look()
    assert len(seen) >= 15, sorted(kind.__name__ for kind in seen)
    assert {v.Map, v.Array} <= seen


def test_the_edges_come() -> None:
    for edge in (0, 1, 127, 128, 254, 255):
        assert find(unsigned(8), lambda number, edge=edge: number == edge) == edge  # type: ignore[misc]
    for edge in (-(1 << 63), (1 << 63) - 1):
        assert find(signed(64), lambda number, edge=edge: number == edge) == edge  # type: ignore[misc]


@given(range_sets())
def test_ranges_are_sets(drawn: RangeSet) -> None:
    assert RangeSet(drawn.ranges) == drawn


@given(controls())
def test_controls_come_back(said: Control) -> None:
    octets = LAYOUT.encode_control(said)
    assert LAYOUT.encode_control(LAYOUT.decode_control(octets, 0, len(octets))) == octets


@given(commands())
def test_commands_come_back(said: Command) -> None:
    octets = LAYOUT.encode_command(said, True)
    again, sync = LAYOUT.decode_command(octets, 0, len(octets))
    assert sync
    assert LAYOUT.encode_command(again, True) == octets


@given(headers())
def test_headers_come_back(drawn: tuple[Struct, ...]) -> None:
    octets = encode_headers(drawn)
    assert encode_headers(decode_headers(octets, 0, len(octets))) == octets
    assert len({type(each) for each in drawn}) == len(drawn)


def test_every_control_and_command_comes() -> None:
    seen: set[type] = set()

    @settings(max_examples=1500)
    @given(controls() | commands())
    def look(said: Control | Command) -> None:
        seen.add(type(said))

    look()
    assert seen == {*CONTROLS, *COMMANDS}


@pytest.mark.parametrize("set_", list(product([False, True], repeat=3)))
def test_every_combination_of_fields_comes(set_: tuple[bool, ...]) -> None:
    find(things(Flush), lambda said: (said.expected, said.confirmed, said.completed) == set_)


@given(header_structs(), structs())
def test_structs_are_structs(header: Struct, struct: Struct) -> None:
    assert isinstance(header, Struct)
    assert isinstance(struct, Struct)


def test_the_vocabulary_is_whole() -> None:
    assert BY_NAME["tx.commit"] is Commit
    assert set(classes(Control)) == set(CONTROLS)
