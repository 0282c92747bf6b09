"""CHANGELOG.md from what somebody wrote about a version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.chores.changelog import MARK, ROOT, write


def test_what_somebody_wrote_is_the_section_and_the_fragments_go(tmp_path: Path) -> None:
    changes = tmp_path / "changes"
    changes.mkdir()
    for name, text in (
        ("README.md", "how"),
        ("1.feature.md", "one"),
        ("+two.fix.md", "two"),
        ("1.0.md", "\n### New\n\n- All.\n"),
    ):
        (changes / name).write_text(text)
    log = tmp_path / "CHANGELOG.md"
    log.write_text(f"# Changes\n\n{MARK}\n## 0.9 (2026-01-01)\n\n- Less.\n")
    assert write(tmp_path, "1.0", "2026-02-03")
    assert (
        log.read_text() == f"# Changes\n\n{MARK}\n## 1.0 (2026-02-03)\n\n### New\n\n- All.\n\n## 0.9 (2026-01-01)\n\n- Less.\n"
    )
    assert [each.name for each in changes.iterdir()] == ["README.md"]


def test_where_nobody_wrote_anything_or_the_place_is_not_marked_nothing_is_touched(tmp_path: Path) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n")
    assert not write(tmp_path, "1.0", "2026-02-03")
    (tmp_path / "changes" / "1.0.md").write_text("x")
    with pytest.raises(ValueError, match="has no line"):
        write(tmp_path, "1.0", "2026-02-03")
    assert (tmp_path / "changes" / "1.0.md").exists()


def test_what_is_written_about_the_next_version_names_pages_that_are_there() -> None:
    for written in (ROOT / "changes").glob("[0-9]*.[0-9]*.[0-9]*.md"):
        for page in re.findall(r"`(docs/[^`]+)`", written.read_text(encoding="utf-8")):
            assert (ROOT / page).exists(), f"{written.name} names {page}"
