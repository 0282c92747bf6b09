"""Opens a capture file, compressed or not, and says why a file is not a capture."""

from __future__ import annotations

import sys
from typing import BinaryIO, Final

from amqp_sansio.captures import remote
from amqp_sansio.captures.compressed import decompressed
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import is_remote, resolved

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
            stream = remote.opened(path) if is_remote(path) else open(path, "rb")  # noqa: SIM115
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
