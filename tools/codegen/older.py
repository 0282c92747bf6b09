"""Reads the XML of the older dialects, and writes the layout of their methods.

What it reads: 0-8 writes names with blanks where the others have hyphens, and says `type` or `domain`; 0-9-1 marks arguments as
reserved.
"""

from __future__ import annotations

from xml.etree import ElementTree

from tools.codegen.layouts import assembled, row
from tools.codegen.model import AmqpClass, Field, Model, Segments, Verb
from tools.codegen.names import field_name
from tools.codegen.text import call, quoted
from tools.codegen.wiring import cls

WIRE = {
    "bit": "bit",
    "octet": "uint8",
    "short": "uint16",
    "long": "uint32",
    "longlong": "uint64",
    "shortstr": "str8",
    "longstr": "vbin32",
    "timestamp": "uint64",
    "table": "table",
}
"""The type on the wire of each type of the XML."""
_SENT = {"bit": "False", "vbin8": 'b""', "vbin32": 'b""', "table": "{}"}
"""What a reserved argument sends; numbers send 0."""


def load_older(text: str) -> Model:
    """The classes and methods of an XML document.  ValueError names the argument whose type has no reader."""
    root = ElementTree.fromstring(text)
    domains = {_name(d): d.attrib["type"] for d in root.iter("domain")}
    model = Model([], [], [], [], [])
    for element in root.iter("class"):
        name, code = _name(element), int(element.attrib["index"])
        verbs = [_method(m, name, domains) for m in element.iter("method")]
        model.classes.append(AmqpClass(name, code, [], [], [], verbs, ""))
    return model


def _name(element: ElementTree.Element) -> str:
    return element.attrib["name"].replace(" ", "-").replace("_", "-")


def _method(element: ElementTree.Element, owner: str, domains: dict[str, str]) -> Verb:
    handlers = [(_name(c), c.attrib["implement"]) for c in element.iter("chassis")]
    content = Segments(True, [], True) if element.get("content") == "1" else None
    name, code = _name(element), int(element.attrib["index"])
    fields = [_field(f, f"{owner}.{name}", domains) for f in element.iter("field")]
    return Verb("method", owner, name, code, fields, [_name(r) for r in element.iter("response")], handlers, None, content, "")


def _field(element: ElementTree.Element, full: str, domains: dict[str, str]) -> Field:
    said = element.get("domain") or element.attrib["type"]
    kind = domains.get(said.replace(" ", "-"), said)
    if kind not in WIRE:
        raise ValueError(f"{full}.{_name(element)}: nothing reads the type {kind}")
    return Field(_name(element), WIRE[kind], False, None, "", element.get("reserved") == "1")


def methods_module(model: Model, name: str, profile: str = "") -> str:
    """The layout of the methods of one dialect: their codes and the tables of their arguments; `profile` names that of its
    field tables."""
    verbs = [(c.code << 16 | v.code, v) for c in model.classes for v in c.verbs]
    body = ["", "CODES: Final[dict[type[Method], int]] = {"]
    body += [f"    {cls(v.owner, v.name)}: 0x{code:08X}," for code, v in verbs]
    body += ["}", "", "ARGUMENTS: Final[dict[type[Method], ArgumentTable]] = {"]
    for _, verb in verbs:
        body += row(cls(verb.owner, verb.name), [_argument(f) for f in verb.fields])
    body += ["}"]
    contents = [quoted(f"{v.owner}.{v.name}") for _, v in verbs if v.segments]
    held = ["{" + ", ".join(contents) + "}"] if contents else []
    body += ["", *call("CONTENTS: Final[frozenset[str]] = frozenset", held, "", 0)]
    tables = [f"PROFILES[{quoted(profile)}]"] if profile else []
    body += ["", *call("METHODS: Final = Methods", [quoted(name), "CODES", "ARGUMENTS", "CONTENTS", *tables], "", 0)]
    more = {"amqp_sansio.wire.layouts.profiles": {"PROFILES"}} if profile else {}
    return assembled(f"The methods of {name} as tables.", body, [c.name for c in model.classes], more)


def _argument(field: Field) -> str:
    # What arrives in a reserved text need be no text.
    kind = "vbin8" if field.reserved and field.type == "str8" else field.type
    send = _SENT.get(kind, "0") if field.reserved else "None"
    return f"({quoted(field_name(field.name))}, {quoted(kind)}, {send})"
