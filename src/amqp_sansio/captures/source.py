"""Opens capture files, compressed with gzip or zstd or not, says why a file is not a capture, and finds those of a run."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Sequence
from typing import BinaryIO, Final, cast

from amqp_sansio.captures import locations
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import found, is_remote, resolved, size_of
from amqp_sansio.captures.pcap import MAGICS
from amqp_sansio.captures.pcapng import MAGIC

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
_PART: Final = 16 * 1024
_PART_OF_ZSTD: Final = 4 * 1024  # Arrow drops the part in which it meets damage


class Undecompressed(OSError):
    """Compressed data that cannot be read any further; `strerror` says why."""


class _Stream(io.RawIOBase):
    """A decompressed stream.  Every error of the library becomes one kind of OSError, raised after all good octets."""

    def __init__(
        self, kind: str, part: Callable[[int], bytes], close: Callable[[], None], errors: tuple[type[BaseException], ...]
    ) -> None:
        self._kind: Final = kind
        self._most: Final = _PART if kind == "gzip" else _PART_OF_ZSTD
        self._part: Final = part
        self._close: Final = close
        self._errors: Final = errors
        self._broken: Undecompressed | None = None

    def read(self, size: int = -1) -> bytes:
        """Returns the next octets; fewer than asked for only at the end, or before damage."""
        parts: list[bytes] = []
        while size > 0:
            if self._broken is not None:
                if parts:
                    break
                raise self._broken
            try:
                part = self._part(min(size, self._most))
            except self._errors as error:
                self._broken = Undecompressed(0, f"the {self._kind} stream is damaged: {error}")
                continue
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Closes the stream and the file."""
        self._close()
        super().close()


def decompressed(stream: BinaryIO, magic: bytes) -> BinaryIO | None:
    """Decompresses a stream that starts with `magic` and has not been read yet, in bounded memory; None: it is not compressed.

    Reading raises Undecompressed (an OSError) where the stream is damaged or ends early.  Raises ImportError when the library
    is missing: zstd needs pyarrow, which the extra `zstd` installs.
    """
    if magic.startswith(GZIP):
        unpacked = gzip.GzipFile(fileobj=stream, mode="rb")

        def close() -> None:
            unpacked.close()
            stream.close()

        return cast(BinaryIO, _Stream("gzip", unpacked.read1, close, (OSError, EOFError, zlib.error)))
    if magic.startswith(ZSTD):
        import pyarrow as pa

        arrow = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")
        return cast(BinaryIO, _Stream("zstd", arrow.read, arrow.close, (OSError,)))
    return None


STDIN: Final = "-"
"""In place of a path: standard input."""
_NOT_OURS: Final = (
    (b"\xfd7zX", "it is compressed with xz: decompress it first (unxz)"),
    (b"BZh", "it is compressed with bzip2: decompress it first (bunzip2)"),
    (b"\x34\xcd\xb2\xa1", "it is a pcap of the modified kind (magic a1b2cd34), which is not known: convert it with editcap"),
    (b"\xa1\xb2\xcd\x34", "it is a pcap of the modified kind (magic a1b2cd34), which is not known: convert it with editcap"),
)


def open_capture(path: str) -> BinaryIO:
    """Opens the file at `path`, a path or URI, or standard input for STDIN; decompresses gzip and zstd.

    Raises CaptureError when it cannot be opened.
    """
    path = resolved(path)
    try:
        # Closed by the caller, or below.
        if path == STDIN:
            stream = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
        else:
            stream = locations.opened(path) if is_remote(path) else open(path, "rb")  # noqa: SIM115
        try:
            found = decompressed(stream, stream.peek(4)[:4])
        except BaseException:
            stream.close()
            raise
    except ImportError as error:
        raise CaptureError(path, 0, 0, "it is compressed with zstd: pip install 'amqp-sansio[zstd]', or zstd -d") from error
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error).splitlines()[0]
        raise CaptureError(path, 0, 0, f"cannot be opened: {reason}") from error
    return stream if found is None else found


def no_capture(magic: bytes) -> str:
    """Returns why a file that starts with these octets is not a capture."""
    if not magic:
        return "the file is empty"
    for start, reason in _NOT_OURS:
        if magic.startswith(start):
            return reason
    return f"neither a pcap nor a pcapng file: it starts with {magic.hex()}"


_MAGIC_OCTETS: Final = 4


def files_of(captures: Sequence[str]) -> list[str]:
    """Returns the files to read.

    Raises CaptureError when one does not exist, and when none of them is a readable capture.  A single unreadable one is no
    error: it becomes a row in `violations`, and the others are read.
    """
    files = found(captures)
    for path in files:
        if not locations.is_text(path):
            raise CaptureError(path, 0, 0, "its name is not UTF-8, and tables hold the names of captures as text: rename it")
    first: str | None = None
    for path in files:
        reason = _why_not(path)
        if reason is None:  # one is enough: the readers report the others
            return files
        first = first or reason
    raise CaptureError(files[0], 0, 0, str(first))


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
