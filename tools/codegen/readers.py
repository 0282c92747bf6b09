"""Writes straight-line readers, one for each control, command and struct."""

from __future__ import annotations

from itertools import groupby

from tools.codegen.model import Field, Model, StructType, Verb
from tools.codegen.names import field_name
from tools.codegen.text import call
from tools.codegen.wiring import NUMBERS, PREFIX, REMEMBERED, cls, flags_of, function, local, mask, wire

_ARGS = ["b: bytes", "p: int", "end: int", "flags: int", "reading: Reading", "depth: int"]
_READ = {
    "map": ("read_map", "Map"),
    "array": ("read_array", "Array"),
    "fragments": ("read_fragments", "Array"),
    "texts": ("read_texts", "tuple[str, ...]"),
    "struct32": ("read_struct32", "Struct"),
    "sequence-set": ("read_set", "RangeSet"),
    "byte-ranges": ("read_byte_ranges", "ByteRanges"),
}
_PLAIN = {"str8": "str", "str16": "str", "vbin8": "bytes", "vbin16": "bytes", "vbin32": "bytes", "uuid": "UUID"}
# Most lengths are below 256: two looks are quicker than unpacking.
_LENGTH = {1: "b[p]", 2: "(b[p + 1] if b[p] == 0 else u16(b, p)[0])", 4: "u32(b, p)[0]"}

# Structs that nearly every message carries: their readers fill the slots of a blank one, at half the cost of a constructor
# (which costs nothing where it is compiled).
_FILLED = {"message_delivery_properties", "message_message_properties"}

# Fields of those, side by side: where just those that nearly every message carries are there, they are read as one.
_FIRST = {"priority", "delivery-mode", "ttl", "timestamp", "expiration", "content-length", "message-id"}
_CARRIED = {
    ("priority", "delivery-mode", "timestamp"): ("octets_and_moment", 10),
    ("content-length", "message-id"): ("size_and_uuid", 24),
}
"""Reader, octets."""

# Others, side by side, that are absent together nearly always: one look for both.
_SELDOM = {"resume-id", "resume-ttl", "user-id", "app-id"}


def reader(model: Model, owner: str, thing: Verb | StructType, sized: bool) -> list[str]:
    """Returns the reader of the fields of a control, command or struct; `sized` ones skip unknown fields."""
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
    """Like `_statements` and the constructor after them, but stores each field as soon as it is read."""
    body = [f"    made = {made}() if COMPILED else blank({made})"]
    bits = [(i, f) for i, f in enumerate(thing.fields) if wire(model, f, owner) == "bit"]
    if bits:
        names = [f"made.{field_name(field.name)}" for _, field in bits]
        body.append(f"    if flags & 0x{sum(mask(i) for i, _ in bits):04X}:")
        body += [f"        {name} = flags & 0x{mask(i):04X} != 0" for name, (i, _) in zip(names, bits, strict=True)]
        body += ["    else:", f"        {' = '.join(names)} = False"]
    others = [(i, f) for i, f in enumerate(thing.fields) if wire(model, f, owner) != "bit"]
    for together, side_by_side in groupby(others, lambda each: _together(each[1])):
        fields = list(side_by_side)
        lines = [line for index, field in fields for line in _filled(model, owner, index, field)]
        names, every = [f"made.{field_name(f.name)}" for _, f in fields], sum(mask(i) for i, _ in fields)
        if together == "seldom":
            lines = [f"if flags & 0x{every:04X}:", *_inside(lines), "else:", f"    {' = '.join(names)} = None"]
        elif together == "first":
            ((carried, (read, octets)),) = [each for each in _CARRIED.items() if each[0][0] in {f.name for _, f in fields}]
            there = [f"made.{field_name(name)}" for name in carried]
            absent = [name for name in names if name not in there]
            lines = [
                f"if flags & 0x{every:04X} == 0x{sum(mask(i) for i, f in fields if f.name in carried):04X}:",
                f"    {', '.join(there)} = {read}(b, p)",
                *([f"    {' = '.join(absent)} = None"] if absent else []),
                f"    p += {octets}",
                "else:",
                *_inside(lines),
            ]
        body += _inside(lines)
    return [*body, "    if p > end:", "        raise IndexError", "    return made"]


def _inside(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _together(field: Field) -> str:
    return "first" if field.name in _FIRST else "seldom" if field.name in _SELDOM else ""


def _filled(model: Model, owner: str, index: int, field: Field) -> list[str]:
    """Returns what fills one slot."""
    name, kind = f"made.{field_name(field.name)}", wire(model, field, owner)
    statements = _read(name, kind)[1]
    full = function(*kind.split(".")) if "." in kind else ""
    if full in REMEMBERED:
        statements = [
            f"q = p + 2 + {_LENGTH[2]}",
            f"{local(field)} = {full.upper()}_READ.get(b[p:q])",
            f"if {local(field)} is None:",
            f"    {name}, p = field_{full}(b, p, end, reading, depth)",
            "else:",
            f"    {name} = {local(field)}",
            "    p = q",
        ]
    return [f"if flags & 0x{mask(index):04X}:", *_inside(statements), "else:", f"    {name} = None"]


def _statements(model: Model, owner: str, thing: Verb | StructType, wrong: str) -> list[str]:
    body: list[str] = []
    for index, field in enumerate(thing.fields):
        name, kind = local(field), wire(model, field, owner)
        if kind != "bit":
            python, statements = _read(name, kind)
            body.append(f"    {name}: {python} | None = None")
            body += [f"    if flags & 0x{mask(index):04X}:", *[f"        {s}" for s in statements]]
    return [*body, f"    if {wrong}:", "        raise IndexError"]


def _values(model: Model, owner: str, thing: Verb | StructType) -> list[str]:
    return [
        f"flags & 0x{mask(index):04X} != 0" if wire(model, field, owner) == "bit" else local(field)
        for index, field in enumerate(thing.fields)
    ]


def _read(name: str, kind: str) -> tuple[str, list[str]]:
    if kind == "uint8":
        return "int", [f"{name} = b[p]", "p += 1"]
    if kind in NUMBERS:
        function_, width, _ = NUMBERS[kind]
        return "int", [f"{name} = {function_}(b, p)[0]", f"p += {width}"]
    if kind in PREFIX:
        width = PREFIX[kind]
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
    """Returns the reader of a struct that is a field: its size, and its code if it has one, come first."""
    made = cls(struct.owner, struct.name)
    args = ["b: bytes", "p: int", "end: int", "reading: Reading", "depth: int"]
    (class_code,) = [c.code for c in model.classes if c.name == struct.owner]
    head = size + (2 if code is None else 4)
    wrong = ["stop > end", f"stop < p + {head}"]
    if code is not None:
        wrong.append(f"u16(b, p + {size})[0] != 0x{class_code << 8 | code:04X}")
    full = function(struct.owner, struct.name)
    remembered = full in REMEMBERED
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
