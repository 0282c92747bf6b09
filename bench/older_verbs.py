"""What straight-line code is worth in the older dialects: `python -m bench.older_verbs`.

For each method of 0-9-1, and for the properties of a content, every field filled and none but the delivery mode: nanoseconds to
read and to write, by what runs and by the interpreter alone, and by pamqp in the same run, the least of seven times.  Of
these figures `tools.codegen.older_hot` is made.  Below them what repeats: deliveries to one consumer, and
messages to one exchange with one key, one by one and with what is remembered of those before.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any, Final

from pamqp import commands, header

from amqp_sansio.dialects import AMQP_0_9_1
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.methods import basic
from amqp_sansio.wire.codec import DEFAULT_READING
from amqp_sansio.wire.method_codec import (
    PROPERTIES_AT,
    MethodCodec,
    Publishing,
    RepeatedDeliveries,
    read_properties,
    write_properties,
)
from amqp_sansio.wire.method_frames import frame_content
from tools.codegen.older_hot import HOT

NUMBER: Final = 2_000
SAMPLES: Final[dict[str, object]] = {
    "bit": True,
    "uint8": 2,
    "uint16": 700,
    "uint32": 70_000,
    "uint64": 7_000_000,
    "str8": "a.topic.key",
    "vbin32": b"octets",
    "words8": ("one", "two"),
    "hosts8": ("one", "two"),
    "words32": ("PLAIN", "AMQPLAIN"),
    "table": {"key": "value", "number": 300_000},
}
FIELDS: Final = AMQP_0_9_1.codec.contents[60][1]


def _least(call: Callable[[], object]) -> float:
    return min(timeit.repeat(call, number=NUMBER, repeat=7)) / NUMBER * 1e9


def _line(name: str, why: str, reads: list[Callable[[], object]], writes: list[Callable[[], object]]) -> None:
    shown = "".join([f"{_least(call):10.0f}" for call in [*reads, *writes]])
    print(f"{name:32}{shown}  {why}")


def _method(code: int, kind: type[Any], quick: MethodCodec, slow: MethodCodec) -> None:
    word = kind(**{name: SAMPLES[of] for name, of, send in quick.arguments[kind] if send is None})
    octets = quick.encode(word)
    theirs = commands.INDEX_MAPPING.get(code)
    if theirs is None:
        return
    made = theirs()
    made.unmarshal(octets[4:])
    if kind.VERB.startswith("channel.open"):
        return  # of which pamqp writes nothing but its own default
    _line(
        kind.VERB,
        "hot" if kind.VERB in HOT else "",
        [lambda: quick.read(octets), lambda: slow.read(octets), lambda: theirs().unmarshal(octets[4:])],
        [lambda: quick.encode(word), lambda: slow.encode(word), lambda: theirs.marshal(made)],
    )


def _properties(name: str, properties: basic.Properties) -> None:
    codec = AMQP_0_9_1.codec
    octets = codec.write_header(60, 100, properties)
    theirs = header.ContentHeader()
    theirs.unmarshal(octets)
    _line(
        name,
        "hot",
        [
            lambda: codec.read_properties(octets),
            lambda: read_properties(
                basic.Properties, "", FIELDS, octets, PROPERTIES_AT, len(octets), DEFAULT_READING, codec.read_table
            ),
            lambda: header.ContentHeader().unmarshal(octets),
        ],
        [
            lambda: codec.write_header(60, 100, properties),
            lambda: write_properties("", properties, FIELDS, codec.write_table),
            theirs.marshal,
        ],
    )


def _repeats() -> None:
    codec = AMQP_0_9_1.codec
    said = [codec.encode(basic.Deliver("amq.ctag-0123456789", tag, False, "exchange", "a.topic.key")) for tag in range(1, 101)]
    deliveries = RepeatedDeliveries(codec, DEFAULT_READING, DEFAULT_LIMITS)
    publishing = Publishing(codec, 1, 131_072, DEFAULT_LIMITS)
    properties, body = basic.Properties(content_type="text/plain", delivery_mode=2), bytes(100)

    def one_by_one() -> object:
        method = codec.encode(basic.Publish("exchange", "a.topic.key"))
        octets = codec.write_header(60, 0, properties)[PROPERTIES_AT:]
        return frame_content(1, method, 60, octets, body, 131_072)

    def same() -> object:
        return publishing.write("exchange", "a.topic.key", publishing.flags_of(properties), body)

    def others() -> object:  # another object for each message, as who sets message-id has it
        each = basic.Properties(content_type="text/plain", delivery_mode=2)
        return publishing.write("exchange", "a.topic.key", publishing.flags_of(each), body)

    rows: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "deliver, read": (lambda: [codec.read(each) for each in said], lambda: [deliveries.read(each) for each in said]),
        "publish, same properties": (one_by_one, same),
        "publish, other properties": (one_by_one, others),
    }
    print(f"{'ns':32}{'alone':>10}{'repeated':>10}")
    for name, (alone, repeated) in rows.items():
        count = len(said) if name.startswith("deliver") else 1
        before, now = _least(alone) / count, _least(repeated) / count
        print(f"{name:32}{before:10.0f}{now:10.0f}  x{now / before:.2f}")


def main() -> None:
    """Prints one line for each."""
    quick = AMQP_0_9_1.codec
    codes = {kind: code for code, kind in quick.kinds.items()}
    slow = MethodCodec(quick.name, codes, quick.arguments, quick.carrying, quick.contents, {}, quick.profile)
    print(f"{'ns':32}{'read':>10}{'interpr.':>10}{'pamqp':>10}{'write':>10}{'interpr.':>10}{'pamqp':>10}")
    for code, kind in quick.kinds.items():
        _method(code, kind, quick, slow)
    filled = {name: SAMPLES[of] for name, of in FIELDS if name != "cluster_id"}
    _properties("basic.properties, all", basic.Properties(**filled))  # type: ignore[arg-type]
    _properties("basic.properties, delivery-mode", basic.Properties(delivery_mode=2))
    _repeats()


if __name__ == "__main__":
    main()
