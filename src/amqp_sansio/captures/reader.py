"""Any capture file, by its first octets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.packet import Packet, Warn
from amqp_sansio.captures.pcap import MAGICS, read_pcap
from amqp_sansio.captures.pcapng import MAGIC, read_pcapng
from amqp_sansio.captures.source import Source

_NOT_OURS: Final = (
    (b"\x1f\x8b", "it is compressed with gzip: decompress it first (gunzip)"),
    (b"\x28\xb5\x2f\xfd", "it is compressed with zstd: decompress it first (zstd -d)"),
    (b"\xfd7zX", "it is compressed with xz: decompress it first (unxz)"),
    (b"BZh", "it is compressed with bzip2: decompress it first (bunzip2)"),
    (b"\x34\xcd\xb2\xa1", "it is a pcap of the modified kind (magic a1b2cd34), which is not known: convert it with editcap"),
    (b"\xa1\xb2\xcd\x34", "it is a pcap of the modified kind (magic a1b2cd34), which is not known: convert it with editcap"),
)


def read_packets(path: str, warn: Warn) -> Iterator[Packet]:
    """The packets of the pcap or pcapng file at `path`, in file order, in constant memory.

    CaptureError when it cannot be opened or read, is empty, is no capture, or is damaged; what was good before comes first.
    `warn` hears what does not stop the reading: a last record cut short.
    """
    try:
        stream = open(path, "rb")  # noqa: SIM115 -- closed by the `with` below; only the opening is in the try
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise CaptureError(path, 0, 0, f"cannot be opened: {reason}") from error
    with stream:
        source = Source(path, stream)
        magic = source.take(4)
        if magic in MAGICS:
            yield from read_pcap(source, magic, warn)
        elif magic == MAGIC:
            yield from read_pcapng(source, magic, warn)
        elif not magic:
            raise CaptureError(path, 0, 0, "the file is empty")
        else:
            for start, reason in _NOT_OURS:
                if magic.startswith(start):
                    raise CaptureError(path, 0, 0, reason)
            raise CaptureError(path, 0, 0, f"neither a pcap nor a pcapng file: it starts with {magic.hex()}")
