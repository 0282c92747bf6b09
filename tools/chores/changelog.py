"""`make changelog VERSION=x.y.z`: moves the contents of `changes/` to a section of CHANGELOG.md.

`changes/x.y.z.md`, if it exists, is that section, hand-written; the fragments then count as included.  Otherwise towncrier
builds the section from them.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
MARK: Final = "<!-- towncrier: new releases go below -->\n"


def write(root: Path, version: str, day: str) -> bool:
    """Writes the hand-written section, and removes all fragments; returns False when there is none."""
    written, log = root / "changes" / f"{version}.md", root / "CHANGELOG.md"
    if not written.exists():
        return False
    before, mark, after = log.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise ValueError(f"{log} has no line {MARK.strip()}")
    text = written.read_text(encoding="utf-8").strip()
    log.write_text(f"{before}{mark}\n## {version} ({day})\n\n{text}\n{after}", encoding="utf-8")
    for fragment in (root / "changes").glob("*.md"):
        if fragment.name != "README.md":
            fragment.unlink()
    return True


def main(version: str) -> int:
    """Returns the exit code."""
    if write(ROOT, version, datetime.now(UTC).date().isoformat()):
        return 0
    command = [str(Path(sys.executable).parent / "towncrier"), "build", "--yes", "--version", version]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
