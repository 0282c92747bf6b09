"""Installs the peers' Debian packages where permitted: as root, on a system with apt-get.

python3 -m tools.interop.debian     before anything else of ours exists: CI runs this download in parallel with pip's
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Final

PACKAGES: Final = {
    "java": "default-jdk-headless",
    "javac": "default-jdk-headless",
    "mvn": "maven",
    "tshark": "tshark",
    "chromium": "chromium",
    "rabbitmq-server": "rabbitmq-server",
}
"""The Debian packages, by the command that shows whether each is installed."""


def install() -> str | None:
    """Installs the missing packages, where permitted; returns what went wrong, in one sentence, if anything did."""
    missing = list(dict.fromkeys([package for command, package in PACKAGES.items() if shutil.which(command) is None]))
    if os.environ.get("JAVA_HOME") and PACKAGES["java"] in missing:
        missing.remove(PACKAGES["java"])
    if not missing or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    print(f"interop: installing {' '.join(missing)}", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "-qq", "update"], ["apt-get", "-qq", "install", "-y", "--no-install-recommends", *missing]):
        done = subprocess.run(command, env=quiet, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"the package archive does not answer: {(done.stderr.splitlines() or ['no word'])[-1]}"
    return None


if __name__ == "__main__":
    if trouble := install():
        print(f"interop: {trouble}", file=sys.stderr)
