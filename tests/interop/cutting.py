"""A line between a client and a broker that can be cut."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: the end of the socket is a reset."""


class Cutting:
    """`with Cutting(port) as line`: who connects to `line.port` is connected to the other port, until `cut`."""

    def __init__(self, port: int) -> None:
        self._other: Final = port
        self._listener: Final = socket.create_server(("127.0.0.1", 0))
        self.port: Final[int] = self._listener.getsockname()[1]
        self._sockets: Final[list[socket.socket]] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                there = socket.create_connection(("127.0.0.1", self._other))
                self._sockets.extend((here, there))
                ear = self.ear()
                for speaker, one, two in (("C", here, there), ("S", there, here)):
                    threading.Thread(target=self._carry, args=(ear, speaker, one, two), daemon=True).start()

    def ear(self) -> object:
        """Who hears the next connection; nobody."""

    def overhear(self, ear: object, speaker: str, octets: bytes) -> None:
        """A side said something, which the other one has not heard yet."""

    def _carry(self, ear: object, speaker: str, one: socket.socket, two: socket.socket) -> None:
        with suppress(OSError):
            while octets := one.recv(65536):
                self.overhear(ear, speaker, octets)
                two.sendall(octets)
        with suppress(OSError):
            two.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        """Both ends of each connection are reset."""
        for each in self._sockets:
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                each.shutdown(socket.SHUT_RDWR)
                each.close()
        self._sockets.clear()
