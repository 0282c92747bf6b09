"""Recognises connections that cannot be AMQP by the ports and first octets of their packets: they need no replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from amqp_sansio.captures.columns.heads import Ints, edges_of, gathered, words
from amqp_sansio.captures.layers import ACK, FIN, RST, SYN

HEAD_OCTETS: Final = 4
"""Octets examined of a payload."""
NAME: Final = int.from_bytes(b"AMQP")
METHOD: Final = int.from_bytes(b"\x01\0\0")
"""The first octets of a server's connection.start in the older dialects, which it sends without a protocol header."""

_MASK: Final = 0xFFFFFFFF
_WINDOW: Final = 1 << 30


class ForeignPackets(NamedTuple):
    """The fields of packets, sorted by connection and in order within each.  `lengths` are octets of payload, `heads` the first
    HEAD_OCTETS of them as one number, with arbitrary octets after a shorter one."""

    keys: Ints
    sports: Ints
    dports: Ints
    sequences: Ints
    flags: Ints
    lengths: Ints
    heads: Ints


def spoken(packets: pa.RecordBatch, order: Ints) -> ForeignPackets:
    """Returns the fields of packets, in this order."""

    def numbers(name: str) -> Ints:
        found: Ints = packets.column(name).to_numpy()[order].astype(np.int64)
        return found

    payload = packets.column("payload")
    _, places, octets = payload.buffers()
    begins = np.frombuffer(places, np.int32)[payload.offset : payload.offset + len(payload) + 1].astype(np.int64)
    lengths = np.diff(begins)[order]
    first = words(gathered(b"" if octets is None else octets, begins[:-1], HEAD_OCTETS), 0, ">u4")[order]
    keys, sports, dports, sequences, flags = map(numbers, ("connection", "sport", "dport", "seq", "flags"))
    return ForeignPackets(keys, sports, dports, sequences, flags, lengths, first)


def strange(said: ForeignPackets, ports: Sequence[int] = ()) -> NDArray[np.bool_]:
    """Returns which packets belong to connections that are complete, from SYN to FIN or RST, and are not AMQP.

    Such packets make no rows: their ports were not asked for, and none of their payloads, and so neither stream, begins like a
    protocol header.  Doubtful connections do not count: those with a repeated SYN, or with anything outside the window.
    """
    count = len(said.keys)
    if not count:
        return np.zeros(0, np.bool_)
    edges = edges_of(said.keys)
    starts, sizes = edges[:-1], np.diff(edges)

    def some(what: NDArray[np.bool_]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = np.logical_or.reduceat(what, starts)
        return found

    def first(column: Ints) -> Ints:
        return np.repeat(column[starts], sizes)

    flags = said.flags
    opens, back = flags & SYN != 0, said.sports != first(said.sports)
    answers = opens & back & (flags & ACK != 0)
    asks = np.add.reduceat(opens & ~answers, starts)
    answered = np.add.reduceat(answers, starts)
    other = np.add.reduceat(np.where(answers, said.sequences, 0), starts)
    own, theirs = first(said.sequences), np.repeat(other, sizes)
    away = said.sequences + opens - np.where(back, theirs, own) - 1 & _MASK
    odd = (said.lengths > 0) & (
        may_begin(said.heads, said.lengths) | (away >= _WINDOW) | (back & np.repeat(answered == 0, sizes))
    )
    odd |= (said.keys == 0) | (said.sports == said.dports)
    if ports:
        odd |= np.isin(said.sports, ports) | np.isin(said.dports, ports)
    over = some(flags & RST != 0) | (some((flags & FIN != 0) & ~back) & some((flags & FIN != 0) & back))
    begun = (flags[starts] & (SYN | ACK | RST | FIN) == SYN) & (asks == 1) & (answered <= 1)
    return np.repeat(begun & over & ~some(odd), sizes)


def may_begin(heads: Ints, lengths: Ints) -> NDArray[np.bool_]:
    """Returns which payloads may begin a protocol header or a connection.start without one, by the first octets they have."""
    missing = 8 * (HEAD_OCTETS - np.clip(lengths, 0, HEAD_OCTETS))
    fewer = np.maximum(missing, 8)
    found: NDArray[np.bool_] = (lengths > 0) & ((heads >> missing == NAME >> missing) | (heads >> fewer == METHOD >> fewer - 8))
    return found
