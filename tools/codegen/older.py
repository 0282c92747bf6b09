"""Generates the vocabulary of the older dialects from the tables in tables/older, and a layout for each."""

from __future__ import annotations

from functools import cache

from tools.codegen.compare_older import OLDER, applied, changes, facts, table_lines
from tools.codegen.layouts import assembled, row
from tools.codegen.model import AmqpClass, Field, Model, Segments, StructType, Verb, parse
from tools.codegen.names import field_name
from tools.codegen.older_hot import hot, properties_module, straight
from tools.codegen.text import call, quoted
from tools.codegen.vocabulary import module
from tools.codegen.wiring import cls

DIALECTS = {
    "0-8": ("0-8",),
    "0-8 unbind": ("0-8", "0-8-excerpts", "0-8-unbind"),
    "0-8 Qpid": ("0-8", "0-8-qpid"),
    "0-9": ("0-9",),
    "0-9 RabbitMQ": ("0-9", "0-9-rabbitmq"),
    "0-9 unbind": ("0-9", "0-9-queue-class"),
    "0-9 Qpid": ("0-9", "0-9-qpid"),
    "0-9-1": ("0-9-1", "rabbitmq", "rabbitmq-unprinted"),
    "0-9-1 Qpid": ("0-9-1", "0-9-1-qpid"),
}
"""The tables of each dialect: a complete one, or a base and its differences."""
PROFILE = "rabbitmq"
"""The profile of field tables: deployed peers agree in all three versions."""
SHARED = "connection"
"""The class that has the same words in all families."""

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
    "content": "content",
}
"""The type on the wire of each type of the documents."""
_SENT = {"bit": "False", "vbin8": 'b""', "vbin32": 'b""', "table": "{}"}
"""The value sent for a reserved argument; numbers are 0."""
_NAMES = {
    "nowait": "no-wait",
    "connection.tune.frame-max": "max-frame-size",
    "connection.tune-ok.frame-max": "max-frame-size",
    "connection.tune.heartbeat": "heartbeat-max",
    "basic.reserved": "cluster-id",
}
"""Fields with different names in different versions that are one field here."""
_KINDS = {
    "connection.start.mechanisms": "words32",
    "connection.start.locales": "words32",
    "connection.open.capabilities": "words8",
    "connection.open-ok.known-hosts": "hosts8",
    "connection.redirect.known-hosts": "hosts8",
}
"""Texts that contain lists: words separated by blanks, hosts separated by commas."""


@cache
def words() -> dict[tuple[str, str], str]:
    """Returns the sentence of each class, method and field."""
    return {(line.kind, line.name): line.text for line in parse((OLDER / "words.txt").read_text(), "words.txt")}


def load_dialect(name: str) -> Model:
    """Returns the words of one dialect."""
    first, *rest = DIALECTS[name]
    found = facts(table_lines(first))
    for each in rest:
        found = applied(found, *changes(each))
    return model_of(found)


def model_of(said: list[str]) -> Model:
    """Returns the classes, methods and properties in these facts.  Raises ValueError naming a field whose type has no
    reader."""
    model = Model([], [], [], [], [])
    domains: dict[str, str] = {}
    classes: dict[str, AmqpClass] = {}
    verbs: dict[str, Verb] = {}
    properties: dict[str, StructType] = {}
    for fact in said:
        first, *rest = fact.split()
        if first == "domain":
            domains[rest[0]] = rest[1]
        elif first == "class":
            classes[rest[0]] = AmqpClass(rest[0], int(rest[1]), [], [], [], [], words().get(("class", rest[0]), ""))
            model.classes.append(classes[rest[0]])
        elif rest[0] == "method":
            content = Segments(True, [], True) if "content" in rest[3:] else None
            text = words().get(("method", f"{first}.{rest[1]}"), "")
            verb = Verb("method", first, rest[1], int(rest[2]), [], [], [], None, content, text)
            verbs[f"{first}.{rest[1]}"] = verb
            classes[first].verbs.append(verb)
        elif first in verbs and rest[0] == "field":
            verbs[first].fields.append(_field(first, rest, domains))
        elif first in verbs and rest[0] == "response":
            verbs[first].responses.append(rest[1])
        elif first in verbs and rest[0] == "chassis":
            verbs[first].handlers.append((rest[1], rest[2]))
        elif first in classes and rest[0] == "property":
            if first not in properties:
                text = f"The properties of a content of class {first}; None for one that is absent."
                properties[first] = StructType(first, "properties", None, 0, 0, [], text)
                classes[first].structs.append(properties[first])
            properties[first].fields.append(_field(first, rest, domains))
    return model


def _field(owner: str, line: list[str], domains: dict[str, str]) -> Field:
    name = _NAMES.get(f"{owner}.{line[1]}") or _NAMES.get(line[1], line[1])
    kind = domains.get(line[2], line[2])
    if kind not in WIRE:
        raise ValueError(f"{owner}.{name}: nothing reads the type {kind}")
    of = _KINDS.get(f"{owner}.{name}", WIRE[kind])
    return Field(name, of, False, None, words().get(("field", name), ""), "reserved" in line[3:])


