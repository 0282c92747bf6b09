"""A witness for tests of the layers below the observer: cuts frames, steps no machine."""

from __future__ import annotations

from collections import deque
from typing import TypeVar

from amqp_sansio.engine.checker import Observed
from amqp_sansio.engine.observer import Observer, Speaker
from amqp_sansio.events.observed import CommandSeen, ControlSeen, HeaderSeen, Note, Observation
from amqp_sansio.limits import Limits
from amqp_sansio.spec.connection import TuneOk
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.framing import Malformed
from amqp_sansio.wire.layouts.layout import HeaderDecoder, Sift
from amqp_sansio.wire.segments import SegmentReader

T = TypeVar("T")
_BOTH: tuple[Speaker, Speaker] = ("C", "S")


class FakeWitness(Observer):
    def __init__(self, middle: bool = False) -> None:
        super().__init__(middle=middle)
        self.readers = {name: SegmentReader(Limits(), tolerant=True, offset=0 if middle else 8) for name in _BOTH}
        self.headers: dict[Speaker, bytes] = {"C": b"", "S": b""}
        self.middle = middle
        self.seen: deque[Observed] = deque()

    def receive_data(self, speaker: Speaker, data: bytes) -> None:
        head = self.headers[speaker]
        if not self.middle and len(head) < 8:
            wanted = 8 - len(head)
            self.headers[speaker] = head = head + data[:wanted]
            data = data[wanted:]
            if len(head) == 8:
                self.seen.append(Observed(speaker, 0, 8, HeaderSeen(head, "0-10" if head == b"AMQP\x01\x01\0\x0a" else None)))
        self.readers[speaker].receive(data)
        self._read(speaker)

    def receive_gap(self, speaker: Speaker, octets: int) -> None:
        self.readers[speaker].lost(octets)
        at = self.readers[speaker].received
        self.seen.append(Observed(speaker, at, at, Note("gap", f"{octets} octets are missing")))
        self._read(speaker)

    def finish(self) -> None:
        self.receive_eof("C")
        self.receive_eof("S")

    def _books(self, channel: int) -> None:
        return None

    def _family(self) -> str:
        return "sessions"

    def _reads(self, header: bytes) -> bool:
        return True

    def _read_nothing(self, reason: str) -> None:
        raise AssertionError(reason)

    def unread(self, speaker: Speaker) -> int:
        return self.readers[speaker].skipped

    def receive_eof(self, speaker: Speaker) -> None:
        self.readers[speaker].finish()
        self._read(speaker)

    def _read(self, speaker: Speaker) -> None:
        while (thing := self.readers[speaker].next()) is not None:
            if isinstance(thing, Malformed):
                self.seen.append(Observed(speaker, thing.offset, thing.offset, Note(thing.rule, thing.text)))
                continue
            payload = thing.payload
            verb = f"{payload[0]}.{payload[1]}" if len(payload) > 1 else "?"
            seen: Observation
            if thing.kind == 0:
                heartbeat = int.from_bytes(payload[-2:], "big")
                control = TuneOk(None, None, heartbeat) if verb == "1.6" else None
                seen = ControlSeen(thing.channel, verb, control, payload, thing.complete)
            else:
                seen = CommandSeen(thing.channel, None, None, verb, None, False, payload, None, thing.body, thing.complete)
            self.seen.append(Observed(speaker, thing.start, thing.end, seen))

    def read_headers(self, sift: Sift[T]) -> HeaderDecoder[T]:
        return HeaderDecoder(Reading(), sift)

    def next_alike(self, headers: HeaderDecoder[T], head: int = 0) -> None:
        return None

    def next_event(self) -> Observed | None:
        return self.seen.popleft() if self.seen else None

    def frames(self, speaker: Speaker) -> int:
        return self.readers[speaker].frames

    def unfinished(self, speaker: Speaker) -> int | None:
        return self.readers[speaker].unfinished
