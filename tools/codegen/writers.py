"""Writes straight-line writers, one for each control, command and struct."""

from __future__ import annotations

from tools.codegen.model import Field, Model, StructType, Verb
from tools.codegen.names import field_name
from tools.codegen.wiring import NUMBERS, PREFIX, REMEMBERED, cls, function, local, mask, wire

_WRITE = {
    "map": "encode_map",
    "array": "encode_array",
    "fragments": "encode_array",
    "texts": "encode_texts",
    "sequence-set": "encode_set",
    "byte-ranges": "encode_byte_ranges",
}

# Texts that many messages share, so that their octets are worth keeping.
_SHARED = {"exchange", "destination", "content-type", "content-encoding", "queue"}


def pieces_of(field: Field, name: str, kind: str) -> tuple[list[str], list[str]]:
    """Returns the statements that come first, and the pieces to append."""
    if kind == "uint8":
        return [], [f"OCTET_OF[{name}]"]
    if kind == "datetime":  # signed, but all 64 bits are taken
        return [], [f"put_i64({name}) if {name} < 0x8000000000000000 else put_u64({name})"]
    if kind in NUMBERS:
        return [], [f"{NUMBERS[kind][2]}({name})"]
    if kind == "str8" and field.name in _SHARED:
        return [], [f"SHORT.get({name}) or put_short({name})"]
    if kind in PREFIX:
        first = [f"octets = {name}.encode()"] if kind.startswith("str") else []
        source = "octets" if first else name
        width = PREFIX[kind]
        if width == 2:
            first.append(f"length = len({source})")
            return first, ["LENGTH16[length] if length < 256 else put_u16(length)", source]
        return first, [f"OCTET[len({source})]" if width == 1 else f"put_u32(len({source}))", source]
    if kind == "uuid":
        return [], [f'{name}.int.to_bytes(16, "big")']
    if kind == "struct32":  # without a call of `encode_struct32` for each
        return [], [f"(STRUCT_WRITERS.get(type({name})) or encode_struct32)({name})"]
    if kind in _WRITE:
        return [], [f"{_WRITE[kind]}({name})"]
    return [], [f"write_{function(*kind.split('.'))}({name})"]


def writer(model: Model, owner: str, thing: Verb | StructType, head: str, given: str) -> list[str]:
    """Returns the writer of a control, command or struct: `head` makes the octets before the fields from `flags` and `content`.

    A few pieces are added up, many are joined: each way is the faster one there.
    """
    made = cls(owner, thing.name)
    more = ", sync: bool" if isinstance(thing, Verb) and thing.kind == "command" else ""
    lines = ["", f"def write_{function(owner, thing.name)}({given}: {made}{more}) -> bytes:"]
    if not thing.fields:
        return [*lines, f"    return {head.replace('flags', '0')}", ""]
    remembered = function(owner, thing.name) in REMEMBERED
    cache = f"{function(owner, thing.name).upper()}_WRITTEN"
    if remembered:
        key = ", ".join(f"{given}.{field_name(f.name)}" for f in thing.fields)
        declared = f"{cache}: Final[dict[tuple[str | None, ...], bytes]] = {{}}"
        lines = ["", declared, '"""Short ones, by their values."""', "", *lines]
        lines += [f"    key = ({key})", f"    known = {cache}.get(key)", "    if known is not None:", "        return known"]
    lines.append("    flags = 0")
    valued = [f for f in thing.fields if wire(model, f, owner) != "bit"]
    few = len(valued) <= 3
    if valued:
        lines.append('    content = b""' if few else "    parts: list[bytes] = []")
    for index, field in enumerate(thing.fields):
        kind = wire(model, field, owner)
        attribute = f"{given}.{field_name(field.name)}"
        if kind == "bit":
            lines += [f"    if {attribute}:", f"        flags |= 0x{mask(index):04X}"]
            continue
        name = local(field)
        first, pieces = pieces_of(field, name, kind)
        lines += [
            f"    {name} = {attribute}",
            f"    if {name} is not None:",
            f"        flags |= 0x{mask(index):04X}",
            *[f"        {s}" for s in first],
        ]
        if few:
            lines += [f"        content += {piece}" for piece in pieces]
        else:
            lines += [f"        parts.append({piece})" for piece in pieces]
    if not valued:
        return [*lines, f"    return {head.replace('len(content) + ', '')}", ""]
    if not few:
        lines.append('    content = b"".join(parts)')
    if remembered:
        lines += [
            f"    content = {head} + content",
            f"    if len({cache}) >= 256:",
            f"        {cache}.clear()",
            f"    {cache}[key] = content",
            "    return content",
            "",
        ]
        return lines
    return [*lines, f"    return {head} + content", ""]
