"""Generates straight-line code for the frequent verbs of the older dialects; all others go through the interpreter.

If this code gives up, it raises nothing: the interpreter then handles the same octets or values and names the fault.  The
figures are from `python -m bench.older_verbs` on 2026-11-26 (CPython 3.11, pure, two busy cores): nanoseconds to read, by this
code, by the interpreter and by pamqp, and the same to write.
"""

from __future__ import annotations

from itertools import takewhile

from tools.codegen.layouts import assembled
from tools.codegen.model import Field, Model, StructType, Verb
from tools.codegen.names import field_name
from tools.codegen.text import assign, call
from tools.codegen.wiring import cls, function

HOT: dict[str, str] = {
    "basic.publish": "once a message; 718, 5815, 9517 and 302, 1095, 7185",
    "basic.deliver": "once a message; 854, 9394, 10148 and 406, 1295, 7574",
    "basic.get-ok": "once a message where it is asked for; 823, 4815, 9184 and 393, 1271, 8399",
    "basic.ack": "once a message, and once a confirm; 454, 1178, 1384 and 228, 587, 1169",
    "basic.nack": "as often as ack where messages are refused; 484, 1290, 4038 and 255, 689, 1462",
    "basic.reject": "as often as nack; 460, 1153, 1380 and 228, 589, 1163",
}
"""The reason for each verb.  The properties of class basic are the same in all versions and come with each of the first three:
all of them 5129, 26608, 34404 and 4067, 20769, 36169; the delivery mode alone 636, 6551, 4712 and 729, 4206, 1498."""
_WIDTHS = {"uint8": (1, "b[p]"), "uint16": (2, "u16(b, p)[0]"), "uint32": (4, "u32(b, p)[0]"), "uint64": (8, "u64(b, p)[0]")}
_PUT = {"uint8": "OCTET_OF[{}]", "uint16": "put_u16({})", "uint32": "put_u32({})", "uint64": "put_u64({})"}
_READER = "Callable[[bytes, int, int, Reading], Method | None]"
_WRITER = "Callable[..., bytes]"


def hot(model: Model) -> list[tuple[int, Verb]]:
    """Returns the hot verbs of a dialect; class and number as one number."""
    return [(c.code << 16 | v.code, v) for c in model.classes for v in c.verbs if f"{c.name}.{v.name}" in HOT]


def straight(model: Model, whole: Model) -> list[str]:
    """Returns the readers and writers of the hot verbs of a dialect, and the tables READERS and WRITERS."""
    order = {f"{v.owner}.{v.name}": [f.name for f in v.fields] for c in whole.classes for v in c.verbs}
    body: list[str] = [""]
    for code, verb in hot(model):
        body += _reader(verb, order[f"{verb.owner}.{verb.name}"])
        body += _writer(verb, code)
    body += ["", f"READERS: Final[dict[int, {_READER}]] = {{"]
    body += [f"    0x{code:08X}: _read_{function(v.owner, v.name)}," for code, v in hot(model)]
    body += ["}", "", f"WRITERS: Final[dict[type[Method] | type[Control], {_WRITER}]] = {{"]
    body += [f"    {cls(v.owner, v.name)}: _write_{function(v.owner, v.name)}," for _, v in hot(model)]
    return [*body, "}"]


def _reader(verb: Verb, order: list[str]) -> list[str]:
    made = cls(verb.owner, verb.name)
    head = f"def _read_{function(verb.owner, verb.name)}(b: bytes, p: int, end: int, reading: Reading) -> {made} | None:"
    lines = ["", head]
    bit = 0
    for field in verb.fields:
        if field.type == "bit":
            if bit % 8 == 0:
                lines += ["    bits = b[p]", "    p += 1"]
            if not field.reserved:
                lines.append(f"    {field_name(field.name)} = bits & {1 << bit % 8} != 0")
            bit += 1
            continue
        bit = 0
        lines += _read_field(field, f"{field_name(field.name)}: {'str' if field.type == 'str8' else 'int'}", "    ")
    here = {field.name for field in verb.fields if not field.reserved}
    values = [field_name(name) if name in here else "None" for name in order]
    while values and values[-1] == "None":
        values.pop()
    return [*lines, "    if p != end:", "        return None", *call(f"return {made}", values, "", 4), ""]


