"""Reads tools/codegen/tables: facts of AMQP 0-10 and a sentence of our own for each.

One fact per line, nested by two blanks, with ` -- ` before the sentence.  `parse` returns the tree of lines, `load` the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TABLES = Path(__file__).parent / "tables"
CLASSES = ("connection", "session", "execution", "message", "tx", "dtx", "exchange", "queue", "file", "stream")


@dataclass
class Line:
    """One line of a table: its words, its sentence, and the lines below it."""

    words: list[str]
    text: str
    where: str
    below: list[Line] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return self.words[0]

    @property
    def name(self) -> str:
        return self.words[1]

    def all(self, kind: str) -> Iterator[Line]:
        return (line for line in self.below if line.kind == kind)

    def option(self, name: str) -> str | None:
        """Returns the value of `name=value` on this line."""
        for word in self.words:
            if word.startswith(name + "="):
                return word[len(name) + 1 :]
        return None


@dataclass
class Rule:
    """A named rule or exception; `error` is the name of the error code of an exception."""

    path: str
    text: str
    error: str | None


@dataclass
class Field:
    name: str
    type: str
    required: bool
    default: str | None
    text: str
    reserved: bool = False
    """Whether it is an argument of methods that is on the wire but has no meaning."""
    optional: bool = False
    """Whether it is an argument of methods that some versions do not have."""


@dataclass
class Type:
    name: str
    code: int | None
    fixed: int | None
    variable: int | None
    text: str


@dataclass
class Domain:
    owner: str
    name: str
    type: str
    choices: list[tuple[str, int, str]]
    text: str


@dataclass
class StructType:
    owner: str
    name: str
    code: int | None
    size: int
    pack: int
    fields: list[Field]
    text: str


@dataclass
class Segments:
    header_required: bool
    entries: list[str]
    body: bool


@dataclass
class Verb:
    """A control, a command or a method."""

    kind: str
    owner: str
    name: str
    code: int
    fields: list[Field]
    responses: list[str]
    handlers: list[tuple[str, str]]
    result: str | None
    segments: Segments | None
    text: str
    also: list[Field] = field(default_factory=list)
    """Fields of a word that all families share and that 0-10 does not have."""


@dataclass
class AmqpClass:
    name: str
    code: int
    roles: list[tuple[str, str]]
    domains: list[Domain]
    structs: list[StructType]
    verbs: list[Verb]
    text: str
    also: list[Verb] = field(default_factory=list)
    """Verbs of a class that all families share and that 0-10 does not have."""


@dataclass
class Model:
    types: list[Type]
    constants: list[tuple[str, int, str]]
    domains: list[Domain]
    classes: list[AmqpClass]
    rules: list[Rule]

    def domain(self, name: str, owner: str) -> Domain | None:
        """Returns the domain that `name` means inside class `owner`."""
        if "." in name:
            owner, name = name.split(".")
        for domain in [d for c in self.classes if c.name == owner for d in c.domains] + self.domains:
            if domain.name == name:
                return domain
        return None

    def struct(self, name: str, owner: str) -> StructType | None:
        """Returns the struct that `name` means inside class `owner`."""
        if "." in name:
            owner, name = name.split(".")
        for struct in [s for c in self.classes if c.name == owner for s in c.structs]:
            if struct.name == name:
                return struct
        return None


def parse(text: str, where: str) -> list[Line]:
    """Returns the lines of a table as a forest.  Raises ValueError for a line that is nested too deep."""
    roots: list[Line] = []
    stack: list[Line] = []
    for number, raw in enumerate(text.splitlines(), 1):
        if not raw.strip() or raw.lstrip().startswith("#"):
            continue
        depth = (len(raw) - len(raw.lstrip())) // 2
        fact, _, sentence = raw.strip().partition(" -- ")
        if depth > len(stack):
            raise ValueError(f"{where}:{number}: too deep")
        del stack[depth:]
        line = Line(fact.split(), sentence.strip(), f"{where}:{number}")
        (stack[-1].below if stack else roots).append(line)
        stack.append(line)
    return roots


def load(folder: Path = TABLES) -> Model:
    """Returns the whole model."""
    model = Model([], [], [], [], [])
    for line in parse((folder / "types.txt").read_text(), "types.txt"):
        if line.kind == "type":
            code, fixed, variable = line.option("code"), line.option("fixed"), line.option("variable")
            model.types.append(
                Type(
                    line.name,
                    int(code, 16) if code else None,
                    int(fixed) if fixed else None,
                    int(variable) if variable else None,
                    line.text,
                )
            )
        elif line.kind == "constant":
            model.constants.append((line.name, int(line.words[2]), line.text))
        else:
            model.domains.append(_domain(line, ""))
    for name in CLASSES:
        (line,) = parse((folder / f"{name}.txt").read_text(), f"{name}.txt")
        model.classes.append(_class(line))
        model.rules.extend(_rules(line, ""))
    return model


def _rules(line: Line, prefix: str) -> Iterator[Rule]:
    path = f"{prefix}.{line.name}" if prefix else line.name
    for below in line.below:
        if below.kind == "rule":
            yield Rule(f"{path}.{below.name}", below.text, None)
        elif below.kind == "exception":
            yield Rule(f"{path}.{below.name}", below.text, below.words[2])
        elif below.kind in {"control", "command", "struct", "field"}:
            yield from _rules(below, path)


def _domain(line: Line, owner: str) -> Domain:
    choices = [(c.name, int(c.words[2]), c.text) for c in line.all("choice")]
    return Domain(owner, line.name, line.words[2], choices, line.text)


def _field(line: Line) -> Field:
    return Field(line.name, line.words[2], "required" in line.words[3:], line.option("default"), line.text)


def _struct(line: Line, owner: str) -> StructType:
    code, size, pack = line.option("code"), line.option("size"), line.option("pack")
    assert size is not None, line.where
    assert pack is not None, line.where
    fields = [_field(f) for f in line.all("field")]
    return StructType(owner, line.name, int(code) if code else None, int(size), int(pack), fields, line.text)


def _verb(line: Line, owner: str) -> Verb:
    result = None
    for answer in line.all("result"):
        result = answer.name if len(answer.words) > 1 else next(answer.all("struct")).name
    segments = None
    for part in line.all("segments"):
        (header,) = part.all("header")
        segments = Segments("required" in header.words, [e.name for e in header.all("entry")], any(part.all("body")))
    return Verb(
        line.kind.removeprefix("also-"),
        owner,
        line.name,
        int(line.words[2]),
        [_field(f) for f in line.all("field")],
        [r.name for r in line.all("response")],
        [(h.name, h.words[2]) for h in line.all("handle")],
        f"{owner}.{result}" if result else None,
        segments,
        line.text,
        [_field(f) for f in line.all("also")],
    )


def _class(line: Line) -> AmqpClass:
    name = line.name
    structs = [_struct(s, name) for s in line.all("struct")]
    verbs = []
    for below in line.below:
        if below.kind in {"control", "command"}:
            verbs.append(_verb(below, name))
            structs.extend(_struct(s, name) for answer in below.all("result") for s in answer.all("struct"))
    return AmqpClass(
        name,
        int(line.words[2]),
        [(r.name, r.words[2]) for r in line.all("role")],
        [_domain(d, name) for d in line.all("domain")],
        structs,
        verbs,
        line.text,
        [_verb(v, name) for v in line.all("also-control")],
    )
