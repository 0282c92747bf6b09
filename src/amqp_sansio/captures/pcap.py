"""Classic pcap files: microseconds or nanoseconds, either byte order."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from amqp_sansio.captures.packet import MAX_PACKET_OCTETS, Packet, Warn
from amqp_sansio.captures.source import Source

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
_HEADER_OCTETS: Final = 24
_RECORD_OCTETS: Final = 16
_ZEROS: Final = bytes(_RECORD_OCTETS)


def read_pcap(source: Source, magic: bytes, warn: Warn) -> Iterator[Packet]:
    """Yields the packets of the file whose first four octets were `magic`.

    A truncated last record is left out with a warning.  Raises CaptureError for an incomplete file header, a major version
    other than 2, or a record of more than MAX_PACKET_OCTETS.
    """
    order, unit = MAGICS[magic]
    header = source.take(_HEADER_OCTETS - 4)
    if len(header) < _HEADER_OCTETS - 4:
        raise source.error(f"the pcap file header takes {_HEADER_OCTETS} octets, the file ends after {source.offset}")
    major, minor, _, _, _, link = struct.unpack(order + "HHIIII", header)
    if major != 2:
        raise source.error(f"pcap version {major}.{minor} is not known, only 2.x", 4)
    link &= 0xFFFF  # the upper bits give the length of the frame check sequence, which the IP length excludes
    record = struct.Struct(order + "IIII").unpack
    take = source.take
    number = zeros = 0
    clock: int | None = None  # the time of the first record
    while True:
        start = source.offset
        head = take(_RECORD_OCTETS)
        if not head:
            return
        number += 1
        source.packet = number
        if len(head) < _RECORD_OCTETS:
            warn(f"packet {number}, octet {start}: the file ends inside the header of its last record")
            return
        zeros = 0 if head != _ZEROS else zeros + 1
        if zeros > MOST_ZEROS:
            raise source.error(ONLY_ZEROS, start)
        seconds, fraction, captured, original = record(head)
        if captured > MAX_PACKET_OCTETS:
            raise source.error(f"a record claims {captured} octets, more than the {MAX_PACKET_OCTETS} a packet may have", start)
        data = take(captured)
        if len(data) < captured:
            from amqp_sansio.captures.walk_pcap import PcapWalk  # here, for it imports this module

            clock = seconds if clock is None else clock
            if PcapWalk(order, unit, link, clock).find(data, 0, len(data), True) is not None:
                raise source.error(f"a record claims {captured} octets, and other records begin within them", start)
            there = f"{len(data)} of {captured} octets are there"
            warn(f"packet {number}, octet {start}: the file ends inside its last record, {there}")
            return
        clock = seconds if clock is None else clock
        time = seconds * 1_000_000_000 + fraction * unit
        yield Packet(number, time, link, data, original if original > captured else captured, start)
