from __future__ import annotations

import json
from decimal import Decimal
from math import inf, nan
from uuid import UUID

from amqp_sansio.captures.plain import fields, plain
from amqp_sansio.cli.output import json_line, pairs, short
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.connection import StartOk
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.spec.values import Array, List, Map, OpaqueValue, Str8, Uint8, UnknownStruct


def test_values_as_json() -> None:
    value = {
        "bool": True,
        "typed": Uint8(7),
        "text": Str8("\u00e9\ud800\n"),
        "octets": b"\x00\xff",
        "nan": nan,
        "inf": [inf, -inf, 0.5],
        "void": None,
        "uuid": UUID(int=1),
        "decimal": Decimal("1.50"),
        "map": Map({"k": List([1, Map({})])}),
        "array": Array(0x02, [Uint8(1)]),
        "set": RangeSet([(1, 5), (9, 9)]),
        "struct": DeliveryProperties(routing_key="q"),
        "unknown": UnknownStruct(9, 8, b"x"),
        "opaque": OpaqueValue(0x0F, b"y"),
    }
    line = json_line(plain(value))
    assert line.isascii()
    assert json.loads(line) == {
        "bool": True,
        "typed": 7,
        "text": "\u00e9\ud800\n",
        "octets": "00ff",
        "nan": "NaN",
        "inf": ["Infinity", "-Infinity", 0.5],
        "void": None,
        "uuid": "00000000-0000-0000-0000-000000000001",
        "decimal": "1.50",
        "map": {"k": [1, {}]},
        "array": [1],
        "set": [[1, 5], [9, 9]],
        "struct": {"struct": "message.delivery-properties", "routing_key": "q"},
        "unknown": {"struct": "9.8", "octets": "78"},
        "opaque": {"type": "0x0f", "octets": "79"},
    }


def test_secrets_are_lengths() -> None:
    said = StartOk(None, "PLAIN", b"\0guest\0secret")
    assert fields(said, secrets=False) == {"mechanism": "PLAIN", "response": 13}
    assert fields(said) == {"mechanism": "PLAIN", "response": b"\0guest\0secret".hex()}


def test_text_for_people_is_harmless() -> None:
    assert short("amq.direct") == "amq.direct"
    assert short("") == '""'
    assert short("\x1b[31mred") == '"\\u001b[31mred"'
    assert short("x" * 100) == "x" * 60 + "..."
    assert short([[0, 4], [7, 7]]) == "{0-4,7}"
    assert pairs({"accept_mode": 1, "sync": True, "queue": "c d"}) == 'accept-mode=1 sync queue="c d"'
    assert short({"a_key": ["v", None], "a b": True}) == '{a_key=[v, null] "a b"=true}'
    assert short({"struct": "dtx.xid", "branch_id": "62"}) == "{struct=dtx.xid branch-id=62}"
