"""The manual's page of questions and answers: every question in SQL, beside the frame that pandas answers with."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pandas as pd
from tests.docs.test_snippets import ROOT, snippets

PAGE = ROOT / "docs" / "how-to" / "questions.md"


class Question(NamedTuple):
    """What stands on the page, and the frame `answer` behind it."""

    sql: str
    answer: pd.DataFrame

    @property
    def rows(self) -> list[list[str]]:
        """Of the answer, to be compared."""
        return told(self.answer.itertuples(index=False, name=None))


class Page(NamedTuple):
    """The folder of tables that the page's own snippets made, the names that they left, and the questions."""

    folder: str
    names: dict[str, Any]
    questions: list[Question]


@contextlib.contextmanager
def asked() -> Iterator[Page]:
    """The page as it runs, top to bottom; its tables are there as long as this is entered."""
    names: dict[str, Any] = {}
    found: list[Question] = []
    waiting: str | None = None
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(io.StringIO()):
        for each in snippets(PAGE):
            if each.language == "text" and each.text.startswith("SELECT"):
                waiting = each.text
            elif each.language == "python":
                exec(each.text, names)
                if waiting is not None:
                    found.append(Question(waiting, names.pop("answer")))
                    waiting = None
    assert waiting is None, f"nothing answers {waiting}"
    assert os.path.isdir(names["folder"])
    yield Page(names["folder"], names, found)


def told(rows: Iterable[Iterable[object]]) -> list[list[str]]:
    """Rows of any engine, to be compared: a moment is that moment, whatever holds it; pandas has no integers beside nulls."""
    return sorted([[_text(each) for each in row] for row in rows])


def _text(value: object) -> str:
    if pd.isna(value):
        return ""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(" ")
    return str(value).removesuffix(".0")
