"""Real conversations to damage: from the captures that ship with the tests and, where present, those beside the checkout."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from amqp_sansio.captures.flows import Listener
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.events import Observation

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = (ROOT / "tests" / "data" / "captures", ROOT.parent / "shared" / "captures" / "0-10")
SMALL: Final = 100_000
"""Files above this many octets are left out: they repeat themselves."""

Said: TypeAlias = tuple[tuple[str, bytes], ...]
"""A conversation, or any input of the fuzzer: pieces of octets with who said them."""


class Recorder:
    """Stands where an observer would, and writes down what it hears."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, bytes]] = []

    def receive_data(self, speaker: str, data: bytes) -> None:
        """Octets of a speaker."""
        self.pieces.append((speaker, data))

    def receive_gap(self, speaker: str, octets: int) -> None:
        """A gap: not of interest here."""

    def receive_eof(self, speaker: str) -> None:
        """The end: not of interest here."""

    def next_event(self) -> tuple[str, int, int, Observation] | None:
        """Nothing is ever made of it."""
        return None


@cache
def files() -> tuple[Path, ...]:
    """The capture files, in order of name."""
    found = {path.name: path for folder in FOLDERS for path in sorted(folder.glob("*.pcap*"))}
    return tuple(path for _, path in sorted(found.items()) if path.stat().st_size < SMALL)


@cache
def conversations() -> tuple[Said, ...]:
    """Every conversation of every file."""
    recorders: list[Recorder] = []

    def make(_middle: bool) -> Recorder:
        recorders.append(Recorder())
        return recorders[-1]

    for path in files():
        listener = Listener(make, lambda talk, heard: None, lambda talk: None)
        for packet in read_packets(str(path), lambda text: None):
            listener.hear(packet)
        listener.finish()
    return tuple(tuple(recorder.pieces) for recorder in recorders if recorder.pieces)


def _frames(octets: bytes) -> Iterator[bytes]:
    at = 8 if octets.startswith(b"AMQP") else 0
    while at + 12 <= len(octets):
        size = int.from_bytes(octets[at + 2 : at + 4], "big")
        if size < 12 or at + size > len(octets):
            return
        yield octets[at : at + size]
        at += size


@cache
def frames(speaker: str) -> tuple[bytes, ...]:
    """All different frames that `speaker` ("client" or "server") ever said, up to 400 octets each."""
    seen: dict[bytes, None] = {}
    for said in conversations():
        stream = b"".join(octets for who, octets in said if who == speaker)
        for frame in _frames(stream):
            if len(frame) <= 400:
                seen[frame] = None
    return tuple(seen)
