"""What connections to RabbitMQ say, heard by an observer each, and in 0-9 and 0-9-1 by tshark."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self

from tests.interop.cutting import Cutting
from tests.interop.test_tshark_older_counts import TSHARK, by_tshark, by_us

from amqp_sansio.dialects import AMQP_0_8, AMQP_0_9_1, READABLE
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from tools.interop.pcap import Conversation, PcapWriter

UNSHOWN: Final = "frame.end"
"""Behind a frame with a wrong end tshark reads on, and we do not: it is not asked about a connection that ends so."""


class Witness:
    """A recording of all that is heard meanwhile, of which tshark counts the same frames as we."""

    now: ClassVar[Witness | None] = None

    def __init__(self, folder: Path) -> None:
        self._path: Final = folder / AMQP_0_9_1.name / "said.pcap"
        self._path.parent.mkdir(parents=True)
        self.writer: Final = PcapWriter(self._path, time.time)

    def __enter__(self) -> Self:
        Witness.now = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        Witness.now = None
        self.writer.close()
        assert TSHARK is None or by_tshark(self._path) == by_us(self._path)


class Ear:
    """One connection: `found` are the rules that it broke, and who did."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, shown: bool = True) -> None:
        self.found: Final[list[tuple[str, str]]] = []
        self._observer: Final = Observer(dialects=READABLE, limits=limits)
        self._witness: Final = Witness.now if shown else None
        self._capture: Conversation | None = None
        self._begun = False

    def hear(self, speaker: str, octets: bytes) -> None:
        self._observer.receive_data("C" if speaker == "C" else "S", octets)
        for each in self._observer.events():
            if isinstance(each.event, Violation):
                self.found.append((each.event.speaker, each.event.rule))
        with TURN:
            if self._witness is None or self._witness is not Witness.now:
                return  # a thread may still carry what was on its way when the line was cut
            if not self._begun and not octets.startswith(AMQP_0_8.header):
                self._capture = self._witness.writer.connection()
            self._begun = True
            if self._capture is not None:
                self._capture.say(speaker == "C", octets)


TURN: Final = threading.Lock()
DELIVERS_ON: Final = "S", "channel.closed"
"""What RabbitMQ does wrong now and then: it goes on to deliver behind its own channel.close."""


class Overhearing(Cutting):
    """A line to RabbitMQ on which all is overheard; `url` leads to it.

    What our side says wrong must be `wrong`, the rules in their order; the server says nothing wrong.
    """

    def __init__(self, port: int, wrong: tuple[str, ...] = (), limits: Limits = DEFAULT_LIMITS, shown: bool = True) -> None:
        super().__init__(port)
        self.url: Final = f"amqp://guest:guest@127.0.0.1:{self.port}/"
        self._wrong: Final = wrong
        self._limits: Final = limits
        self._shown: Final = shown and UNSHOWN not in wrong

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        if kind is None:
            found = [each for ear in self.ears if isinstance(ear, Ear) for each in ear.found if each != DELIVERS_ON]
            assert found == [("C", rule) for rule in self._wrong]

    def ear(self) -> Ear:
        return Ear(self._limits, self._shown)

    def overhear(self, ear: object, speaker: str, octets: bytes) -> None:
        assert isinstance(ear, Ear)
        with self.turn:  # of one speaker after the other
            ear.hear(speaker, octets)
