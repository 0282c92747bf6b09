"""Strategies of values, controls, commands and structs: those that the library gives to everybody."""

from amqp_sansio.testing.strategies.values import (
    BY_NAME,
    CODED,
    COMMANDS,
    CONTROLS,
    LATIN_TEXT,
    TEXT,
    U8,
    U16,
    U32,
    U64,
    classes,
    maps,
    range_sets,
    scalars,
    signed,
    structs,
    things,
    values,
)

__all__ = [
    "BY_NAME", "CODED", "COMMANDS", "CONTROLS", "LATIN_TEXT", "TEXT", "U8", "U16", "U32", "U64",
    "classes", "maps", "range_sets", "scalars", "signed", "structs", "things", "values",
]  # fmt: skip
