"""`python -m tools.codegen.compare_older FOLDER`: do the tables of the older dialects say what the documents in FOLDER say?

Whole tables: 0-8, 0-9 and 0-9-1, in tables/older; RabbitMQ's XML and the two excerpts are differences from one of them.  What
peers speak and no document prints (`UNPRINTED`) has tables that are compared with nothing.  Prints every difference between
tables and documents; exit code 1 when there is one, 2 when the folder is not there.  `--versions` prints what differs between
the versions instead, as a page in Markdown.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from tools.codegen.compare import answer
from tools.codegen.model import TABLES

OLDER = TABLES / "older"
WHOLE = {"0-8": "amqp-0-8.xml", "0-9": "amqp-0-9.xml", "0-9-1": "amqp-0-9-1.xml"}
CHANGES = {
    "rabbitmq": ("0-9-1", "amqp-0-9-1-rabbitmq.xml"),
    "0-8-excerpts": ("0-8", "amqp-0-8-excerpts.txt"),
    "0-9-queue-class": ("0-9", "amqp-0-9-queue-class.txt"),
}
"""Documents that are kept as differences: the base table of each, and the document."""
UNPRINTED = {
    "0-8-unbind": "0-8 with its excerpts",
    "0-8-qpid": "0-8",
    "0-9-rabbitmq": "0-9",
    "0-9-qpid": "0-9",
    "rabbitmq-unprinted": "RabbitMQ's XML",
    "0-9-1-qpid": "0-9-1",
}
"""Tables of versions that are in use but in no document, and the base of each."""
_PAIRS = (("0-8", "0-9"), ("0-9", "0-9-1"), ("0-9-1", "rabbitmq"))
_INSIDE = {"class", "method", "field", "property", "domain"}
_CUT = "view on Meta::CPAN"
"""The mark of an omission on the page of the excerpt of 0-8."""
_BEHIND = (("", ""), ("exchange", "declare"), ("queue", ""), ("queue", "bind"))
"""The class and the method in which the excerpt of 0-8 continues after each omission."""
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(rf"<(/?)(class|method|field|constant|domain|chassis|response|assert)\b((?:[^<>\"]|\"[^\"]*\")*?)(/?)>|{_CUT}")
_ATTRIBUTE = re.compile(r'(\w+)\s*=\s*"([^"]*)"')


def table_lines(name: str, folder: Path = OLDER) -> list[str]:
    """Returns the lines of a table, without comments."""
    text = (folder / f"{name}.txt").read_text()
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def facts(lines: list[str]) -> list[str]:
    """Returns every fact of a table in order, with the path of its subject in front.  A property or field is one fact each."""
    path: list[str] = []
    found: list[str] = []
    for line in lines:
        depth = (len(line) - len(line.lstrip())) // 2
        del path[depth:]
        words = line.split()
        found.append(" ".join([".".join(path), *words]).strip())
        path.append(words[1])
    return found


def xml_lines(root: ElementTree.Element) -> list[str]:
    """Returns the content of a document as the lines of a table."""
    lines: list[str] = []
    for element in root:
        _write(element, 0, "", lines)
    return lines


def _write(element: ElementTree.Element, depth: int, owner: str, lines: list[str]) -> None:
    kind = "property" if element.tag == "field" and owner == "class" else element.tag
    words = _words(kind, element.attrib)
    if words is None:
        return
    lines.append("  " * depth + " ".join(words))
    for child in element:
        _write(child, depth + 1, kind, lines)


def _words(kind: str, a: dict[str, str]) -> list[str] | None:
    """Returns the words of the line of an element; None for elements that tables leave out (documentation, rules)."""
    name = _hyphens(a.get("name", ""))
    of = _hyphens(a.get("domain") or a.get("type", ""))
    marks = [mark for mark in ("synchronous", "content", "reserved") if a.get(mark) == "1"]
    words: dict[str, list[str]] = {
        "class": [name, a.get("index", ""), *([f"handler={a['handler']}"] if "handler" in a else [])],
        "method": [name, a.get("index", ""), *marks],
        "field": [name, of, *marks],
        "property": [name, of, *marks],
        "constant": [name, a.get("value", ""), *([_hyphens(a["class"])] if "class" in a else [])],
        "domain": [name, of],
        "chassis": [name, a.get("implement", "")],
        "response": [name],
        "assert": [a.get("check", ""), *[a[key] for key in ("value", "method", "field") if key in a]],
    }
    return [kind, *words[kind]] if kind in words else None


def _hyphens(name: str) -> str:
    return "-".join(name.split())


def excerpt(text: str) -> tuple[list[str], set[str]]:
    """Returns the facts of an excerpt, and the paths of the methods that are complete in it, from tag to tag.

    At an omission of the source page, the facts continue inside the method that `_BEHIND` names.
    """
    found: list[str] = []
    opened: set[str] = set()
    whole: set[str] = set()
    stack: list[tuple[str, str]] = []
    cuts = 0
    for match in _TAG.finditer(_COMMENT.sub("", text)):
        if match[0] == _CUT:
            stack = [each for each in zip(("class", "method"), _BEHIND[cuts], strict=True) if each[1]]
            cuts += 1
            continue
        closes, kind, rest, alone = match.groups()
        a = dict(_ATTRIBUTE.findall(rest))
        path = ".".join([name for _, name in stack])
        if closes:
            if kind == "method" and path in opened:
                whole.add(path)
            while stack and stack.pop()[0] != kind:
                pass
            continue
        if kind in ("class", "constant", "domain"):
            stack = []
        elif kind == "method":
            stack = stack[:1]
        words = _words(kind, a)
        if words is not None:
            found.append(" ".join([".".join([name for _, name in stack]), *words]).strip())
        if not alone and kind in _INSIDE:
            stack.append((kind, _hyphens(a.get("name", ""))))
            opened.add(".".join([name for _, name in stack]))
    return found, whole


def changes(name: str, folder: Path = OLDER) -> tuple[list[str], list[str]]:
    """Returns what a document that is kept as differences lacks, and what it has instead."""
    lines = table_lines(name, folder)
    return [line[2:] for line in lines if line[0] == "-"], [line[2:] for line in lines if line[0] == "+"]


def applied(base: list[str], lacks: Iterable[str], has: Iterable[str]) -> list[str]:
    """Returns the facts of a base with changes: a field replaces the named one, or precedes the one that it names, everything
    else is appended.

    Raises ValueError naming a fact to remove, or to precede, that the base does not have.
    """
    gone = list(lacks)
    new = [each for each in has if " before " not in each]
    found: list[str] = []
    for fact in base:
        if fact not in gone:
            found.append(fact)
            continue
        gone.remove(fact)
        if _list_of(fact).endswith(" field"):
            instead = next((each for each in new if _list_of(each) == _list_of(fact)), None)
            if instead is not None:
                new.remove(instead)
                found.append(instead)
    for line in has:
        fact, _, later = line.partition(" before ")
        if later:
            beyond = f"{_list_of(fact)} {later} "
            gone += [] if any(each.startswith(beyond) for each in found) else [beyond.strip()]
            found = [each for old in found for each in ([fact, old] if old.startswith(beyond) else [old])]
    if gone:
        raise ValueError(f"nothing to take away, or to precede: {gone[0]}")
    return found + new


def _list_of(fact: str) -> str:
    """Returns the path and the kind of a fact: which list of fields it is in."""
    return " ".join(fact.split()[:2])


def changed(base: list[str], document: list[str]) -> list[str]:
    """Returns the lines that describe how the facts of a document differ from those of its base."""
    lacks, has = Counter(base) - Counter(document), Counter(document) - Counter(base)
    return [f"- {fact}" for fact in base if fact in lacks] + [f"+ {fact}" for fact in document if fact in has]


def read(name: str, folder: Path, tables: Path = OLDER) -> tuple[list[str], list[str]]:
    """Returns the facts of a document that is kept as differences, and the comparable ones of its base."""
    base, file = CHANGES[name]
    whole = facts(table_lines(base, tables))
    if file.endswith(".xml"):
        return facts(xml_lines(ElementTree.parse(folder / file).getroot())), whole
    found, methods = excerpt((folder / file).read_text())
    constants = [fact for fact in whole if fact.startswith("constant ")] if found[0].startswith("constant ") else []
    return found, constants + [fact for fact in whole if ".".join(fact.split()[0].split(".")[:2]) in methods]


def differences(folder: Path, tables: Path = OLDER) -> list[str]:
    """Returns every difference between the tables and the documents in `folder`, one line each."""
    found: list[str] = []
    for name, file in WHOLE.items():
        ours, theirs = facts(table_lines(name, tables)), facts(xml_lines(ElementTree.parse(folder / file).getroot()))
        found += [f"{name}: only in the tables: {fact}" for fact in (Counter(ours) - Counter(theirs)).elements()]
        found += [f"{name}: only in the document: {fact}" for fact in (Counter(theirs) - Counter(ours)).elements()]
        if Counter(ours) == Counter(theirs) and ours != theirs:
            at = next(i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
            found.append(f"{name}: another order from here: {ours[at]!r} in the tables, {theirs[at]!r} in the document")
    for name in CHANGES:
        document, base = read(name, folder, tables)
        ours = [line.partition(" before ")[0] for line in table_lines(name, tables)]
        elsewhere = set(facts(table_lines(CHANGES[name][0], tables)))  # an excerpt may hold parts of a method
        theirs = [line for line in changed(base, document) if line[0] == "-" or line[2:] not in elsewhere]
        found += [f"{name}: only in the tables: {line}" for line in (Counter(ours) - Counter(theirs)).elements()]
        found += [f"{name}: only in the document: {line}" for line in (Counter(theirs) - Counter(ours)).elements()]
        said = _lists(applied(facts(table_lines(CHANGES[name][0], tables)), *changes(name, tables)))
        for each, fields in _lists(document).items():
            if sorted(fields) == sorted(said[each]) and fields != said[each]:
                found.append(f"{name}: another order of {each}: {said[each]} in the tables, {fields} in the document")
    return found


def _lists(said: list[str]) -> dict[str, list[str]]:
    """Returns the fields and properties of each path, in order."""
    found: dict[str, list[str]] = defaultdict(list)
    for fact in said:
        if _list_of(fact).endswith((" field", " property")):
            found[_list_of(fact)].append(fact)
    return found


def version(name: str) -> list[str]:
    """Returns all facts of a version, in order."""
    return facts(table_lines(name)) if name in WHOLE else applied(version(CHANGES[name][0]), *changes(name))


def page() -> str:
    """Returns the differences between versions, as Markdown."""
    lines = ["# What differs between the older versions", "", "Made by `python -m tools.codegen.compare_older --versions`."]
    lines += [
        "Each line is a fact of one document that the other one does not have: the path, then what the document says.",
        "",
    ]
    for old, new in _PAIRS:
        lines += _section(f"From {old} to {new}", changed(version(old), version(new)))
    for name in ("0-8-excerpts", "0-9-queue-class"):
        lines += _section(f"{name} against the XML of {CHANGES[name][0]}", table_lines(name))
    for name, base in UNPRINTED.items():
        lines += _section(f"{name} against {base}: spoken, but in no document here", table_lines(name))
    return "\n".join(lines)


def _section(title: str, said: list[str]) -> list[str]:
    return [f"## {title}", "", "```diff", *said, "```", ""]


def main(arguments: list[str]) -> int:
    """Runs the command."""
    if arguments == ["--versions"]:
        print(page(), end="")
        return 0
    folder = Path(arguments[0]) if len(arguments) == 1 else Path(__file__).resolve().parents[3] / "shared" / "spec"
    if len(arguments) > 1 or not (folder / WHOLE["0-8"]).is_file():
        print(f"usage: python -m tools.codegen.compare_older FOLDER | --versions; no XML in {folder}", file=sys.stderr)
        return 2
    lines = sum(len(table_lines(name)) for name in CHANGES)
    whole = sum(len(version(name)) for name in WHOLE)
    return answer(differences(folder), f"{whole} facts of {len(WHOLE)} versions, {lines} changes of {len(CHANGES)} documents")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