def _read_field(field: Field, name: str, blanks: str) -> list[str]:
    if field.type == "str8":
        lines = [f"{blanks}q = b[p]", f"{blanks}p += 1", f"{blanks}q += p"]
        lines += [] if field.reserved else [f"{blanks}{name} = b[p:q].decode()"]
        return [*lines, f"{blanks}p = q"]
    width, read = _WIDTHS[field.type]
    return [*([] if field.reserved else [f"{blanks}{name} = {read}"]), f"{blanks}p += {width}"]


def _writer(verb: Verb, code: int) -> list[str]:
    """Returns the code for bits and reserved arguments, which are constants; a number that is None is 0, as in the
    interpreter."""
    made = cls(verb.owner, verb.name)
    lines = ["", f"def _write_{function(verb.owner, verb.name)}(m: {made}) -> bytes:"]
    parts: list[str] = []
    constant = code.to_bytes(4, "big")
    bits: list[str] = []
    for place, field in enumerate(verb.fields):
        name = field_name(field.name)
        if field.type == "bit":
            if not field.reserved:
                bits.append(f"({1 << len(bits)} if m.{name} else 0)")
            last = place + 1 == len(verb.fields) or verb.fields[place + 1].type != "bit"
            if last:
                parts += [*_constant(constant), f"OCTET[{' | '.join(bits) if len(bits) > 1 else bits[0][1:-1]}]"]
                constant, bits = b"", []
        elif field.reserved:
            constant += bytes(1 if field.type == "str8" else _WIDTHS[field.type][0])
        elif field.type == "str8":
            lines.append(f"    {name} = m.{name}.encode()")
            parts += [*_constant(constant), f"OCTET[len({name})]", name]
            constant = b""
        else:
            parts += [*_constant(constant), _PUT[field.type].format(f"m.{name} or 0")]
            constant = b""
    return [*lines, *assign("parts", [*parts, *_constant(constant)], 4), '    return b"".join(parts)', ""]


def _constant(octets: bytes) -> list[str]:
    return ['b"' + "".join([f"\\x{octet:02x}" for octet in octets]) + '"'] if octets else []


def properties_module(whole: Model) -> str:
    """Returns wire/layouts/basic_properties.py, which is the same for every version."""
    (struct,) = next(amqp for amqp in whole.classes if amqp.name == "basic").structs
    about = "The properties of contents of class basic, which all older dialects have alike."
    more = {
        "typing": {"final"},
        "amqp_sansio.wire.field_tables": {"FlatReader", "TableReader"},
        "amqp_sansio.wire.types": {"BAD", "FieldWriter"},
    }
    return assembled(about, _properties(struct), ["basic"], more, fills=True, package="amqp_sansio.spec.methods")


_SELDOM = {"type", "user-id", "app-id", "cluster-id"}
"""The last properties, which are nearly always absent together: one test checks all of them."""
_REMEMBERED = {"content-type", "content-encoding", "reply-to", "type", "user-id", "app-id", "cluster-id"}
"""Texts that are the same in most messages, and are written like the names of exchanges."""


