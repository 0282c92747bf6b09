"""Translates typed Python to C, in its own process: `python -m tools.compiled.translate TREE WORK LEVEL`.

Prints the messages of mypy and mypyc; WORK/extensions.json lists the extensions to build from the C.
"""

from __future__ import annotations

import json
import os
import re
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

_DEALLOCATOR: Final = re.compile(r"^\w+_dealloc\(\w+ \*self\)\n\{\n(?:.*\n)*?\}\n", re.MULTILINE)
_TRASHCAN: Final = re.compile(r"^ *CPy_TRASHCAN_(?:BEGIN|END)\(.*\)\n", re.MULTILINE)


def without_trashcan(text: str) -> str:
    """Patches mypyc's C so that only objects tracked by the garbage collector use CPython's trashcan.

    The trashcan links objects that wait for deallocation through the collector's header, which precedes the object.  Objects of
    an acyclic class have none, but mypyc 2.4 passes them to the trashcan all the same: CPython then overwrites the memory
    before such an object when it deallocates one inside fifty containers.  They only nest in dicts and tuples, which bound the
    depth.
    """

    def mend(found: re.Match[str]) -> str:
        return found[0] if "PyObject_GC_UnTrack(" in found[0] else _TRASHCAN.sub("", found[0])

    return _DEALLOCATOR.sub(mend, text)


def main(tree: Path, work: Path, level: str) -> None:
    """Exits with 1 when something cannot be compiled."""
    from mypyc.build import mypycify  # imported here, so that the caller can report a missing one in a sentence

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
    for path in (work / "c").glob("*.c"):
        made = path.read_text(encoding="utf-8")
        if (mended := without_trashcan(made)) != made:
            path.write_text(mended, encoding="utf-8")
    said = [
        {"name": each.name, "sources": each.sources, "folders": each.include_dirs, "words": each.extra_compile_args}
        for each in extensions
    ]
    (work / EXTENSIONS).write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3])