def union(models: dict[str, Model]) -> Model:
    """Returns one class for each verb, with the fields of all versions; their docstrings name the versions."""
    whole = Model([], [], [], [], [])
    classes: dict[str, AmqpClass] = {}
    for model in models.values():
        for amqp in model.classes:
            if amqp.name == SHARED:
                continue
            if amqp.name not in classes:
                classes[amqp.name] = AmqpClass(amqp.name, amqp.code, [], [], [], [], amqp.text)
                whole.classes.append(classes[amqp.name])
            known = {verb.name for verb in classes[amqp.name].verbs}
            classes[amqp.name].verbs += [_verb(models, amqp.name, v.name) for v in amqp.verbs if v.name not in known]
            if amqp.structs and not classes[amqp.name].structs:
                (struct,) = amqp.structs
                classes[amqp.name].structs.append(StructType(amqp.name, struct.name, None, 0, 0, struct.fields, struct.text))
    return whole


def _verb(models: dict[str, Model], owner: str, name: str) -> Verb:
    versions = {
        key: verb for key, m in models.items() for c in m.classes if c.name == owner for verb in c.verbs if verb.name == name
    }
    fields: dict[str, Field] = {}
    where: dict[str, list[str]] = {}
    for key, verb in versions.items():
        for at, field in enumerate(verb.fields):
            if field.reserved:
                continue
            where.setdefault(field.name, []).append(key)
            if field.name not in fields:
                fields[field.name] = Field(field.name, field.type, False, None, field.text)
            assert fields[field.name].type == field.type, f"{owner}.{name}.{field.name} has two types, at {at}"
    for field in fields.values():
        field.optional = where[field.name] != list(versions)
        if field.optional:
            field.text = f"{field.text}  In {_listed(where[field.name])}.".strip()
    first = next(iter(versions.values()))
    text = first.text if list(versions) == list(models) else f"{first.text}  In {_listed(list(versions))}.".strip()
    responses = list(dict.fromkeys(answer for verb in versions.values() for answer in verb.responses))
    handlers = list(dict.fromkeys(handler for verb in versions.values() for handler in verb.handlers))
    ordered = sorted(fields.values(), key=lambda field: field.optional)  # so that positions mean the same in each version
    return Verb("method", owner, name, first.code, ordered, responses, handlers, None, first.segments, text)


def _listed(dialects: list[str]) -> str:
    """Returns the names of dialects; a version is named by its number alone if all its variants are included."""
    names: list[str] = []
    for name in dialects:
        version = name.split()[0]
        whole = all(each in dialects for each in DIALECTS if each.split()[0] == version)
        label = version if whole else f"{version} alone" if name == version else " ".join(reversed(name.split()))
        if label not in names:
            names.append(label)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


VOCABULARY = "amqp_sansio.spec.methods"


def methods_module(model: Model, name: str, profile: str, package: str = VOCABULARY, whole: Model | None = None) -> str:
    """Returns the layout of the methods of one dialect: their codes, the tables of their arguments, and properties; `profile`
    is that of its field tables, `package` holds the vocabulary.  Hot verbs of the family `whole` have straight-line code."""
    verbs = [(c.code << 16 | v.code, v) for c in model.classes for v in c.verbs]
    body = ["", "CODES: Final[dict[type[Method] | type[Control], int]] = {"]
    body += [f"    {cls(v.owner, v.name)}: 0x{code:08X}," for code, v in verbs]
    body += ["}", "", "ARGUMENTS: Final[dict[type[Method] | type[Control], ArgumentTable]] = {"]
    for _, verb in verbs:
        body += row(cls(verb.owner, verb.name), [_argument(f) for f in verb.fields])
    body += ["}"]
    rows: list[str] = []
    for amqp in model.classes:
        for struct in amqp.structs:
            pairs = [f"({quoted(field_name(f.name))}, {quoted(f.type)})" for f in struct.fields]
            rows += [f"    {amqp.code}: (", f"        {cls(amqp.name, struct.name)},", "        ("]
            rows += [*[f"            {pair}," for pair in pairs], "        ),", "    ),"]
    head = "PROPERTIES: Final[dict[int, tuple[type[Struct], FieldTypes]]] = "
    body += ["", f"{head}{{", *rows, "}"] if rows else ["", f"{head}{{}}"]
    contents = [quoted(f"{v.owner}.{v.name}") for _, v in verbs if v.segments]
    head = "CONTENTS: Final[frozenset[str]] = frozenset("
    held = ["    [", *[f"        {each}," for each in contents], "    ]", ")"]
    body += ["", head, *held] if contents else ["", f"{head}[])"]
    tables = [f"PROFILES[{quoted(profile)}]"]
    if whole is not None:
        body += straight(model, whole)
        tables += ["READERS", "WRITERS"]
    body += [
        "",
        "CLASSES: Final[dict[int, str]] = {",
        *[f"    {c.code}: {quoted(c.name)}," for c in model.classes],
        "}",
        *call(
            "CODEC: Final = MethodCodec",
            [quoted(name), "CODES", "ARGUMENTS", "CONTENTS", "PROPERTIES", "CLASSES", *tables],
            "",
            0,
        ),
    ]
    more = {"amqp_sansio.wire.layouts.profiles": {"PROFILES"}}
    return assembled(f"The methods of {name} as tables.", body, [c.name for c in model.classes], more, package=package)


