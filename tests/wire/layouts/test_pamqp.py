"""pamqp, a codec of 0-9-1 that others wrote, as a witness of methods and properties, in both directions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import pytest
from tests.wire.layouts.older_words import EXTREMES

from amqp_sansio.dialects import AMQP_0_9_1
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.fields import Field, as_fields
from amqp_sansio.spec.methods import basic
from amqp_sansio.wire.method_codec import PROPERTIES_AT

commands: Final = pytest.importorskip("pamqp.commands", reason="NOT RUN: pamqp is not installed")
header: Final = pytest.importorskip("pamqp.header")
CODEC: Final = AMQP_0_9_1.codec
pytestmark = pytest.mark.filterwarnings("ignore:This command is deprecated")

ONLY_OURS: Final = {"access.request", "access.request-ok"}
"""RabbitMQ keeps them for clients of 0-8; pamqp has no class access."""

PLAIN: Final[dict[str, object]] = {
    "bit": True, "uint8": 7, "uint16": 700, "uint32": 70000, "uint64": 1 << 40, "str8": "name-1.x", "vbin32": b"long",
    "words8": ("a",), "hosts8": ("a",), "words32": ("PLAIN", "X"),
    "table": as_fields({"A": [Field("s", 300), "x"], "F": {"V": None}, "b": Field("b", 5), "s": "text", "t": True}),
}  # fmt: skip
"""Values that pamqp lets pass; tables in the order and with the letters that it would write: it sorts names."""

ZEROS: Final = {"channel.open": b"\x010", "channel.open-ok": b"\0\0\0\x010"}
"""Where pamqp writes the text "0" into a reserved argument, and refuses another one; we write an empty text, as clients do."""


def theirs_of(code: int, octets: bytes) -> Any:
    """What pamqp reads."""
    made = commands.INDEX_MAPPING[code]()
    made.unmarshal(octets)
    return made


def said_by(word: Method | Control) -> list[object]:
    """Every argument as pamqp is to have it, reserved ones included."""
    found: list[object] = []
    for name, of, send in CODEC.arguments[type(word)]:
        value = getattr(word, name) if send is None else {"bit": False}.get(of, "" if of.startswith(("vbin", "str")) else 0)
        found.append(" ".join(value) if of.startswith("words") and isinstance(value, tuple) else value)
    return found


def alike(ours: object, theirs: object) -> bool:
    if isinstance(ours, bytes) and isinstance(theirs, str):
        return ours == theirs.encode()
    if isinstance(ours, tuple) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(theirs, dict) and theirs:
        return list(dict(ours)) == list(theirs) and all(alike(dict(ours)[name], theirs[name]) for name in theirs)  # type: ignore[call-overload]
    return ours == theirs


METHODS: Final = sorted(CODEC.kinds.items())


def test_which_methods_each_has() -> None:
    """All of pamqp's are ours, under the same numbers."""
    ours = {code: kind.VERB for code, kind in METHODS if kind.VERB not in ONLY_OURS}
    theirs = {code: made.name for code, made in commands.INDEX_MAPPING.items()}
    assert {code: verb.replace("-", "").replace(".", "") for code, verb in ours.items()} == {
        code: name.lower().replace(".", "") for code, name in theirs.items()
    }
    for code, kind in METHODS:
        if kind.VERB not in ONLY_OURS:
            assert len(CODEC.arguments[kind]) == len(commands.INDEX_MAPPING[code].attributes())


@pytest.mark.parametrize(("code", "kind"), METHODS, ids=lambda value: getattr(value, "VERB", ""))
def test_each_method_both_ways(code: int, kind: type[Method | Control]) -> None:
    """What we write, pamqp reads with the same values and writes as the same octets, which we read as what we wrote."""
    if kind.VERB in ONLY_OURS:
        return
    arguments = {name: of for name, of, send in CODEC.arguments[kind] if send is None}
    word = kind(**{name: PLAIN[of] for name, of in arguments.items()})
    octets = CODEC.encode(word)
    theirs = theirs_of(code, octets[4:])
    values = [getattr(theirs, name) for name in theirs.attributes()]
    assert all(map(alike, said_by(word), values)), (word, values)
    written = type(theirs)().marshal() if kind.VERB in ZEROS else theirs.marshal()
    assert written == ZEROS.get(kind.VERB, octets[4:])
    assert CODEC.read(code.to_bytes(4, "big") + written) == word


SIGNED: Final = {"basic.deliver", "basic.get-ok", "basic.ack", "basic.reject", "basic.nack"}
"""pamqp reads a delivery tag as a number with a sign: the highest is -1 there."""


@pytest.mark.parametrize("high", [False, True], ids=["lowest", "highest"])
@pytest.mark.parametrize(("code", "kind"), METHODS, ids=lambda value: getattr(value, "VERB", ""))
def test_numbers_and_bits_at_their_extremes(code: int, kind: type[Method | Control], high: bool) -> None:
    if kind.VERB in ONLY_OURS:
        return
    arguments = {name: of for name, of, send in CODEC.arguments[kind] if send is None and of[:4] in ("bit", "uint")}
    word = kind(**{name: EXTREMES[of][high] for name, of in arguments.items()})
    theirs = theirs_of(code, CODEC.encode(word)[4:])
    for (name, of, _), theirs_name in zip(CODEC.arguments[kind], theirs.attributes(), strict=True):
        if name in arguments:
            value = getattr(theirs, theirs_name)
            assert value == (-1 if high and of == "uint64" and kind.VERB in SIGNED else getattr(word, name))


PROPERTIES: Final = {
    "content_type": "text/plain", "content_encoding": "utf-8", "headers": PLAIN["table"], "delivery_mode": 2, "priority": 9,
    "correlation_id": "c", "reply_to": "r", "expiration": "60000", "message_id": "m", "timestamp": 1_700_000_000, "type_": "t",
    "user_id": "u", "app_id": "a", "cluster_id": None,
}  # fmt: skip
"""pamqp refuses any cluster-id."""


@pytest.mark.parametrize(
    "chosen", [[], *[[name] for name in PROPERTIES], list(PROPERTIES)], ids=lambda chosen: "+".join(chosen)
)
def test_each_property_both_ways(chosen: list[str]) -> None:
    ours = basic.Properties(**{name: PROPERTIES[name] for name in chosen})  # type: ignore[arg-type]
    octets = CODEC.write_header(60, 12345, ours)
    theirs = header.ContentHeader()
    theirs.unmarshal(octets)
    assert (theirs.class_id, theirs.weight, theirs.body_size) == (60, 0, 12345)
    for name, theirs_name in zip(ours.FIELDS, theirs.properties.attributes(), strict=True):
        value = getattr(theirs.properties, theirs_name)
        want = getattr(ours, name)
        if name == "timestamp" and want is not None:
            want = datetime.fromtimestamp(want, UTC)
        assert alike(want, value or None), name
    assert theirs.marshal() == octets
    assert CODEC.read_properties(theirs.marshal()) == ours
    assert len(octets) >= PROPERTIES_AT + 2
