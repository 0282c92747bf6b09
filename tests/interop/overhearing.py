"""What connections to RabbitMQ say, heard by an observer each, and in 0-9 and 0-9-1 by tshark."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.interop.cutting import Cutting
from tests.interop.test_tshark_older_counts import TSHARK, by_tshark, by_us

from amqp_sansio.dialects import AMQP_0_8, AMQP_0_9_1, READABLE
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from tools.interop.pcap import Conversation, PcapWriter


class Ear:
    """One connection: `found` are the rules that it broke, and who did."""

    def __init__(self, writer: PcapWriter) -> None:
        self.found: Final[list[tuple[str, str]]] = []
        self._writer: Final = writer
        self._observer: Final = Observer(dialects=READABLE)
        self._capture: Conversation | None = None
        self._begun = False

    def hear(self, speaker: str, octets: bytes) -> None:
        self._observer.receive_data("C" if speaker == "C" else "S", octets)
        for each in self._observer.events():
            if isinstance(each.event, Violation):
                self.found.append((each.event.speaker, each.event.rule))
        if not self._begun:
            self._begun = True
            if not octets.startswith(AMQP_0_8.header):
                self._capture = self._writer.connection()
        if self._capture is not None:
            self._capture.say(speaker == "C", octets)


class Overhearing(Cutting):
    """A line to RabbitMQ on which nobody breaks a rule, and of which tshark counts the same frames; `url` leads to it."""

    def __init__(self, port: int, folder: Path) -> None:
        super().__init__(port)
        self.url: Final = f"amqp://guest:guest@127.0.0.1:{self.port}/"
        self._ears: Final[list[Ear]] = []
        self._path: Final = folder / AMQP_0_9_1.name / "said.pcap"
        self._path.parent.mkdir(parents=True)
        self._writer: Final = PcapWriter(self._path, time.time)
        self._turn: Final = threading.Lock()
        self._over = False

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        with self._turn:
            self._over = True  # a thread may still carry what was on its way when the line was cut
            self._writer.close()
            if kind is None:
                assert [ear.found for ear in self._ears if ear.found] == []
                assert TSHARK is None or by_tshark(self._path) == by_us(self._path)

    def ear(self) -> Ear:
        with self._turn:
            self._ears.append(Ear(self._writer))
            return self._ears[-1]

    def overhear(self, ear: object, speaker: str, octets: bytes) -> None:
        assert isinstance(ear, Ear)
        with self._turn:
            if not self._over:
                ear.hear(speaker, octets)
