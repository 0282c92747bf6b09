"""Generates captures of any size: many connections of publishers and consumers, local and distributed transactions, faults.

python -m bench.traffic OUT.pcap --octets 150000000 [--connections 64] [--skew 0.9] [--body 400] [--faults 0.01] [--seed 1]

Equal arguments give equal files.  Every connection proceeds in bursts of a few messages; bursts of all connections interleave.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import BinaryIO, Final
from uuid import UUID

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import connection, dtx, execution, message, queue, session, tx
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.wire.layouts.layout import encode_headers
from amqp_sansio.wire.segments import frame_command, frame_control

PORT: Final = 5672
SEGMENT: Final = 1448
START_NS: Final = 1_750_000_000_000_000_000
LAYOUT: Final = AMQP_0_10.codec
_HEAD: Final = struct.Struct(">BBHHHBBHII")
_TCP: Final = struct.Struct(">HHIIBBHHH")
_RECORD: Final = struct.Struct("<IIII")
_ETHERNET: Final = bytes(12) + b"\x08\x00"
FIN, SYN, PSH, ACK = 1, 2, 8, 16


class Wire:
    """Writes packets to the file, and advances the clock."""

    def __init__(self, out: BinaryIO) -> None:
        self._write: Final = out.write
        self.now = START_NS
        self.octets = 24
        self.packets = 0
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))

    def packet(self, ends: tuple[int, int, int, int], seq: int, ack: int, flags: int, payload: bytes = b"") -> None:
        """Writes one TCP segment; `ends` are source, target, source port, target port."""
        self.now += 1500
        size = 54 + len(payload)
        source, target, sport, dport = ends
        self._write(
            _RECORD.pack(self.now // 1_000_000_000, self.now % 1_000_000_000, size, size)
            + _ETHERNET
            + _HEAD.pack(0x45, 0, 40 + len(payload), 1, 0, 64, 6, 0, source, target)
            + _TCP.pack(sport, dport, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags, 65535, 0, 0)
            + payload
        )
        self.octets += 16 + size
        self.packets += 1


class Talker:
    """One connection.  `burst` continues its conversation."""

    def __init__(self, wire: Wire, number: int, random: Random, body: int, faults: float, repeats: float) -> None:
        self._wire: Final = wire
        self._random: Final = random
        self._body: Final = body
        self._faults: Final = faults
        self._repeats: Final = repeats
        here, there = 0x0A000000 + number % 65000 + 1, 0x0A010001
        port = 20000 + number % 40000
        self._ends: Final = {"C": (here, there, port, PORT), "S": (there, here, PORT, port)}
        self._seq: Final = {"C": number * 7919, "S": number * 104729}
        self._next: Final = {"C": 0, "S": 0}
        self._said: dict[str, list[bytes]] = {"C": [], "S": []}
        self._number: Final = number
        self._branches = 0
        self.kind = ("plain", "plain", "tx", "dtx")[number % 4]
        self.messages = 0
        self._open()

    # --- octets ---------------------------------------------------------------------------------------------------------------

    def _control(self, speaker: str, control: Control, channel: int = 1) -> None:
        self._said[speaker].append(frame_control(channel, LAYOUT.encode_control(control)))

    def _command(self, speaker: str, command: Command, *headers: Struct, body: bytes | None = None, sync: bool = False) -> int:
        header = encode_headers(headers) if headers else None
        self._said[speaker] += frame_command(1, LAYOUT.encode_command(command, sync), header, body)
        id = self._next[speaker]
        self._next[speaker] = id + 1
        return id

    def _flush(self, speaker: str) -> None:
        """Writes the octets as segments; the other side acknowledges every second one."""
        octets = b"".join(self._said[speaker])
        self._said[speaker].clear()
        other = "S" if speaker == "C" else "C"
        for number, at in enumerate(range(0, len(octets), SEGMENT)):
            piece = octets[at : at + SEGMENT]
            seq = self._seq[speaker]
            self._wire.packet(self._ends[speaker], seq, self._seq[other], PSH | ACK, piece)
            if self._repeats and self._random.random() < self._repeats:
                self._wire.packet(self._ends[speaker], seq, self._seq[other], PSH | ACK, piece)
            self._seq[speaker] = seq + len(piece)
            if number & 1:
                self._wire.packet(self._ends[other], self._seq[other], self._seq[speaker], ACK)

    # --- the conversation -----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        wire, ends, seq = self._wire, self._ends, self._seq
        wire.packet(ends["C"], seq["C"], 0, SYN)
        wire.packet(ends["S"], seq["S"], seq["C"] + 1, SYN | ACK)
        seq["C"] += 1
        seq["S"] += 1
        wire.packet(ends["C"], seq["C"], seq["S"], ACK)
        self._said["C"].append(AMQP_0_10.header)
        self._flush("C")
        self._said["S"].append(AMQP_0_10.header)
        self._control("S", connection.Start({"product": "bench"}, ["ANONYMOUS"], ["en_US"]), 0)
        self._flush("S")
        self._control("C", connection.StartOk({"product": "bench"}, "ANONYMOUS", b"", "en_US"), 0)
        self._flush("C")
        self._control("S", connection.Tune(32767, 65535, 0, 120), 0)
        self._flush("S")
        self._control("C", connection.TuneOk(32767, 65535, 0), 0)
        self._control("C", connection.Open("bench"), 0)
        self._flush("C")
        self._control("S", connection.OpenOk(), 0)
        self._flush("S")
        self._control("C", session.Attach(b"session-%d" % self._number))
        self._control("C", session.CommandPoint(0, 0))
        self._flush("C")
        self._control("S", session.Attached(b"session-%d" % self._number))
        self._control("S", session.CommandPoint(0, 0))
        self._flush("S")
        self._command("C", queue.Declare(queue=f"queue-{self._number}"), sync=True)
        if self.kind == "tx":
            self._command("C", tx.Select(), sync=True)
        elif self.kind == "dtx":
            self._command("C", dtx.Select(), sync=True)
        self._command("C", message.Subscribe(queue=f"queue-{self._number}", destination="in"))
        self._command("C", message.Flow("in", 0, 100))
        last = self._command("C", message.Flow("in", 1, 0xFFFFFFFF), sync=True)
        self._flush("C")
        self._completed("S", 0, last)
        self._flush("S")

    def _completed(self, speaker: str, low: int, high: int) -> None:
        self._control(speaker, session.Completed(RangeSet([(low, high)])))

    def _publish(self, count: int) -> tuple[int, int]:
        random = self._random
        first = self._next["C"]
        for _ in range(count):
            self.messages += 1
            self._command(
                "C", message.Transfer("amq.direct", 0, 0),
                message.DeliveryProperties(routing_key=f"queue-{self._number}", delivery_mode=2),
                message.MessageProperties(message_id=UUID(int=self._number << 64 | self.messages), content_type="text/plain"),
                body=random.randbytes(random.randrange(self._body // 2, self._body * 3 // 2 + 1)),
            )  # fmt: skip
        return first, self._next["C"] - 1

    def _consume(self, count: int) -> None:
        """Writes this number of deliveries, accepted and completed together."""
        random = self._random
        first = self._next["S"]
        for number in range(count):
            self._command(
                "S", message.Transfer("in", 0, 0),
                message.DeliveryProperties(exchange="amq.direct", routing_key=f"queue-{self._number}", delivery_mode=2),
                message.MessageProperties(
                    message_id=UUID(int=self._number << 64 | max(1, self.messages - count + number + 1)),
                    content_type="text/plain",
                ),
                body=random.randbytes(random.randrange(self._body // 2, self._body * 3 // 2 + 1)),
            )  # fmt: skip
        last = self._next["S"] - 1
        self._flush("S")
        accept = self._command("C", message.Accept(RangeSet([(first, last)])), sync=True)
        self._completed("C", first, last)
        self._flush("C")
        self._completed("S", accept, accept)
        self._flush("S")

    def burst(self) -> None:
        """Writes some messages in both directions."""
        count = self._random.randrange(4, 24)
        getattr(self, f"_{self.kind}")(count)
        self._consume(count)
        if self._faults and self._random.random() < self._faults:
            self._fault()

    def _plain(self, count: int) -> None:
        first, last = self._publish(count)
        self._flush("C")
        self._command("S", message.Accept(RangeSet([(first, last)])))
        self._completed("S", first, last)
        self._flush("S")
        self._completed("C", self._next["S"] - 1, self._next["S"] - 1)

    def _tx(self, count: int) -> None:
        first, _ = self._publish(count)
        last = self._command("C", tx.Rollback() if self._random.random() < 0.1 else tx.Commit(), sync=True)
        self._flush("C")
        self._completed("S", first, last)
        self._flush("S")

    def _dtx(self, count: int) -> None:
        self._branches += 1
        xid = dtx.Xid(1, b"%d-%d" % (self._number, self._branches), b"b")
        first = self._ask(dtx.Start(xid))
        self._publish(count)
        self._ask(dtx.End(xid))
        self._ask(dtx.Prepare(xid))
        if self._random.random() < 0.99:  # the others stay in doubt
            self._ask(dtx.Commit(xid) if self._random.random() < 0.9 else dtx.Rollback(xid))
        self._completed("S", first, self._next["C"] - 1)
        self._flush("S")

    def _ask(self, command: Command) -> int:
        id = self._command("C", command, sync=True)
        self._flush("C")
        self._command("S", execution.Result(id, dtx.XaResult(0)))
        self._flush("S")
        return id

    def _fault(self) -> None:
        """Writes a violation: completion of commands that were never sent."""
        self._completed("C", self._next["S"] + 1000, self._next["S"] + 1000)
        self._flush("C")

    def close(self) -> None:
        """Ends session and connection."""
        self._control("C", session.Detach(b"session-%d" % self._number))
        self._flush("C")
        self._control("S", session.Detached(b"session-%d" % self._number, 0))
        self._flush("S")
        self._control("C", connection.Close(200, ""), 0)
        self._flush("C")
        self._control("S", connection.CloseOk(), 0)
        self._flush("S")
        wire, ends, seq = self._wire, self._ends, self._seq
        wire.packet(ends["C"], seq["C"], seq["S"], FIN | ACK)
        wire.packet(ends["S"], seq["S"], seq["C"] + 1, FIN | ACK)
        wire.packet(ends["C"], seq["C"] + 1, seq["S"] + 1, ACK)


def make(
    path: Path,
    octets: int,
    *,
    connections: int = 64,
    skew: float = 0.0,
    body: int = 400,
    faults: float = 0.01,
    repeats: float = 0.0,
    seed: int = 1,
    progress: Callable[[int], None] = lambda octets: None,
) -> tuple[int, int]:
    """Writes a capture of about `octets`; returns the numbers of packets and of messages published.

    `skew` is the first connection's share of all bursts; one in eight of the others is left open at the end.
    """
    random = Random(seed)
    with open(path, "wb", 1 << 20) as out:
        wire = Wire(out)
        talkers = [Talker(wire, number, random, body, faults, repeats) for number in range(connections)]
        told = 0
        while wire.octets < octets:
            talker = talkers[0] if skew and random.random() < skew else random.choice(talkers)
            talker.burst()
            if wire.octets - told > 10_000_000:
                told = wire.octets
                progress(told)
        for number, talker in enumerate(talkers):
            if number % 8 != 7:
                talker.close()
    return wire.packets, sum([talker.messages for talker in talkers])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--octets", type=int, default=150_000_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--skew", type=float, default=0.0)
    parser.add_argument("--body", type=int, default=400)
    parser.add_argument("--faults", type=float, default=0.01)
    parser.add_argument("--repeats", type=float, default=0.0, help="part of the segments that are sent twice")
    parser.add_argument("--seed", type=int, default=1)
    given = vars(parser.parse_args())
    packets, messages = make(given.pop("path"), given.pop("octets"), **given)
    print(f"{packets} packets, {messages} messages published")


if __name__ == "__main__":
    main()
