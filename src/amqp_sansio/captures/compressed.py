"""Reads files compressed with gzip or zstd."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from typing import BinaryIO, Final, cast

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
