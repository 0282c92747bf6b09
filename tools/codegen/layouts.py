"""Writes wire/layouts/: straight-line readers and writers, one of each for every control, command and struct."""

from __future__ import annotations

import re

from tools.codegen.compare import final_changes
from tools.codegen.model import AmqpClass, Field, Model, StructType, Verb
from tools.codegen.names import class_name, field_name
from tools.codegen.text import call, docstring, quoted
from tools.codegen.vocabulary import HEAD, import_lines, wire_type

_ARGS = ["b: bytes", "p: int", "end: int", "flags: int", "reading: Reading", "depth: int"]
_NUMBERS = {
    "uint16": ("u16", 2, "put_u16"),
    "uint32": ("u32", 4, "put_u32"),
    "uint64": ("u64", 8, "put_u64"),
    "sequence-no": ("u32", 4, "put_u32"),
    "datetime": ("i64", 8, ""),
}
_READ = {
    "map": ("read_map", "Map"),
    "array": ("read_array", "Array"),
    "fragments": ("read_fragments", "Array"),
    "texts": ("read_texts", "tuple[str, ...]"),
    "struct32": ("read_struct32", "Struct"),
    "sequence-set": ("read_set", "RangeSet"),
    "byte-ranges": ("read_byte_ranges", "ByteRanges"),
}
_WRITE = {
    "map": "encode_map",
    "array": "encode_array",
    "fragments": "encode_array",
    "texts": "encode_texts",
    "struct32": "encode_struct32",
    "sequence-set": "encode_set",
    "byte-ranges": "encode_byte_ranges",
}
_PLAIN = {"str8": "str", "str16": "str", "vbin8": "bytes", "vbin16": "bytes", "vbin32": "bytes", "uuid": "UUID"}
# Most lengths are below 256: two looks are quicker than unpacking.
_LENGTH = {1: "b[p]", 2: "(b[p + 1] if b[p] == 0 else u16(b, p)[0])", 4: "u32(b, p)[0]"}
_PREFIX = {"str8": 1, "vbin8": 1, "str16": 2, "vbin16": 2, "vbin32": 4}

_MODULES = {
    "amqp_sansio.kernel.build": "COMPILED",
    "amqp_sansio.wire.octets": (
        "LENGTH16 OCTET OCTET_OF blank i64 put_command_head put_control_head put_sized16_head put_struct_head put_i64 put_u16"
        " put_u32 put_u64 u16 u32 u64 uuid_of"
    ),
    "amqp_sansio.wire.sets": "encode_byte_ranges encode_set read_byte_ranges read_set",
    "amqp_sansio.wire.encoding": ("SHORT STRUCT_WRITERS encode_array encode_map encode_struct32 encode_texts put_short"),
    "amqp_sansio.wire.types": ("STRUCT_READERS StructDecoder read_array read_fragments read_map read_struct32 read_texts"),
    "amqp_sansio.wire.reading": "Reading",
    "amqp_sansio.wire.explain": "FieldTable Shapes",
    "amqp_sansio.wire.layouts.fields": "FIELDS SHAPES",
    "amqp_sansio.wire.headers": "decode_headers walk_headers",
    "amqp_sansio.wire.layouts.dispatch": (
        "ControlReader CommandReader ControlWriter CommandWriter command_decoder command_encoder control_decoder"
        " control_encoder"
        " decode_one_struct struct_encoder"
    ),
    "amqp_sansio.wire.layouts.layout": "Layout",
    "amqp_sansio.spec.base": "Command Control Struct",
    "amqp_sansio.spec.values": "Array ByteRanges Map",
    "amqp_sansio.kernel.serials": "RangeSet",
    "collections.abc": "Callable",
    "typing": "Final TypeAlias",
    "uuid": "UUID",
}


def wire(model: Model, field: Field, owner: str) -> str:
    """`wire_type`, and `fragments` for the arrays whose elements have no encoding."""
    return "fragments" if field.type == "command-fragments" else wire_type(model, field, owner)


