"""`make interop`: our clients and servers with real peers, which are started on loopback and stopped again.

As root, on a system with apt-get, it installs the Debian packages that are missing, and says so.  Exit 0: all good.
75: not run, because something that it needs cannot be had here; it says in one line what.  Else: something was found.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.interop.broker_j import NotAvailable, fetch, java

ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = ROOT / ".cache"
NOT_RUN: Final = 75
PACKAGES: Final = {"java": "openjdk-17-jre-headless", "mvn": "maven", "chromium": "chromium"}
"""The Debian packages of what is needed, by the command that shows whether it is there."""


def install() -> None:
    """The packages that are missing, where that is allowed; NotAvailable when their archive does not answer."""
    missing = [package for command, package in PACKAGES.items() if shutil.which(command) is None]
    if os.environ.get("JAVA_HOME") and PACKAGES["java"] in missing:
        missing.remove(PACKAGES["java"])
    if not missing or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    print(f"interop: installing {' '.join(missing)}", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "-qq", "update"], ["apt-get", "-qq", "install", "-y", *missing]):
        done = subprocess.run(command, env=quiet, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotAvailable(f"the package archive does not answer: {(done.stderr.splitlines() or ['no word'])[-1]}")


def main(arguments: list[str]) -> int:
    """0, 1 or 75; `arguments` go to pytest."""
    try:
        install()
        java()
        fetch(CACHE / "broker-j")
    except NotAvailable as error:
        print(f"interop: NOT RUN: {error}", file=sys.stderr)
        return NOT_RUN
    environment = {**os.environ, "AMQP_INTEROP": "1", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "pytest", "tests/interop", "--durations=5", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
