"""`make interop`: our clients and servers with real peers, which it starts on loopback and stops.

As root, on a system with apt-get, it installs the missing Debian packages, and says so.  For a peer that is not available here
it prints one line, and runs the rest.  Exit 0: all that ran passed. 75: nothing could run.  Otherwise something was found.

python -m tools.interop [--as-it-is] [--fetch] [--only PEER] [pytest options]

--as-it-is installs no Debian package; --fetch downloads what the peers need, and runs nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.interop.debian import install
from tools.interop.maven import NotAvailable
from tools.interop.peers import PEERS, VARIABLE

ROOT: Final = Path(__file__).resolve().parents[2]
NOT_RUN: Final = 75
PROCESSES: Final = ("-n", "2", "--dist", "loadfile", "--max-worker-restart", "0")
"""RabbitMQ in one process, Broker-J in the other: with either, tests mostly wait.  Use -n 0 for a debugger."""


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="make interop", allow_abbrev=False)
    parser.add_argument("--as-it-is", action="store_true")
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--only", choices=[peer.name for peer in PEERS])
    given, others = parser.parse_known_args(arguments)
    if not given.as_it_is and (trouble := install()):
        print(f"interop: {trouble}", file=sys.stderr)
    there = []
    for peer in [each for each in PEERS if given.only in (None, each.name)]:
        try:
            peer.ready()
        except NotAvailable as error:
            print(f"interop: NOT RUN with {peer.title}: {error}", file=sys.stderr)
        else:
            there.append(peer.name)
    if not there:
        print("interop: NOT RUN: none of the peers can be had here", file=sys.stderr)
        return NOT_RUN
    if given.fetch:
        return 0
    environment = {**os.environ, VARIABLE: ",".join(there), "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "pytest", "tests/interop", "--durations=5", *PROCESSES, *others]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