def function(owner: str, name: str) -> str:
    """`message`, `delivery-properties` -> `message_delivery_properties`."""
    return f"{owner}_{name}".replace("-", "_")


def cls(owner: str, name: str) -> str:
    """How generated layouts write a class of the vocabulary: `message.Transfer`."""
    return f"{owner}.{class_name(name)}"


def mask(index: int) -> int:
    """The flag of field number `index` in the two flag octets read as one number."""
    return 1 << (index % 8) << (8 if index < 8 else 0)


def flags_of(fields: list[Field]) -> int:
    """All flags that mean something."""
    return sum(mask(i) for i in range(len(fields)))


# --- readers ---------------------------------------------------------------------------------------


def reader(model: Model, owner: str, thing: Verb | StructType, sized: bool) -> list[str]:
    """The reader of the fields of a control, command or struct; `sized` ones pass over what they do not know."""
    made = cls(owner, thing.name)
    known = flags_of(thing.fields)
    wrong = [] if sized or known == 0xFFFF else [f"flags & 0x{0xFFFF & ~known:04X}"]
    head = ["", *call(f"def read_{function(owner, thing.name)}", _ARGS, f" -> {made}:", 0)]
    if function(owner, thing.name) in _FILLED:
        return [*head, *_filling(model, owner, thing, made), ""]
    return [
        *head,
        *_statements(model, owner, thing, " or ".join(["p > end", *wrong])),
        *call(f"return {made}", _values(model, owner, thing), "", 4),
        "",
    ]


def _filling(model: Model, owner: str, thing: Verb | StructType, made: str) -> list[str]:
    """Like `_statements` and the constructor behind them, but each field goes where it belongs as soon as it is read."""
    body = [f"    made = {made}() if COMPILED else blank({made})"]
    bits = [(i, f) for i, f in enumerate(thing.fields) if wire(model, f, owner) == "bit"]
    if bits:
        names = [f"made.{field_name(field.name)}" for _, field in bits]
        body.append(f"    if flags & 0x{sum(mask(i) for i, _ in bits):04X}:")
        body += [f"        {name} = flags & 0x{mask(i):04X} != 0" for name, (i, _) in zip(names, bits, strict=True)]
        body += ["    else:", f"        {' = '.join(names)} = False"]
    seldom: list[tuple[int, str, list[str]]] = []
    for index, field in enumerate(thing.fields):
        name, kind = f"made.{field_name(field.name)}", wire(model, field, owner)
        if kind == "bit":
            continue
        statements = _read(name, kind)[1]
        full = function(*kind.split(".")) if "." in kind else ""
        if full in _REMEMBERED:
            statements = [
                f"q = p + 2 + {_LENGTH[2]}",
                f"{_local(field)} = {full.upper()}_READ.get(b[p:q])",
                f"if {_local(field)} is None:",
                f"    {name}, p = field_{full}(b, p, end, reading, depth)",
                "else:",
                f"    {name} = {_local(field)}",
                "    p = q",
            ]
        lines = [f"if flags & 0x{mask(index):04X}:", *[f"    {s}" for s in statements], "else:", f"    {name} = None"]
        if field.name not in _SELDOM:
            body += [f"    {line}" for line in lines]
            continue
        seldom.append((mask(index), name, lines))
        if len(seldom) == len(_SELDOM & {f.name for f in thing.fields}):
            body.append(f"    if flags & 0x{sum(bit for bit, _, _ in seldom):04X}:")
            body += [f"        {line}" for _, _, lines in seldom for line in lines]
            body += ["    else:", f"        {' = '.join(name for _, name, _ in seldom)} = None"]
    return [*body, "    if p > end:", "        raise IndexError", "    return made"]


