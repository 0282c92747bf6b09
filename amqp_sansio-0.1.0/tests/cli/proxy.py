"""Somebody between a client and its broker, who cuts connections or falls silent in the middle of whatever."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Final, Literal, NamedTuple, Self

Speaker = Literal["client", "server"]
RESET: Final = struct.pack("ii", 1, 0)


class Fault(NamedTuple):
    """After so many octets of one speaker the connection is cut, or nothing more is passed on in any direction."""

    speaker: Speaker
    octets: int
    how: Literal["cut", "silent"]


class Proxy:
    """Passes octets on; each connection meets the next of the faults, and those after them none."""

    def __init__(self, port: int, faults: Iterable[Fault]) -> None:
        self.met = 0
        """Faults that came to pass."""
        self.passed: Final[list[int]] = []
        """Octets of the one speaker who is cut off that each connection passed on, or of its client."""
        self._to: Final = port
        self._faults: Final = iter(faults)
        self._listener: Final = socket.create_server(("127.0.0.1", 0))
        self._sockets: Final[list[socket.socket]] = []
        self._threads: Final[list[threading.Thread]] = []
        self._over = False

    @property
    def url(self) -> str:
        return f"amqp://127.0.0.1:{self._listener.getsockname()[1]}/"

    def __enter__(self) -> Self:
        self._begin(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(10)
        for each in self._sockets:
            each.close()

    def _begin(self, work: object, *arguments: object) -> None:
        assert callable(work)
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._over:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
                self._sockets.extend((client, server))
                fault = next(self._faults, None)
                silent = threading.Event()
                number = len(self.passed)
                self.passed.append(0)
                self._begin(self._pass_on, number, "client", client, server, fault, silent)
                self._begin(self._pass_on, number, "server", server, client, fault, silent)

    def _pass_on(
        self, number: int, speaker: str, here: socket.socket, there: socket.socket, fault: Fault | None, silent: threading.Event
    ) -> None:
        """One direction of a connection, to its end."""
        counts = speaker == ("client" if fault is None else fault.speaker)
        left = fault.octets if fault is not None and fault.speaker == speaker else None
        with suppress(OSError):
            while octets := here.recv(4096):
                if silent.is_set():
                    continue
                if left is None or len(octets) < left:
                    there.sendall(octets)
                    left = None if left is None else left - len(octets)
                    self.passed[number] += len(octets) * counts
                    continue
                there.sendall(octets[:left])
                self.passed[number] += left
                assert fault is not None
                self.met += 1
                left = None
                if fault.how == "silent":
                    silent.set()
                    continue
                for each in (here, there):
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    with suppress(OSError):
                        each.shutdown(socket.SHUT_RDWR)
                break
        if not silent.is_set():
            with suppress(OSError):
                there.shutdown(socket.SHUT_WR)
