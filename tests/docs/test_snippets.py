"""Every Python snippet of README and the manual runs as written; those of one page share their names, top to bottom."""

from __future__ import annotations

import contextlib
import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_SPARK = {"captures-to-tables.md", "spark-and-a-broker.md"}
"""Pages whose snippets are run by tests/spark, which has a session."""
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Snippet(NamedTuple):
    """A fenced block: its language, its text and the line on which the text begins."""

    language: str
    text: str
    line: int


def snippets(page: Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    return [Snippet(found[1], found[2], text.count("\n", 0, found.start(2)) + 1) for found in BLOCK.finditer(text)]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in WITH_SPARK], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_the_snippets_of_a_page_run_and_print_what_it_shows(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "fastapi" in page.read_text(encoding="utf-8"):
        pytest.importorskip("fastapi")
    monkeypatch.chdir(ROOT)
    run(page)


def run(page: Path) -> None:
    """Runs the snippets of a page."""
    names: dict[str, object] = {"__name__": "snippet"}
    printed = ""
    with loggers_as_before():
        for snippet in snippets(page):
            if snippet.language == "python":
                # Blank lines in front keep the line numbers of tracebacks those of the page.
                code = compile("\n" * (snippet.line - 1) + snippet.text, str(page), "exec")
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(code, names)
                printed = out.getvalue()
            elif snippet.language == "output":
                assert printed == snippet.text, f"{page.name}:{snippet.line}: the snippet above prints something else"


@contextlib.contextmanager
def loggers_as_before() -> Iterator[None]:
    """Afterwards our loggers have the levels and handlers of before: a page may show how a program sets them."""
    kept = {name: (logger.level, logger.handlers[:]) for name, logger in ours().items()}
    yield
    for name, logger in ours().items():
        level, logger.handlers[:] = kept.get(name, (logging.NOTSET, []))
        logger.setLevel(level)


def ours() -> dict[str, logging.Logger]:
    return {name: logging.getLogger(name) for name in [*logging.root.manager.loggerDict] if name.startswith("amqp_sansio")}


def test_a_page_that_sets_logging_up_leaves_no_trace() -> None:
    logger = logging.getLogger("amqp_sansio.connection")
    before = logger.level, logger.handlers[:]
    run(ROOT / "docs" / "how-to" / "watch-a-client.md")
    assert (logger.level, logger.handlers[:]) == before


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_block_says_its_language(page: Path) -> None:
    assert {snippet.language for snippet in snippets(page)} <= {"python", "output", "sh", "text"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_link_to_a_file_leads_somewhere(page: Path) -> None:
    from tools.docs.pages import PAGES as MADE

    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        there = (page.parent / target).resolve()
        made = there.is_relative_to(ROOT / "docs") and there.relative_to(ROOT / "docs").as_posix() in MADE
        assert made or there.exists(), f"{page.name} links to {target}"
