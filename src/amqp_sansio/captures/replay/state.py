"""What a replay remembers, as octets with a version before them, and back: no pickle, nothing but classes named here."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

from amqp_sansio.captures.conversation import Conversation
from amqp_sansio.captures.flows import Past, Talk
from amqp_sansio.captures.marks import Marks
from amqp_sansio.captures.replay.branches import Branch, Branches
from amqp_sansio.captures.replay.controls import Controls
from amqp_sansio.captures.replay.credit import CreditLine, Subscription
from amqp_sansio.captures.replay.half import Half
from amqp_sansio.captures.replay.message import Fate, Kind, Message, Properties
from amqp_sansio.captures.replay.recorder import Recorder
from amqp_sansio.captures.replay.session import Session
from amqp_sansio.captures.replay.transactions import Transaction, Transactions
from amqp_sansio.captures.tcp import Direction, Piece, TimeBack
from amqp_sansio.engine.observer import Observer
from amqp_sansio.engine.plain import Dumper, Loader
from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.octets import pack, unpack
from amqp_sansio.kernel.serials import MutableRangeSet

VERSION: Final = 7
"""Grows whenever older octets cannot be read any more."""

MOST_OCTETS: Final = 1 << 30
"""Of a state, unpacked."""

_CLASSES: Final[dict[str, type]] = {
    kind.__name__: kind
    for kind in (
        Branch, Branches, Controls, Conversation, CreditLine, Direction, Fate, Half, Kind, Marks, Message, MutableRangeSet,
        Past, Piece, Properties, Recorder, Session, Subscription, Talk, TimeBack, Transaction, Transactions,
    )
}  # fmt: skip


class _Writer(Dumper):
    def _value(self, value: object) -> object:
        if type(value) is Observer:
            return ("observer", value.snapshot())
        return super()._value(value)


class _Reader(Loader):
    def _value(self, value: object) -> object:
        if isinstance(value, tuple) and len(value) == 2 and value[0] == "observer":
            return Observer.restore(value[1])
        return super()._value(value)


def write(state: object, given: Mapping[str, object]) -> bytes:
    """The state as octets; what is `given` is left out."""
    return bytes([VERSION]) + zlib.compress(pack(_Writer(_CLASSES, given).dump(state)), 1)


def read(octets: bytes, given: Mapping[str, object]) -> object:
    """The state again.  DecodeError for anything else than what `write` has written in this version."""
    if not octets or octets[0] != VERSION:
        found = octets[0] if octets else "none"
        raise DecodeError("state of a replay", 0, f"its version is {found}, this library reads {VERSION}")
    try:
        unpacker = zlib.decompressobj()
        plain = unpack(unpacker.decompress(octets[1:], MOST_OCTETS))
        if not unpacker.eof or unpacker.unused_data:
            raise ValueError("cut off, or something stands behind it")
    except (zlib.error, ValueError) as error:
        raise DecodeError("state of a replay", 1, f"cannot be read: {error}") from error
    if not isinstance(plain, tuple):
        raise DecodeError("state of a replay", 1, "cannot be read")
    return _Reader(_CLASSES, {}, None, given).load(plain)
