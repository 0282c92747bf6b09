"""`python -m tools.codegen.compare FOLDER`: do the tables say what the XML in FOLDER says?

Reads amqp-0-10-errata.xml and amqp-0-10.xml (the final edition, which may differ in what tables/final.txt lists and in nothing
else).  Prints every difference; exit code 1 when there is one, 2 when the folder is not there.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from tools.codegen.model import CLASSES, TABLES, Line, parse

_SPACE = "{http://www.amqp.org/schema/amqp.xsd}"
_INSIDE = {"class", "control", "command", "struct", "field", "domain", "result", "segments", "header"}


def table_facts(folder: Path = TABLES) -> list[str]:
    """Returns every fact of the tables in order, with the path of its subject in front."""
    facts: list[str] = []
    for name in ("types", *CLASSES):
        for line in parse((folder / f"{name}.txt").read_text(), name):
            _flatten(line, "", facts)
    return facts


def _flatten(line: Line, path: str, facts: list[str]) -> None:
    if line.kind.startswith("also"):  # what only other families have
        return
    facts.append(f"{path} {' '.join(line.words)}".strip())
    if line.kind in _INSIDE:
        name = line.name if len(line.words) > 1 and line.kind != "header" else line.kind
        path = f"{path}.{name}" if path else name
    for below in line.below:
        _flatten(below, path, facts)


def xml_facts(file: Path) -> list[str]:
    """Returns the same facts from an XML file."""
    facts: list[str] = []
    types: list[str] = []
    for element in ElementTree.parse(file).getroot():
        line = _line(element)
        _flatten(line, "", facts if line.kind == "class" else types)
    return types + facts


def _line(element: ElementTree.Element) -> Line:
    kind = element.tag.removeprefix(_SPACE)
    below = [
        inner for child in element for inner in ([_line(c) for c in child] if child.tag == _SPACE + "enum" else [_line(child)])
    ]
    return Line(_words(kind, element.attrib), "", "", below)


def _words(kind: str, a: dict[str, str]) -> list[str]:
    """Returns the words of the table line that describes an element."""
    code = [f"code={int(a['code'], 16)}"] if "code" in a else []
    required = ["required"] if a.get("required") == "true" else []
    words: dict[str, list[str]] = {
        "class": [a.get("name", ""), *[c.removeprefix("code=") for c in code]],
        "role": [a.get("name", ""), a.get("implement", "")],
        "rule": [a.get("name", "")],
        "exception": [a.get("name", ""), a.get("error-code", "")],
        "domain": [a.get("name", ""), a.get("type", "")],
        "choice": [a.get("name", ""), a.get("value", "")],
        "struct": [a.get("name", ""), *code, f"size={a.get('size')}", f"pack={a.get('pack')}"],
        "control": [a.get("name", ""), *[c.removeprefix("code=") for c in code]],
        "command": [a.get("name", ""), *[c.removeprefix("code=") for c in code]],
        "implement": [a.get("role", ""), a.get("handle", "")],
        "response": [a.get("name", "")],
        "field": [a.get("name", ""), a.get("type", ""), *required, *([f"default={a['default']}"] if "default" in a else [])],
        "result": [a["type"]] if "type" in a else [],
        "segments": [],
        "header": required,
        "entry": [a.get("type", "")],
        "body": required,
        "constant": [a.get("name", ""), a.get("value", "")],
    }
    if kind == "type":
        width = f"fixed={a['fixed-width']}" if "fixed-width" in a else f"variable={a['variable-width']}"
        return ["type", a["name"], *([f"code={int(a['code'], 16):02x}"] if code else []), width]
    return ["handle" if kind == "implement" else kind, *words[kind]]


def final_changes(folder: Path = TABLES) -> tuple[list[str], list[str]]:
    """Returns what the final edition lacks, and what it has instead."""
    lines = [line for line in (folder / "final.txt").read_text().splitlines() if line[:2] in ("- ", "+ ")]
    return [line[2:] for line in lines if line[0] == "-"], [line[2:] for line in lines if line[0] == "+"]


def differences(folder: Path, tables: Path = TABLES) -> list[str]:
    """Returns every difference between the tables and the XML files in `folder`, one line each."""
    ours = table_facts(tables)
    lacks, has = final_changes(tables)
    final = Counter(ours) - Counter(lacks) + Counter(has)
    found = []
    errata = xml_facts(folder / "amqp-0-10-errata.xml")
    found += [f"errata: only in the tables: {fact}" for fact in (Counter(ours) - Counter(errata)).elements()]
    found += [f"errata: only in the XML: {fact}" for fact in (Counter(errata) - Counter(ours)).elements()]
    theirs = Counter(xml_facts(folder / "amqp-0-10.xml"))
    found += [f"final: only in the tables: {fact}" for fact in (final - theirs).elements()]
    found += [f"final: only in the XML: {fact}" for fact in (theirs - final).elements()]
    if not found and ours != errata:
        at = next(i for i, (a, b) in enumerate(zip(ours, errata, strict=True)) if a != b)
        found.append(f"errata: another order from here: {ours[at]!r} in the tables, {errata[at]!r} in the XML")
    return found


def main(arguments: list[str]) -> int:
    """Runs the command."""
    folder = Path(arguments[0]) if len(arguments) == 1 else Path(__file__).resolve().parents[3] / "shared" / "spec"
    if len(arguments) > 1 or not (folder / "amqp-0-10-errata.xml").is_file():
        print(f"usage: python -m tools.codegen.compare FOLDER; no XML in {folder}", file=sys.stderr)
        return 2
    return answer(differences(folder), f"{len(table_facts())} facts")


def answer(found: list[str], compared: str) -> int:
    """Prints the differences and the number of facts compared; returns 1 if there are any."""
    for line in found:
        print(line)
    print(f"{compared}, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
