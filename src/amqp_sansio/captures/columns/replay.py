"""Turns one TCP connection's packets into batches of all tables; used by Spark executors and the local runner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from ipaddress import ip_address
from itertools import pairwise
from marshal import dumps, loads
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from amqp_sansio.captures.columns.heads import Ints
from amqp_sansio.captures.columns.tables import Common, Commons, message_batch, table_batch, transfer_batch
from amqp_sansio.captures.conversation import LocatedEvent, observers
from amqp_sansio.captures.flows import AmqpFlow, Listener
from amqp_sansio.captures.layers import ACK
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.recorder import Recorder
from amqp_sansio.captures.replay.rows import HeaderColumns, Rows, RowValues, packet_number
from amqp_sansio.captures.replay.state import read, write
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.dialects import DIALECTS, Dialect
from amqp_sansio.errors import DecodeError
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.layouts.layout import HeaderDecoder

R = TypeVar("R")

BATCH_ROWS: Final = 8192
"""The most rows of one batch."""


class TableRecords(NamedTuple):
    """Rows of one table."""

    table: str
    batch: pa.RecordBatch


class _Waiting(Generic[R]):
    """Waiting rows of one table, with the number of rows of each connection; `found` is where rows are found."""

    __slots__ = ("_commons", "_make", "_rows", "_table", "found")

    def __init__(self, table: str, found: Sequence[R], make: Callable[[Commons, Sequence[R]], pa.RecordBatch]) -> None:
        self._table: Final = table
        self.found: Final = found
        self._make: Final = make
        self._rows: list[R] = []
        self._commons: list[tuple[Common, int]] = []

    def add(self, common: Common, rows: Sequence[R]) -> Iterator[TableRecords]:
        """Adds rows of one connection; yields full batches."""
        at = 0
        while at < len(rows):
            part = rows[at : at + BATCH_ROWS - len(self._rows)]
            self._rows += part
            self._commons.append((common, len(part)))
            at += len(part)
            if len(self._rows) == BATCH_ROWS:
                yield from self.rest()

    def rest(self) -> Iterator[TableRecords]:
        """Yields the waiting rows as a batch."""
        rows, commons = self._rows, self._commons
        if rows:
            self._rows, self._commons = [], []
            yield TableRecords(self._table, self._make(commons, rows))


class Gathered:
    """Takes the rows of one connection after the other (`take`); `full` returns the full batches, `rest` everything."""

    def __init__(self, options: ReplayOptions) -> None:
        self.rows: Final = Rows()
        """Where the present connection adds its rows; `take` empties it."""
        rows, wanted = self.rows, options.tables
        self._waiting: Final = {
            name: _Waiting(name, found, partial(table_batch, TABLES[name]))
            for name, found in rows.by_table.items()
            if name in wanted
        }
        """Of tables whose rows are made one by one."""
        self._every: Final[list[_Waiting[Any]]] = list(self._waiting.values())
        if "commands" in wanted:
            self._every.append(_Waiting("commands", rows.transfers, transfer_batch))
        if "messages" in wanted:
            self._every.append(_Waiting("messages", rows.messages, message_batch))
        self._made: list[TableRecords] = []

    def take(self, common: Common) -> None:
        """Takes the contents of `rows`, which belong to the connection with this capture, broker and id."""
        for waiting in self._every:
            if waiting.found:
                self._made += waiting.add(common, waiting.found)
        self.rows.clear()

    def full(self) -> list[TableRecords]:
        """Returns the full batches."""
        made, self._made = self._made, []
        return made

    def rest(self) -> list[TableRecords]:
        """Returns everything that was taken."""
        for waiting in self._every:
            self._made += waiting.rest()
        return self.full()

    def damage(self, common: Common, row: RowValues) -> None:
        """Takes a row of `violations` about a file."""
        if "violations" in self._waiting:
            self._made += self._waiting["violations"].add(common, [row])


STRETCH_PACKETS: Final = 16
"""The least average number of consecutive packets of one file for which files are processed separately, in batches."""
LOOK_PACKETS: Final = 256
"""Packets after which full batches are looked for."""

Ends: TypeAlias = tuple[bytes, int, bytes, int]
FEW_PACKETS: Final = 12
"""Up to this many packets are replayed one by one: checking whether they can be batched costs as much."""

DEFAULT_OPTIONS: Final = ReplayOptions()


class ConnectionReplay:
    """Replays the packets of one connection key (see `tables.PACKETS`): `feed` takes batches, in file order within each file;
    `finish` ends it.  Both return rows that are final.

    The same ports may be used again within a key: each use is a connection of its own.  The rows do not depend on the sizes of
    the batches.  Only open state is kept, within named limits.

    The connection speaks one of `dialects`.  With `gathered`, rows wait there together with those of other connections, and
    both methods return only full batches.
    """

    def __init__(
        self,
        options: ReplayOptions = DEFAULT_OPTIONS,
        gathered: Gathered | None = None,
        dialects: Sequence[Dialect[Codec]] = DIALECTS,
    ) -> None:
        self.options: Final = options
        self._gathered: Final = gathered or Gathered(options)
        self._take: Final = self._gathered.rest if gathered is None else gathered.full
        self._rows: Final = self._gathered.rows
        make = observers(options.strict, "frames" in options.tables, dialects)
        self._listener: Final = Listener(make, self._heard, self._ended, options.ports)
        self._listener.floors = False
        self._headers: HeaderDecoder[HeaderColumns] | None = None
        self._recorders: dict[AmqpFlow, Recorder] = {}  # one at most: that of the connection that is open
        self._order = 0
        self._capture = ""
        self._ends: Ends | None = None
        self._first = ""
        self._key = 0
        self._idle: str | None = None
        self.latest_ns = 0
        """The latest time of all packets, ns since 1970 UTC (see `late`)."""

    @property
    def quiet(self) -> bool:
        """Whether no connection is open on these ports: what is left serves only to recognise stray packets and count uses."""
        return self._listener.quiet

    @property
    def spoken(self) -> bool:
        """Whether AMQP was spoken on these ports so far."""
        return self._listener.spoken

    @property
    def last_ns(self) -> int:
        """When the last packet was captured, ns since 1970 UTC; 0 before the first."""
        return self._listener.time

    @property
    def waking_port(self) -> int:
        """The server's port of an open connection that can be read from its middle; 0 when there is none."""
        return max([recorder.waking_port for recorder in self._recorders.values()], default=0)

    def feed(self, packets: pa.RecordBatch) -> list[TableRecords]:
        """Takes the next packets."""
        for stretch in _by_file(packets):
            self._hear(stretch)
            if self._rows.full(BATCH_ROWS):
                self._flush()
        self._flush()
        return self._take()

    def _hear(self, packets: pa.RecordBatch) -> None:
        column = packets.column
        count = packets.num_rows
        self._key = column("connection")[0].as_py()
        notes, captures = column("note"), column("capture")
        noted = notes.to_pylist() if notes.null_count < count else None
        same = pc.all(pc.equal(captures, captures[0])).as_py()
        paths = None if same else captures.to_pylist()
        self._capture = captures[0].as_py()
        if self._ends is None and not self._begin_at(packets, noted):
            self._only_notes(packets, noted or [], paths)
            self._order += count
            return
        ends = self._ends
        assert ends is not None
        rows = self._listed(packets, ends)
        self._listen(rows, ends, 0, count, noted, paths)

    def hear(self, packets: Packets, start: int, stop: int, capture: str, ends: Ends) -> list[TableRecords]:
        """Takes the next packets of this connection, from index `start` up to `stop`, all of one file and without notes.

        `ends` are both addresses, as octets, and ports, the lower first.
        """
        self._capture, self._ends = capture, ends
        self._listen(packets, ends, start, stop, None, None)
        self._flush()
        return self._take()

    def _listen(
        self,
        rows: Packets,
        ends: Ends,
        index: int,
        count: int,
        noted: Sequence[str | None] | None,
        paths: Sequence[str] | None,
    ) -> None:
        listener = self._listener
        segment, at = listener.segment, listener.at
        together = paths is None and noted is None
        order, flushed = self._order, index
        while index < count:
            if together and count - index > FEW_PACKETS:
                behind = take_runs(listener, ends, rows, index, count, order)
                order += behind - index
                index = behind
                if index == count:
                    break
            order += 1
            if paths is not None:
                self._capture = paths[index]
            time, file, place = int(rows.times[index]), int(rows.files[index]), int(rows.places[index])
            note = None if noted is None else noted[index]
            if note is not None:
                self._damage(time, note, file, place)
            else:
                at(packet_number(order, file, place), time)
                payload = bytes(rows.octets[int(rows.offsets[index]) : int(rows.offsets[index + 1])])
                numbers = int(rows.sequences[index]), int(rows.acknowledged[index]), int(rows.flags[index])
                segment(ends, int(rows.sides[index]), *numbers, payload, int(rows.cuts[index]))
                listener.linger()
            index += 1
            if index - flushed > LOOK_PACKETS:
                flushed = index
                if self._rows.full(BATCH_ROWS):
                    self._flush()
        self._order = order

    def _only_notes(self, packets: pa.RecordBatch, notes: Sequence[str | None], paths: Sequence[str] | None) -> None:
        columns = [packets.column(name).to_pylist() for name in ("ts_ns", "file_id", "offset")]
        for index, (note, time, file, place) in enumerate(zip(notes, *columns, strict=True)):
            if paths is not None:
                self._capture = paths[index]
            self._damage(time, note or "", file, place)

    def _begin_at(self, packets: pa.RecordBatch, noted: list[str | None] | None) -> bool:
        """Sets the ends of the connection from the first packet that is not a note; returns False when there is none."""
        first = 0
        if noted is not None:
            first = next((at for at, note in enumerate(noted) if note is None), -1)
        if first < 0:
            return False
        source, sport, target, dport = [packets.column(name)[first].as_py() for name in ("src", "sport", "dst", "dport")]
        self._ends = ends_of(source, sport, target, dport)
        self._first = source if self._ends[:2] == (ip_address(source).packed, sport) else target
        return True

    def _listed(self, packets: pa.RecordBatch, ends: Ends) -> Packets:
        """Returns the columns as arrays."""
        if ends[1] != ends[3]:
            sides: Ints = (packets.column("sport").to_numpy() == ends[3]).astype(np.int64)
        else:
            sides = np.array([each != self._first for each in packets.column("src").to_pylist()], np.int64)
        return Packets(packets, sides)

    def finish(self) -> list[TableRecords]:
        """Ends it; returns the rows of what is open."""
        self._listener.finish()
        self._flush()
        return self._take()

    def expire(self, why: str) -> list[TableRecords]:
        """Ends it like `finish`, after a long silence: a note (`capture.idle`) gives `why` for what neither side ended."""
        self._idle = why
        return self.finish()

    def _heard(self, flow: AmqpFlow, heard: LocatedEvent) -> None:
        """Takes the first observation of a connection, or of one that was restored; then it reports to its recorder."""
        recorder = self._recorders.get(flow)
        if recorder is None:
            recorder = self._recorders[flow] = Recorder(flow, self._rows, self.options, self._capture)
        self._headers = flow.conversation.report_to(recorder, self._headers, self.options.body_head)
        recorder.hear(heard, flow.conversation.marks(heard.speaker))

    def _ended(self, flow: AmqpFlow) -> None:
        recorder = self._recorders.pop(flow, None)
        if recorder is None:
            recorder = Recorder(flow, self._rows, self.options, self._capture)
        recorder.finish(self._idle)
        self._gathered.take(recorder.common)

    def _damage(self, ts: int, note: str, file: int, offset: int) -> None:
        row: tuple[object, ...] = (ts, None, "damage", "capture", note, [], note, None, None, None, file, offset)
        self._gathered.damage((self._capture, self.options.broker or "unknown", self._key), row)

    def _flush(self) -> None:
        """Passes on the rows, which are all of one connection."""
        for recorder in self._recorders.values():
            recorder.leave()
            self._gathered.take(recorder.common)

    # Serialised state.

    def memory(self) -> bytes:
        """Returns the memory of a `quiet` replay in few octets, for `recall` in this process."""
        remembered: tuple[Any, ...] = self._listener.memory()
        return dumps((remembered, self._order))

    def recall(self, memory: bytes) -> None:
        """Restores the memory of a quiet replay."""
        remembered, self._order = loads(memory)
        self._listener.recall(remembered)

    def _given(self) -> dict[str, object]:
        listener = self._listener
        heard = {"make": listener.make, "hears": listener.hears, "many": None}
        return {"rows": self._rows, "options": self.options, **heard}

    def snapshot(self) -> bytes:
        """Returns its state as octets that `restore` takes in any process with the same version of the encoding."""
        for flow in self._recorders:
            flow.conversation.tidy()
        own = self._recorders, self._order, self._capture, self._ends, self._first, self._key, self.latest_ns
        return write((self._listener.state(), own), self._given())

    @classmethod
    def restore(cls, octets: bytes, options: ReplayOptions = DEFAULT_OPTIONS) -> ConnectionReplay:
        """Returns a replay that continues from the snapshot; `options` must be those it was made with.

        Raises DecodeError when the octets are not a snapshot, or are one of another version.
        """
        made = cls(options)
        state = read(octets, made._given())
        try:
            if not isinstance(state, tuple):
                raise TypeError(type(state).__name__)
            made._listener.resume(state[0])
            made._recorders, made._order, made._capture, made._ends, made._first, made._key, *latest = state[1]
            made.latest_ns = latest[0] if latest else made.last_ns  # missing in snapshots of earlier versions
        except (TypeError, ValueError, AttributeError) as error:
            raise DecodeError("state of a replay", 1, f"not a snapshot of a replay: {error}") from error
        return made