def _statements(model: Model, owner: str, thing: Verb | StructType, wrong: str) -> list[str]:
    body: list[str] = []
    for index, field in enumerate(thing.fields):
        name, kind = _local(field), wire(model, field, owner)
        if kind != "bit":
            python, statements = _read(name, kind)
            body.append(f"    {name}: {python} | None = None")
            body += [f"    if flags & 0x{mask(index):04X}:", *[f"        {s}" for s in statements]]
    return [*body, f"    if {wrong}:", "        raise IndexError"]


def _values(model: Model, owner: str, thing: Verb | StructType) -> list[str]:
    return [
        f"flags & 0x{mask(index):04X} != 0" if wire(model, field, owner) == "bit" else _local(field)
        for index, field in enumerate(thing.fields)
    ]


def _local(field: Field) -> str:
    return "v_" + field.name.replace("-", "_")


def _read(name: str, kind: str) -> tuple[str, list[str]]:
    if kind == "uint8":
        return "int", [f"{name} = b[p]", "p += 1"]
    if kind in _NUMBERS:
        function_, width, _ = _NUMBERS[kind]
        return "int", [f"{name} = {function_}(b, p)[0]", f"p += {width}"]
    if kind in _PREFIX:
        width = _PREFIX[kind]
        length = _LENGTH[width]
        tail = ".decode()" if kind.startswith("str") else ""
        return _PLAIN[kind], [f"q = p + {width} + {length}", f"{name} = b[p + {width} : q]{tail}", "p = q"]
    if kind == "uuid":
        return "UUID", [f"{name} = uuid_of(b[p : p + 16])", "p += 16"]
    if kind in _READ:
        function_, python = _READ[kind]
        return python, [f"{name}, p = {function_}(b, p, end, reading, depth)"]
    owner, struct = kind.split(".")
    return cls(owner, struct), [f"{name}, p = field_{function(owner, struct)}(b, p, end, reading, depth)"]


def field_reader(model: Model, struct: StructType, size: int, code: int | None) -> list[str]:
    """The reader of a struct that is a field: its size, and its code when it has one, come first."""
    made = cls(struct.owner, struct.name)
    args = ["b: bytes", "p: int", "end: int", "reading: Reading", "depth: int"]
    (class_code,) = [c.code for c in model.classes if c.name == struct.owner]
    head = size + (2 if code is None else 4)
    wrong = ["stop > end", f"stop < p + {head}"]
    if code is not None:
        wrong.append(f"u16(b, p + {size})[0] != 0x{class_code << 8 | code:04X}")
    full = function(struct.owner, struct.name)
    remembered = full in _REMEMBERED
    cache = f"{full.upper()}_READ"
    start = [f"    flags = u16(b, p + {head - 2})[0]", f"    p += {head}"]
    body = [
        *start,
        *_statements(model, struct.owner, struct, "p > stop"),
        *call(f"return {made}", _values(model, struct.owner, struct), ", stop", 4),
    ]
    if remembered:
        body = [
            "    raw = b[p:stop]",
            f"    known = {cache}.get(raw)",
            "    if known is not None:",
            "        return known, stop",
            *start,
            *_statements(model, struct.owner, struct, "p > stop"),
            *call(f"made = {made}", _values(model, struct.owner, struct), "", 4),
            f"    if len({cache}) >= 256:",
            f"        {cache}.clear()",
            "    if len(raw) <= 512:",
            f"        {cache}[raw] = made",
            "    return made, stop",
        ]
    return [
        *(
            ["", f"{cache}: Final[dict[bytes, {made}]] = {{}}", '"""By their octets: answers go to a few places."""', ""]
            if remembered
            else []
        ),
        "",
        *call(f"def field_{full}", args, f" -> tuple[{made}, int]:", 0),
        f"    stop = p + {size} + {'u16' if size == 2 else 'u32'}(b, p)[0]",
        f"    if stop == p + {size}:",
        f"        return {made}(), stop",
        f"    if {' or '.join(wrong)}:",
        "        raise IndexError",
        *body,
        "",
    ]


# --- writers ---------------------------------------------------------------------------------------


