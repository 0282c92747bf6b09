"""Python packages from the package index, each file checked against its digest."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.interop.maven import NotAvailable

CODECS: Final = Path(__file__).with_name("codecs.txt")
"""Third-party codecs of 0-9-1: pamqp and pika."""


def install(program: str, requirements: Path, folder: Path) -> Path:
    """Returns the folder of the packages, installed once by that Python's own pip.  Raises NotAvailable."""
    library = folder / "lib"
    stamp = folder / "installed"
    wanted = f"{program}\n{requirements.read_text()}"
    if stamp.is_file() and stamp.read_text() == wanted:
        return library
    shutil.rmtree(library, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    pip = [program, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    command = [*pip, "--target", str(library), "--requirement", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.strip() and "DEPRECATION" not in line]
        raise NotAvailable(f"pip could not install it: {errors[-1][:300] if errors else 'no word'}")
    stamp.write_text(wanted)
    return library


def codecs(folder: Path) -> Path:
    """Returns pamqp and pika, for PYTHONPATH. Raises NotAvailable."""
    return install(sys.executable, CODECS, folder)
