"""The quick way of an observer through transfers that are like others before them."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.witness import Witness
from amqp_sansio.engine.witness_channel import ChannelWitness
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import CommandSeen
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.octets import u32
from amqp_sansio.wire.reading import Reading

REPEATING: Final = 256
"""Octets of delivery properties that may come again."""


class QuickTransfers:
    """Remembers the channels on which a transfer changes no state, and delivery properties by their octets.

    Whoever hears something by which a state may change says `forget`.
    """

    __slots__ = ("_deliveries", "_limits", "_quiet", "_reading")

    def __init__(self, limits: Limits, reading: Reading) -> None:
        self._limits: Final = limits
        self._reading: Final = reading
        self._quiet: Final[dict[str, dict[int, ChannelWitness]]] = {"C": {}, "S": {}}
        self._deliveries: Final[dict[bytes, Struct]] = {}

    def forget(self) -> None:
        """A state has changed, or may change."""
        self._quiet["C"].clear()
        self._quiet["S"].clear()

    def learn(self, speaker: str, channel: int, witness: Witness) -> bool:
        """A transfer has been heard: whether the next ones like it may be read at once."""
        settled = None if witness.shaky else witness.settled(speaker, channel)
        if settled is None:
            return False
        self._quiet[speaker][channel] = settled
        return True

    def of(self, speaker: str, channel: int, witness: Witness) -> ChannelWitness | None:
        """Who hears a transfer on the channel; None when it must be heard with every check."""
        found = self._quiet[speaker].get(channel)
        if found is not None and not witness.follows(found):
            self._quiet[speaker].pop(channel)
            return None
        return found

    def read(self, seen: CommandSeen, header: bytes, layout: Layout) -> bool:
        """Reads a header whose sizes are known to be right, and lets `seen` remember it.  Whether it can be read."""
        first = 4 + u32(header, 0)[0]
        octets = header[:first]
        found = self._deliveries.get(octets)
        try:
            if found is None:
                (found,) = layout.decode_headers(header, 0, first, self._reading)
                if first <= REPEATING and isinstance(found, DeliveryProperties):
                    if len(self._deliveries) >= self._limits.cached_commands:
                        self._deliveries.clear()
                    self._deliveries[octets] = found
            if first == len(header):
                seen.remember((found,))
            else:
                seen.remember((found, *layout.decode_headers(header, first, len(header), self._reading)))
        except DecodeError:
            return False
        return True
