"""A line between a client and a broker that can be cut, goes dead, or says what the client does not."""

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
        self._left: Final[list[socket.socket]] = []
        self.ears: Final[list[object]] = []
        self.turn: Final = threading.Lock()
        self.dead: frozenset[str] = frozenset()
        """Whose octets get lost from now on: "C", "S" or both."""
        self.left: Final = threading.Semaphore(0)
        """Is released whenever the broker ends a connection."""

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
                self.ears.append(ear)
                for speaker, one, two in (("C", here, there), ("S", there, here)):
                    threading.Thread(target=self._carry, args=(ear, speaker, one, two), daemon=True).start()

    def ear(self) -> object:
        """Who hears the next connection; nobody."""

    def overhear(self, ear: object, speaker: str, octets: bytes) -> None:
        """A side said something, which the other one has not heard yet."""

    def say(self, octets: bytes) -> None:
        """Says that to the broker, as if the client of the last connection had."""
        self.overhear(self.ears[-1], "C", octets)
        self._sockets[-1].sendall(octets)

    def _carry(self, ear: object, speaker: str, one: socket.socket, two: socket.socket) -> None:
        with suppress(OSError):
            while octets := one.recv(65536):
                self.overhear(ear, speaker, octets)
                if speaker not in self.dead:
                    two.sendall(octets)
        if speaker == "S":
            self.left.release()
        with suppress(OSError):
            if speaker not in self.dead and two not in self._left:
                two.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        """Both ends of each connection are reset."""
        _reset(self._sockets)
        self.tell()

    def leave(self) -> None:
        """The client's end of each connection is reset, and the broker does not hear of it until `tell`."""
        clients = self._sockets[::2]
        self._left.extend(self._sockets[1::2])
        self._sockets.clear()
        _reset(clients)

    def tell(self) -> None:
        """The broker hears that the clients of `leave` are gone."""
        _reset(self._left)


def _reset(sockets: list[socket.socket]) -> None:
    for each in sockets:
        with suppress(OSError):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            each.shutdown(socket.SHUT_RDWR)
            each.close()
    sockets.clear()
