"""What the methods of the older dialects may hold: the lowest and the highest value of each type, and any."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from amqp_sansio.dialects import (
    AMQP_0_8,
    AMQP_0_8_QPID,
    AMQP_0_8_UNBIND,
    AMQP_0_9,
    AMQP_0_9_1,
    AMQP_0_9_1_QPID,
    AMQP_0_9_QPID,
    AMQP_0_9_RABBITMQ,
    AMQP_0_9_UNBIND,
)
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.base import BodyContent, Control, Method
from amqp_sansio.spec.fields import Field, as_fields

OLDER: Final = (
    AMQP_0_8, AMQP_0_8_QPID, AMQP_0_8_UNBIND, AMQP_0_9, AMQP_0_9_RABBITMQ, AMQP_0_9_UNBIND, AMQP_0_9_QPID, AMQP_0_9_1,
    AMQP_0_9_1_QPID,
)  # fmt: skip

EXTREMES: Final[dict[str, tuple[object, object]]] = {
    "bit": (False, True),
    "uint8": (0, 255),
    "uint16": (0, (1 << 16) - 1),
    "uint32": (0, (1 << 32) - 1),
    "uint64": (0, (1 << 64) - 1),
    "str8": ("", "é" * 127 + "x"),
    "vbin32": (b"", b"\xff" * 70000),
    "words8": ((), tuple("abcdefgh" * 14)),
    "hosts8": ((), tuple("abcdefgh" * 14)),
    "words32": ((), tuple("abcdefgh" * 1000)),
    "table": (as_fields({}), as_fields({"é" * 127: Field("B", 255), "": {"x": {"y": [1, None]}}, "z": "x" * 70000})),
    "content": (BodyContent(), BodyContent(b"\xff" * 300, True)),
}
"""The lowest value of each type on the wire, and the highest; a short string has 255 octets, not characters."""

_text = st.text(st.characters(codec="utf-8"), max_size=60)
_words = st.lists(st.sampled_from(["PLAIN", "EXTERNAL", "é"]), max_size=5).map(tuple)
ANY: Final[dict[str, st.SearchStrategy[object]]] = {
    "bit": st.booleans(),
    "uint8": st.integers(0, 255),
    "uint16": st.integers(0, (1 << 16) - 1),
    "uint32": st.integers(0, (1 << 32) - 1),
    "uint64": st.integers(0, (1 << 64) - 1),
    "str8": _text,
    "vbin32": st.binary(max_size=300),
    "words8": _words,
    "hosts8": _words,
    "words32": _words,
    "table": st.dictionaries(_text, st.integers(-(1 << 31), (1 << 31) - 1) | _text | st.builds(dict), max_size=3),
    "content": st.builds(BodyContent, st.binary(max_size=30), st.booleans()),
}


def held(fields: tuple[tuple[str, str], ...], high: bool) -> dict[str, object]:
    """Each field at one of its extremes."""
    return {name: EXTREMES[of][high] for name, of in fields}


def same(one: Method | Control | ValueObject, two: Method | Control | ValueObject) -> bool:
    """Whether both are of one class and hold the same; an absent table, text or list of words is sent as an empty one."""
    return type(one) is type(two) and [v or None for v in one.values()] == [v or None for v in two.values()]
