"""Where each named rule and exception of the specification is tested, or why it is not; read from the tests themselves.

A test declares it with `@pytest.mark.rule("connection.start-ok.mechanism.validity")`, anywhere under tests/. A rule without a
test has one line with the reason in one of two files of tests/conformance/rules: not_ours.toml lists what this library can
neither keep nor break, not_kept.toml what our broker does not keep.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import attrs

TESTS: Final = Path(__file__).resolve().parents[2] / "tests"
RULES: Final = TESTS / "conformance" / "rules"
MARK: Final = "pytest.mark.rule"
_LEFT_OUT: Final = ("pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail")


class Carrier(NamedTuple):
    """A test that declares rules: its file below tests/, its name, the rules' paths; `at` is the line."""

    file: str
    test: str
    paths: tuple[str, ...]
    at: int


@attrs.frozen
class Conformance:
    """For every path, the tests that declare it, or the reason why it is not ours, or not kept."""

    tested: Mapping[str, tuple[Carrier, ...]]
    not_ours: Mapping[str, str]
    not_kept: Mapping[str, str]
    wrong: tuple[str, ...]
    """Misplaced marks: one sentence for each."""


class OlderRule(NamedTuple):
    """A rule or an assert of a specification of 0-8 or 0-9: `path` is version, class, method and field, and its test's name.

    `asked` and `answered`, methods in hex, show in a recording that another server keeps it, or not (`kept`); `open` is the
    issue that will test it with ours, "" for none.
    """

    path: str
    says: str
    open: str = ""
    recording: str = ""
    connection: int = 0
    asked: str = ""
    answered: str = ""
    answer: str = ""
    kept: bool = True


def older_rules(path: Path = RULES / "older.toml") -> tuple[tuple[OlderRule, ...], tuple[OlderRule, ...]]:
    """Returns the rules, and the asserts."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple([OlderRule(**each) for each in read["rule"]]), tuple([OlderRule(**each) for each in read["assert"]])


def _is_mark(node: ast.expr, name: str = MARK) -> bool:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node) == name


def carriers_in(file: str, text: str) -> Iterator[Carrier | str]:
    """Yields the tests of one file that declare rules, and a sentence for each mark that is not on a running test."""
    tree = ast.parse(text)
    heard: set[ast.expr] = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for mark in function.decorator_list:
            if not _is_mark(mark):
                continue
            heard.add(mark)
            where = f"{file}:{mark.lineno}: {function.name}"
            paths = [each.value for each in mark.args if isinstance(each, ast.Constant)] if isinstance(mark, ast.Call) else []
            texts = tuple([path for path in paths if isinstance(path, str)])
            if not isinstance(mark, ast.Call) or not texts or len(texts) != len(mark.args) or mark.keywords:
                yield f"{where} carries something else than paths"
            elif not function.name.startswith("test_"):
                yield f"{where} is no test"
            elif any(_is_mark(each, name) for each in function.decorator_list for name in _LEFT_OUT):
                yield f"{where} is left out when the tests run"
            else:
                yield Carrier(file, function.name, texts, mark.lineno)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_mark(node) and node not in heard:
            yield f"{file}:{node.lineno}: a mark that is on no function"


def _reasons(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for group, lines in tomllib.loads(path.read_text(encoding="utf-8")).items():
        for rule, reason in lines.items():
            assert isinstance(reason, str), f"{path.name}: [{group}] {rule}"
            found[rule] = reason
    return found


def gather(tests: Path = TESTS) -> Conformance:
    """Gathers everything from the files below `tests`."""
    tested: dict[str, tuple[Carrier, ...]] = {}
    wrong: list[str] = []
    for path in sorted(tests.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for found in carriers_in(path.relative_to(tests).as_posix(), text) if MARK in text else ():
            if isinstance(found, str):
                wrong.append(found)
            else:
                for rule in found.paths:
                    tested[rule] = (*tested.get(rule, ()), found)
    not_ours, not_kept = [_reasons(tests / "conformance" / "rules" / f"{name}.toml") for name in ("not_ours", "not_kept")]
    return Conformance(tested, not_ours, not_kept, tuple(wrong))


def problems(known: Conformance, paths: Iterable[str]) -> list[str]:
    """Returns the problems: a sentence for each path without exactly one test or line, or that is not a rule."""
    every = dict.fromkeys(paths)
    found = list(known.wrong)
    lines = {"not_ours.toml": known.not_ours, "not_kept.toml": known.not_kept}
    for rule in every:
        places = ["a test"] if rule in known.tested else []
        places += [f"a line in {file}" for file, reasons in lines.items() if rule in reasons]
        if not places:
            found.append(f"{rule} has neither a test nor a line")
        elif len(places) > 1:
            found.append(f"{rule} has {' and '.join(places)}")
    for rule, carriers in known.tested.items():
        if rule not in every:
            found += [f"{each.file}:{each.at}: {each.test} carries {rule}, which is no rule" for each in carriers]
    for file, reasons in lines.items():
        found += [f"{file}: {rule} is no rule" for rule in reasons if rule not in every]
        found += [f"{file}: {rule} has no reason" for rule, reason in reasons.items() if not reason.strip()]
    return found
