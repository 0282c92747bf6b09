"""Finds the TCP segments in many packets at once: the same that `captures.layers` finds one by one."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from amqp_sansio.captures.columns.heads import HEAD_OCTETS, Bytes, Ints, RecordHeads, gathered, words
from amqp_sansio.captures.layers import (
    AUTHENTICATION,
    CUT,
    ETHERNET_IN_IP,
    ETHERTYPES,
    EXTENSIONS,
    FAMILIES,
    FRAGMENT,
    GRE,
    IN_GENEVE,
    IN_TWO,
    IP_IN_IP,
    IPS,
    KNOWN_PORTS,
    LINKS,
    LLC_STARTS,
    MAX_TAGS,
    MPLS_IN_IP,
    SHIMS,
    STEPS,
    TCP,
    UDP,
    UNREAD,
    UNREAD_PORTS,
    UNREAD_PROTOCOLS,
    WIREGUARD,
    LeftOut,
    TcpIn,
    innermost,
    tcp_in,
    unknown_link,
)
from amqp_sansio.captures.pcapng import UNDESCRIBED
from amqp_sansio.captures.walk import Octets

_TAGS: Final = (0x8100, 0x88A8, 0x9100, 0x9200)
_TYPE_AT: Final = {1: 12, 113: 14}
_SHIMS: Final = (*SHIMS, *sorted(set(STEPS) - set(_TAGS)))
_LLC_STARTS: Final = [int.from_bytes(each) for each in LLC_STARTS]
_SHIM: Final = -2
"""In place of a start: the packet is examined individually."""
_RAW: Final = (12, 14, 101, 228, 229)
_DEEP: Final = HEAD_OCTETS - 56
"""The latest start of an IP packet for which `heads` contains all that is examined."""
_TUNNELS: Final = (*IP_IN_IP, GRE, MPLS_IN_IP, *ETHERNET_IN_IP, *UNREAD_PROTOCOLS)
_WIREGUARD: Final = int.from_bytes(WIREGUARD)
NO_INTERFACE: Final = "the section has not described the interface that it names"


class SegmentGroup(NamedTuple):
    """Segments in IP packets of one version.  `row` is the index of the record; `start` and `end` locate the TCP segment in the
    packet, by its IP header; addresses are rows of 4 or 16 octets."""

    row: Ints
    source: Bytes
    target: Bytes
    start: Ints
    end: Ints


class Ports(NamedTuple):
    """The TCP headers of a group; `begin` and `stop` locate the captured octets of the stream in the packet, `cut` is how many
    more there were."""

    source: Ints
    target: Ints
    sequence: Ints
    acknowledged: Ints
    flags: Ints
    begin: Ints
    stop: Ints
    cut: Ints


def groups(octets: Octets, found: RecordHeads, left_out: LeftOut | None = None) -> list[SegmentGroup]:
    """Returns every TCP segment; `left_out` counts what is not read."""
    heads = gathered(octets, found.start, HEAD_OCTETS)
    left_out = left_out or LeftOut()
    at = _starts(octets, heads, found, left_out)
    _follow(octets, heads, found, at, left_out)
    deepest = int(at.max(initial=0))
    if deepest > _DEEP:
        heads = gathered(octets, found.start, deepest + HEAD_OCTETS - _DEEP)
    made: list[SegmentGroup] = []
    for place in np.unique(at).tolist():
        if place >= 0:
            made += _at(octets, heads, found, np.nonzero(at == place)[0], place, left_out)
    return [group for group in made if len(group.row)]


def _follow(octets: Octets, heads: Bytes, found: RecordHeads, at: Ints, left_out: LeftOut) -> None:
    """Replaces the position of each tunnel by that of its innermost IP packet, one packet at a time."""
    for place in np.unique(at).tolist():
        if place < 0:
            continue
        rows = np.nonzero(at == place)[0]
        if place <= _DEEP:
            mine = heads[rows]
            version, carried = mine[:, place] >> 4, np.where(mine[:, place] >> 4 == 4, mine[:, place + 9], mine[:, place + 6])
            four = version == 4
            later = four & (words(mine, place + 6, ">u2") & 0x1FFF != 0)
            tunnel = np.isin(carried, _TUNNELS) | ((version == 6) & np.isin(carried, EXTENSIONS))
            tunnel |= (four & (carried == AUTHENTICATION)) | (found.captured[rows] < place + 20)
            udp = np.nonzero(carried == UDP)[0]
            inside = _in_udp(mine[udp], place + np.where(four, 20, 40)[udp])
            tunnel[udp] = (four & ((mine[:, place] & 15 != 5) | later))[udp] | inside | tunnel[udp]
            rows = rows[tunnel]
        for row in rows.tolist():
            begin, captured = int(found.start[row]), int(found.captured[row])
            at[row], why = innermost(bytes(octets[begin : begin + captured]), place)
            left_out.add(why, captured, int(found.original[row]))


def _in_udp(heads: Bytes, at: Ints) -> NDArray[np.bool_]:
    """Returns which of these may be tunnels, by port, or on any port by the first octets; the UDP header is at `at`."""
    found = np.zeros(len(heads), np.bool_)
    for place in np.unique(at).tolist():
        rows = np.nonzero(at == place)[0]
        mine = heads[rows]
        first, last = words(mine, place + 8, ">u4"), words(mine, place + 12, ">u4") & 0xFF
        geneve = (first & 0xC03F0000 == 0) & np.isin(first & 0xFFFF, IN_GENEVE)
        inside = (first == _WIREGUARD) | ((last == 0) & ((first == 0x08000000) | geneve))
        source = np.isin(words(mine, place, ">u2"), list(UNREAD_PORTS))
        found[rows] = np.isin(words(mine, place + 2, ">u2"), KNOWN_PORTS) | source | inside
    return found


def _starts(octets: Octets, heads: Bytes, found: RecordHeads, left_out: LeftOut) -> Ints:
    """Returns where the IP packet starts, for each record; negative where there is none."""
    if not len(found.link):
        return found.link
    at = np.full(len(heads), -1, np.int64)
    captured, original = found.captured, found.original
    for link in np.unique(found.link).tolist():
        rows = np.nonzero(found.link == link)[0]
        if link not in LINKS:
            why = NO_INTERFACE if link == UNDESCRIBED else unknown_link(link)
            left_out.add(why, 0, 0, len(rows))
            continue
        at[rows] = _start(link, heads[rows], captured[rows])
        for row in rows[at[rows] == _SHIM].tolist():
            begin = int(found.start[row])
            at[row] = LINKS[link](bytes(octets[begin : begin + int(captured[row])]))
            left_out.add(UNREAD.get(int(at[row]), ""), int(captured[row]), int(original[row]))
    at[list(found.wrong)] = -1
    return at


def _start(link: int, heads: Bytes, captured: Ints) -> Ints:
    if link in _TYPE_AT:
        return _after_type(heads, captured, np.full(len(heads), True), _TYPE_AT[link])
    if link in (0, 108):
        first = heads[:, 0] | heads[:, 3]
        known = np.isin(first, FAMILIES) & ((heads[:, 1] | heads[:, 2]) == 0) & (captured >= 4)
        return np.where(known, 4, np.where(captured >= 4, -1, _SHIM))
    if link == 276:
        kind = words(heads, 0, ">u2")
        there = captured >= 2
        start = _after_type(heads, captured, np.isin(kind, _TAGS) & there, 22)
        start[(np.isin(kind, _SHIMS) | (kind < ETHERTYPES)) & there] = _SHIM
        return np.where(np.isin(kind, IPS) & there, 20, np.where(there, start, _SHIM))
    return np.full(len(heads), 0 if link in _RAW else _SHIM, np.int64)


def _after_type(heads: Bytes, captured: Ints, active: NDArray[np.bool_], at: int) -> Ints:
    """Returns the start after the EtherType at `at` of the active ones, skipping VLAN tags."""
    start = np.full(len(heads), -1, np.int64)
    for _ in range(MAX_TAGS):
        kind = words(heads, at, ">u2")
        there = active & (captured >= at + 2)
        start[active & ~there] = _SHIM
        start[there & ((kind == IPS[0]) | (kind == IPS[1]))] = at + 2
        start[there & np.isin(kind, _SHIMS)] = _SHIM
        length = there & (kind < ETHERTYPES)
        if length.any():
            start[length & np.isin(words(heads, at + 2, ">u2"), _LLC_STARTS)] = _SHIM
        active = there & np.isin(kind, _TAGS)
        if not active.any():
            return start
        at += 4
    start[active] = _SHIM
    return start


def _at(octets: Octets, heads: Bytes, found: RecordHeads, rows: Ints, at: int, left_out: LeftOut) -> list[SegmentGroup]:
    """Returns the segments in the IP packets that start at this offset of their packets."""
    rows = rows[found.captured[rows] >= at + 20]
    version = heads[rows, at] >> 4
    made: list[SegmentGroup] = []
    four = rows[version == 4]
    if len(four):
        made.append(_four(octets, heads[four], found, four, at, left_out))
    six = rows[version == 6]
    if len(six):
        made.append(_six(octets, heads[six], found, six, at, left_out))
    return made


def _four(octets: Octets, heads: Bytes, found: RecordHeads, rows: Ints, at: int, left_out: LeftOut) -> SegmentGroup:
    length = (heads[:, at].astype(np.int64) & 15) * 4
    tcp = (heads[:, at + 9] == TCP) & (length >= 20)
    later = tcp & ((words(heads, at + 6, ">u2") & 0x1FFF) != 0)
    left_out.add(IN_TWO, 0, 0, int(later.sum()))
    tcp &= ~later
    total = words(heads, at + 2, ">u2")
    start, end = at + length, np.where(total > 0, at + total, found.original[rows])
    source, target = heads[:, at + 12 : at + 16], heads[:, at + 16 : at + 20]
    for index in np.nonzero(heads[:, at + 9] == AUTHENTICATION)[0].tolist():
        inside = _alone(octets, found, int(rows[index]), at)
        if inside is not None:
            tcp[index], start[index] = True, inside.start
    group = SegmentGroup(rows, source, target, start, end)
    return group if tcp.all() else _only(group, tcp)


def _alone(octets: Octets, found: RecordHeads, row: int, at: int) -> TcpIn | None:
    """Finds the segment of one packet with chained headers."""
    place, captured = int(found.start[row]), int(found.captured[row])
    return tcp_in(bytes(octets[place : place + captured]), at, int(found.original[row]))


def _six(octets: Octets, heads: Bytes, found: RecordHeads, rows: Ints, at: int, left_out: LeftOut) -> SegmentGroup:
    length = words(heads, at + 4, ">u2")
    start = np.full(len(rows), at + 40, np.int64)
    end = np.where(length > 0, at + 40 + length, found.original[rows])
    tcp = heads[:, at + 6] == TCP
    for index in np.nonzero(~tcp)[0].tolist():  # extension headers are a chain: one packet at a time
        inside = _alone(octets, found, int(rows[index]), at)
        if inside is FRAGMENT:
            left_out.add(IN_TWO, 0, 0)
        elif inside is not None:
            tcp[index] = True
            start[index], end[index] = inside.start, inside.end
    return _only(SegmentGroup(rows, heads[:, at + 8 : at + 24], heads[:, at + 24 : at + 40], start, end), tcp)


def ports(
    octets: Octets, found: RecordHeads, group: SegmentGroup, left_out: LeftOut | None = None
) -> tuple[SegmentGroup, Ports]:
    """Parses the TCP headers of a group, and drops segments without a complete one; `left_out` counts truncated packets."""
    rows = group.row
    there = group.start + 14 <= found.captured[rows]
    if not there.all():
        if left_out is not None:
            left_out.add(CUT, 0, 1, int((found.captured[rows] < found.original[rows])[~there].sum()))
        group = _only(group, there)
        rows = group.row
    heads = gathered(octets, found.start[rows] + group.start, 16)
    length = (heads[:, 12].astype(np.int64) >> 4) * 4
    begin = group.start + length
    sound = (length >= 20) & (begin <= group.end)
    if not sound.all():
        group, heads, begin = _only(group, sound), heads[sound], begin[sound]
        rows = group.row
    captured = found.captured[rows]
    stop = np.minimum(group.end, captured)
    cut = np.minimum(group.end - np.maximum(stop, begin), 2**31 - 1)
    first, second = words(heads, 0, ">u2"), words(heads, 2, ">u2")
    flags = heads[:, 13].astype(np.int64)
    begin = np.minimum(begin, stop)
    return group, Ports(first, second, words(heads, 4, ">u4"), words(heads, 8, ">u4"), flags, begin, stop, cut)


def _only(group: SegmentGroup, chosen: NDArray[np.bool_]) -> SegmentGroup:
    return SegmentGroup(group.row[chosen], group.source[chosen], group.target[chosen], group.start[chosen], group.end[chosen])
