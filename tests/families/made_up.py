"""A made-up family: five verbs on numbered lines, in frames of its own, with nothing of a session in it.

A frame is its size (4 octets, itself included), its line (2 octets), what it is (1 octet: 0 a control of the connection, 1 a
verb) and a tilde at its end.  On a line, from 1 on, one side says `ask` with some octets; the other one says
them again in an `echo`.  `put` is a message, which the other side settles with `done`; `bad` is what nobody may say.
Controls are texts, a heartbeat has no octets, and the server does not answer the protocol header.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Final

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.dialects import Dialect
from amqp_sansio.engine.checker import Checker, Observed, Speaker
from amqp_sansio.engine.connection import UNHEARD, AnswerEvent, Carrier, Endpoints
from amqp_sansio.engine.handshake import ClientHandshake, ServerHandshake
from amqp_sansio.engine.observer import Ear
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.events import Origin, TimeoutGranted, Violation
from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.limits import Limits
from amqp_sansio.spec import connection as c
from amqp_sansio.spec.base import Control
from amqp_sansio.tables import connection
from amqp_sansio.tables.connection import CloseCodes, Handshake
from amqp_sansio.wire.codec import Codec, Reading
from amqp_sansio.wire.framing import COMMAND, CONNECTION_SCOPE, CONTROL, Assembly, Carries, Framing, Malformed, Reader

END: Final = ord("~")
HEAD: Final = 7
ASK: Final = b"a"
ECHO: Final = b"e"
BAD: Final = b"b"
PUT: Final = b"p"
DONE: Final = b"d"


def find_lines(octets: bytes, start: int, count: int, ended: bool) -> tuple[int, int]:
    """Where so many frames of at most 4096 octets stand in a row."""
    for at in range(start, len(octets)):
        end, found = at, 0
        while found < count and end + HEAD <= len(octets):
            size = int.from_bytes(octets[end : end + 4], "big")
            end, found = end + size, found + 1
            if not HEAD < size <= 4096 or octets[end - size + 6] > 1 or octets[end - 1 : end] not in (b"", b"~"):
                break
        else:
            if end <= len(octets) and (found == count or ended):
                return at, int(found < count)
            if not ended:
                return at, end - at if end > len(octets) else len(octets) - at + HEAD
    return len(octets), HEAD


class LineReader(Reader):
    """Reads the frames of one speaker."""

    HEAD = HEAD

    def __init__(self, limits: Limits, max_frame_size: int, offset: int) -> None:
        super().__init__(limits, max_frame_size, False, offset)

    def _plausible_at(self, octets: bytes, at: int) -> bool:
        return octets[at : at + 2] == b"\0\0" and octets[at + 6] < 2

    def _find(self, octets: bytes, start: int) -> tuple[int, int]:
        return find_lines(octets, start, 1, self._ended)

    def forget(self, channel: int) -> None:
        pass

    def next(self) -> Assembly | Malformed | None:
        if self.queue:
            return self.queue.popleft()
        if self.dead or not self.ready() or (self.searching and not self._search()):
            return None
        at = self.position
        size, channel = int.from_bytes(self.buffer[at : at + 4], "big"), int.from_bytes(self.buffer[at + 4 : at + 6], "big")
        if HEAD < size <= self.max_frame_size and len(self.buffer) - at < size:
            self._needed = size
            return self.next() if self.ready() else None
        start, frame = self.offset, self.buffer[at : at + size]
        if size <= HEAD or size > self.max_frame_size or frame[-1] != END:
            self._die(Malformed("line.frame", "not a frame", CONNECTION_SCOPE, channel, start, True))
            return self.queue.popleft()
        self.position += size
        self.frames += 1
        self._needed = HEAD
        return Assembly(channel, 0, COMMAND if frame[6] else CONTROL, frame[HEAD:-1], None, None, start, start + size)


class Lines(Framing):
    """Frames of at most a million octets."""

    HEAD = HEAD

    def reader(
        self, limits: Limits, max_frame_size: int, *, strict: bool, carries: Carries, offset: int, opening: bool
    ) -> Reader:
        return LineReader(limits, max_frame_size, offset)

    def overhearing(self, limits: Limits, carries: Carries, offset: int) -> Reader:
        return LineReader(limits, self.largest, offset)

    def find_one(self, octets: bytes, start: int) -> tuple[int, int]:
        return find_lines(octets, start, 2, False)

    def size_at(self, octets: bytes, at: int) -> int:
        return int.from_bytes(octets[at : at + 4], "big")

    def plausible_at(self, octets: bytes, at: int) -> bool:
        return HEAD < self.size_at(octets, at) <= 4096 and octets[at + 6] < 2

    def is_own(self, unit: Assembly) -> bool:
        return unit.kind == CONTROL

    def own(self, payload: bytes, max_frame: int) -> bytes:
        return self.frame(0, 0, payload, max_frame)

    def frame(self, channel: int, kind: int, payload: bytes, max_frame: int) -> bytes:
        size = len(payload) + self.overhead
        if size > max_frame:
            raise EncodeError("line", f"a frame of at most {max_frame} octets, not {size}")
        return size.to_bytes(4, "big") + channel.to_bytes(2, "big") + bytes((kind,)) + payload + bytes((END,))


LINES: Final = Lines(HEAD + 1, 4096, 65535, 1_000_000)

ROWS: Final = Table(
    "line handshake",
    "not-begun",
    [
        *[row for row in connection.HANDSHAKE.rows if row.state != "header-sent"],
        Row("header-sent", connection.SERVER, connection.START, "started"),
        Row("header-sent", connection.SERVER, connection.OTHER_PROTOCOL_HEADER, "version-refused"),
    ],
    final=["version-refused", "redirected"],
)
_WORDS: Final[tuple[type[Control], ...]] = (
    c.Start, c.StartOk, c.Secure, c.SecureOk, c.Tune, c.TuneOk, c.Open, c.OpenOk, c.Close, c.CloseOk,
)  # fmt: skip


class Texts(Codec):
    """A control is its place among the words and its fields as JSON, but for the properties; a verb is one letter."""

    def write_control(self, control: Control) -> bytes:
        if isinstance(control, c.Heartbeat):
            return b""
        fields = {name: getattr(control, name) for name in control.FIELDS if "properties" not in name}
        said = {name: value.decode("latin-1") if isinstance(value, bytes) else value for name, value in fields.items()}
        return bytes((_WORDS.index(type(control)),)) + json.dumps(said).encode()

    def read_control(self, unit: Assembly, reading: Reading) -> Control:
        if not unit.payload:
            return c.Heartbeat()
        try:
            said = json.loads(unit.payload[1:])
            for name, value in said.items():
                if name in ("response", "challenge") and value is not None:
                    said[name] = value.encode("latin-1")
                elif isinstance(value, list):
                    said[name] = tuple(value)
            return _WORDS[unit.payload[0]](**said)
        except (ValueError, TypeError, IndexError, AttributeError) as error:
            raise DecodeError("control", 0, str(error), 501) from None

    def verb_in(self, unit: Assembly) -> str:
        return unit.payload[:1].decode("latin-1")

    def carries(self, class_code: int, code: int) -> bool:
        return False


TEXTS: Final = Texts("texts")


class LineClient(ClientHandshake):
    """A client of the family; `lines` is what hears and speaks on them."""

    def __init__(self, config: ClientConfig, confidential: bool = True) -> None:
        self.lines: Final = Echoes(self)
        super().__init__(config, self.lines, confidential)


class LineServer(ServerHandshake):
    """A server of the family."""

    def __init__(self, config: ServerConfig) -> None:
        self.lines: Final = Echoes(self)
        super().__init__(config, self.lines)


def _checker(codec: Texts, strict: bool, limits: Limits, ears: Mapping[Speaker, Ear], said: deque[Observed]) -> Checker:
    from tests.families.heard import LineChecker

    return LineChecker(codec, strict, limits, ears, said)


CODES: Final = CloseCodes(frozenset({7, 200, 320, 402, 501}))
HANDSHAKE: Final = Handshake(ROWS, CODES, CODES, greets=False)
MADE_UP: Final = Dialect(
    "made-up", b"AMQP\x01\x01\x77\x00", lambda: TEXTS, LINES, HANDSHAKE, LineClient, LineServer, _checker,
    spellings=(b"AMQP\x01\x01\x77\x01",), first_channel=1, virtual_host="/",
)  # fmt: skip


class Echoes(Endpoints):
    """Answers what is asked on any line, in a turn of its own, and remembers what it heard."""

    def __init__(self, carrier: Carrier) -> None:
        super().__init__()
        self.carrier: Final = carrier
        self.heard: list[tuple[int, int, bytes]] = []
        self.lost: list[tuple[Origin, str]] = []
        self.waiting: list[tuple[int, bytes]] = []
        self.settled: dict[int, int] = {}
        self.hosted = False  # whether a broker acts on what is heard

    def _say(self, channel: int, payload: bytes) -> None:
        self.carrier._write(LINES.frame(channel, 1, payload, self.carrier._max_frame_size))

    def ask(self, channel: int, octets: bytes) -> None:
        self._say(channel, ASK + octets)

    def put(self, channel: int, octets: bytes) -> None:
        self._say(channel, PUT + octets)

    def begin(self, reader: Reader) -> None:
        assert isinstance(reader, LineReader)

    def flush(self) -> None:
        channel, octets = self.waiting.pop(0)
        self.pending = len(self.waiting)
        self._say(channel, octets)

    def hear(self, unit: Assembly) -> None:
        self.heard.append((unit.channel, unit.start, unit.payload))
        line, verb, octets, peer = unit.channel, unit.payload[:1], unit.payload[1:], self.carrier.peer
        if self.hosted and verb != BAD:
            self.carrier._emit(TimeoutGranted(unit.payload, line))  # stands for an event of this family
        elif verb in (ASK, PUT):
            self.waiting.append((line, ECHO + octets if verb == ASK else DONE))
            self.pending = len(self.waiting)
        elif verb == DONE:
            self.settled[line] = self.settled.get(line, 0) + 1
        elif verb == ECHO:
            self.carrier._emit(TimeoutGranted(octets, line))
        else:
            what = verb.decode()
            self.carrier._fail(Violation(peer, "line.verb", what, ("a", "e"), 501, line, unit.start, "no such verb"))

    def hear_answer(self) -> AnswerEvent:
        return UNHEARD

    def lose(self, origin: Origin, text: str, violation: Violation | None) -> None:
        self.lost.append((origin, text))
        self.waiting.clear()