def variant_module(model: Model, base: Model, name: str, version: str) -> str:
    """Returns the layout of a variant: its differences from that of its version."""
    whole = {f"{v.owner}.{v.name}": (c.code << 16 | v.code, v) for c in base.classes for v in c.verbs}
    own = {f"{v.owner}.{v.name}": (c.code << 16 | v.code, v) for c in model.classes for v in c.verbs}
    gone = [cls(verb.owner, verb.name) for verb_name, (_, verb) in whole.items() if verb_name not in own]
    body: list[str] = []
    kept = ["**CODES", "**ARGUMENTS"]
    if gone:
        body += ["", "_GONE: Final = (", *[f"    {each}," for each in gone], ")"]
        kept = [f"**{{kind: held for kind, held in {table}.items() if kind not in _GONE}}" for table in ("CODES", "ARGUMENTS")]
    body += ["", "_CODES: Final[dict[type[Method] | type[Control], int]] = {", f"    {kept[0]},"]
    body += [
        f"    {cls(v.owner, v.name)}: 0x{code:08X},"
        for key, (code, v) in own.items()
        if key not in whole or whole[key][0] != code
    ]
    body += ["}", "", "_ARGUMENTS: Final[dict[type[Method] | type[Control], ArgumentTable]] = {", f"    {kept[1]},"]
    for key, (_, verb) in own.items():
        arguments = [_argument(f) for f in verb.fields]
        if key not in whole or arguments != [_argument(f) for f in whole[key][1].fields]:
            body += row(cls(verb.owner, verb.name), arguments)
    for code, verb in hot(base):
        at, other = own.get(f"{verb.owner}.{verb.name}", (code, verb))
        assert (at, [*map(_argument, other.fields)]) == (code, [*map(_argument, verb.fields)]), f"{name} {verb.name}"
    more = {c.code: c.name for c in model.classes if c.name not in {each.name for each in base.classes}}
    classes = (
        "CLASSES" if not more else f"{{**CLASSES, {', '.join([f'{code}: {quoted(each)}' for code, each in more.items()])}}}"
    )
    said = [quoted(name), "_CODES", "_ARGUMENTS", "CONTENTS", "PROPERTIES", classes, f"PROFILES[{quoted(PROFILE)}]"]
    body += ["}", "", *call("CODEC: Final = MethodCodec", [*said, "READERS", "WRITERS"], "", 0)]
    where = f"amqp_sansio.wire.layouts.{module_name(version)}"
    imports = {
        where: {"ARGUMENTS", "CLASSES", "CODES", "CONTENTS", "PROPERTIES", "READERS", "WRITERS"},
        "amqp_sansio.wire.layouts.profiles": {"PROFILES"},
    }
    about = f"The methods of {' '.join(reversed(name.split()))}: what differs from {version}."
    return assembled(about, body, [c.name for c in [*base.classes, *model.classes]], imports, package=VOCABULARY)


def _argument(field: Field) -> str:
    # A reserved text may contain octets that are not text.
    kind = "vbin8" if field.reserved and field.type in ("str8", "words8", "hosts8") else field.type
    send = _SENT.get(kind, "0") if field.reserved else "None"
    return f"({quoted(field_name(field.name))}, {quoted(kind)}, {send})"


def older_files() -> dict[str, str]:
    """Returns the vocabulary of the family and the layouts of its dialects: path below src/amqp_sansio -> text."""
    models = {name: load_dialect(name) for name in DIALECTS}
    whole = union(models)
    files = {f"spec/methods/{amqp.name}.py": module(whole, amqp) for amqp in whole.classes}
    for name, model in models.items():
        version = name.split()[0]
        made = (
            methods_module(model, name, PROFILE, whole=whole)
            if name == version
            else variant_module(model, models[version], name, version)
        )
        files[f"wire/layouts/{module_name(name)}.py"] = made
    files["wire/layouts/basic_properties.py"] = properties_module(whole)
    return files


def module_name(dialect: str) -> str:
    """`0-9-1 Qpid` -> `v0_9_1_qpid`."""
    return f"v{dialect}".lower().replace("-", "_").replace(" ", "_")
