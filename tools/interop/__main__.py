"""`make interop`: our clients and servers with real peers, which are started on loopback and stopped again.

As root, on a system with apt-get, it installs the Debian packages that are missing, and says so.  A peer that cannot be had
here is told in one line, and the rest is run.  Exit 0: all that was run is good.  75: nothing could be run.  Else: something
was found.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.interop.maven import NotAvailable
from tools.interop.peers import PEERS, VARIABLE, install

ROOT: Final = Path(__file__).resolve().parents[2]
NOT_RUN: Final = 75


def main(arguments: list[str]) -> int:
    """The exit code; `arguments` go to pytest."""
    if trouble := install():
        print(f"interop: {trouble}", file=sys.stderr)
    there = []
    for peer in PEERS:
        try:
            peer.ready()
        except NotAvailable as error:
            print(f"interop: NOT RUN with {peer.title}: {error}", file=sys.stderr)
        else:
            there.append(peer.name)
    if not there:
        print("interop: NOT RUN: none of the peers can be had here", file=sys.stderr)
        return NOT_RUN
    environment = {**os.environ, VARIABLE: ",".join(there), "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "pytest", "tests/interop", "--durations=5", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
