"""Writes what two sides of TCP connections sent as a capture that every reader accepts."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
RAW_IP: Final = 101
"""The link type: packets begin with their IP header."""
MOST: Final = 60_000
"""The most octets in one packet."""
PORT: Final = 5672
"""The server's port in the capture, whatever it really was, so that every reader recognises the protocol."""


class PcapWriter:
    """A capture file.  `now` returns POSIX seconds."""

    def __init__(self, path: Path, now: Callable[[], float]) -> None:
        self._file: Final = path.open("wb")
        self._now: Final = now
        self._file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, RAW_IP))
        self._connections = 0

    def connection(self) -> Conversation:
        """Opens one more connection."""
        self._connections += 1
        return Conversation(self, self._connections)

    def packet(self, octets: bytes) -> None:
        """Writes one IP packet with the current time."""
        seconds, rest = divmod(int(self._now() * 1_000_000), 1_000_000)
        self._file.write(struct.pack("<IIII", seconds, rest, len(octets), len(octets)) + octets)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Conversation:
    """One TCP connection of a capture: from 127.0.0.1, port 40000 and up, to 127.0.0.1, port 5672."""

    def __init__(self, writer: PcapWriter, number: int) -> None:
        self._writer: Final = writer
        self._port: Final = 40_000 + number % 20_000
        self._said: Final = {True: 0, False: 0}
        self._add(True, SYN)
        self._add(False, SYN | ACK)
        self._add(True, ACK)

    def say(self, from_client: bool, octets: bytes) -> None:
        """Writes octets of one side."""
        for at in range(0, len(octets), MOST):
            self._add(from_client, ACK | PSH, octets[at : at + MOST])

    def close(self, from_client: bool = True, reset: bool = False) -> None:
        """Writes the end of the connection."""
        if reset:
            self._add(from_client, RST | ACK)
            return
        self._add(from_client, FIN | ACK)
        self._add(not from_client, FIN | ACK)
        self._add(from_client, ACK)

    def _add(self, from_client: bool, flags: int, octets: bytes = b"") -> None:
        ends = (self._port, PORT) if from_client else (PORT, self._port)
        said, heard = self._said[from_client], self._said[not from_client] if flags & ACK else 0
        tcp = struct.pack(">HHIIBBHHH", *ends, said & 0xFFFFFFFF, heard & 0xFFFFFFFF, 5 << 4, flags, 0xFFFF, 0, 0) + octets
        here = b"\x7f\0\0\1"
        self._writer.packet(struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + here + here + tcp)
        self._said[from_client] += len(octets) + bool(flags & (SYN | FIN))
