"""stderr without what the JVM and Spark's workers say to nobody in particular.

They inherit our stderr and write to it whatever the log level: a warning about a module, lines of workers that start and end.
While `quiet` is entered, what is written there goes through a pipe, and lines of that kind are left out.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

NOISE: Final = re.compile(
    rb"WARNING: Using incubator modules|Setting default log level|To adjust logging level|Setting Spark log level"
    rb"|Streaming TransformWithState|Starting Streaming|WARNING: sun\\.|WARNING: A terminally deprecated"
    rb"|WARNING: Please consider|Picked up |Using Spark's default log4j"
)


@contextmanager
def quiet() -> Iterator[None]:
    """Leaves noise out of stderr, of this process and of those it starts, while it is entered."""
    sys.stderr.flush()
    kept = os.dup(2)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    filtering = threading.Thread(target=_filter, args=(reading, kept), daemon=True)
    filtering.start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        # A JVM that goes on holds its end of the pipe open: the thread goes on with it.
        filtering.join(timeout=0.5)


def _filter(reading: int, target: int) -> None:
    """Hands on what is read, whole lines that are noise (and the empty ones behind them) left out."""
    rest = b""
    noisy = False
    while chunk := os.read(reading, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if NOISE.search(line) or (noisy and not line.strip()):
                noisy = True
                continue
            noisy = False
            os.write(target, line + b"\n")
        if rest.startswith(b"\r"):  # a line of progress, which is not ended by a newline
            os.write(target, rest)
            rest = b""
    if rest and not NOISE.search(rest):
        os.write(target, rest)
