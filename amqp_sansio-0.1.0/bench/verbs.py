"""What straight-line code is worth, verb by verb: `python -m bench.verbs [CAPTURE]`.

For each verb of AMQP 0-10: how often the pieces of work of `bench.workloads` read and write it, and nanoseconds to read and to
write it with every field filled, by straight-line code and by the interpreter of field tables.  Of these figures
`tools.codegen.hot` is made.  What a cache spares is not counted.  In a compiled build there are no counts, and straight-line
code is compiled only where a verb has some.
"""

from __future__ import annotations

import sys
import tempfile
import timeit
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from uuid import UUID

from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Control, Struct
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import Array
from amqp_sansio.wire.layouts.fields import FIELDS, SHAPES
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from bench.traffic import make
from bench.workloads import workloads
from tools.codegen.hot import HOT
from tools.codegen.layouts import errata_module
from tools.codegen.model import load

CAPTURE_OCTETS: Final = 600_000
NUMBER: Final = 2_000
SAMPLES: Final[dict[str, object]] = {
    "bit": True,
    "uint8": 1,
    "uint16": 700,
    "uint32": 70_000,
    "uint64": 7_000_000,
    "sequence-no": 9,
    "datetime": 1_700_000_000,
    "str8": "a.topic.key",
    "str16": "a longer text",
    "vbin8": b"octets",
    "vbin16": b"octets",
    "vbin32": b"octets",
    "uuid": UUID(int=7),
    "map": {"key": "value", "number": 3},
    "array": Array(0x12, (1, 2)),
    "fragments": Array(0x12, ()),
    "texts": ("PLAIN", "ANONYMOUS"),
    "sequence-set": RangeSet.span(3, 9),
    "byte-ranges": ((1, 5),),
}


def made(straight: dict[str, None]) -> Layout:
    """The layout of 0-10 with straight-line code for these verbs."""
    module = ModuleType("amqp_sansio.wire.layouts.measured")
    exec(errata_module(load(), straight), module.__dict__)
    found: Layout = module.__dict__["LAYOUT"]
    return found


def _filled(kind: type[Any]) -> Any:
    values = []
    for _, wire in FIELDS[kind]:
        if wire in SHAPES:
            values.append(_filled(SHAPES[wire][0]))
        else:
            values.append(_filled(QueueQueryResult) if wire == "struct32" else SAMPLES[wire])
    return kind(*values)


def _nanoseconds(call: Callable[[], object]) -> float:
    return min(timeit.repeat(call, number=NUMBER, repeat=7)) / NUMBER * 1e9


def counted(capture: str) -> dict[str, tuple[int, int]]:
    """How often each verb is read and written while every piece of work runs once."""
    read: Counter[str] = Counter()
    written: Counter[str] = Counter()
    plain = {name: getattr(LAYOUT, name) for name in Layout.__slots__}

    def decode_control(*given: Any) -> Any:
        found = plain["decode_control"](*given)
        read[found.VERB] += 1
        return found

    def decode_command(*given: Any) -> Any:
        found = plain["decode_command"](*given)
        read[found[0].VERB] += 1
        return found

    def encode_control(control: Any) -> Any:
        written[control.VERB] += 1
        return plain["encode_control"](control)

    def encode_command(command: Any, sync: bool) -> Any:
        written[command.VERB] += 1
        return plain["encode_command"](command, sync)

    for wrapped in (decode_control, decode_command, encode_control, encode_command):
        setattr(LAYOUT, wrapped.__name__, wrapped)
    for work in workloads(capture).values():
        work()()
    for name, value in plain.items():
        setattr(LAYOUT, name, value)
    return {verb: (read[verb], written[verb]) for verb in read | written}


def main(capture: str | None) -> None:
    """Prints one line for each verb, the most frequent first."""
    with tempfile.TemporaryDirectory() as folder:
        if capture is None:
            capture = str(Path(folder) / "capture.pcap")
            make(Path(capture), CAPTURE_OCTETS)
        often = {} if COMPILED else counted(capture)

    def often_first(kind: Any) -> int:
        heard, said = often.get(kind.VERB, (0, 0))
        return -heard - said

    kinds = [kind for kind in FIELDS if not issubclass(kind, Struct)]
    straight = made(dict.fromkeys([kind.VERB for kind in kinds]))  # type: ignore[attr-defined]
    interpreted = made({})
    print(f"{'verb':28}{'read':>9}{'written':>9}   ns to read: straight, interpreted   ns to write: straight, interpreted")
    for kind in sorted(kinds, key=often_first):
        verb = kind.VERB  # type: ignore[attr-defined]
        thing = _filled(kind)
        is_control = issubclass(kind, Control)
        heard, said = often.get(verb, (0, 0))
        times = []
        for one in (LAYOUT if verb in HOT else straight, interpreted):
            encode = partial(one.encode_control, thing) if is_control else partial(one.encode_command, thing, False)
            b = encode()
            decode = partial(one.decode_control if is_control else one.decode_command, b, 0, len(b))
            times += [_nanoseconds(decode), _nanoseconds(encode)]
        print(f"{verb:28}{heard:9}{said:9}{times[0]:16.0f}{times[2]:12.0f}{times[1]:26.0f}{times[3]:12.0f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