# Structs that nearly every message carries: their readers fill the slots of a blank one, at half the cost of a constructor
# (which costs nothing where it is compiled).
_FILLED = {"message_delivery_properties", "message_message_properties"}

# Fields of those, side by side, that are absent together nearly always: one look for both.
_SELDOM = {"resume-id", "resume-ttl", "user-id", "app-id"}

# Structs that many messages share.
_REMEMBERED = {"message_reply_to"}

# Texts that many messages share, so that their octets are worth keeping.
_SHARED = {"exchange", "destination", "content-type", "content-encoding", "queue"}


def pieces_of(field: Field, name: str, kind: str) -> tuple[list[str], list[str]]:
    """Statements that come first, and the pieces to append."""
    if kind == "uint8":
        return [], [f"OCTET_OF[{name}]"]
    if kind == "datetime":  # signed, but all 64 bits are taken
        return [], [f"put_i64({name}) if {name} < 0x8000000000000000 else put_u64({name})"]
    if kind in _NUMBERS:
        return [], [f"{_NUMBERS[kind][2]}({name})"]
    if kind == "str8" and field.name in _SHARED:
        return [], [f"SHORT.get({name}) or put_short({name})"]
    if kind in _PREFIX:
        first = [f"octets = {name}.encode()"] if kind.startswith("str") else []
        source = "octets" if first else name
        width = _PREFIX[kind]
        if width == 2:
            first.append(f"length = len({source})")
            return first, ["LENGTH16[length] if length < 256 else put_u16(length)", source]
        return first, [f"OCTET[len({source})]" if width == 1 else f"put_u32(len({source}))", source]
    if kind == "uuid":
        return [], [f'{name}.int.to_bytes(16, "big")']
    if kind in _WRITE:
        return [], [f"{_WRITE[kind]}({name})"]
    return [], [f"write_{function(*kind.split('.'))}({name})"]


def writer(model: Model, owner: str, thing: Verb | StructType, head: str, given: str) -> list[str]:
    """The writer of a control, command or struct: `head` makes what stands before the fields from `flags` and `content`.

    Few pieces are added up, many are joined: each is quicker where it is used.
    """
    made = cls(owner, thing.name)
    more = ", sync: bool" if isinstance(thing, Verb) and thing.kind == "command" else ""
    lines = ["", f"def write_{function(owner, thing.name)}({given}: {made}{more}) -> bytes:"]
    if not thing.fields:
        return [*lines, f"    return {head.replace('flags', '0')}", ""]
    remembered = function(owner, thing.name) in _REMEMBERED
    cache = f"{function(owner, thing.name).upper()}_WRITTEN"
    if remembered:
        key = ", ".join(f"{given}.{field_name(f.name)}" for f in thing.fields)
        declared = f"{cache}: Final[dict[tuple[str | None, ...], bytes]] = {{}}"
        lines = ["", declared, '"""By their values, likewise."""', "", *lines]
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
        name = _local(field)
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


# --- modules ---------------------------------------------------------------------------------------


def assembled(
    about: str, body: list[str], vocabulary: list[str], more: dict[str, set[str]] | None = None, fills: bool = False
) -> str:
    """A module of these lines under its docstring and the imports that they need; `fills`: it writes Final attributes."""
    text = "\n".join(body).strip("\n")
    words = set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
    groups: dict[str, set[str]] = {k: set(v) for k, v in (more or {}).items()}
    for where, names in _MODULES.items():
        used = {n for n in names.split() if n in words and f"def {n}(" not in text and f"\n{n}: Final" not in "\n" + text}
        if used:
            groups[where] = groups.get(where, set()) | used
    groups["amqp_sansio.spec"] = {owner for owner in vocabulary if re.search(rf"\b{owner}\.", text)}
    head = [*docstring(about, 0, [HEAD]), "", "from __future__ import annotations", "", *import_lines(groups)]
    # Attributes are Final for everyone but those who make the object.
    first = ['# mypy: disable-error-code="misc"'] if fills else []
    return "\n".join([*first, *head, *([""] if text.startswith(("def ", "class ")) else []), text, ""])


