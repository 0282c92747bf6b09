"""The classes that a snapshot of an observer consists of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from amqp_sansio.dialects import Dialect
from amqp_sansio.engine.checker import Checker
from amqp_sansio.engine.ear import Ear
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.guess import Guess
from amqp_sansio.engine.observed import Speaker
from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import MutableRangeSet
from amqp_sansio.kernel.snapshots import Dumper, Loader, Plain
from amqp_sansio.limits import Limits
from amqp_sansio.protocol import ProtocolHeader
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import Carries

VERSION: Final = 2
"""The version of the format; the first one had no number."""

_CLASSES: Final = (Ear, Findings, Guess, Limits, Machine, MutableRangeSet, ProtocolHeader)
"""The classes that a snapshot contains in any dialect."""


def _classes(checker: Checker) -> dict[str, type]:
    return {kind.__name__: kind for kind in (*_CLASSES, *checker.PARTS)}


def _framings(dialects: Sequence[Dialect[Codec]]) -> dict[str, object]:
    return {each.framing.name: each.framing for each in dialects}


def dump(root: object, checker: Checker, dialects: Sequence[Dialect[Codec]]) -> Plain:
    """Returns the state of an observer of these dialects, with this checker, as plain values."""
    return Dumper(_classes(checker), _framings(dialects)).dump(root)


def load(plain: Plain, checker: Checker, dialects: Sequence[Dialect[Codec]], carries: Carries | None = None) -> object:
    """Restores the state; its readers ask `carries`, or the checker's own when None."""
    tables = {table.name: table for table in checker.TABLES}
    return Loader(_classes(checker), tables, carries or checker.carries, _framings(dialects)).load(plain)


State = tuple[
    object,
    bool,
    tuple[set[Speaker], set[str | tuple[str, int]]],
    bool,
    ProtocolHeader | None,
    dict[Speaker, Ear],
    object,
    Limits,
]
"""Name of the dialect, strict, the late speakers, the end, the client's header, the ears, the checker's state, the limits."""


def names_in(snapshot: tuple[object, ...]) -> tuple[object, object]:
    """Returns the names of a snapshot's dialect and of the recognised one; None for each that it lacks.

    Raises DecodeError for an unsupported version.
    """
    state = snapshot[0] if snapshot else None
    if not isinstance(state, tuple) or len(state) < 4:
        return None, None
    _, first, *names = state
    if type(first) is not int:
        return first, first
    if first != VERSION:
        raise DecodeError("snapshot", 0, f"its version is {first}, this library reads 1 and {VERSION}")
    return names[0] or names[1], names[1]


def load_state(plain: Plain, checker: Checker, dialects: Sequence[Dialect[Codec]], carries: Carries) -> State:
    """Restores the parts of an observer, like `load`.  Raises DecodeError for anything but a snapshot of one."""
    state = load(plain, checker, dialects, carries)
    former = isinstance(state, tuple) and state[:1] != (VERSION,)
    if isinstance(state, tuple) and len(state) == (8 if former else 10):
        name, strict, late, eof, client_header, ears, witness, limits = state[-8:]
        if (
            isinstance(limits, Limits)
            and isinstance(ears, dict)
            and isinstance(late, tuple)
            and [type(each) for each in late] == [set, set]
            and isinstance(client_header, ProtocolHeader | None)
        ):
            for ear in ears.values() if former else ():
                ear.guess, ear.framing = None, dialects[0].framing
                ear.plug(dialects[0].framing, carries)
            for ear in ears.values():
                if ear.reader is not None:
                    ear.reader.unlearn()  # as when it was stored, whatever it knew how to remember then
            return name, bool(strict), (late[0], late[1]), bool(eof), client_header, ears, witness, limits
    raise DecodeError("snapshot", 0, "not a snapshot of an observer")
