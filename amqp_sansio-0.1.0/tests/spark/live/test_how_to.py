"""The how-to of the manual runs as written, in the session that the tests have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.docs.test_snippets import ROOT, WITH_SPARK, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PAGES = ROOT / "docs" / "how-to"


@pytest.mark.parametrize("name", sorted(name for name in WITH_SPARK if (PAGES / name).exists()))
def test_the_snippets_of_a_page_run_and_print_what_it_shows(
    spark: SparkSession, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    run(PAGES / name)
