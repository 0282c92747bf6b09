"""Writes wire/layouts/properties.py: the properties of nearly every message, as keywords instead of structs."""

from __future__ import annotations

from tools.codegen.layouts import assembled
from tools.codegen.model import Model, StructType
from tools.codegen.names import class_name, field_name
from tools.codegen.text import call
from tools.codegen.wiring import mask, wire
from tools.codegen.writers import pieces_of

_STRUCTS = ("delivery-properties", "message-properties")
_TYPES = {
    "bit": "bool",
    "uint8": "int",
    "uint64": "int",
    "datetime": "int",
    "str8": "str",
    "str16": "str",
    "vbin16": "bytes",
    "uuid": "UUID",
    "map": "Mapping[str, Value]",
}


def _python(kind: str) -> str:
    owner, dot, struct = kind.partition(".")
    return f"{owner}.{class_name(struct)}" if dot else _TYPES[kind]


def properties_module(model: Model) -> str:
    """Returns the text of wire/layouts/properties.py."""
    structs = [struct for name in _STRUCTS if (struct := model.struct(name, "message")) is not None]
    body = ["", "def write_properties("]
    for field in [f for struct in structs for f in struct.fields]:
        kind = wire(model, field, "message")
        body.append(f"    {field_name(field.name)}: {_python(kind)}{' = False' if kind == 'bit' else ' | None = None'},")
    body += [") -> bytes:", '    """The header structs with these fields; one without any is left out.  EncodeError."""']
    body += ['    header = b""', "    parts: list[bytes] = []", "    try:"]
    for struct in structs:
        body += [f"    {line}" for line in _struct(model, struct, again=struct is not structs[0])]
    body += ["        return header", "    except UNWRITABLE:", "        pass", "    try:"]
    for at, struct in enumerate(structs):
        names = [field_name(field.name) for field in struct.fields]
        body += call(f"{'first' if at == 0 else 'second'} = message.{class_name(struct.name)}", names, "", 8)
    body += [
        "    except (TypeError, ValueError):",
        "        kind = type(application_headers).__name__",
        '        raise EncodeError("message.message-properties.application_headers", f"takes a mapping, not {kind}") from None',
        "    return encode_struct32(first) + encode_struct32(second)  # one of them says what cannot be written",
    ]
    about = "The properties of a message given one by one: what nearly every message carries, without building its structs."
    more = {
        "amqp_sansio.errors": {"EncodeError"},
        "collections.abc": {"Mapping"},
        "amqp_sansio.spec.values": {"Value"},
        "amqp_sansio.wire.encoding": {"UNWRITABLE"},
        "amqp_sansio.wire.layouts.structs": {"write_message_reply_to"},
    }
    return assembled(about, body, ["message"], more)


def _struct(model: Model, struct: StructType, again: bool) -> list[str]:
    lines = ["    parts = []"] if again else []
    lines.append("    flags = 0")
    for index, field in enumerate(struct.fields):
        kind, name = wire(model, field, "message"), field_name(field.name)
        if kind == "bit":
            lines += [f"    if {name}:", f"        flags |= 0x{mask(index):04X}"]
            continue
        statements, pieces = pieces_of(field, name, kind)
        lines += [f"    if {name} is not None:", f"        flags |= 0x{mask(index):04X}", *[f"        {s}" for s in statements]]
        lines += [f"        parts.append({piece})" for piece in pieces]
    (code,) = [amqp.code << 8 | struct.code for amqp in model.classes if amqp.name == "message" and struct.code is not None]
    lines += ["    if flags:", '        content = b"".join(parts)']
    head = f"put_struct_head(len(content) + 4, 0x{code:04X}, flags)"
    return [*lines, f"        header {'+=' if again else '='} {head} + content"]
