"""Hooks of mkdocs: add the generated pages to the manual."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[2]
WALKS: Final = "topics/walks.md"
_SOURCE: Final = re.compile(r"\(\.\./\.\./(src/[\w/]+\.py)\)")

sys.path.insert(0, str(ROOT))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages, and the source files that `WALKS` links to."""
    from mkdocs.structure.files import File

    from tools.docs.pages import PAGES

    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    for source in sorted(set(_SOURCE.findall((ROOT / "docs" / WALKS).read_text(encoding="utf-8")))):
        files.append(File.generated(config, source, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adjusts links to source files, which are beside the pages in the manual, and one folder further up in the checkout."""
    return _SOURCE.sub(r"(../\1)", markdown) if page.file.src_uri == WALKS else markdown
