"""The sources of the compiled build: a copy of the package with five differences, all made here.

* Modules under `replaced/` replace those of the same path (the primitives of `wire.primitives`).
* Instance attributes of the engine lose their `Final`: only its own constructor can set a compiled Final attribute, but a
  snapshot is restored attribute by attribute.  Events and the vocabulary keep theirs.
* `__match_args__` becomes a ClassVar: otherwise mypyc makes it an instance attribute, which patterns do not find.
* `Command` is not generic: mypyc cannot make a subclass of Generic acyclic, and no compiled code needs the result type.
* Classes are marked for mypyc: those that snapshots restore can be created without their constructor, and plain values are not
  tracked by the garbage collector.
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
"""Packages and files whose classes can be subclassed in interpreted code, and created without their constructor.

The latter is `Class.__new__`, in code that restores or fills them: mypyc only offers both together.
"""
CLOSED: Final = ("RangeSet",)
"""Their classes that stay as they are: mypyc does not support a custom `__setattr__` in open ones."""
ACYCLIC: Final = ("events", "spec", "kernel/value.py", "captures/replay/rows.py")
"""Packages and files whose objects only hold plain values, so that the cycle collector need not track them."""

_FUTURE: Final = "from __future__ import annotations\n"
_CLASS: Final = re.compile(r"^(@.*\n)?class (\w+)(\(.*\))?:$", re.MULTILINE)
_GENERIC: Final = re.compile(r"\b(Generic|Content)\[")
"""Direct bases, or bases of a base, that the cycle collector tracks."""
_COMMAND: Final = re.compile(r"^class (\w+)\((?:Command\[.*\]|ValueObject, Generic\[Result_co\])\):", re.MULTILINE)
_FOR_CHECKERS: Final = re.compile(r"^if TYPE_CHECKING:.*\n(?:.*\n)+?else:\n    (Result_co = .*\n)", re.MULTILINE)
_SUBSCRIPT: Final = """
    @classmethod
    def __class_getitem__(cls, result: object) -> object:
        return cls
"""
_NOT_NATIVE: Final = re.compile(r"\b(NamedTuple|Protocol|Enum|TypedDict|Exception)\b")
_FINAL: Final = re.compile(r"^( +self\.\w+): Final(?:\[(.+)\])? = ", re.MULTILINE)


def settable(text: str) -> str:
    """Returns the text of a module without Final at instance attributes."""
    return _FINAL.sub(lambda found: found[1] + (f": {found[2]}" if found[2] else "") + " = ", text)


def matching(text: str) -> str:
    """Returns the text of a module whose `__match_args__` are class attributes."""
    made = text.replace("    __match_args__ = (", "    __match_args__: ClassVar[tuple[str, ...]] = (")
    return made if made == text else made.replace(_FUTURE, f"{_FUTURE}\nfrom typing import ClassVar\n", 1)


def plain_commands(text: str) -> str:
    """Returns the text of a module whose commands are not generic; `Command[...]` is still valid."""
    made = _COMMAND.sub(lambda found: f"class {found[1]}({'ValueObject' if found[1] == 'Command' else 'Command'}):", text)
    made = _FOR_CHECKERS.sub(r"\1", made)  # mypyc raises in a branch that type checkers do not reach
    return re.sub(r"(^class Command\(ValueObject\):\n(?:.+\n|\n(?=    ))*)", rf"\1{_SUBSCRIPT}", made, flags=re.MULTILINE)


def marked(inside: Path, text: str) -> str:
    """Returns the text of a module with its classes marked for mypyc; decorated classes stay as they are."""
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
    """Yields every file of the package in the compiled build, with its path within the package."""
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
    """Makes `folder` match `files`; an unchanged file keeps its time, one that no longer exists is removed."""
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
