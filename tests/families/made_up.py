"""A made-up family: three verbs on numbered lines, in frames of its own, with nothing of a session in it.

A frame is its size (4 octets, itself included), its line (2 octets), what it is (1 octet: 0 a control of the connection, 1 a
verb) and the octet 0x7e at its end.  On a line one side says `ask` with some octets; the other one says
them again in an `echo`; `bad` is what nobody may say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from amqp_sansio.dialects import Dialect
from amqp_sansio.engine.carrier import Carrier
from amqp_sansio.engine.endpoints import UNHEARD, Answered, Endpoints
from amqp_sansio.errors import EncodeError
from amqp_sansio.events import Event, Origin, TimeoutGranted, Violation
from amqp_sansio.limits import Limits
from amqp_sansio.wire.assembly import COMMAND, CONNECTION_SCOPE, CONTROL, Assembly, Cut, Malformed
from amqp_sansio.wire.framing import Carries, Framing, Reader
from amqp_sansio.wire.layouts.v0_10 import LAYOUT

END: Final = 0x7E
HEAD: Final = 7
ASK: Final = b"a"
ECHO: Final = b"e"
BAD: Final = b"b"


class LineReader(Reader):
    """Reads the frames of one speaker."""

    def __init__(self, limits: Limits, max_frame_size: int, offset: int) -> None:
        super().__init__(limits, max_frame_size, False, offset)
        self._buffer = b""
        self._at = offset

    @property
    def offset(self) -> int:
        return self._at

    @property
    def buffered(self) -> int:
        return len(self._buffer)

    @property
    def waits(self) -> bool:
        return self.dead or len(self._buffer) < HEAD or len(self._buffer) < int.from_bytes(self._buffer[:4], "big")

    @property
    def passed(self) -> Mapping[int, int]:
        return {}

    def opened(self) -> None:
        pass

    def receive(self, octets: bytes) -> None:
        self.received += len(octets)
        self._buffer += octets

    def next(self) -> Assembly | Malformed | None:
        if self.waits:
            return None
        size, channel = int.from_bytes(self._buffer[:4], "big"), int.from_bytes(self._buffer[4:6], "big")
        start, frame = self._at, self._buffer[:size]
        self._buffer = self._buffer[size:]
        self._at += size
        if size <= HEAD or size > self.max_frame_size or frame[-1] != END:
            self.dead = True
            return Malformed("line.frame", "not a frame", CONNECTION_SCOPE, channel, start, True)
        kind = COMMAND if frame[6] else CONTROL
        return Assembly(channel, 0, kind, frame[HEAD:-1], None, None, start, self._at)

    def take(self) -> bytes:
        octets, self._buffer = self._buffer, b""
        return octets

    def end(self) -> None:
        pass


class Lines(Framing):
    """Frames of at most a million octets."""

    def __init__(self) -> None:
        super().__init__(HEAD + 1, 4096, 1_000_000)

    def reader(
        self, limits: Limits, max_frame_size: int, *, strict: bool, carries: Carries, offset: int, opening: bool
    ) -> Reader:
        return LineReader(limits, max_frame_size, offset)

    def is_own(self, unit: Assembly) -> bool:
        return unit.kind == CONTROL

    def own(self, payload: bytes, max_frame: int) -> bytes:
        return self.frame(0, 0, payload, max_frame)

    def frame(self, channel: int, kind: int, payload: bytes, max_frame: int) -> bytes:
        size = len(payload) + self.overhead
        if size > max_frame:
            raise EncodeError("line", f"a frame of at most {max_frame} octets, not {size}")
        return size.to_bytes(4, "big") + channel.to_bytes(2, "big") + bytes((kind,)) + payload + bytes((END,))


LINES: Final = Lines()
MADE_UP: Final = Dialect("made-up", b"AMQP\x01\x01\x77\x00", LAYOUT, LINES)


class Echoes(Endpoints):
    """Answers what is asked on any line, in a turn of its own, and remembers what it heard."""

    def __init__(self) -> None:
        self.carrier: Carrier | None = None
        self.heard: list[tuple[int, int, bytes]] = []
        self.malformed: list[Malformed] = []
        self.lost: list[tuple[Origin, str]] = []
        self.waiting: list[tuple[int, bytes]] = []

    def _say(self, channel: int, payload: bytes) -> None:
        assert self.carrier is not None
        self.carrier._write(LINES.frame(channel, 1, payload, self.carrier._max_frame_size))

    def ask(self, channel: int, octets: bytes) -> None:
        """Says `ask` on a line."""
        self._say(channel, ASK + octets)

    def begin(self, reader: Reader) -> None:
        assert isinstance(reader, LineReader)

    @property
    def pending(self) -> int:
        return len(self.waiting)

    def flush(self) -> None:
        channel, octets = self.waiting.pop(0)
        self._say(channel, ECHO + octets)

    @property
    def roomless(self) -> int:
        return 0

    def hear(self, unit: Assembly) -> None:
        assert self.carrier is not None
        self.heard.append((unit.channel, unit.start, unit.payload))
        if unit.payload[:1] == ASK:
            self.waiting.append((unit.channel, unit.payload[1:]))
        elif unit.payload[:1] == ECHO:
            self.carrier._emit(TimeoutGranted(unit.payload[1:], unit.channel))  # stands for an event of this family
        else:
            said = unit.payload[:1].decode()
            self.carrier._fail(
                Violation(self.carrier.peer, "line.verb", said, ("a", "e"), 501, unit.channel, unit.start, "no such verb")
            )

    def hear_plain(self, cut: Cut) -> Event | None:
        raise AssertionError("nothing is learned")

    def hear_answer(self) -> Answered:
        return UNHEARD

    def hear_passed(self, passed: Mapping[int, int], offset: int) -> None:
        raise AssertionError("nothing is passed over")

    def hear_malformed(self, malformed: Malformed) -> None:
        self.malformed.append(malformed)

    def lose(self, origin: Origin, text: str, violation: Violation | None) -> None:
        self.lost.append((origin, text))
        self.waiting.clear()
