"""mkdocs calls this when it builds the manual: it adds the pages that are made from the code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the made pages to the written ones."""
    from mkdocs.structure.files import File

    from tools.docs.pages import PAGES

    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    return files
