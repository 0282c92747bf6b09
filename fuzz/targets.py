"""The targets of the fuzzer, and the one invariant.

Whatever octets arrive, only events come out: no exception, no endless loop, memory within the limits; and the same octets
whole, in 7s or one at a time give the same events and the same output.
"""

from __future__ import annotations

import random
import signal
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final, NamedTuple

from fuzz import corpus, frames, older, words
from fuzz.brokers import broker
from fuzz.corpus import Said
from fuzz.decoding import decoder
from fuzz.mutate import mutated
from fuzz.subjects import capture, client, fresh_client, fresh_server, observer, reader, server, tolerant_reader

SECONDS: Final = 20
"""An input that takes longer counts as an endless loop."""
MEASURED: Final = 256
"""Memory is measured once per this number of inputs (measuring is slow)."""
OCTETS_ALLOWED: Final = 3_000_000
"""The most memory that one input of a few thousand octets may take."""


class Target(NamedTuple):
    """A generator of inputs, and a consumer: `feed` returns everything that came out, in comparable form."""

    draw: Callable[[random.Random], Said]
    feed: Callable[[Said], list[str]]


class Hung(Exception):
    """The input took too long."""


# --- inputs ---------------------------------------------------------------------------------------------------------------


def _captured(dice: random.Random, speaker: str) -> bytes:
    """Returns a few frames that the speaker once sent, adjacent or from different places, on a channel in use."""
    said = corpus.frames(speaker)
    if dice.randrange(2):
        at = dice.randrange(len(said))
        chosen = list(said[at : at + dice.randint(1, 5)])
    else:
        chosen = [dice.choice(said) for _ in range(dice.randint(1, 5))]
    if dice.randrange(8):
        chosen = [frame[:6] + b"\x00\x01" + frame[8:] if frame[5] or frame[12:13] == b"\x02" else frame for frame in chosen]
    return mutated(dice, b"".join(chosen))


def _stream(dice: random.Random, speaker: str) -> Said:
    shape = dice.randrange(10)
    if shape < 3:
        return ((speaker, _captured(dice, speaker)),)
    said = words.conversation(dice, speaker)
    if shape < 5:  # random frames after words that keep the conversation going
        said[-1] = frames.conversation(dice, 1)
    elif shape < 8:  # one damaged word after intact ones
        at = dice.randrange(len(said))
        said[at] = mutated(dice, said[at])
    return ((speaker, b"".join(said)),)


def _from_server(dice: random.Random) -> Said:
    return _stream(dice, "server")


def _from_client(dice: random.Random) -> Said:
    return _stream(dice, "client")


def _from_either(dice: random.Random) -> Said:
    return _stream(dice, dice.choice(("client", "server")))


def _beginning(speaker: str) -> Callable[[random.Random], Said]:
    def draw(dice: random.Random) -> Said:
        said = dice.choice(corpus.conversations())
        octets = b"".join(octets for who, octets in said if who == speaker)
        return ((speaker, mutated(dice, octets[: dice.choice((8, 60, 200, 500))])),)

    return draw


def _conversation(dice: random.Random) -> Said:
    """Returns a piece of a conversation, from its beginning or middle, with one or two of its pieces damaged."""
    said = dice.choice(corpus.conversations())
    first = 0 if dice.randrange(4) else dice.randrange(len(said))
    pieces = [(speaker, octets[:600]) for speaker, octets in said[first : first + dice.randint(2, 12)]]
    for _ in range(dice.randrange(3)):
        at = dice.randrange(len(pieces))
        speaker, octets = pieces[at]
        pieces[at] = (speaker, mutated(dice, octets))
    if dice.randrange(4) == 0:
        speaker = dice.choice(("client", "server"))
        made = words.conversation(dice, speaker) if dice.randrange(2) else [frames.conversation(dice, dice.randrange(3))]
        pieces.append((speaker, b"".join(made)))
    return tuple(pieces)


def _file(dice: random.Random) -> Said:
    octets = dice.choice(corpus.files()).read_bytes()[: dice.choice((30, 300, 1500, 4000))]
    return (("file", mutated(dice, octets)),)


def _payload(dice: random.Random) -> Said:
    kind = dice.randrange(4)
    make = (frames.control, frames.command, frames.header, frames.header)[kind]
    return (("client", bytes([kind | dice.randrange(8) // 7 * 4]) + make(dice)),)


def _two_clients(dice: random.Random) -> Said:
    pieces: list[tuple[str, bytes]] = []
    for _ in range(dice.randint(1, 4)):
        ((_, octets),) = _stream(dice, "client")
        pieces.append((dice.choice(("client", "server")), octets))
    return tuple(pieces)


TARGETS: Final[dict[str, Target]] = {
    "decoder": Target(_payload, decoder),
    "broker": Target(_two_clients, broker),
    "reader": Target(_from_either, reader),
    "tolerant_reader": Target(_from_either, tolerant_reader),
    "observer": Target(_conversation, observer),
    "client": Target(_from_server, client),
    "server": Target(_from_client, server),
    "fresh_client": Target(_beginning("server"), fresh_client),
    "fresh_server": Target(_beginning("client"), fresh_server),
    "capture": Target(_file, capture),
    "older_reader": Target(older.stream, older.reader),
    "older_decoder": Target(older.payload, older.decoder),
    "older_observer": Target(older.conversation, older.observer),
}


def draw(name: str, seed: int, number: int) -> Said:
    """Returns the input of this seed and number."""
    return TARGETS[name].draw(random.Random(f"{seed}:{number}"))


# --- the invariant --------------------------------------------------------------------------------------------------------


def cut(said: Said, size: int) -> Said:
    """Returns the same octets in pieces of at most `size`."""
    return tuple((speaker, octets[at : at + size]) for speaker, octets in said for at in range(0, len(octets), size))


def _ways(name: str, said: Said) -> Iterator[tuple[str, Said]]:
    yield "whole", said
    if name == "capture":
        return
    if sum(len(octets) for _, octets in said) % 3:
        yield "octet by octet", cut(said, 1)
    else:
        yield "in 7s", cut(said, 7)


def breaks(name: str, said: Said) -> str:
    """Returns how this input fails when fed whole, without a timeout; "" when it does not."""
    try:
        TARGETS[name].feed(said)
    except Exception:
        return traceback.format_exc()
    return ""


def _alarm(_number: int, _frame: FrameType | None) -> None:
    raise Hung(f"still busy after {SECONDS} s")


def breach(name: str, said: Said, measured: bool = False) -> str:
    """Returns how the invariant fails for this input; "" when it holds."""
    feed = TARGETS[name].feed
    before = signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(SECONDS)
    if measured:
        tracemalloc.start()
    first: list[str] | None = None
    way = ""
    try:
        for way, pieces in _ways(name, said):
            out = feed(pieces)
            if first is None:
                first = out
            elif out != first:
                return f"fed {way}, something else comes out than fed whole:\n{_difference(first, out)}"
        if measured and tracemalloc.get_traced_memory()[1] > OCTETS_ALLOWED:
            return f"{tracemalloc.get_traced_memory()[1]} octets of memory at the peak"
    except Exception:
        return f"fed {way}: {traceback.format_exc()}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        if measured:
            tracemalloc.stop()
    return ""


def _difference(first: list[str], second: list[str]) -> str:
    for at, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return f"at {at}: {a}\n   not: {b}"
    longer = first if len(first) > len(second) else second
    return f"{len(first)} things and {len(second)}: {longer[min(len(first), len(second))]}"
