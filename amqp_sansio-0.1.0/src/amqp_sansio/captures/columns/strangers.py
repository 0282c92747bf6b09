"""Connections that cannot be AMQP, told from the ports and the first octets of their packets: they need no replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from amqp_sansio.captures.columns.heads import Ints, edges_of, gathered, words
from amqp_sansio.captures.tcp import ACK, FIN, RST, SYN

HEAD_OCTETS: Final = 4
"""Octets of a payload that are looked at."""
NAME: Final = int.from_bytes(b"AMQP")

_MASK: Final = 0xFFFFFFFF
_WINDOW: Final = 1 << 30


class Spoken(NamedTuple):
    """What packets say, one entry each, sorted by connection, those of each in their order.  `lengths` are octets of payload,
    `heads` the first HEAD_OCTETS of them as one number, with anything behind their end."""

    keys: Ints
    sports: Ints
    dports: Ints
    sequences: Ints
    flags: Ints
    lengths: Ints
    heads: Ints


def spoken(packets: pa.RecordBatch, order: Ints) -> Spoken:
    """What packets say, in this order."""

    def numbers(name: str) -> Ints:
        found: Ints = packets.column(name).to_numpy()[order].astype(np.int64)
        return found

    payload = packets.column("payload")
    _, places, octets = payload.buffers()
    begins = np.frombuffer(places, np.int32)[payload.offset : payload.offset + len(payload) + 1].astype(np.int64)
    lengths = np.diff(begins)[order]
    first = words(gathered(b"" if octets is None else octets, begins[:-1], HEAD_OCTETS), 0, ">u4")[order]
    keys, sports, dports, sequences, flags = map(numbers, ("connection", "sport", "dport", "seq", "flags"))
    return Spoken(keys, sports, dports, sequences, flags, lengths, first)


def strange(said: Spoken, ports: Sequence[int] = ()) -> NDArray[np.bool_]:
    """Which packets are of connections that are there from the first SYN to the last FIN or a RST and are no AMQP.

    No row of a table is made of them: their ports were not asked for, and no payload of theirs, and so neither stream, begins
    as a protocol header does.  In doubt a connection is none: where a SYN comes again, or something is out of its window.
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
    """Which payloads may be how a protocol header begins: as many of its first octets as they have."""
    missing = 8 * (HEAD_OCTETS - np.clip(lengths, 0, HEAD_OCTETS))
    found: NDArray[np.bool_] = (lengths > 0) & (heads >> missing == NAME >> missing)
    return found
