"""Packets of a connection that simply goes on, many at once: what nearly all packets are."""

from __future__ import annotations

from typing import Final

from amqp_sansio.captures.flows import Listener
from amqp_sansio.captures.replay.recorder import packet_number
from amqp_sansio.captures.tcp import ACK

RUN_OCTETS: Final = 256 * 1024
"""Octets of one side that are heard at once."""
RUN_NANOSECONDS: Final = 1_000_000_000
"""Time that they may have taken: whatever is agreed on meanwhile, no silence that counts is shorter."""

_MASK: Final = 0xFFFFFFFF
_PLAIN: Final = ACK | 0x08 | 0x20 | 0x40 | 0x80  # PSH, URG and what TCP says about congestion
_HALF: Final = 1 << 31


class Packets:
    """A batch by column, as plain lists; `offsets` are where in `octets` each payload begins, and the end of the last."""

    __slots__ = ("acknowledged", "cuts", "files", "flags", "octets", "offsets", "places", "sequences", "sides", "times")

    def __init__(
        self,
        files: list[int],
        places: list[int],
        times: list[int],
        sides: list[int],
        sequences: list[int],
        acknowledged: list[int],
        flags: list[int],
        cuts: list[int],
        offsets: list[int],
        octets: memoryview,
    ) -> None:
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


def take_runs(listener: Listener, key: tuple[bytes, int, bytes, int], packets: Packets, at: int, order: int) -> int:
    """Hears packets from index `at` on as long as they are plain: in order, whole, without a word on the connection itself.

    Gives the index of the first one that is not; that packet is for `Listener.segment`.  `order` is the number of the packet
    before the first one of the batch.
    """
    talk = listener.steady(key)
    if talk is None:
        return at
    files, places, times, sides = packets.files, packets.places, packets.times, packets.sides
    sequences, acknowledged, flags = packets.sequences, packets.acknowledged, packets.flags
    cuts, offsets, octets = packets.cuts, packets.offsets, packets.octets
    conversation = talk.conversation
    count = len(times)
    first = talk.sides[0].first, talk.sides[1].first
    position = [talk.sides[0].position, talk.sides[1].position]
    acked = [talk.sides[0].acked, talk.sides[1].acked]
    patience, *last = conversation.patience()
    here = at
    while here < count:
        # One run: segments of one side with octets, and pure acknowledgements of both.
        speaker = -1
        begin = here
        size = room = deadline = 0
        sizes: list[int] = []
        indices: list[int] = []
        while here < count:
            flag = flags[here]
            if flag & ~_PLAIN or cuts[here]:
                break
            side = sides[here]
            if (sequences[here] - first[side] - position[side]) & _MASK:
                break
            time = times[here]
            if patience and (time - last[0] > patience or time - last[1] > patience):
                break
            if flag & ACK:
                other = 1 - side
                away = (acknowledged[here] - first[other] - position[other]) & _MASK
                if away:
                    if away < _HALF:
                        break
                    need = position[other] + away - (_MASK + 1)
                else:
                    need = position[other]
                if need > acked[other]:
                    acked[other] = need
            length = offsets[here + 1] - offsets[here]
            if length:
                if side != speaker:
                    if speaker >= 0:
                        break
                    speaker = side
                    room = conversation.room(side)
                    deadline = time + RUN_NANOSECONDS
                if len(sizes) >= room or size > RUN_OCTETS or time > deadline:
                    break
                sizes.append(length)
                indices.append(here)
                size += length
                position[side] += length
                last[side] = time
            here += 1
        if here == begin:
            break
        number = packet_number(order + here - at, files[here - 1], places[here - 1])
        talk.sides[0].acked, talk.sides[1].acked = acked
        listener.skip(here - begin, number, times[here - 1])
        talk.skip(here - begin, (size, 0) if speaker == 0 else (0, size), number, times[here - 1])
        if sizes:
            stretch = bytes(octets[offsets[indices[0]] : offsets[indices[-1] + 1]])
            numbers = [packet_number(order + index - at + 1, files[index], places[index]) for index in indices]
            conversation.several(speaker, stretch, sizes, numbers, [times[index] for index in indices])
            patience, *last = conversation.patience()
    return here
