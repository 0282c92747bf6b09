"""A loopback proxy that records what passes through it, without the privileges of a capture on a network interface.

with Recording(port, path) as recording: talk to recording.port instead
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tools.interop.pcap import Conversation, PcapWriter

LINGER_NOT: Final = struct.pack("ii", 1, 0)
"""For SO_LINGER: close with a reset, and discard unsent octets."""
OCTETS: Final = 65536


class Recording:
    """Forwards connections to a loopback port; without a path it records nothing."""

    def __init__(self, target: int, path: Path | None = None) -> None:
        self._target: Final = target
        self._lock: Final = threading.Lock()
        self._writer: Final = None if path is None else PcapWriter(path, time.time)
        self._listener: Final = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.port: Final = int(self._listener.getsockname()[1])
        self._open: Final[set[socket.socket]] = set()
        self._threads: Final[list[threading.Thread]] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(20)
        if self._writer is not None:
            self._writer.close()

    def cut(self) -> None:
        """Resets every connection in both directions."""
        with self._lock:
            sockets = list(self._open)
        for each in sockets:
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open.update((client, server))
                talk = None if self._writer is None else self._writer.connection()
            ways = [True, False]
            self._start(self._carry, client, server, talk, True, ways)
            self._start(self._carry, server, client, talk, False, ways)

    def _carry(
        self, source: socket.socket, sink: socket.socket, talk: Conversation | None, from_client: bool, ways: list[bool]
    ) -> None:
        with suppress(OSError):
            while octets := source.recv(OCTETS):
                if talk is not None:
                    with self._lock:
                        talk.say(from_client, octets)
                sink.sendall(octets)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
        with self._lock:
            ways.remove(from_client)
            if ways:
                return
            self._open.difference_update((source, sink))
            if talk is not None:
                talk.close(from_client)
        source.close()
        sink.close()

    def _start(self, target: object, *arguments: object) -> None:
        assert callable(target)
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()
