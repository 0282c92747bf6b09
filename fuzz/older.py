"""The family of 0-8, 0-9 and 0-9-1: its inputs and targets."""

from __future__ import annotations

import random
from functools import cache
from typing import Final

from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9_1, READABLE, ChannelDialect
from amqp_sansio.engine.observer import Observer
from amqp_sansio.errors import DecodeError
from amqp_sansio.testing.speech.channel_parts import EDITIONS, ChannelVoice
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.layouts.profiles import PROFILES
from amqp_sansio.wire.method_frames import put_frame
from fuzz import corpus
from fuzz.corpus import Said
from fuzz.mutate import mutated
from fuzz.subjects import LIMITS, overheard, read

DIALECTS: Final[tuple[ChannelDialect, ...]] = tuple([edition.dialect for edition in EDITIONS])
TABLES: Final = tuple(PROFILES.values())
READING: Final = Reading.of(LIMITS)
SIDES: Final = {"C": "client", "S": "server"}
TABLE: Final = 2
"""Of the decoder's kinds (a method, a content header, a table), the table."""


# --- inputs ---------------------------------------------------------------------------------------------------------------


@cache
def recorded() -> tuple[Said, ...]:
    """Returns the conversations of the recordings beside the checkout, if there are any."""
    folders = [parent / "shared" / "captures" / name for parent in corpus.ROOT.parents for name in ("0-8", "0-9", "0-9-1")]
    paths = [path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.pcap"))]
    heard = [each for path in paths if path.stat().st_size <= corpus.SMALL for each in corpus.listen(path)]
    return tuple([said for each in heard if (said := each.said())])


def spoken(dice: random.Random) -> list[tuple[str, bytes]]:
    """Returns a connection of one dialect up to its use, a channel, and words whose arguments mostly fit together."""
    dialect = dice.choice(DIALECTS)
    voice = ChannelVoice(dialect, publishes=bool(dice.randrange(2)))
    said = voice.opening("client:channel.open", "server:channel.open-ok")
    verbs = sorted({kind.VERB for kind in dialect.codec.kinds.values()})
    others = ("empty header", "header", "last body", "work", "method with content")
    for _ in range(dice.randint(1, 10)):
        word = dice.choice(verbs) if dice.randrange(5) else dice.choice(others)
        said += voice.say(f"{dice.choice(('client', 'server'))}:{word}")
    first = 0 if dice.randrange(4) else dice.randrange(len(said))
    return [(SIDES[each.side], each.octets) for each in said[first:]]


def conversation(dice: random.Random) -> Said:
    """Returns generated words or a piece of a recording, with up to two of its pieces damaged."""
    if recorded() and dice.randrange(2):
        whole = dice.choice(recorded())
        first = 0 if dice.randrange(4) else dice.randrange(len(whole))
        pieces = [(who, octets[:600]) for who, octets in whole[first : first + dice.randint(2, 24)]]
    else:
        pieces = spoken(dice)
    for _ in range(dice.randrange(3)):
        at = dice.randrange(len(pieces))
        who, octets = pieces[at]
        pieces[at] = (who, mutated(dice, octets))
    if dice.randrange(4) == 0:
        at = dice.randrange(len(pieces) + 1)
        kind, channel = dice.choice((1, 1, 2, 3, 4, 7, 8, 9)), dice.choice((0, 1, 1, 2, 65535))
        pieces.insert(at, (dice.choice(("client", "server")), put_frame(kind, channel, dice.randbytes(dice.randrange(24)))))
    return tuple(pieces)


def stream(dice: random.Random) -> Said:
    """Returns what one side says in a conversation."""
    said = conversation(dice)
    who = dice.choice(("client", "server"))
    return ((who, b"".join([octets for speaker, octets in said if speaker == who])),)


def payload(dice: random.Random) -> Said:
    """Returns an input of the decoder: the dialect, the kind, and the octets."""
    dialect = dice.randrange(len(DIALECTS))
    kind = dice.randrange(3)
    if kind == TABLE:
        octets = _table(dice, 0)
    else:
        said = [octets for _, octets in spoken(dice) if octets[0] == kind + 1] or [put_frame(1, 1, bytes(4))]
        octets = dice.choice(said)[7:-1]
    return (("client", bytes([dialect << 2 | kind]) + mutated(dice, octets)),)


def _table(dice: random.Random, depth: int) -> bytes:
    """Returns a table with any letters and values of roughly the right size."""
    entries = b""
    for _ in range(dice.randrange(4)):
        name = dice.randbytes(dice.randrange(4))
        letter = dice.choice(b"tbBsuUIilLfdDSxATFVZ")
        if letter in b"AF" and depth < 6:
            value = _table(dice, depth + 1)
        elif letter in b"Sx":
            value = dice.randbytes(dice.randrange(5))
            value = len(value).to_bytes(4, "big") + value
        else:
            value = dice.randbytes(dice.choice((0, 1, 1, 2, 4, 5, 8)))
        entries += bytes([len(name)]) + name + bytes([letter]) + value
    return len(entries).to_bytes(4, "big") + entries


# --- targets --------------------------------------------------------------------------------------------------------------


def reader(said: Said) -> list[str]:
    """Fuzzes the readers of both framings, as a connection and as an observer has them."""
    out: list[str] = []
    for dialect in (AMQP_0_9_1, AMQP_0_8_UNBIND):
        carries = dialect.codec.carries
        for subject in (
            dialect.framing.reader(LIMITS, 4096, strict=False, carries=carries, offset=0, opening=False),
            dialect.framing.overhearing(LIMITS, carries, 0),
        ):
            out += read(subject, said)
    return out


def decoder(said: Said) -> list[str]:
    """Decodes them as the kind of the first octet.  A decoded value must encode to the same octets or an equal value."""
    octets = b"".join([octets for _, octets in said])
    if not octets:
        return []
    codec, kind, octets = DIALECTS[(octets[0] >> 2) % len(DIALECTS)].codec, octets[0] & 3, octets[1:]
    out: list[str] = []
    try:
        if kind == TABLE:
            for profile in TABLES:
                table, end = profile.read(octets, 0, len(octets), READING)
                assert profile.write(table) == octets[:end], f"{table!r} is written in other octets"
                out.append(repr(table))
        elif kind:
            properties = codec.read_properties(octets, READING) if len(octets) >= 14 else None
            if properties is not None:
                again = codec.write_header(int.from_bytes(octets[:2], "big"), 0, properties)
                assert codec.read_properties(again, READING) == properties
                out.append(repr(properties))
        else:
            word = codec.read(octets, READING)
            assert codec.read(codec.encode(word), READING) == word
            out.append(repr(word))
    except DecodeError as error:
        out.append(f"{type(error).__name__} {error}")
    return out


def observer(said: Said) -> list[str]:
    """Fuzzes an observer of all readable dialects."""
    return overheard(Observer(limits=LIMITS, dialects=READABLE), said)
