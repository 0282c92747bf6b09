"""Serialises the state of a replay, with a version, without pickle and with only the classes named here."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

from amqp_sansio.captures.conversation import Conversation, PacketIndex
from amqp_sansio.captures.flows import AmqpFlow, Direction, Past, Piece, TimeBack
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.recorder import HISTORIES, Controls, History, Recorder
from amqp_sansio.captures.withheld import Beginning, Repeat, Withheld
from amqp_sansio.engine.observer import Observer
from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.plain_codec import pack, unpack
from amqp_sansio.kernel.serials import MutableRangeSet
from amqp_sansio.kernel.snapshots import Dumper, Loader

VERSION: Final = 8
"""The version of the format; the previous one can be read too."""

MOST_OCTETS: Final = 1 << 30
"""The most octets of a state, decompressed."""

_CLASSES: Final = (
    Beginning,
    Controls,
    Conversation,
    Direction,
    PacketIndex,
    MutableRangeSet,
    Past,
    Piece,
    Recorder,
    Repeat,
    AmqpFlow,
    TimeBack,
    Withheld,
)
_STORED: Final = {
    "AmqpFlow": "Talk",
    "Attachment": "Session",
    "HeaderColumns": "Properties",
    "PacketIndex": "Marks",
    "SessionHistory": "Sessions",
    "SubscriptionRecord": "Subscription",
    "TransactionRecord": "Transaction",
    "TransactionRecords": "Transactions",
    "TransferKind": "Kind",
    "TransferRecord": "Message",
}
"""The names in a state of classes that have another one in the code."""
_LACKING: Final = {"Beginning": {"asked": None}}
"""See `Loader`."""
_MOVED: Final = ("_branches", "_heard", "_sessions")
"""Attributes of a Recorder of version 7 that its history has since then."""
_SHARED: Final = ("_rows", "_talk")
"""Attributes that both have."""


def _classes() -> dict[str, type]:
    histories = HISTORIES.values()
    kinds = (*_CLASSES, History, *histories, *[part for history in histories for part in history.PARTS])
    return {_STORED.get(kind.__name__, kind.__name__): kind for kind in kinds}


def _of_version_7(plain: tuple[object, ...], head: int) -> tuple[object, ...]:
    """Converts a state of version 7 to version 8."""
    root, records = plain
    made = list(records) if isinstance(records, tuple) else []
    for place, record in enumerate(made):
        if isinstance(record, tuple) and record[:1] == ("Recorder",):
            kept = dict(record[1:])
            made[place] = (
                "Recorder",
                *[each for each in record[1:] if each[0] not in (*_MOVED, "_late")],
                ("history", ("object", len(made))),
            )
            history = [(name, kept[name]) for name in (*_MOVED, *_SHARED)]
            made.append(("Sessions", *history, ("_head", head), ("late", kept["_late"])))
    return root, tuple(made)


def _with_lists(plain: tuple[object, ...]) -> tuple[object, ...]:
    """Makes the checksums of a conversation a list: the first states of version 8 that have them have a tuple."""
    root, records = plain
    made = list(records) if isinstance(records, tuple) else []
    for place, record in enumerate(made):
        if isinstance(record, tuple) and record[:1] == ("Conversation",):
            kept = dict(record[1:])
            if "sums" in kept:
                made[place] = ("Conversation", *(kept | {"sums": ("list", *kept["sums"][1:])}).items())
    return root, tuple(made)


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
    """Serialises the state, without what is `given`."""
    # Level 4 is 5 % smaller than level 1, for 2 % of the time that a snapshot takes; higher levels gain little more.
    return bytes([VERSION]) + zlib.compress(pack(_Writer(_classes(), given).dump(state)), 4)


def read(octets: bytes, given: Mapping[str, object]) -> object:
    """Restores a state.  Raises DecodeError for anything that `write` has not written in this version or the one before."""
    if not octets or octets[0] not in (VERSION - 1, VERSION):
        found = octets[0] if octets else "none"
        raise DecodeError("state of a replay", 0, f"its version is {found}, this library reads {VERSION - 1} and {VERSION}")
    try:
        unpacker = zlib.decompressobj()
        plain = unpack(unpacker.decompress(octets[1:], MOST_OCTETS))
        if not unpacker.eof or unpacker.unused_data:
            raise ValueError("cut off, or octets follow it")
    except (zlib.error, ValueError) as error:
        raise DecodeError("state of a replay", 1, f"cannot be read: {error}") from error
    if not isinstance(plain, tuple):
        raise DecodeError("state of a replay", 1, "cannot be read")
    try:
        if octets[0] == VERSION:
            plain = _with_lists(plain)
        else:
            options = given.get("options")
            plain = _of_version_7(plain, options.body_head if isinstance(options, ReplayOptions) else 0)
    except (TypeError, ValueError, KeyError) as error:
        raise DecodeError("state of a replay", 1, f"cannot be read: {error!r}") from error
    return _Reader(_classes(), {}, None, given, _LACKING).load(plain)
