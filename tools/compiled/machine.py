"""Compiles C to machine code: one object per file, as many in parallel as there are processors, and only changed ones."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypedDict

SUFFIX: Final = str(sysconfig.get_config_var("EXT_SUFFIX"))


class Extension(TypedDict):
    """A shared library: its module, its C files, the folders of headers, and options of the compiler."""

    name: str
    sources: list[str]
    folders: list[str]
    words: list[str]


class BuildError(Exception):
    """The compiler or the linker failed; the text is its output."""


def compiler() -> list[str]:
    """Returns the command of the C compiler with which Python was built, or the environment's (CC)."""
    return shlex.split(os.environ.get("CC") or str(sysconfig.get_config_var("CC") or "cc"))


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{shlex.join(command)}\n{done.stderr}")


def _key(listed: Path, words: Sequence[str], folder: Path, work: Path) -> str:
    """Returns the inputs of an object: the options, and the octets of every file of ours that it lists as read."""
    if not listed.exists():
        return ""
    made = hashlib.sha256(repr(words).encode())
    for word in listed.read_text(encoding="utf-8").replace("\\\n", " ").split()[1:]:
        path = (folder / word).resolve()
        if path.is_relative_to(work):
            made.update(path.read_bytes() if path.exists() else b"gone")
    return made.hexdigest()


class Factory:
    """Builds extensions of `tree` with its cache in `work`; calls `progress` with the numbers of finished and of all files."""

    def __init__(self, tree: Path, work: Path, jobs: int, progress: Callable[[int, int], None]) -> None:
        self._tree: Final = tree
        self._work: Final = work
        self._jobs: Final = jobs
        self._progress: Final = progress
        self._include: Final = sysconfig.get_path("include")
        self._shared: Final = shlex.split(str(sysconfig.get_config_var("CCSHARED") or "-fPIC"))
        self.compiled = 0
        """The number of files that had to be compiled."""

    def make(self, extensions: Sequence[Extension]) -> list[Path]:
        """Builds all of them and removes outdated extensions.  Raises BuildError."""
        (self._work / "objects").mkdir(parents=True, exist_ok=True)
        jobs = [(source, each) for each in extensions for source in each["sources"]]
        jobs.sort(key=lambda job: -(self._tree / job[0]).stat().st_size)  # so that no large file is compiled last
        objects: dict[str, Path] = {}
        with ThreadPoolExecutor(self._jobs) as pool:
            for number, (job, path) in enumerate(zip(jobs, pool.map(self._object, jobs), strict=True), 1):
                objects[job[0]] = path
                self._progress(number, len(jobs))
            made = list(pool.map(lambda each: self._link(each, [objects[source] for source in each["sources"]]), extensions))
        for path in self._tree.rglob(f"*{SUFFIX}"):
            if path not in made:
                path.unlink()
        return made

    def _object(self, job: tuple[str, Extension]) -> Path:
        source, extension = job
        path = self._work / "objects" / (hashlib.sha256(source.encode()).hexdigest()[:24] + ".o")
        listed, key = path.with_suffix(".d"), path.with_suffix(".key")
        folders = [f"-I{folder}" for folder in (*extension["folders"], self._include)]
        # Hidden: only modules of the group call one another directly.
        words = [*compiler(), *self._shared, "-w", "-fvisibility=hidden", *extension["words"], *folders]
        if path.exists() and key.exists() and key.read_text() == _key(listed, words, self._tree, self._work):
            return path
        key.unlink(missing_ok=True)
        _run([*words, "-MD", "-MF", str(listed), "-c", source, "-o", str(path)], self._tree)
        key.write_text(_key(listed, words, self._tree, self._work))
        self.compiled += 1
        return path

    def _link(self, extension: Extension, objects: Sequence[Path]) -> Path:
        path = self._tree / (extension["name"].replace(".", "/") + SUFFIX)
        if not path.exists() or any(each.stat().st_mtime >= path.stat().st_mtime for each in objects):
            linker = shlex.split(os.environ.get("LDSHARED") or str(sysconfig.get_config_var("LDSHARED")))
            new = path.with_suffix(".new")
            _run([*linker, *map(str, objects), "-o", str(new)], self._tree)
            new.replace(path)
        return path