def _table(name: str, kind: str, rows: list[str], pre: str = "") -> list[str]:
    return ["", f"{name}: Final[{kind}] = {{", *([f"    {pre},"] if pre else []), *[f"    {row}," for row in rows], "}"]


def structs_module(model: Model) -> str:
    """wire/layouts/structs.py: every struct, as the errata has them."""
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
        used = any(wire(model, f, c.name) == f"{amqp.name}.{struct.name}" for c in model.classes for f in _all_fields(c))
        if used:
            body += field_reader(model, struct, struct.size, struct.code)
        body += writer(model, amqp.name, struct, head, "s")
    body += _table("DECODERS", "dict[int, StructDecoder]", decoders)
    body.append('"""By class and code as one number."""')
    body += _table("WRITERS", "dict[type[Struct], Callable[..., bytes]]", writers)
    body += ["", "STRUCT_READERS.update(DECODERS)", "STRUCT_WRITERS.update(WRITERS)"]
    return assembled("The structs of AMQP 0-10, with the coded xid of the errata.", body, names, fills=True)


def _all_fields(amqp: AmqpClass) -> list[Field]:
    return [f for thing in _things(amqp) for f in thing.fields]


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
    """wire/layouts/fields.py: the same facts as tables, for what is not in a hurry."""
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
            rows += _row(made, pairs)
            required = [quoted(field_name(f.name)) for f in thing.fields if f.required]
            if required:
                flags += [line.replace("= (", ": (") for line in _row(made, required)]
            if isinstance(thing, StructType) and thing.code is not None:
                structs.append(f"0x{amqp.code << 8 | thing.code:04X}: {made}")
    for amqp in model.classes:
        for struct in amqp.structs:
            if any(wire(model, f, c.name) == f"{amqp.name}.{struct.name}" for c in model.classes for f in _all_fields(c)):
                key = f"0x{amqp.code << 8 | struct.code:04X}" if struct.code is not None else "None"
                made = cls(amqp.name, struct.name)
                shapes.append(f'"{amqp.name}.{struct.name}": ({made}, FIELDS[{made}], {struct.size}, {key})')
    body += ["", "FIELDS: Final[dict[type, FieldTable]] = {", *rows, "}"]
    body.append('"""Name and wire type of each field, in flag order."""')
    body += ["", "REQUIRED: Final[dict[type, tuple[str, ...]]] = {", *flags, "}"]
    body.append('"""Fields that the specification marks as required; nobody enforces it on the wire."""')
    body += _table("SHAPES", "Shapes", shapes)
    body.append('"""Structs that are fields: class, fields, the octets of their size, their code where they have one."""')
    body += _table("STRUCTS", "dict[int, type[Struct]]", structs)
    body.append('"""Coded structs by class and code as one number."""')
    return assembled("The fields of every control, command and struct as tables.", body, [c.name for c in model.classes])


def _row(key: str, items: list[str]) -> list[str]:
    flat = f"    {key}: ({items[0]},)," if len(items) == 1 else f"    {key}: ({', '.join(items)}),"
    if len(flat) <= 128:
        return [flat]
    return [f"    {key}: (", *[f"        {item}," for item in items], "    ),"]


def _verbs(model: Model, kind: str) -> list[tuple[int, Verb]]:
    return [(c.code, verb) for c in model.classes for verb in c.verbs if verb.kind == kind]


def _tables(verbs: list[tuple[int, Verb]], kind: str, pre: str = "") -> list[str]:
    readers = [f"0x{code << 8 | v.code:04X}: read_{function(v.owner, v.name)}" for code, v in verbs]
    writers = [f"{cls(v.owner, v.name)}: write_{function(v.owner, v.name)}" for _, v in verbs]
    upper, title = kind.upper(), kind.capitalize()
    spread = f"**{pre}{upper}_" if pre else ""
    lines = _table(f"{upper}_READERS", f"dict[int, {title}Reader]", readers, spread and spread + "READERS")
    lines += _table(f"{upper}_WRITERS", f"dict[type[{title}], {title}Writer]", writers, spread and spread + "WRITERS")
    return lines


