"""Classic pcap files: microseconds or nanoseconds, either byte order."""

from __future__ import annotations

from typing import Final

MAGICS: Final[dict[bytes, tuple[str, int]]] = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""First four octets -> byte order, nanoseconds per unit of the fraction."""

MOST_ZEROS: Final = 4096
"""The most consecutive all-zero records: no capture has more, but a compressed file may hold billions in a few octets."""
ONLY_ZEROS: Final = f"more than {MOST_ZEROS} records in a row are nothing but zeros: what follows is no capture"
"""The error where there are more."""
