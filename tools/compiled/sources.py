"""The sources of the compiled build: a copy of the package, with five differences, all made here.

* Modules under `replaced/` stand in the place of those they are named after (the primitives of `wire.primitives`).
* Instance attributes of the engine lose their `Final`: a compiled attribute that is Final can be set by nobody but its own
  constructor, and a snapshot is restored attribute by attribute.  Events and the vocabulary keep theirs.
* `__match_args__` becomes a ClassVar: mypyc makes an attribute of objects of it otherwise, and no pattern finds it.
* `Command` is not generic: mypyc can make no class acyclic that derives from Generic, and nothing that is compiled asks for the
  result of a command.
* Classes are marked for mypyc: those that snapshots restore may be made without their constructor, plain values are none of the
  garbage collector's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.compiled.modules import modules

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / "src" / "amqp_sansio"
REPLACED: Final = Path(__file__).resolve().parent / "replaced"
FINAL: Final = ("events", "spec")
"""Packages whose instance attributes stay Final."""

OPEN: Final = ("captures", "engine", "kernel", "ledger", "tables", "wire", "protocol.py", "spec/base.py", "spec/message.py")
"""Packages and files of which the classes may be derived from in interpreted code, and made without their constructor
(`Class.__new__`, in code that restores or fills them): mypyc gives the one with the other."""
CLOSED: Final = ("RangeSet",)
"""Classes of these that stay as they are: mypyc has no `__setattr__` of its own for open ones."""
ACYCLIC: Final = ("events", "spec", "kernel/value.py", "captures/replay/rows.py")
"""Packages and files whose objects hold plain values only, so that the collector of cycles need not look at them."""

_FUTURE: Final = "from __future__ import annotations\n"
_CLASS: Final = re.compile(r"^(@.*\n)?class (\w+)(\(.*\))?:$", re.MULTILINE)
_GENERIC: Final = re.compile(r"\b(Generic|Content)\[")
"""Bases, directly or by the class that derives from it, that the collector of cycles knows."""
_COMMAND: Final = re.compile(r"^class (\w+)\((?:Command\[.*\]|Value, Generic\[Result_co\])\):", re.MULTILINE)
_FOR_CHECKERS: Final = re.compile(r"^if TYPE_CHECKING:.*\n(?:.*\n)+?else:\n    (Result_co = .*\n)", re.MULTILINE)
_SUBSCRIPT: Final = """
    @classmethod
    def __class_getitem__(cls, result: object) -> object:
        return cls
"""
_NOT_NATIVE: Final = re.compile(r"\b(NamedTuple|Protocol|Enum|TypedDict|Exception)\b")
_FINAL: Final = re.compile(r"^( +self\.\w+): Final(?:\[(.+)\])? = ", re.MULTILINE)


def settable(text: str) -> str:
    """The text of a module without Final at instance attributes."""
    return _FINAL.sub(lambda found: found[1] + (f": {found[2]}" if found[2] else "") + " = ", text)


def matching(text: str) -> str:
    """The text of a module whose `__match_args__` belong to their classes."""
    made = text.replace("    __match_args__ = (", "    __match_args__: ClassVar[tuple[str, ...]] = (")
    return made if made == text else made.replace(_FUTURE, f"{_FUTURE}\nfrom typing import ClassVar\n", 1)


def plain_commands(text: str) -> str:
    """The text of a module whose commands are not generic; `Command[...]` can be written all the same."""
    made = _COMMAND.sub(lambda found: f"class {found[1]}({'Value' if found[1] == 'Command' else 'Command'}):", text)
    made = _FOR_CHECKERS.sub(r"\1", made)  # mypyc raises in a branch that type checkers do not reach
    return re.sub(r"(^class Command\(Value\):\n(?:.+\n|\n(?=    ))*)", rf"\1{_SUBSCRIPT}", made, flags=re.MULTILINE)


def marked(inside: Path, text: str) -> str:
    """The text of a module whose classes say what mypyc is to make of them; decorated classes stay as they are."""
    places = inside.parts[0], inside.as_posix()
    words = ["allow_interpreted_subclasses=True"] if any(place in OPEN for place in places) else []
    plain = any(place in ACYCLIC for place in places)

    def mark(found: re.Match[str]) -> str:
        decorator, name, bases = found.groups()
        said = [*words, "acyclic=True"] if plain and not _GENERIC.search(bases or "") else words
        closed = decorator or not said or name in CLOSED or _NOT_NATIVE.search(bases or "")
        return found[0] if closed else f"@mypyc_attr({', '.join(said)})\n{found[0]}"

    made = _CLASS.sub(mark, text)
    return made if made == text else made.replace(_FUTURE, f"{_FUTURE}\nfrom mypy_extensions import mypyc_attr\n", 1)


def files() -> Iterator[tuple[Path, bytes]]:
    """Every file of the package as it stands in the compiled build, by its path within the package."""
    compiled = set(modules(PACKAGE))
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_dir() or "__pycache__" in path.parts:
            continue
        inside = path.relative_to(PACKAGE)
        other = REPLACED / inside
        if path.suffix == ".py" and path.name != "__init__.py" and other.exists():
            yield inside, other.read_bytes()
        elif inside in compiled:
            text = path.read_text(encoding="utf-8")
            text = plain_commands(text) if inside.parts[0] == "spec" else text
            yield inside, marked(inside, matching(text if inside.parts[0] in FINAL else settable(text))).encode()
        else:
            yield inside, path.read_bytes()


def copy(folder: Path) -> None:
    """Makes `folder` what `files` says; a file that has not changed keeps its time, one that is no more goes."""
    there = set()
    for inside, octets in files():
        target = folder / inside
        there.add(target)
        if not target.exists() or target.read_bytes() != octets:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(octets)
    for path in folder.rglob("*.py"):
        if path not in there:
            path.unlink()
