"""What the snapshot of an observer consists of."""

from __future__ import annotations

from typing import Final, Literal

from amqp_sansio.engine.checker import Checker
from amqp_sansio.engine.ear import Ear
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.plain import Dumper, Loader, Plain
from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import MutableRangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.protocol import ProtocolHeader

_CLASSES: Final = (Ear, Findings, Limits, Machine, MutableRangeSet, ProtocolHeader)
"""What is in a snapshot whatever is plugged in."""


def _classes(checker: Checker) -> dict[str, type]:
    return {kind.__name__: kind for kind in (*_CLASSES, *checker.PARTS)}


def dump(root: object, checker: Checker) -> Plain:
    """The state of an observer with this checker as plain values."""
    return Dumper(_classes(checker), {"framing": checker.ears["C"].framing}).dump(root)


def load(plain: Plain, checker: Checker) -> object:
    """The state again."""
    tables = {table.name: table for table in checker.TABLES}
    return Loader(_classes(checker), tables, checker.carries, {"framing": checker.ears["C"].framing}).load(plain)


State = tuple[
    object, bool, tuple[set[str], set[str]], bool, "ProtocolHeader | None", "dict[Literal['C', 'S'], Ear]", object, Limits
]
"""Name of the dialect, strict, who was heard late, the end, the client's header, the ears, the checker's state, the limits."""


def name_in(snapshot: tuple[object, ...]) -> object:
    """The name of the dialect in a snapshot of an observer."""
    state = snapshot[0] if snapshot else None
    return state[1] if isinstance(state, tuple) and len(state) > 1 else None


def load_state(plain: Plain, checker: Checker) -> State:
    """The parts of an observer.  DecodeError when it is not a snapshot of one."""
    state = load(plain, checker)
    if isinstance(state, tuple) and len(state) == 8:
        name, strict, late, eof, client_header, ears, witness, limits = state
        if (
            isinstance(limits, Limits)
            and isinstance(ears, dict)
            and isinstance(late, tuple)
            and [type(each) for each in late] == [set, set]
            and isinstance(client_header, ProtocolHeader | None)
        ):
            return name, bool(strict), (late[0], late[1]), bool(eof), client_header, ears, witness, limits
    raise DecodeError("snapshot", 0, "not a snapshot of an observer")
