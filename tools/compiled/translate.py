"""Typed Python to C, in a process of its own: `python -m tools.compiled.translate TREE WORK LEVEL`.

Prints what mypy and mypyc have to say; the extensions that are to be made of the C stand in WORK/extensions.json.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Final

from tools.compiled.modules import modules

EXTENSIONS: Final = "extensions.json"
GROUP: Final = "amqp_sansio"

_SETTINGS: Final = """[mypy]
ignore_missing_imports = true
follow_imports = silent
[mypy-pandas.*,pyarrow.*,pyspark.*]
follow_imports = skip
"""


def main(tree: Path, work: Path, level: str) -> None:
    """Exits with 1 when something cannot be compiled."""
    from mypyc.build import mypycify  # here, so that a missing one is told in a sentence by whoever calls

    settings = work / "mypy.ini"
    settings.write_text(_SETTINGS, encoding="ascii")
    os.chdir(tree)
    package = Path("amqp_sansio")
    compiled = [str(package / module) for module in modules(package)]
    extensions = mypycify(
        [f"--config-file={settings}", f"--cache-dir={work / 'mypy'}", *compiled],
        opt_level=level,
        debug_level="0",
        multi_file=True,
        target_dir=str(work / "c"),
        group_name=GROUP,
    )
    said = [
        {"name": each.name, "sources": each.sources, "folders": each.include_dirs, "words": each.extra_compile_args}
        for each in extensions
    ]
    (work / EXTENSIONS).write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3])
