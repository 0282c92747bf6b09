"""What the JVM and workers say to nobody is left out of stderr, everything else goes through."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import logging, os, subprocess, sys
from amqp_sansio.spark.quiet import quiet
print("before", file=sys.stderr)
with quiet():
    print("ours", file=sys.stderr)
    subprocess.run(["sh", "-c", "echo 'WARNING: Using incubator modules: x' >&2; echo >&2; echo 'theirs' >&2; echo >&2"])
    os.write(2, b"Streaming TransformWithStateInPandas Python worker Completed\\n\\n")
    os.write(2, b'Exception in thread "stream execution thread for x" y: z\\n\\tat a.b(C.scala:1)\\n')
    os.write(2, b"Caused by: d\\n\\t... 9 more\\n")
    logging.error("of py4j")
    os.write(2, b"more\\n\\tat theirs\\n")
    os.write(2, b"\\rhalf a line")
print("\\nafter", file=sys.stderr)
"""


def test_noise_is_left_out_and_the_rest_is_kept() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b"before\nours\ntheirs\n\nmore\n\tat theirs\n\rhalf a line\nafter\n"
