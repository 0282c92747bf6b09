"""The quick way of an observer through transfers that are like others before them."""

from __future__ import annotations

from typing import Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from amqp_sansio.engine.ear import FRAMES, Ear
from amqp_sansio.engine.witness import SPEAKERS, Witness
from amqp_sansio.engine.witness_channel import ChannelWitness
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import CommandSeen
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.wire.frames import FRAME_HEADER_SIZE
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.octets import frame_header, u32
from amqp_sansio.wire.reading import Reading
from amqp_sansio.wire.segments import KnownTransfer, SegmentReader
from amqp_sansio.wire.transfers import Headers, cut_run, put_back

T = TypeVar("T")

REPEATING: Final = 256
"""Octets of delivery properties that may come again."""


Told: TypeAlias = tuple[KnownTransfer, int, "int | None", bytes, int, int, "int | None", T, "bytes | None"]
"""One transfer: its command, octets of its header, of its body (None: it has no body segment), the first of them, where it
begins and ends, its id, what was wanted of its header, its message-id."""


class Transfers(NamedTuple, Generic[T]):
    """Transfers of one speaker on one channel, one behind the other."""

    speaker: Literal["C", "S"]
    channel: int
    session: bytes | None
    items: list[Told[T]]


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

    def run(
        self, speaker: Literal["C", "S"], ear: Ear, reader: SegmentReader, witness: Witness, headers: Headers[T], head: int
    ) -> Transfers[T] | None:
        """Hears the next transfers of a channel at once; None where one is to be heard with every check.

        What is found stands behind the last one of them.
        """
        if ear.state != FRAMES or ear.doubt or not reader.known or not reader.ready():
            return None
        if len(reader.buffer) - reader.position < FRAME_HEADER_SIZE:
            return None
        channel = frame_header(reader.buffer, reader.position)[5]
        quiet = self.of(speaker, channel, witness)
        if quiet is None:
            return None
        run = cut_run(reader, head)
        if not run or run[0][0].channel != channel:
            put_back(reader, run)
            return None
        findings = witness.findings
        findings.speaker, findings.channel = speaker, channel
        found = findings.found
        who = SPEAKERS[speaker]
        items: list[Told[T]] = []
        read_header, hear = headers.read, quiet.transfer
        for known, header, body, first, start, end in run:
            read = read_header(header)
            if read is None:
                break
            findings.offset = start
            octets = len(header)
            id = hear(who, known.transfer, octets + (body or 0))
            items.append((known, octets, body, first, start, end, id, read[0], read[1]))
            if found:
                break
        if len(items) < len(run):
            put_back(reader, run[len(items) :])
        return Transfers(speaker, channel, quiet.name, items) if items else None
