"""What one process has rewritten pytest takes as its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.assertion import rewrite
from tests.rewriting import files_of, rewrite_share


def test_what_is_rewritten_is_found_by_pytest(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    one, other = tmp_path / "test_one.py", tmp_path / "test_other.py"
    one.write_text("def test_it():\n    assert 1 == 2\n")
    other.write_text("this is no Python\n")
    assert files_of([str(tmp_path), f"{one}::test_it"]) == [one, other]
    rewrite_share([one, other], pytestconfig)
    (kept,) = (tmp_path / "__pycache__").iterdir()
    assert kept.name == f"test_one{rewrite.PYC_TAIL}"
    found = rewrite._read_pyc(one, kept)
    assert found is not None
    assert "@pytest_ar" in found.co_names
