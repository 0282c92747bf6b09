"""The compiled build, if `make compiled` has made one, which is measured beside the pure build."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "out" / "compiled"


def there() -> bool:
    """Returns whether it exists for the running Python, and no source has changed since."""
    from tools.compiled.machine import SUFFIX
    from tools.compiled.sources import files

    if not (FOLDER / "amqp_sansio" / "kernel" / f"build{SUFFIX}").exists():
        return False
    package = FOLDER / "amqp_sansio"
    return all((package / path).exists() and (package / path).read_bytes() == octets for path, octets in files())


def environment(compiled: bool) -> dict[str, str]:
    """Returns the environment of a process that runs one or the other."""
    path = [str(FOLDER if compiled else ROOT / "src"), str(ROOT)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
