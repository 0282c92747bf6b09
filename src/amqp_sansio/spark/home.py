"""A SPARK_HOME without pyspark's archive, for sessions on this machine.

Where its home has `python/lib/pyspark.zip`, Spark puts that first on the path of each Python process that it starts.  Python
compiles what it imports from an archive each time: 0.6 s of CPU for every process that reads a plan, asks a source for its
offsets or a stream for its state.  The package installed by pip is the same, and compiled once.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

from amqp_sansio.spark.places import places

LINKED: Final = ("bin", "sbin", "jars")
"""The parts of its home that Spark needs."""


def ensure_home(environment: MutableMapping[str, str] = os.environ) -> Path | None:
    """Sets SPARK_HOME to a folder with links to the Spark in the package pyspark, without the archive.

    Returns None, and sets nothing, where the environment has a SPARK_HOME, the package has no Spark of its own, or no such
    folder can be made.
    """
    import pyspark

    package = Path(str(pyspark.__file__)).resolve().parent
    if "SPARK_HOME" in environment or os.name != "posix" or not (package / "jars").is_dir():
        return None
    for folder in places():
        home = folder / f"spark-{pyspark.__version__}-{zlib.crc32(os.fsencode(package)):08x}"
        try:
            for name in LINKED:
                link(home / name, package / name)
        except OSError:
            continue
        environment["SPARK_HOME"] = str(home)
        return home
    return None


def link(path: Path, target: Path) -> None:
    """Makes a symbolic link, atomically.  Raises OSError where that is impossible."""
    if path.is_symlink() and path.readlink() == target:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=path.parent))
    try:
        (aside / path.name).symlink_to(target)
        (aside / path.name).replace(path)
    finally:
        (aside / path.name).unlink(missing_ok=True)
        aside.rmdir()
