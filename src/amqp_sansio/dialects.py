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


AMQP_0_10: Final = Dialect("0-10", b"AMQP\x01\x01\x00\x0a", v0_10.LAYOUT)
"""AMQP 0-10 with the errata, as all known peers speak it."""

AMQP_0_10_FINAL: Final = Dialect("0-10 final", b"AMQP\x01\x01\x00\x0a", v0_10_final.LAYOUT)
"""AMQP 0-10 to the letter of its first edition; it differs in dtx.xid only and has the same protocol header."""
