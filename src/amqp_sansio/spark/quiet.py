"""Filters out of stderr what the JVM and Spark's workers write there regardless of the log level.

They inherit our stderr: a warning about a module, lines of workers that start and end.  Within `quiet`, stderr goes through a
pipe that drops such lines.
"""

from __future__ import annotations

import logging
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
    rb'|^Exception in thread "stream execution thread'  # the query reports what has failed in it
)
_GOES_ON: Final = re.compile(rb"\s*$|\s+at |\s+\.\.\. \d+ (?:more|common frames)|(?:Caused by|\s+Suppressed): ")
"""Empty lines, and the lines of a trace."""


@contextmanager
def quiet() -> Iterator[None]:
    """Drops such lines from stderr, of this process and of those it starts, within the block."""
    log, unheard = logging.getLogger(), logging.NullHandler()
    log.addHandler(unheard)  # else py4j sets up logging to stderr for the trace of a JVM that was killed
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
        log.removeHandler(unheard)
        sys.stderr.flush()
        os.dup2(kept, 2)
        # A JVM that outlives the block keeps its end of the pipe open, and with it the thread.
        filtering.join(timeout=0.5)


def _filter(reading: int, target: int) -> None:
    """Copies what it reads, without whole lines that are noise, and those after them that belong to them."""
    rest = b""
    noisy = False
    while chunk := os.read(reading, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if NOISE.search(line) or (noisy and _GOES_ON.match(line)):
                noisy = True
                continue
            noisy = False
            os.write(target, line + b"\n")
        if rest.startswith(b"\r"):  # a progress line, which does not end in a newline
            os.write(target, rest)
            rest = b""
    if rest and not NOISE.search(rest):
        os.write(target, rest)
