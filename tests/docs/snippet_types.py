"""The Python snippets of README and the manual are right for `mypy --strict`, those of one page taken together.

`make check` runs it behind mypy, which has then read all that the snippets import: alone it takes as long as the whole check.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.docs.test_snippets import PAGES, ROOT, snippets


def test_the_snippets_of_every_page_pass_mypy_strictly(tmp_path: Path) -> None:
    files = []
    for page in PAGES:
        code = ""
        for snippet in snippets(page):
            if snippet.language == "python":  # its lines have the numbers that they have on the page
                code += "\n" * (snippet.line - 1 - code.count("\n")) + snippet.text
        if code:
            files.append(tmp_path / f"page_{page.stem.replace('-', '_')}.py")
            files[-1].write_text(code, encoding="utf-8")
    words = [sys.executable, "-m", "mypy", "--strict", *map(str, files)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
