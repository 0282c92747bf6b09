"""mkdocs calls this when it builds the manual: it adds the pages that are made from the code."""

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
    """Adds the made pages to the written ones, and the source files to which `WALKS` has links."""
    from mkdocs.structure.files import File

    from tools.docs.pages import PAGES

    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    for source in sorted(set(_SOURCE.findall((ROOT / "docs" / WALKS).read_text(encoding="utf-8")))):
        files.append(File.generated(config, source, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """In the manual, source files stand beside the pages; in the checkout they are one folder further up."""
    return _SOURCE.sub(r"(../\1)", markdown) if page.file.src_uri == WALKS else markdown
