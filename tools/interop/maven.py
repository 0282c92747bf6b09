"""Java, and what Maven downloads for it: the peers written in Java, and our small programs that drive them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

OLDEST: Final = 17
"""The oldest usable version of Java."""


class NotAvailable(Exception):
    """A peer's requirement is not available here, in one sentence: nothing was tested with it."""


def java(program: str = "java") -> str:
    """Returns a program of Java 17 or later ("java", "javac"), from JAVA_HOME or the path.  Raises NotAvailable."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / program) if home else shutil.which(program)
    if found is None or not Path(found).is_file():
        raise NotAvailable(f"it needs Java {OLDEST} or later: there is no {program} here")
    done = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
    told = done.stderr + done.stdout
    version = re.search(r'(?:version "|javac )(\d+)', told)
    if version is None or int(version[1]) < OLDEST:
        raise NotAvailable(f"it needs Java {OLDEST} or later, not {told.splitlines()[0] if told else 'this one'}")
    return found


def fetch(pom: Path, folder: Path) -> Path:
    """Returns the folder with the jars of a POM and their dependencies, downloaded by Maven once.  Raises NotAvailable."""
    libraries = folder / "lib"
    stamp = folder / "fetched"
    if stamp.is_file() and stamp.read_text() == pom.read_text():
        return libraries
    maven = shutil.which("mvn")
    if maven is None:
        raise NotAvailable("it is fetched by Maven: there is no mvn here")
    shutil.rmtree(libraries, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(pom, folder / "pom.xml")
    done = subprocess.run(
        [maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        errors = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise NotAvailable(f"Maven could not fetch it: {errors[0][:300] if errors else 'no word'}")
    stamp.write_text(pom.read_text())
    return libraries


def compiled(sources: Path, libraries: Path, folder: Path) -> Path:
    """Compiles our Java sources if they have changed.  Raises NotAvailable without a compiler, ValueError for errors."""
    files = sorted(sources.glob("*.java"))
    text = "".join([file.read_text() for file in files])
    classes, stamp = folder / "classes", folder / "compiled"
    if stamp.is_file() and stamp.read_text() == text:
        return classes
    compiler = java("javac")
    shutil.rmtree(classes, ignore_errors=True)
    done = subprocess.run(
        [compiler, "-encoding", "UTF-8", "-Xlint:all,-options,-processing,-path", "-Werror", "-cp", f"{libraries}/*",
         "-d", str(classes), *map(str, files)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise ValueError(f"{sources} cannot be compiled: {done.stdout}{done.stderr}")
    stamp.write_text(text)
    return classes
