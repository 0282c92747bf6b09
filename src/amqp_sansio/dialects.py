"""One value per version: what brings a layout, a framing and a protocol header together.

The only place, besides generated layouts, where a version number stands.
"""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.wire.framing import Framing
from amqp_sansio.wire.layouts import v0_10, v0_10_final
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.segmentation import SEGMENTATION

HEADERS: Final[dict[str, bytes]] = {
    "0-8": b"AMQP\x01\x01\x08\x00",
    "0-9": b"AMQP\x01\x01\x00\x09",
    "0-9-1": b"AMQP\x00\x00\x09\x01",
    "0-10": b"AMQP\x01\x01\x00\x0a",
    "99-0": b"AMQP\x01\x01\x63\x00",
    "1.0": b"AMQP\x00\x01\x00\x00",
}
"""What a client of each version sends first."""

VERSIONS: Final[dict[bytes, str]] = {
    **{octets: version for version, octets in HEADERS.items()},
    b"AMQP\x01\x01\x09\x01": "0-8",  # as the 0-8 document prints it
    b"AMQP\x01\x01\x00\x5b": "0-9-1",  # as qpid's own XML numbers it: minor 91
    b"AMQP\x02\x01\x00\x00": "1.0",  # its TLS layer
    b"AMQP\x03\x01\x00\x00": "1.0",  # its SASL layer
}
"""The version that each protocol header names, also by its other spellings."""


@attrs.frozen
class Dialect:
    """A version of AMQP as it is spoken.

    `header` is the protocol header, 8 octets, with which both sides begin; `layout` says how words become octets, `framing`
    how these lie in frames.
    """

    name: str
    header: bytes
    layout: Layout
    framing: Framing = SEGMENTATION


AMQP_0_10: Final = Dialect("0-10", HEADERS["0-10"], v0_10.LAYOUT)
"""AMQP 0-10 with the errata, as all known peers speak it."""

AMQP_0_10_FINAL: Final = Dialect("0-10 final", HEADERS["0-10"], v0_10_final.LAYOUT)
"""AMQP 0-10 to the letter of its first edition; it differs in dtx.xid only and has the same protocol header."""