def ends_of(source: str, sport: int, target: str, dport: int) -> Ends:
    """Returns both ends of a connection, the lower first."""
    here, there = (ip_address(source).packed, sport), (ip_address(target).packed, dport)
    return (*here, *there) if here <= there else (*there, *here)


def _by_file(packets: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Splits packets by file, so that they can be replayed in batches; returns them unsplit where files alternate."""
    count = packets.num_rows
    files = packets.column("file_id").to_numpy()
    edges = (np.flatnonzero(files[1:] != files[:-1]) + 1).tolist()
    if len(edges) > count // STRETCH_PACKETS:
        edges = []
    for start, stop in pairwise([0, *edges, count]):
        if stop > start:
            yield packets.slice(start, stop - start)


# --- packets of a connection in its steady state, in batches: nearly all packets ---------------------------------------------

RUN_OCTETS: Final = 256 * 1024
"""The most octets of one side replayed at once."""
RUN_NANOSECONDS: Final = 1_000_000_000
"""The most time that these may span.  The shortest silence that breaks a rule is longer, even if heartbeats are
renegotiated."""
LOOKED_AT: Final = 512
"""Packets examined together; each one that is not plain makes all of them be examined again."""

_MASK: Final = 0xFFFFFFFF
_PLAIN: Final = ACK | 0x08 | 0x20 | 0x40 | 0x80  # PSH, URG and congestion control
_HALF: Final = 1 << 31
_NEVER: Final = -(1 << 62)


class Packets:
    """The columns of a batch (see `tables.PACKETS`) as arrays; `sides` has the sender of each packet, `offsets` are where each
    payload begins in `octets`, and the end of the last."""

    __slots__ = (
        "acknowledged", "cuts", "files", "flags", "lengths", "octets", "odd", "offsets", "places", "said", "sequences", "sides",
        "times",
    )  # fmt: skip

    def __init__(self, packets: pa.RecordBatch, sides: Ints) -> None:
        def numbers(name: str) -> Ints:
            found: Ints = packets.column(name).to_numpy(zero_copy_only=False)
            return found.astype(np.int64, copy=False)

        self.files: Final = numbers("file_id")
        self.places: Final = numbers("offset")
        self.times: Final = numbers("ts_ns")
        self.sides: Final = sides
        self.sequences: Final = numbers("seq")
        self.acknowledged: Final = numbers("ack")
        self.flags: Final = numbers("flags")
        self.cuts: Final = numbers("cut")
        payload = packets.column("payload")
        _, begins, octets = payload.buffers()
        offsets = np.frombuffer(begins, np.int32)[payload.offset : payload.offset + len(payload) + 1]
        self.offsets: Final = offsets.astype(np.int64)
        self.octets: Final = memoryview(b"" if octets is None else octets)
        self.lengths: Final = np.diff(self.offsets)
        self.odd: Final = (self.flags & ~_PLAIN != 0) | (self.cuts != 0)
        """Packets that do more than carry data (SYN, FIN, RST), or that were captured in part."""
        spoken = self.lengths * sides
        self.said: Final = np.zeros((2, len(sides)), np.int64)
        """How much each side has sent in this batch before each packet, without retransmissions."""
        np.cumsum((self.lengths - spoken)[:-1], out=self.said[0, 1:])
        np.cumsum(spoken[:-1], out=self.said[1, 1:])


def take_runs(listener: Listener, key: tuple[bytes, int, bytes, int], packets: Packets, at: int, count: int, order: int) -> int:
    """Replays packets from index `at` up to `count`, as long as they are plain: in order, complete, and data only.

    Returns the index of the first one that is not, which is for `Listener.segment`.  `order` is the number of the packet before
    the one at `at`.
    """
    flow = listener.steady(key)
    if flow is None:
        return at
    here = at
    while here < count:
        stop, need = _plain(flow, packets, here, min(here + LOOKED_AT, count))
        if stop == here:
            return here
        behind = _hear(listener, flow, packets, here, stop, order - at)
        for side in (0, 1):
            acked = int(need[side, : behind - here].max(initial=_NEVER))
            if acked > flow.sides[side].acked:
                flow.sides[side].acked = acked
        if behind < stop or behind == here:
            return behind
        here = behind
    return here


def _plain(flow: AmqpFlow, packets: Packets, here: int, stop: int) -> tuple[int, Ints]:
    """Returns the index after the plain packets from `here` on, and how far each of them acknowledges either side."""
    sides = packets.sides[here:stop]
    said = packets.said[:, here:stop]
    first, second = flow.sides
    # each side's offset as of the first packet of the batch
    begun = first.position - int(said[0, 0]), second.position - int(said[1, 0])
    zero = first.first + begun[0], second.first + begun[1]
    speaking = sides == 1
    mine, other = np.where(speaking, said[1], said[0]), np.where(speaking, said[0], said[1])
    odd = (packets.sequences[here:stop] - mine - np.where(speaking, zero[1], zero[0])) & _MASK != 0
    odd |= packets.odd[here:stop]
    away = (packets.acknowledged[here:stop] - other - np.where(speaking, zero[0], zero[1])) & _MASK
    acknowledges = packets.flags[here:stop] & ACK != 0
    odd |= acknowledges & (away != 0) & (away < _HALF)
    away[away >= _HALF] -= _MASK + 1
    need = np.full((2, len(sides)), _NEVER, np.int64)
    need[0] = np.where(acknowledges & speaking, away + other + begun[0], _NEVER)
    need[1] = np.where(acknowledges & ~speaking, away + other + begun[1], _NEVER)
    silent = _silent(flow, packets, here, stop)
    if silent is not None:
        odd |= silent
    return here + int(odd.argmax()) if odd.any() else stop, need


def _silent(flow: AmqpFlow, packets: Packets, here: int, stop: int) -> NDArray[np.bool_] | None:
    """Returns before which packets a side was silent for longer than heartbeats allow; None: before none."""
    patience, *last = flow.conversation.patience()
    times = packets.times[here:stop]
    if not patience or int(times.max()) - min(last) <= patience:
        return None
    silent = np.zeros(len(times), np.bool_)
    for side in (0, 1):
        spoke = (packets.sides[here:stop] == side) & (packets.lengths[here:stop] > 0)
        latest = np.maximum.accumulate(np.where(spoke, np.arange(1, len(times) + 1), 0))
        before = np.concatenate(([0], latest[:-1]))
        silent |= times - np.concatenate(([last[side]], times))[before] > patience
    return silent


def _hear(listener: Listener, flow: AmqpFlow, packets: Packets, here: int, stop: int, order: int) -> int:
    """Replays plain packets, run by run (what one side sends until the other one sends).  Returns the index after them, which
    is before `stop` where packets have to come one by one."""
    conversation = flow.conversation
    sizes = packets.lengths[here:stop]
    spoken = np.flatnonzero(sizes)
    files, places, times = packets.files, packets.places, packets.times
    if not len(spoken):
        _skip(listener, flow, packets, here, stop, order, [0, 0])
        return stop
    sides = packets.sides[here:stop][spoken]
    turns = np.flatnonzero(sides[1:] != sides[:-1]) + 1
    rows = spoken + here
    times_of = times[rows].tolist()
    begins, ends = packets.offsets[rows].tolist(), packets.offsets[rows + 1].tolist()
    at = rows.tolist()
    rest = zip(at, files[here:stop][spoken].tolist(), places[here:stop][spoken].tolist(), strict=True)
    numbers = [packet_number(order + index + 1, file, place) for index, file, place in rest]
    speakers = sides.tolist()
    patience = conversation.patience()[0]
    octets = packets.octets
    heard, behind, begin = [0, 0], stop, 0
    for end in [*turns.tolist(), len(at)]:
        side = speakers[begin]
        while begin < end:
            upto = min(end, begin + conversation.room(side))
            if upto == begin:
                behind = at[begin]
                break
            if upto > begin + 1 and (
                ends[upto - 1] > begins[begin] + RUN_OCTETS or max(times_of[begin:upto]) > times_of[begin] + RUN_NANOSECONDS
            ):
                upto = _fitting(begins, times_of, begin, upto)
            first, last = begins[begin], ends[upto - 1]
            heard[side] += last - first
            where = ends[begin:upto], numbers[begin:upto], times_of[begin:upto]
            conversation.several(side, bytes(octets[first:last]), first, *where)
            begin = upto
            if conversation.patience()[0] != patience:
                behind = at[upto] if upto < len(at) else stop
                break
        if behind != stop:
            break
    if behind > here:
        _skip(listener, flow, packets, here, behind, order, heard)
    return behind


def _fitting(begins: list[int], times: list[int], begin: int, end: int) -> int:
    """Returns the index after the packets that may be replayed at once."""
    furthest, deadline = begins[begin] + RUN_OCTETS, times[begin] + RUN_NANOSECONDS
    for index in range(begin, end):
        if begins[index] > furthest or times[index] > deadline:
            return index
    return end


def _skip(listener: Listener, flow: AmqpFlow, packets: Packets, here: int, behind: int, order: int, octets: list[int]) -> None:
    """Counts packets that were replayed here, with the octets of each side."""
    last = behind - 1
    time = int(packets.times[last])
    number = packet_number(order + behind, int(packets.files[last]), int(packets.places[last]))
    times = packets.times[here:behind]
    steps = np.diff(times, prepend=flow.last)
    if steps.min() < 0:
        back = np.flatnonzero(steps < 0)
        first = here + int(back[0])
        at = packet_number(order + first + 1, int(packets.files[first]), int(packets.places[first]))
        flow.went_back(-int(steps.min()), at, int(packets.times[first]), int(packets.sides[first]), len(back))
    listener.skip(behind - here, number, time)
    flow.skip(behind - here, (octets[0], octets[1]), number, time)
