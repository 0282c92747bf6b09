"""Replays packets of a connection in its steady state in batches, which covers nearly all packets."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from amqp_sansio.captures.columns.heads import Ints
from amqp_sansio.captures.flows import Listener, Talk
from amqp_sansio.captures.packet import packet_number
from amqp_sansio.captures.tcp import ACK

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
    """The columns of a batch; `offsets` are where each payload begins in `octets`, and the end of the last."""

    __slots__ = (
        "acknowledged", "cuts", "files", "flags", "lengths", "octets", "odd", "offsets", "places", "said", "sequences", "sides",
        "times",
    )  # fmt: skip

    def __init__(
        self, files: Ints, places: Ints, times: Ints, sides: Ints, sequences: Ints, acknowledged: Ints, flags: Ints, cuts: Ints,
        offsets: Ints, octets: memoryview,
    ) -> None:  # fmt: skip
        self.files: Final = files
        self.places: Final = places
        self.times: Final = times
        self.sides: Final = sides
        self.sequences: Final = sequences
        self.acknowledged: Final = acknowledged
        self.flags: Final = flags
        self.cuts: Final = cuts
        self.offsets: Final = offsets
        self.octets: Final = octets
        self.lengths: Final = np.diff(offsets)
        self.odd: Final = (flags & ~_PLAIN != 0) | (cuts != 0)
        """Packets that do more than carry data (SYN, FIN, RST), or that were captured in part."""
        spoken = self.lengths * sides
        self.said: Final = np.zeros((2, len(times)), np.int64)
        """How much each side has sent in this batch before each packet, without retransmissions."""
        np.cumsum((self.lengths - spoken)[:-1], out=self.said[0, 1:])
        np.cumsum(spoken[:-1], out=self.said[1, 1:])


def listed(packets: pa.RecordBatch, sides: Ints) -> Packets:
    """Returns the columns of a batch (see `packets_schema`) as arrays; `sides` has the sender of each packet."""

    def numbers(name: str) -> Ints:
        found: Ints = packets.column(name).to_numpy(zero_copy_only=False)
        return found.astype(np.int64, copy=False)

    payload = packets.column("payload")
    _, begins, octets = payload.buffers()
    offsets = np.frombuffer(begins, np.int32)[payload.offset : payload.offset + len(payload) + 1].astype(np.int64)
    files, places, times = map(numbers, ("file_id", "offset", "ts_ns"))
    sequences, acknowledged, flags, cuts = map(numbers, ("seq", "ack", "flags", "cut"))
    data = memoryview(b"" if octets is None else octets)
    return Packets(files, places, times, sides, sequences, acknowledged, flags, cuts, offsets, data)


def take_runs(listener: Listener, key: tuple[bytes, int, bytes, int], packets: Packets, at: int, count: int, order: int) -> int:
    """Replays packets from index `at` up to `count`, as long as they are plain: in order, complete, and data only.

    Returns the index of the first one that is not, which is for `Listener.segment`.  `order` is the number of the packet before
    the one at `at`.
    """
    talk = listener.steady(key)
    if talk is None:
        return at
    here = at
    while here < count:
        stop, need = _plain(talk, packets, here, min(here + LOOKED_AT, count))
        if stop == here:
            return here
        behind = _hear(listener, talk, packets, here, stop, order - at)
        for side in (0, 1):
            acked = int(need[side, : behind - here].max(initial=_NEVER))
            if acked > talk.sides[side].acked:
                talk.sides[side].acked = acked
        if behind < stop or behind == here:
            return behind
        here = behind
    return here


def _plain(talk: Talk, packets: Packets, here: int, stop: int) -> tuple[int, Ints]:
    """Returns the index after the plain packets from `here` on, and how far each of them acknowledges either side."""
    sides = packets.sides[here:stop]
    said = packets.said[:, here:stop]
    first, second = talk.sides
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
    silent = _silent(talk, packets, here, stop)
    if silent is not None:
        odd |= silent
    return here + int(odd.argmax()) if odd.any() else stop, need


def _silent(talk: Talk, packets: Packets, here: int, stop: int) -> NDArray[np.bool_] | None:
    """Returns before which packets a side was silent for longer than heartbeats allow; None: before none."""
    patience, *last = talk.conversation.patience()
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


def _hear(listener: Listener, talk: Talk, packets: Packets, here: int, stop: int, order: int) -> int:
    """Replays plain packets, run by run (what one side sends until the other one sends).  Returns the index after them, which
    is before `stop` where packets have to come one by one."""
    conversation = talk.conversation
    sizes = packets.lengths[here:stop]
    spoken = np.flatnonzero(sizes)
    files, places, times = packets.files, packets.places, packets.times
    if not len(spoken):
        _skip(listener, talk, packets, here, stop, order, [0, 0])
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
        _skip(listener, talk, packets, here, behind, order, heard)
    return behind


def _fitting(begins: list[int], times: list[int], begin: int, end: int) -> int:
    """Returns the index after the packets that may be replayed at once."""
    furthest, deadline = begins[begin] + RUN_OCTETS, times[begin] + RUN_NANOSECONDS
    for index in range(begin, end):
        if begins[index] > furthest or times[index] > deadline:
            return index
    return end


def _skip(listener: Listener, talk: Talk, packets: Packets, here: int, behind: int, order: int, octets: list[int]) -> None:
    """Counts packets that were replayed here, with the octets of each side."""
    last = behind - 1
    time = int(packets.times[last])
    number = packet_number(order + behind, int(packets.files[last]), int(packets.places[last]))
    times = packets.times[here:behind]
    steps = np.diff(times, prepend=talk.last)
    if steps.min() < 0:
        back = np.flatnonzero(steps < 0)
        first = here + int(back[0])
        at = packet_number(order + first + 1, int(packets.files[first]), int(packets.places[first]))
        talk.went_back(-int(steps.min()), at, int(packets.times[first]), int(packets.sides[first]), len(back))
    listener.skip(behind - here, number, time)
    talk.skip(behind - here, (octets[0], octets[1]), number, time)
