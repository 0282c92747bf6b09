"""The compiled modules: all in one group, so that calls between them stay native."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PATTERNS: Final = (
    "dialects.py",
    "kernel/*.py",
    "spec/*.py",
    "wire/*.py",
    "wire/layouts/*.py",
    "tables/connection.py",
    "tables/session.py",
    "events/*.py",
    "engine/*.py",
    "engine/channels/*.py",
    "ledger/*.py",
    "captures/*.py",
    "captures/replay/*.py",
    "captures/columns/replay.py",
    "captures/columns/tables.py",
)
"""Patterns of files under src/amqp_sansio; packages themselves (`__init__`) are never compiled."""

LEFT_OUT: Final = {
    "captures/source.py": "derives from a built-in class, which mypyc cannot",
    "captures/replay/state.py": "restores snapshots through names: nothing to gain",
    "captures/tables.py": "data",
    "captures/verdicts.py": "what people read: nothing to gain",
    "kernel/snapshots.py": "as captures/replay/state.py",
    "spec/codes.py": "data",
    "spec/fields.py": "derives from spec/values.py",
    "spec/rules.py": "data",
    "spec/values.py": "derives from built-in classes",
}
"""Exceptions among those files, with reasons."""


def modules(package: Path) -> list[Path]:
    """Returns the compiled files, relative to `package`, in a fixed order.  Raises ValueError for a pattern without a match."""
    found: dict[Path, None] = {}
    for pattern in PATTERNS:
        files = sorted(package.glob(pattern))
        if not files:
            raise ValueError(f"no file is {pattern}")
        found.update(dict.fromkeys([file.relative_to(package) for file in files if file.name != "__init__.py"]))
    for name in LEFT_OUT:
        if found.pop(Path(name), 0) == 0:
            raise ValueError(f"{name} is left out of what it is not in")
    return list(found)
