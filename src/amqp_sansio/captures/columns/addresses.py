"""Addresses and ports of many packets: as text, and as connection numbers."""

from __future__ import annotations

from ipaddress import IPv6Address
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from amqp_sansio.captures.columns.heads import Bytes, Ints

Words: TypeAlias = NDArray[np.uint64]

_SIX: Final = 0x9E3779B97F4A7C15  # sets IPv6 apart from IPv4 addresses of the same number


def text_of(octets: bytes) -> str:
    """Formats an address of 4 or 16 octets."""
    return ".".join(map(str, octets)) if len(octets) == 4 else IPv6Address(octets).compressed


def texts(rows: Bytes) -> pa.StringArray:
    """Formats addresses, one per row of 4 or 16 octets.  Each distinct one is formatted once."""
    width = rows.shape[1]
    packed = np.ascontiguousarray(rows)
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(packed), [None, pa.py_buffer(packed)])
    encoded = column.dictionary_encode()
    return pa.array([text_of(each) for each in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def mixed(words: Words) -> Words:
    """Mixes the bits of each word: every input bit affects about half of the output bits.  Arithmetic modulo 2^64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _end(addresses: Bytes, ports: Ints) -> Words:
    """Returns a word for each address with its port."""
    big = np.ascontiguousarray(addresses).view(">u4" if addresses.shape[1] == 4 else ">u8").astype(np.uint64)
    word = ports.astype(np.uint64)
    if big.shape[1] == 1:
        return mixed(big[:, 0] << np.uint64(16) | word)
    return mixed(mixed(big[:, 0] + np.uint64(_SIX)) + mixed(big[:, 1]) * np.uint64(3) + word)


def connections(sources: Bytes, source_ports: Ints, targets: Bytes, target_ports: Ints) -> Ints:
    """Returns the connection number of each packet: the same in both directions, never 0."""
    here, there = _end(sources, source_ports), _end(targets, target_ports)
    found = mixed(mixed(here + there) ^ (here ^ there)).view(np.int64)
    return np.where(found == 0, np.int64(1), found)