def errata_module(model: Model) -> str:
    """wire/layouts/v0_10.py."""
    controls, commands = _verbs(model, "control"), _verbs(model, "command")
    body = _verb_functions(model, controls + commands)
    body += [*_tables(controls, "control"), *_tables(commands, "command")]
    for kind, verbs in (("control", controls), ("command", commands)):
        rows = [f"0x{code << 8 | v.code:04X}: {cls(v.owner, v.name)}" for code, v in verbs]
        body += _table(f"{kind.upper()}S", f"dict[int, type[{kind.capitalize()}]]", rows)
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
    body += _layout("0-10 errata", "WRITERS", "SHAPES", "COMMAND_READERS", "COMMAND_WRITERS", "CODES")
    more = {"amqp_sansio.wire.layouts.structs": {"field_dtx_xid", "write_dtx_xid", "WRITERS"}}
    about = "AMQP 0-10 as the errata has it, which is what is spoken: readers and writers of all controls and commands."
    return assembled(about, body, [c.name for c in model.classes], more)


def final_module(model: Model) -> str:
    """wire/layouts/v0_10_final.py: what differs where dtx.xid has no code and a size of two octets."""
    (dtx,) = [c for c in model.classes if c.name == "dtx"]
    (xid,) = [s for s in dtx.structs if s.name == "xid"]
    commands = [(dtx.code, v) for v in dtx.verbs if any(f.type == "xid" for f in v.fields)]
    size = next(int(word[5:]) for line in final_changes()[1] for word in line.split() if word.startswith("size="))
    body = field_reader(model, xid, size, None)
    body += writer(model, "dtx", xid, "put_sized16_head(len(content) + 2, flags)", "s")
    body += _verb_functions(model, commands)
    body += _tables(commands, "command", "v0_10.")
    body += _table("FINAL_SHAPES", "Shapes", ['"dtx.xid": (dtx.Xid, FIELDS[dtx.Xid], 2, None)'], "**SHAPES")
    body += [
        "FINAL_WRITERS: Final = {kind: write for kind, write in WRITERS.items() if kind is not dtx.Xid}",
        "FINAL_CODES: Final = {kind: codes for kind, codes in CODES.items() if kind is not dtx.Xid}",
    ]
    body += _layout("0-10 final", "FINAL_WRITERS", "FINAL_SHAPES", "COMMAND_READERS", "COMMAND_WRITERS", "FINAL_CODES")
    more = {
        "amqp_sansio.wire.layouts.structs": {"WRITERS"},
        "amqp_sansio.wire.layouts": {"v0_10"},
        "amqp_sansio.wire.layouts.v0_10": {
            "CLASSES",
            "CODES",
            "COMMANDS",
            "CONTROLS",
            "CONTROL_READERS",
            "CONTROL_WRITERS",
            "SEGMENTS",
        },
    }
    about = "AMQP 0-10 as first published: dtx.xid has no code and a size of two octets.  All else is shared with v0_10."
    return assembled(about, body, ["dtx"], more)


def _layout(name: str, writers: str, shapes: str, readers: str, command_writers: str, codes: str) -> list[str]:
    items = [
        quoted(name),
        f"control_decoder(CONTROL_READERS, CONTROLS, FIELDS, {shapes})",
        f"command_decoder({readers}, COMMANDS, FIELDS, {shapes})",
        "decode_one_struct",
        "walk_headers",
        "decode_headers",
        f"control_encoder(CONTROL_WRITERS, FIELDS, {shapes})",
        f"command_encoder({command_writers}, FIELDS, {shapes})",
        f"struct_encoder({writers})",
        codes,
        "CLASSES",
        "SEGMENTS",
    ]
    return ["", *call("LAYOUT: Final[Layout] = Layout", items, "", 0)]
