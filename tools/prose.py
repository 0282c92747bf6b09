"""Finds two habits that make a text read like a translation, in what users read.

* `who` or `whoever` as a subject without a noun before it.  `A client that waits ...` names the actor.
* A passive of `tell`, `say`, `hear`, `give up` or `take out`, which hides the actor.  `The broker reports ...` names it.

Users read the texts and docstrings of src, examples and the tools, the manual, the news fragments and the names of the tests.
Generated code is skipped: its source is checked.  The exit code is 1 when anything is found.

python -m tools.prose [PATH ...]
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tools.size import ROOT, generated

ROOMS: Final = ("src", "examples", "tests", "bench", "fuzz", "tools", "docs", "changes", "README.md", "CONTRIBUTING.md")
HABITS: Final = re.compile(
    r"""
    (?: ^ | [^\w\s] \s* | \n\s* \n \s*
      | \b (?:and|as|at|because|but|by|for|from|if|in|is|like|not|of|on|only|or|so
             |than|that|then|to|under|unless|until|when|where|with) \s+ )
      \bwho \s+ (?:\w+ly\s+ | also\s+ | still\s+)? [a-z]+s\b
  | \b whoever \b
  | \b (?:is|are|was|were|be|been|being) \s+ (?:(?:also|just|never|not|only|still|already|then|\w+ly) \s+)?
      (?:told|said|heard|given\s+up|taken\s+out) \b
    """,
    re.VERBOSE | re.IGNORECASE,
)
WELL_KNOWN: Final = re.compile(r"who sends when|say who speaks", re.IGNORECASE)
"""The title of a page, and the first habit of CONTRIBUTING: both are questions."""


class Finding(NamedTuple):
    """One place: the file, its line, and the words with their context."""

    path: str
    line: int
    text: str


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yields what a user reads of one file, with the line on which it begins."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield 1, source
        return
    if generated(source) or path == Path(__file__):
        return
    tests = "tests" in path.parts
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.removeprefix("test_").replace("_", " ")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not tests:
            yield node.lineno, node.value


def find(paths: Iterable[Path]) -> Iterator[Finding]:
    """Yields every place in these files and folders."""
    for top in paths:
        files = sorted(each for each in top.rglob("*") if each.suffix in (".py", ".md")) if top.is_dir() else [top]
        for path in files:
            for line, text in texts(path):
                for match in HABITS.finditer(text):
                    near = " ".join(text[max(0, match.start() - 50) : match.end() + 50].split())
                    if not WELL_KNOWN.search(text, max(0, match.start() - 12), match.end() + 12):
                        yield Finding(path.relative_to(ROOT).as_posix(), line + text.count("\n", 0, match.end()), near)


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code: 0 when nothing was found, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.prose", description="Finds texts for users that hide their actor.")
    parser.add_argument("paths", metavar="PATH", nargs="*", type=Path, help="files or folders (default: all that users read)")
    paths = parser.parse_args(arguments).paths or [ROOT / each for each in ROOMS]
    for path in paths:
        if not path.exists():
            parser.error(f"{path} does not exist")
    found = list(find(path.resolve() for path in paths))
    for path, line, text in found:
        print(f"{path}:{line}: {text}")
    print(f"prose: {len(found)} places")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
