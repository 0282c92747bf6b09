"""Writes the modules of wire/layouts/: readers and writers, their tables, and tables of the fields."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from tools.codegen.compare import final_changes
from tools.codegen.hot import HOT
from tools.codegen.model import AmqpClass, Field, Model, StructType, Verb
from tools.codegen.names import field_name
from tools.codegen.readers import field_reader, reader
from tools.codegen.text import call, docstring, quoted
from tools.codegen.vocabulary import HEAD, import_lines
from tools.codegen.wiring import cls, function, wire
from tools.codegen.writers import writer

_MODULES = {
    "amqp_sansio.kernel.build": "COMPILED",
    "amqp_sansio.wire.primitives": (
        "LENGTH16 OCTET OCTET_OF blank i64 octets_and_moment put_command_head put_control_head put_sized16_head"
        " put_struct_head put_i64 put_u16 put_u32 put_u64 size_and_uuid u16 u32 u64 uuid_of"
    ),
    "amqp_sansio.wire.encoding": (
        "SHORT STRUCT_WRITERS encode_array encode_byte_ranges encode_map encode_set encode_struct32 encode_texts put_short"
    ),
    "amqp_sansio.wire.types": (
        "STRUCT_READERS StructDecoder read_array read_byte_ranges read_fragments read_map read_set read_struct32 read_texts"
    ),
    "amqp_sansio.wire.codec": "ArgumentTable FieldTypes InnerStructs Reading",
    "amqp_sansio.wire.layouts.fields": "FIELDS SHAPES",
    "amqp_sansio.wire.layouts.layout": ("ControlReader CommandReader ControlWriter CommandWriter Layout"),
    "amqp_sansio.wire.method_codec": "MethodCodec",
    "amqp_sansio.spec.base": "Command Control Method Struct",
    "amqp_sansio.spec.values": "Array ByteRanges Map",
    "amqp_sansio.kernel.serials": "RangeSet",
    "collections.abc": "Callable",
    "typing": "Final TypeAlias",
    "uuid": "UUID",
}


KINDS = ("CONTROL", "COMMAND")


def assembled(
    about: str,
    body: list[str],
    vocabulary: list[str],
    more: dict[str, set[str]] | None = None,
    fills: bool = False,
    package: str = "amqp_sansio.spec",
) -> str:
    """Returns a module of these lines with its docstring and imports; `fills`: it writes Final attributes.

    Classes of the vocabulary are in `package`, except for class connection, which all families share.
    """
    text = "\n".join(body).strip("\n")
    words = set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
    groups: dict[str, set[str]] = {k: set(v) for k, v in (more or {}).items()}
    for where, names in _MODULES.items():
        used = {n for n in names.split() if n in words and f"def {n}(" not in text and f"\n{n}: Final" not in "\n" + text}
        if used:
            groups[where] = groups.get(where, set()) | used
    for owner in vocabulary:
        if re.search(rf"(?<![\"\w.]){owner}\.", text):
            groups.setdefault("amqp_sansio.spec" if owner == "connection" else package, set()).add(owner)
    head = [*docstring(about, 0, [HEAD]), "", "from __future__ import annotations", "", *import_lines(groups)]
    # Attributes are Final for everyone but the code that makes the object.
    first = ['# mypy: disable-error-code="misc"'] if fills else []
    return "\n".join([*first, *head, *([""] if text.startswith(("def ", "class ", "@")) else []), text, ""])


def _table(name: str, kind: str, rows: list[str], pre: str = "") -> list[str]:
    if not rows and not pre:
        return ["", f"{name}: Final[{kind}] = {{}}"]
    return ["", f"{name}: Final[{kind}] = {{", *([f"    {pre},"] if pre else []), *[f"    {row}," for row in rows], "}"]


def structs_module(model: Model) -> str:
    """Returns wire/layouts/structs.py: every struct, as the errata define it."""
    body: list[str] = []
    decoders: list[str] = []
    writers: list[str] = []
    names = [c.name for c in model.classes]
    everything = sorted(
        [(c, s) for c in model.classes for s in c.structs],
        key=lambda pair: any("." in wire(model, f, pair[0].name) for f in pair[1].fields),
    )
    for amqp, struct in everything:
        if struct.size == 0 or struct.name == "header":
            continue
        if struct.code is not None:
            body += reader(model, amqp.name, struct, sized=True)
        full = function(amqp.name, struct.name)
        if struct.code is not None:
            key = amqp.code << 8 | struct.code
            decoders.append(f"0x{key:04X}: read_{full}")
            writers.append(f"{cls(amqp.name, struct.name)}: write_{full}")
            head = f"put_struct_head(len(content) + 4, 0x{key:04X}, flags)"
        else:
            head = "put_sized16_head(len(content) + 2, flags)"
        if any(f"{amqp.name}.{struct.name}" in _held(model, c.name, c.structs) for c in model.classes):
            body += field_reader(model, struct, struct.size, struct.code)
        body += writer(model, amqp.name, struct, head, "s")
    body += _table("DECODERS", "dict[int, StructDecoder]", decoders)
    body.append('"""By class and code as one number."""')
    body += _table("WRITERS", "dict[type[Struct], Callable[..., bytes]]", writers)
    body += ["", "STRUCT_READERS.update(DECODERS)", "STRUCT_WRITERS.update(WRITERS)"]
    return assembled("The structs of AMQP 0-10, with the coded xid of the errata.", body, names, fills=True)


def _all_fields(amqp: AmqpClass) -> list[Field]:
    return [f for thing in _things(amqp) for f in thing.fields]


def _held(model: Model, owner: str, things: Iterable[Verb | StructType]) -> set[str]:
    """Returns the structs that are fields of these: `dtx.xid`."""
    return {kind for thing in things for field in thing.fields if "." in (kind := wire(model, field, owner))}


def _things(amqp: AmqpClass) -> list[Verb | StructType]:
    return [*amqp.structs, *amqp.verbs]


def _verb_functions(model: Model, verbs: list[tuple[int, Verb]]) -> list[str]:
    body: list[str] = []
    for class_code, verb in verbs:
        body += reader(model, verb.owner, verb, sized=False)
        key = class_code << 8 | verb.code
        if verb.kind == "control":
            head = f"put_control_head(0x{key:04X}, flags)"
        else:
            head = f"put_command_head(0x{key:04X}, 1, sync, flags)"
        body += writer(model, verb.owner, verb, head, "c")
    return body


def fields_module(model: Model) -> str:
    """Returns wire/layouts/fields.py: the same facts as tables, for code that is not on a hot path."""
    body: list[str] = []
    rows: list[str] = []
    shapes: list[str] = []
    structs: list[str] = []
    flags: list[str] = []
    for amqp in model.classes:
        for thing in _things(amqp):
            if isinstance(thing, StructType) and thing.name == "header" and thing.size == 1:
                continue
            made = cls(amqp.name, thing.name)
            pairs = [f"({quoted(field_name(f.name))}, {quoted(wire(model, f, amqp.name))})" for f in thing.fields]
            rows += row(made, pairs)
            required = [quoted(field_name(f.name)) for f in thing.fields if f.required]
            if required:
                flags += [line.replace("= (", ": (") for line in row(made, required)]
            if isinstance(thing, StructType) and thing.code is not None:
                structs.append(f"0x{amqp.code << 8 | thing.code:04X}: {made}")
    for amqp in model.classes:
        for struct in amqp.structs:
            if any(wire(model, f, c.name) == f"{amqp.name}.{struct.name}" for c in model.classes for f in _all_fields(c)):
                key = f"0x{amqp.code << 8 | struct.code:04X}" if struct.code is not None else "None"
                made = cls(amqp.name, struct.name)
                shapes.append(f'"{amqp.name}.{struct.name}": ({made}, FIELDS[{made}], {struct.size}, {key})')
    body += ["", "FIELDS: Final[dict[type, FieldTypes]] = {", *rows, "}"]
    body.append('"""Name and wire type of each field, in flag order."""')
    body += ["", "REQUIRED: Final[dict[type, tuple[str, ...]]] = {", *flags, "}"]
    body.append('"""Fields that the specification marks as required; nobody enforces it on the wire."""')
    body += _table("SHAPES", "InnerStructs", shapes)
    body.append('"""Structs that are fields: class, fields, the octets of their size, their code where they have one."""')
    body += _table("STRUCTS", "dict[int, type[Struct]]", structs)
    body.append('"""Coded structs by class and code as one number."""')
    return assembled("The fields of every control, command and struct as tables.", body, [c.name for c in model.classes])


def row(key: str, items: list[str]) -> list[str]:
    """Returns an entry of a table: a tuple of these items, on one line if it fits."""
    flat = f"    {key}: ({items[0]},)," if len(items) == 1 else f"    {key}: ({', '.join(items)}),"
    if len(flat) <= 128:
        return [flat]
    return [f"    {key}: (", *[f"        {item}," for item in items], "    ),"]


def _verbs(model: Model, kind: str) -> list[tuple[int, Verb]]:
    return [(c.code, verb) for c in model.classes for verb in c.verbs if verb.kind == kind]


def _tables(verbs: list[tuple[int, Verb]], kind: str) -> list[str]:
    readers = [f"0x{code << 8 | v.code:04X}: read_{function(v.owner, v.name)}" for code, v in verbs]
    writers = [f"{cls(v.owner, v.name)}: write_{function(v.owner, v.name)}" for _, v in verbs]
    upper, title = kind.upper(), kind.capitalize()
    lines = _table(f"{upper}_READERS", f"dict[int, {title}Reader]", readers)
    lines += _table(f"{upper}_WRITERS", f"dict[type[{title}], {title}Writer]", writers)
    return lines


def errata_module(model: Model, straight: Container[str] = HOT) -> str:
    """Returns wire/layouts/v0_10.py, with straight-line code for these verbs."""
    controls, commands = _verbs(model, "control"), _verbs(model, "command")
    body: list[str] = []
    tables: list[str] = []
    for kind, verbs in (("control", controls), ("command", commands)):
        chosen = [(code, verb) for code, verb in verbs if f"{verb.owner}.{verb.name}" in straight]
        for held in sorted(set().union(*[_held(model, verb.owner, [verb]) for _, verb in chosen])):
            struct = model.struct(held, "")
            assert struct is not None, held
            body += field_reader(model, struct, struct.size, struct.code)
        body += _verb_functions(model, chosen)
        tables += _tables(chosen, kind)
    body += tables
    rows = [
        f"{cls(c.name, t.name)}: (0x{c.code:02X}, 0x{t.code:02X})"
        for c in model.classes
        for t in _things(c)
        if t.code is not None
    ]
    body += _table("CODES", "dict[type[Control | Command | Struct], tuple[int, int]]", rows)
    body += _table("CLASSES", "dict[int, str]", [f"0x{c.code:02X}: {quoted(c.name)}" for c in model.classes])
    segments = [quoted(f"{v.owner}.{v.name}") for _, v in commands if v.segments]
    body += ["", *call("SEGMENTS: Final[frozenset[str]] = frozenset", ["{" + ", ".join(segments) + "}"], "", 0)]
    body += _layout("0-10 errata", "SHAPES", "CODES")
    more: dict[str, set[str]] = {}
    if any("write_dtx_xid(" in line for line in body):
        more = {"amqp_sansio.wire.layouts.structs": {"write_dtx_xid"}}
    about = "AMQP 0-10 as the errata has it, which is what is spoken: straight-line code for hot verbs, and all codes."
    return assembled(about, body, [c.name for c in model.classes], more)


def final_module(model: Model) -> str:
    """Returns wire/layouts/v0_10_final.py: the differences, since its dtx.xid has no code and a size of two octets."""
    size = next(int(word[5:]) for line in final_changes()[1] for word in line.split() if word.startswith("size="))
    changed = [f"dtx.{v.name}" for c in model.classes for v in c.verbs if any(f.type == "xid" for f in v.fields)]
    if both := HOT.keys() & changed:
        raise ValueError(f"straight-line code of {', '.join(sorted(both))} writes the xid of the errata in both layouts")
    body = _table("FINAL_SHAPES", "InnerStructs", [f'"dtx.xid": (dtx.Xid, FIELDS[dtx.Xid], {size}, None)'], "**SHAPES")
    body += [
        "FINAL_CODES: Final = {kind: codes for kind, codes in CODES.items() if kind is not dtx.Xid}",
    ]
    body += _layout("0-10 final", "FINAL_SHAPES", "FINAL_CODES")
    names = ["CLASSES", "CODES", "SEGMENTS", *[f"{kind}_{what}" for kind in KINDS for what in ("READERS", "WRITERS")]]
    more = {"amqp_sansio.wire.layouts.v0_10": set(names)}
    about = "AMQP 0-10 as first published: dtx.xid has no code and a size of two octets.  All else is shared with v0_10."
    return assembled(about, body, ["dtx"], more)


def _layout(name: str, shapes: str, codes: str) -> list[str]:
    items = [
        quoted(name),
        "CONTROL_READERS",
        "COMMAND_READERS",
        "CONTROL_WRITERS",
        "COMMAND_WRITERS",
        "FIELDS",
        shapes,
        codes,
        "CLASSES",
        "SEGMENTS",
    ]
    return ["", *call("LAYOUT: Final[Layout] = Layout", items, "", 0)]
