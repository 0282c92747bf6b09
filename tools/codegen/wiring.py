"""Names and encodings of the model in generated code, shared by readers and writers."""

from __future__ import annotations

from tools.codegen.model import Field, Model
from tools.codegen.names import class_name
from tools.codegen.vocabulary import wire_type

NUMBERS = {
    "uint16": ("u16", 2, "put_u16"),
    "uint32": ("u32", 4, "put_u32"),
    "uint64": ("u64", 8, "put_u64"),
    "sequence-no": ("u32", 4, "put_u32"),
    "datetime": ("i64", 8, ""),
}
"""Reader, octets and writer of each type that is a number."""
PREFIX = {"str8": 1, "vbin8": 1, "str16": 2, "vbin16": 2, "vbin32": 4}
"""Octets of the length before it."""
REMEMBERED = {"message_reply_to"}
"""Structs that many messages share."""


def wire(model: Model, field: Field, owner: str) -> str:
    """`wire_type`, and `fragments` for the arrays whose elements have no encoding."""
    return "fragments" if field.type == "command-fragments" else wire_type(model, field, owner)


def function(owner: str, name: str) -> str:
    """`message`, `delivery-properties` -> `message_delivery_properties`."""
    return f"{owner}_{name}".replace("-", "_")


def cls(owner: str, name: str) -> str:
    """Returns a class of the vocabulary as generated layouts write it: `message.Transfer`."""
    return f"{owner}.{class_name(name)}"


def mask(index: int) -> int:
    """Returns the flag of field number `index` in the two flag octets read as one number."""
    return 1 << (index % 8) << (8 if index < 8 else 0)


def flags_of(fields: list[Field]) -> int:
    """Returns all flags that have a meaning."""
    return sum(mask(i) for i in range(len(fields)))


def local(field: Field) -> str:
    """Returns the local variable of a field in a reader or writer."""
    return "v_" + field.name.replace("-", "_")
