"""Captures behind URIs, through pyarrow's file systems."""

from __future__ import annotations

import io
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from amqp_sansio.captures.errors import CaptureError, LocationError
from amqp_sansio.captures.locations import Located, located

if TYPE_CHECKING:
    from pyarrow import fs

BUFFER_OCTETS: Final = 4 * 1024 * 1024
"""Octets per request."""
_MAGIC: Final = re.compile(r"[*?[]")


def reached(uri: str) -> Located:
    """Locates a URI.  Raises CaptureError when it cannot be opened, or pyarrow is not installed."""
    try:
        return located(uri)
    except LocationError as error:
        raise CaptureError(error.place, 0, 0, error.rule) from error
    except ImportError as error:
        raise CaptureError(uri, 0, 0, "captures behind a URI need pyarrow: pip install 'amqp-sansio[zstd]'") from error


def opened(uri: str) -> io.BufferedReader:
    """Opens a file.  Raises OSError when it cannot be read."""
    place = reached(uri)
    raw = place.system.open_input_stream(place.path, compression=None)
    return io.BufferedReader(raw, BUFFER_OCTETS)


def about(uri: str) -> fs.FileInfo:
    """Returns whether it is a file, a folder or nothing, with size and modification time.  Raises OSError when that fails."""
    place = reached(uri)
    return place.system.get_file_info(place.path)


def is_file(uri: str) -> bool:
    """Whether the URI names an existing file."""
    return bool(about(uri).is_file)


def files_in(folder: str) -> list[str]:
    """Returns the names of the files directly in a folder.  Raises OSError when it cannot be read."""
    from pyarrow import fs

    place = reached(folder)
    return sorted([each.base_name for each in place.system.get_file_info(fs.FileSelector(place.path)) if each.is_file])


def matching(pattern: str) -> list[str]:
    """Returns the URIs of the files that match a pattern: * and ? stay within a folder, ** crosses folders."""
    from pyarrow import fs

    place = reached(pattern)
    words = place.path.split("/")
    fixed = next((at for at, word in enumerate(words) if _MAGIC.search(word)), len(words))
    if not fixed:
        raise CaptureError(pattern, 0, 0, "the name of a bucket cannot be a pattern")
    select = fs.FileSelector("/".join(words[:fixed]), allow_not_found=True, recursive=len(words) > fixed + 1 or "**" in pattern)
    found = [each.path for each in place.system.get_file_info(select) if each.is_file]
    return [place.base + path for path in found if _fits(path.split("/"), words)]


def has_magic(uri: str) -> bool:
    """Whether the URI is a pattern."""
    return _MAGIC.search(uri) is not None


def is_several(uri: str) -> bool:
    """Whether it is a folder or a pattern; False when that cannot be known, which the reader reports."""
    try:
        return has_magic(uri) or about(uri).type.name == "Directory"
    except OSError:
        return False


def _fits(parts: list[str], words: list[str]) -> bool:
    if not words:
        return not parts
    if words[0] == "**":
        return any(_fits(parts[at:], words[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], words[0]) and _fits(parts[1:], words[1:])
