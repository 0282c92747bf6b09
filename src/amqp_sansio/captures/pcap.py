"""Classic pcap files, microseconds or nanoseconds, either byte order: walks over their records."""

from __future__ import annotations

import re
import struct
from functools import partial
from statistics import median_low
from typing import Final, NamedTuple

from amqp_sansio.captures.walk import ENDS, MAX_PACKET_OCTETS, Octets, Packet, Run, first_chain

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

HEADER_OCTETS: Final = 24
"""Octets of the file header."""
RECORD_OCTETS: Final = 16
"""Octets of a record header."""
CLOCK_SECONDS: Final = 100_000_000
"""In a search, how far (some three years) the times of records may be from the first ones of the file."""
MAX_ORIGINAL_OCTETS: Final = 16 * 1024 * 1024 - 1
"""In a search, the most octets of a packet on the wire."""

_CAPTURED: Final = {order: struct.Struct(order + "8xI").unpack_from for order in "<>"}
_RECORD: Final = {order: struct.Struct(order + "IIII").unpack_from for order in "<>"}
_FIRST: Final = 9
_EMPTY: Final = re.compile(b"(?:\\0{%d}){1,%d}" % (RECORD_OCTETS, MOST_ZEROS + 1))
"""All-zero records, one more than may follow one another."""


class PcapWalk(NamedTuple):
    """The contents of the file header: byte order, ns per unit of the fraction, link type.

    `clock` is the time of the first records in seconds, which helps to distinguish records from other octets.
    """

    order: str
    unit: int
    link: int
    clock: int

    def run(self, octets: Octets, at: int, stop: int, end: int, final: bool) -> Run:
        """See `Walk`."""
        captured = _CAPTURED[self.order]
        positions: list[int] = []
        add = positions.append
        inside = min(stop, end - RECORD_OCTETS + 1)
        looked = at  # zero records before this are not too many, so each octet of them is checked once
        try:
            while at < inside:
                (length,) = captured(octets, at)
                if length > MAX_PACKET_OCTETS:
                    text = f"a record claims {length} octets, more than the {MAX_PACKET_OCTETS} a packet may have"
                    return Run(positions, at, text)
                if not length and at >= looked and (empty := _EMPTY.match(octets, at, end)) is not None:
                    looked = empty.end()
                    if looked - at > MOST_ZEROS * RECORD_OCTETS:
                        return Run(positions, at, ONLY_ZEROS, over=True)
                    if not final and end - looked < RECORD_OCTETS:
                        return Run(positions, at, more=True)
                add(at)
                at += RECORD_OCTETS + length
        except struct.error:  # there are fewer octets than `end` says
            end, final = len(octets), True
        if at > end and positions:
            at = positions.pop()
            there = f"{end - at - RECORD_OCTETS} of {captured(octets, at)[0]} octets are there"
            return self._cut(positions, at, final, f"{ENDS} its last record, {there}")
        if at < stop and at < end:
            return self._cut(positions, at, final, f"{ENDS} the header of its last record")
        return Run(positions, at)

    @staticmethod
    def _cut(positions: list[int], at: int, final: bool, text: str) -> Run:
        return Run(positions, at, text) if final else Run(positions, at, more=True)

    def packet(self, octets: Octets, at: int, number: int, offset: int) -> Packet:
        """See `Walk`."""
        seconds, fraction, captured, original = _RECORD[self.order](octets, at)
        start, time = at + RECORD_OCTETS, seconds * 1_000_000_000 + fraction * self.unit
        return Packet(number, time, self.link, bytes(octets[start : start + captured]), max(original, captured), offset)

    def find(self, octets: Octets, at: int, end: int, final: bool) -> int | None:
        """See `Walk`."""
        places = (match.start() for match in self._candidates().finditer(octets, at, end))
        return first_chain(places, self.order, RECORD_OCTETS, end, final, partial(self._follow, octets))

    def _candidates(self) -> re.Pattern[bytes]:
        """Returns a pattern of possible record headers, tried at every octet."""
        seconds = {(self.clock + away >> 24) & 0xFF for away in range(-CLOCK_SECONDS, CLOCK_SECONDS + 1, 1 << 20)}
        high = b"[" + b"".join(re.escape(bytes([each])) for each in sorted(seconds)) + b"]"
        most = 1_000_000_000 // self.unit >> 24
        fraction = b"[\\x00-" + re.escape(bytes([most])) + b"]"
        if self.order == "<":
            shape = b"..." + high + b"..." + fraction + b"..[\\x00-\\x10]\\x00...\\x00"
        else:
            shape = high + b"..." + fraction + b"...\\x00[\\x00-\\x10]..\\x00..."
        # Zeros are not a record, which saves a check at each of them where the clock is near 0.
        return re.compile(b"(?=(?!\\0{%d})" % RECORD_OCTETS + shape + b")", re.DOTALL)

    def _follow(self, octets: Octets, at: int, order: str) -> tuple[int, str]:
        """See `Follow`."""
        seconds, fraction, captured, original = _RECORD[order](octets, at)
        sound = (
            0 < captured <= MAX_PACKET_OCTETS
            and captured <= original <= MAX_ORIGINAL_OCTETS
            and fraction * self.unit < 1_000_000_000
            and abs(seconds - self.clock) <= CLOCK_SECONDS
        )
        return at + RECORD_OCTETS + captured if sound else -1, order


def pcap_walk(octets: Octets, end: int) -> tuple[PcapWalk | None, str]:
    """Returns the walk for a file that starts with these octets; None and the fault when its header does not allow it.

    The octets should include the first records.
    """
    order, unit = MAGICS[bytes(octets[:4])]
    if end < HEADER_OCTETS:
        return None, f"the pcap file header takes {HEADER_OCTETS} octets, the file ends after {end}"
    major, minor, _, _, _, link = struct.unpack_from(order + "HHIIII", octets, 4)
    if major != 2:
        return None, f"pcap version {major}.{minor} is not known, only 2.x"
    at = HEADER_OCTETS
    times: list[int] = []
    record = _RECORD[order]
    while len(times) < _FIRST and at + RECORD_OCTETS <= end:
        seconds, _, captured, _ = record(octets, at)
        times.append(seconds)
        if captured > MAX_PACKET_OCTETS:
            break
        at += RECORD_OCTETS + captured
    return PcapWalk(order, unit, link & 0xFFFF, median_low(times) if times else 0), ""
