"""One TCP connection's packets in, batches of all tables out: what executors run, and the plain runner too."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from amqp_sansio.captures.columns.tables import table_batch
from amqp_sansio.captures.conversation import Heard
from amqp_sansio.captures.flows import Listener, Talk
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.recorder import Recorder, packet_number
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.captures.replay.state import read, write
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.captures.witnesses import observers
from amqp_sansio.errors import DecodeError
from amqp_sansio.events.observed import CommandSeen

BATCH_ROWS: Final = 8192
"""Rows of one batch at most."""

DEFAULT_OPTIONS: Final = ReplayOptions()


class Records(NamedTuple):
    """Rows of one table."""

    table: str
    batch: pa.RecordBatch


class ConnectionReplay:
    """`feed` it batches of the packets of one connection key (see `packets_schema`), in the order of (ts_ns, file_id, offset);
    `finish` when there are no more.  Both give rows that nothing will change any more.

    The same ports may be used again within a key: each use is a connection of its own.  Whatever the sizes of the batches, the
    rows are the same.  What is kept is what is open, within named limits.
    """

    def __init__(self, options: ReplayOptions = DEFAULT_OPTIONS) -> None:
        self.options: Final = options
        self._rows: Final = Rows()
        make = observers(options.strict, "frames" in options.tables)
        self._listener: Final = Listener(make, self._heard, self._ended, options.ports)
        self._listener.floors = False
        self._recorders: dict[Talk, Recorder] = {}
        self._last: tuple[Talk, Recorder] | None = None
        self._made: list[Records] = []
        self._order = 0
        self._capture = ""
        self._ends: tuple[bytes, int, bytes, int] | None = None
        self._first = ""
        self._key = 0

    @property
    def quiet(self) -> bool:
        """Whether no connection is open on these ports: what is remembered serves only to tell strays and to count uses."""
        return self._listener.quiet

    @property
    def last_ns(self) -> int:
        """When the last packet was captured, ns since 1970 UTC; 0 before the first."""
        return self._listener.time

    def feed(self, packets: pa.RecordBatch) -> list[Records]:
        """The next packets."""
        column = packets.column
        names = {name: at for at, name in enumerate(packets.schema.names)}
        count = packets.num_rows
        if not count:
            return []
        numbers = [
            column(names[name]).to_numpy(zero_copy_only=False).tolist()
            for name in ("file_id", "offset", "ts_ns", "sport", "dport", "seq", "ack", "flags", "cut")
        ]
        payloads = column(names["payload"]).to_pylist()
        notes = column(names["note"])
        captures = column(names["capture"])
        sources = column(names["src"])
        self._key = column(names["connection"])[0].as_py()
        listener = self._listener
        segment, at = listener.segment, listener.at
        order = self._order
        noted = notes.to_pylist() if notes.null_count < count else None
        same = pc.all(pc.equal(captures, captures[0])).as_py()
        paths = None if same else captures.to_pylist()
        self._capture = captures[0].as_py()
        ends = self._ends
        by_port: bool | None = None
        addresses: list[str] | None = None
        rows = self._rows
        for index, (file, offset, ts, sport, dport, seq, ack, flags, cut) in enumerate(zip(*numbers, strict=True)):
            order += 1
            if paths is not None:
                self._capture = paths[index]
            if noted is not None and noted[index] is not None:
                self._damage(ts, noted[index], file, offset)
                continue
            if ends is None:
                ends = self._begin(sources[index].as_py(), sport, column(names["dst"])[index].as_py(), dport)
            if by_port is None:
                by_port = ends[1] != ends[3]
                addresses = None if by_port else sources.to_pylist()
            side = int(sport == ends[3]) if addresses is None else int(addresses[index] != self._first)
            at(packet_number(order, file, offset), ts)
            segment(ends, side, seq, ack, flags, payloads[index], cut)
            listener.linger()
            if not index & 255 and (len(rows.messages) >= BATCH_ROWS or len(rows.commands) >= BATCH_ROWS):
                self._flush()
        self._order = order
        self._flush()
        return self._take()

    def finish(self) -> list[Records]:
        """Nothing more will come: the rows of what is open."""
        self._listener.finish()
        self._flush()
        return self._take()

    def _begin(self, source: str, sport: int, target: str, dport: int) -> tuple[bytes, int, bytes, int]:
        here, there = (ip_address(source).packed, sport), (ip_address(target).packed, dport)
        ends = (*here, *there) if here <= there else (*there, *here)
        self._ends = ends
        self._first = source if here <= there else target
        return ends

    def _heard(self, talk: Talk, heard: Heard) -> None:
        last = self._last
        if last is None or last[0] is not talk:
            recorder = self._recorders.get(talk)
            if recorder is None:
                recorder = self._recorders[talk] = Recorder(talk, self._rows, self.options, self._capture)
            last = self._last = talk, recorder
        said = heard.said
        if type(said) is CommandSeen:
            last[1].command(heard, said)
        else:
            last[1].hear(heard)

    def _ended(self, talk: Talk) -> None:
        recorder = self._recorders.pop(talk, None)
        if recorder is None:
            recorder = Recorder(talk, self._rows, self.options, self._capture)
        recorder.finish()
        self._flush(recorder)
        self._last = None

    def _damage(self, ts: int, note: str, file: int, offset: int) -> None:
        row: tuple[object, ...] = (ts, None, "damage", "capture", note, [], note, None, None, None, file, offset)
        common = self._capture, self.options.broker or "unknown", self._key
        if "violations" in self.options.tables:
            self._made.append(Records("violations", table_batch(TABLES["violations"], common, [row])))

    def _flush(self, recorder: Recorder | None = None) -> None:
        """Makes batches of the rows: all of them are of one connection."""
        if recorder is None:
            if self._last is None and len(self._recorders) != 1:
                return
            recorder = self._last[1] if self._last is not None else next(iter(self._recorders.values()))
        for name, rows in self._rows.by_table.items():
            if rows:
                if name in self.options.tables:
                    for start in range(0, len(rows), BATCH_ROWS):
                        batch = table_batch(TABLES[name], recorder.common, rows[start : start + BATCH_ROWS])
                        self._made.append(Records(name, batch))
                rows.clear()

    def _take(self) -> list[Records]:
        made, self._made = self._made, []
        return made

    # Octets.

    def _given(self) -> dict[str, object]:
        listener = self._listener
        return {"rows": self._rows, "options": self.options, "make": listener.make, "hears": listener.hears}

    def snapshot(self) -> bytes:
        """What it remembers, as octets that `restore` takes in any process with the same version of the encoding."""
        for talk, recorder in self._recorders.items():
            talk.conversation.tidy()
            recorder.forget_read()
        own = self._recorders, self._order, self._capture, self._ends, self._first, self._key
        return write((self._listener.state(), own), self._given())

    @classmethod
    def restore(cls, octets: bytes, options: ReplayOptions = DEFAULT_OPTIONS) -> ConnectionReplay:
        """One that goes on where the snapshot was taken; `options` are those it was made with.

        DecodeError when the octets are no snapshot, or one of another version.
        """
        made = cls(options)
        state = read(octets, made._given())
        try:
            if not isinstance(state, tuple):
                raise TypeError(type(state).__name__)
            made._listener.resume(state[0])
            made._recorders, made._order, made._capture, made._ends, made._first, made._key = state[1]
        except (TypeError, ValueError, AttributeError) as error:
            raise DecodeError("state of a replay", 1, f"not a snapshot of a replay: {error}") from error
        return made
