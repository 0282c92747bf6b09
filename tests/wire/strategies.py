"""Strategies of values, controls, commands and structs: those that the library gives to everybody."""

from amqp_sansio.testing.strategies.things import BY_NAME, CODED, COMMANDS, CONTROLS, classes, structs, things, values
from amqp_sansio.testing.strategies.values import (
    LATIN_TEXT,
    TEXT,
    U8,
    U16,
    U32,
    U64,
    maps,
    range_sets,
    scalars,
    signed,
)

__all__ = [
    "BY_NAME", "CODED", "COMMANDS", "CONTROLS", "LATIN_TEXT", "TEXT", "U8", "U16", "U32", "U64",
    "classes", "maps", "range_sets", "scalars", "signed", "structs", "things", "values",
]  # fmt: skip
