"""Finds the capture files of a run, and checks them before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import found, size_of
from amqp_sansio.captures.pcap import MAGICS
from amqp_sansio.captures.pcapng import MAGIC
from amqp_sansio.captures.source import no_capture, open_capture

_MAGIC_OCTETS: Final = 4


def files_of(captures: Sequence[str]) -> list[str]:
    """Returns the files to read.

    Raises CaptureError when one does not exist, and when none of them is a readable capture.  A single unreadable one is no
    error: it becomes a row in `violations`, and the others are read.
    """
    files = found(captures)
    for path in files:
        if not is_text(path):
            raise CaptureError(path, 0, 0, "its name is not UTF-8, and tables hold the names of captures as text: rename it")
    first: str | None = None
    for path in files:
        reason = _why_not(path)
        if reason is None:  # one is enough: the readers report the others
            return files
        first = first or reason
    raise CaptureError(files[0], 0, 0, str(first))


def is_text(name: str) -> bool:
    """Whether a name is valid UTF-8.  Other octets appear in it as surrogate escapes (PEP 383)."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def octets_of(files: Sequence[str]) -> int:
    """Returns the total size of these files in octets; 0 for one that is gone."""
    return sum(map(size_of, files))


def _why_not(path: str) -> str | None:
    """Returns why the file is not a capture, or cannot be opened; None when it is one."""
    try:
        with open_capture(path) as stream:
            magic = stream.read(_MAGIC_OCTETS)
    except CaptureError as error:
        return error.rule
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return None if magic in MAGICS or magic == MAGIC else no_capture(magic)
