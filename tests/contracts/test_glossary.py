"""One word has one meaning in the whole tree: docs/topics/glossary.md."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from tools.size import FOLDER, ROOT, generated

GLOSSARY = ROOT / "docs" / "topics" / "glossary.md"
ROW = re.compile(r"^\| `(\w+)` \| ([\w, ]+) \| \S.* \|$", re.MULTILINE)


def rooms() -> dict[str, set[str]]:
    """The rooms of each module name; a file at the top stands in the room of the package."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    top = ROOT / FOLDER
    for path in top.rglob("*.py"):
        parts = path.relative_to(top).parts
        declared = parts[0] == "events"  # by hand, in tools/codegen/declared
        if not path.name.startswith("__") and (declared or not generated(path.read_text(encoding="utf-8"))):
            found[path.stem].add(parts[0] if len(parts) > 1 else Path(FOLDER).name)
    return found


def test_the_glossary_lists_every_module_name_in_two_rooms_once() -> None:
    listed = ROW.findall(GLOSSARY.read_text(encoding="utf-8"))
    assert len(listed) == len({name for name, _ in listed})
    several = {name: found for name, found in rooms().items() if len(found) > 1}
    assert {name: set(found.split(", ")) for name, found in listed} == several
    assert [name for name, _ in listed] == sorted(several)


def test_each_word_stands_once() -> None:
    words = GLOSSARY.read_text(encoding="utf-8").partition("## Module names")[0]
    rows = re.findall(r"^\| ([a-z][\w, -]*) \|", words, re.MULTILINE)[1:]
    single = [word for row in rows for word in row.split(", ")]
    assert rows == sorted(rows)
    assert sorted(single) == sorted(set(single))


def test_the_glossary_lists_every_name_of_a_class_or_type_in_two_modules_once() -> None:
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for path in (ROOT / FOLDER).rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if not generated(source):
            for node in ast.parse(source).body:
                name = ""
                if isinstance(node, ast.ClassDef):
                    name = node.name
                elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
                    name = ast.unparse(node.target)
                if name and not name.startswith("_"):
                    found[name].append(path)
    listed = re.findall(r"^\| `(\w+)` \|", GLOSSARY.read_text(encoding="utf-8").partition("## Class names")[2], re.MULTILINE)
    assert listed == sorted(name for name, paths in found.items() if len(paths) > 1)