def _properties(struct: StructType) -> list[str]:
    made = cls(struct.owner, struct.name)
    flags = {field.name: 0x8000 >> place for place, field in enumerate(struct.fields)}
    first = list(takewhile(lambda field: field.name in _REMEMBERED, struct.fields))
    often = [field for field in struct.fields[len(first) :] if field.name not in _SELDOM]
    seldom = [field for field in struct.fields if field.name in _SELDOM]
    lines = _beginning(struct, flags, first, often, seldom)
    reads = ["b: bytes", "begin: Beginning", "end: int", "reading: Reading", "read_table: TableReader", "read_flat: FlatReader"]
    lines += ["", *call("def read_basic_properties", reads, f" -> {made} | None:", 0)]
    lines += ['    """Returns the properties up to `end`; None if they are wrong: the interpreter names the fault."""']
    lines.append(f"    made = {made}() if COMPILED else blank({made})  # to be filled: half the cost of a constructor")
    lines += [f"    made.{field_name(field.name)} = begin.{field_name(field.name)}" for field in first]
    lines.append("    p = begin.end")
    for field in often:
        lines += _filled(field, f"begin.has_{field_name(field.name)}", "    ")
    lines.append("    if begin.has_others:")
    lines.append("        flags = begin.flags")
    for field in seldom:
        lines += _filled(field, f"flags & 0x{flags[field.name]:04X}", "        ")
    lines += ["    else:", f"        {' = '.join([f'made.{field_name(field.name)}' for field in seldom])} = None"]
    lines += ["    return made if p == end else None", ""]
    lines += ["", f"def write_basic_properties(m: {made}, write_table: FieldWriter) -> bytes:"]
    lines += ['    """Returns the octets of all properties that are not None, after their word of flags."""']
    lines += ["    flags = 0", '    parts = [b""]']
    for field in struct.fields:
        name = field_name(field.name)
        lines += [f"    if ({name} := m.{name}) is not None:", f"        flags += 0x{flags[field.name]:04X}"]
        if field.name in _REMEMBERED:
            lines.append(f"        parts.append(SHORT.get({name}) or put_short({name}))")
        elif field.type == "str8":
            lines += [f"        octets = {name}.encode()"]
            lines += ["        parts.append(OCTET[len(octets)])", "        parts.append(octets)"]
        elif field.type == "table":
            lines.append(f"        parts.append(write_table({name}))")
        else:
            lines.append(f"        parts.append({_PUT[field.type].format(name)})")
    return [*lines, "    parts[0] = put_u16(flags)", '    return b"".join(parts)']


def _beginning(
    struct: StructType, flags: dict[str, int], first: list[Field], often: list[Field], seldom: list[Field]
) -> list[str]:
    """Returns the class of the cache."""
    has = [f"has_{field_name(field.name)}" for field in often]
    slots = sorted(["end", "flags", "octets", "has_others", *has, *[field_name(field.name) for field in first]])
    lines = ["", "@final", "class Beginning:"]
    lines += ['    """The beginning of properties: their flags, and those that are the same in every message of a kind."""', ""]
    lines += ["    __slots__ = (", *[f'        "{slot}",' for slot in slots], "    )", ""]
    lines += ["    def __init__(self, b: bytes, p: int) -> None:"]
    lines += ['        """Reads the flags at `p`, and more.  Raises one of `types.BAD` for wrong octets."""']
    unknown = sum(0x8000 >> place for place in range(len(struct.fields), 16))
    lines += ["        begin = p", "        flags: int = u16(b, p)[0]"]
    lines += [f"        if flags & 0x{unknown:04X}:", "            raise IndexError", "        p += 2"]
    for field in first:
        lines.append(f"        {field_name(field.name)}: str | None = None")
        lines.append(f"        if flags & 0x{flags[field.name]:04X}:")
        lines += _read_field(field, field_name(field.name), "            ")
    lines += ["        if p > len(b):", "            raise IndexError"]
    lines += [f"        self.{field_name(field.name)}: Final = {field_name(field.name)}" for field in first]
    lines += ["        self.flags: Final = flags", "        self.octets: Final = b[begin:p]", "        self.end: Final = p"]
    lines += [f"        self.has_{field_name(field.name)}: Final = flags & 0x{flags[field.name]:04X} != 0" for field in often]
    lines.append(f"        self.has_others: Final = flags & 0x{sum(flags[field.name] for field in seldom):04X} != 0")
    return [*lines, ""]


def _filled(field: Field, there: str, blanks: str) -> list[str]:
    """Returns code that reads a property into its slot, if it is `there`."""
    name = f"made.{field_name(field.name)}"
    if field.type == "table":
        lines = ["try:", "    found = read_flat(b, p, end)", "except BAD:", "    found = None"]
        lines.append(f"{name}, p = read_table(b, p, end, reading, 0) if found is None else found")
        read = [f"{blanks}    {line}" for line in lines]
    else:
        read = _read_field(Field(field.name, field.type, False, None, ""), name, f"{blanks}    ")
    return [f"{blanks}if {there}:", *read, f"{blanks}else:", f"{blanks}    {name} = None"]
