"""The quick way of an observer through transfers that are like others before them."""

from __future__ import annotations

from typing import Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from amqp_sansio.engine.ear import FRAMES, Ear
from amqp_sansio.engine.feedback import replies_of
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness import Witness
from amqp_sansio.engine.witness_channel import ChannelWitness
from amqp_sansio.engine.witness_connection import WHO
from amqp_sansio.engine.wording import judge_headers
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import CommandSeen
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import Accept, DeliveryProperties, Transfer
from amqp_sansio.spec.session import Completed, Confirmed, Expected, Flush, KnownCompleted
from amqp_sansio.wire.assembly import KnownCommand
from amqp_sansio.wire.frames import FRAME_HEADER_SIZE
from amqp_sansio.wire.headers import Headers
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.primitives import frame_header, u32
from amqp_sansio.wire.reading import Reading
from amqp_sansio.wire.segments import COMMAND_SIZE, OneRange, SegmentReader, alone_next

T = TypeVar("T")

QUIET: Final = frozenset((Completed, Confirmed, Expected, Flush, KnownCompleted))
"""Controls that change no state in which a transfer is legal."""
REPEATING: Final = 256
"""Octets of delivery properties that may come again."""


Told: TypeAlias = tuple[KnownCommand[Transfer], int, "int | None", bytes, int, int, T, "bytes | None"]
"""One transfer: its command, octets of its header, of its body (None: it has no body segment), the first of them, where it
begins and ends, what was wanted of its header, its message-id."""


class Transfers(NamedTuple, Generic[T]):
    """Transfers of one speaker on one channel, one behind the other, with ids from `id` on (None: not known).

    `alike`: all of them say the same command.
    """

    speaker: Literal["C", "S"]
    channel: int
    session: bytes | None
    id: int | None
    alike: bool
    items: list[Told[T]]

    @property
    def place(self) -> tuple[int, int]:
        """Where the last one begins and ends."""
        return self.items[-1][4:6]


class Answered(NamedTuple):
    """What answers messages: a message.accept (`accepts`), which has an `id`, or a session.completed of these `ids`.

    `start` and `end` are where it lies in what its speaker said.
    """

    speaker: Literal["C", "S"]
    channel: int
    session: bytes | None
    accepts: bool
    sync: bool
    id: int | None
    ids: RangeSet
    start: int
    end: int

    @property
    def verb(self) -> str:
        """What it says."""
        return Accept.VERB if self.accepts else Completed.VERB

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins and ends."""
        return self.start, self.end


class QuickTransfers:
    """Remembers the channels on which transfers and their answers change no state, and delivery properties by their octets.

    `forget` when something arrives that may change a state.
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
        """A transfer has arrived: whether the next ones like it may be read at once."""
        settled = None if witness.shaky else witness.settled(speaker, channel)
        if settled is None:
            return False
        self._quiet[speaker][channel] = settled
        return True

    def of(self, speaker: str, channel: int, witness: Witness) -> ChannelWitness | None:
        """The witness that takes a transfer on the channel; None when it needs every check."""
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

    def one(
        self, speaker: str, findings: Findings, witness: ChannelWitness, layout: Layout,
        known: KnownCommand[Transfer], header: bytes, body: bytes | None, start: int,
    ) -> CommandSeen:  # fmt: skip
        """Hears one transfer that begins at `start`: its event.  `body` None: it has no body segment."""
        findings.speaker, findings.offset, findings.channel = speaker, start, known.channel
        size = len(body or b"")
        octets = size + len(header)
        id = witness.transfer(WHO[speaker], known.command, octets, octets if findings.strict else size)
        what = witness.name, id, "message.transfer", known.command, known.sync, known.payload, header
        seen = CommandSeen(known.channel, *what, body)
        if not self.read(seen, header, layout):
            judge_headers(findings, layout, seen, header, self._limits, self._reading)
        return seen

    def next(
        self, speaker: Literal["C", "S"], ear: Ear, witness: Witness, layout: Layout, headers: Headers[T], head: int
    ) -> Transfers[T] | Answered | None:
        """Hears what comes next, if it changes no state: transfers, or what answers them.  None: it is for `Ear.next`.

        On a channel that is quiet the rows let these words pass and stay where they are, so that stepping them is left out.
        """
        reader = ear.reader
        if not isinstance(reader, SegmentReader) or ear.state != FRAMES or not reader.ready():
            return None
        if alone_next(reader):
            return self.answer(speaker, reader, witness, replies_of(layout))
        return self.run(speaker, reader, witness, headers, head) if reader.known else None

    def answer(self, speaker: Literal["C", "S"], reader: SegmentReader, witness: Witness, replies: OneRange) -> Answered | None:
        """Hears what answers messages, if that comes next and is as plain as can be; None where every check is needed."""
        cut = replies.cut(reader) if self._limits.assembly_octets >= COMMAND_SIZE else None
        if cut is None:
            return None
        accepts, sync, channel, low, high, start, end = cut
        quiet = self.of(speaker, channel, witness)
        if quiet is None:
            replies.put_back(reader, end - start)
            return None
        findings = witness.findings
        findings.speaker, findings.channel, findings.offset = speaker, channel, start
        ids = RangeSet.span(low, high)
        id: int | None = None
        if accepts:
            id = quiet.accepts(WHO[speaker], ids)
        else:
            quiet.completes(WHO[speaker], ids)
        return Answered(speaker, channel, quiet.name, accepts, sync, id, ids, start, end)

    def run(
        self, speaker: Literal["C", "S"], reader: SegmentReader, witness: Witness, headers: Headers[T], head: int
    ) -> Transfers[T] | None:
        """Hears the next transfers of a channel at once; None where one needs every check.

        What is found stands behind the last one of them.
        """
        if len(reader.buffer) - reader.position < FRAME_HEADER_SIZE:
            return None
        channel = frame_header(reader.buffer, reader.position)[5]
        quiet = self.of(speaker, channel, witness)
        if quiet is None:
            return None
        run = reader.cut_run(head)
        if not run:
            return None
        if run[0][0].channel != channel:
            reader.put_back(run)
            return None
        items: list[Told[T]] = []
        sizes: list[int] = []
        bodies: list[int] = []
        read_header = headers.read
        command, alike = run[0][0], True
        for known, header, body, first, start, end in run:
            read = read_header(header)
            if read is None:
                break
            if known is not command:
                alike = False
            octets = len(header)
            size = body or 0
            sizes.append(octets + size)
            bodies.append(size)
            items.append((known, octets, body, first, start, end, read[0], read[1]))
        if not items:
            reader.put_back(run)
            return None
        findings = witness.findings
        findings.speaker, findings.channel = speaker, channel
        who = WHO[speaker]
        charges = sizes if findings.strict else bodies
        id = quiet.transfers(who, command.command, sizes, charges) if alike else None
        if id is None:
            id = self._one_by_one(who, findings, quiet, items, sizes, charges)
        if len(items) < len(run):
            reader.put_back(run[len(items) :])
        return Transfers(speaker, channel, quiet.name, id, alike, items)

    @staticmethod
    def _one_by_one(
        who: str, findings: Findings, quiet: ChannelWitness, items: list[Told[T]], sizes: list[int], charges: list[int]
    ) -> int | None:
        """Hears transfers up to the first one with a finding: the others are no items any more.  The id of the first."""
        ids: list[int | None] = []
        for item, octets, charge in zip(items, sizes, charges, strict=True):
            findings.offset = item[4]
            ids.append(quiet.transfer(who, item[0].command, octets, charge))
            if findings.found:
                break
        del items[len(ids) :]
        return ids[0]
