"""Generates random frames with plausible headers, so that the code after the header check is reached."""

from __future__ import annotations

import random
from typing import Final

# How many codes each class has; one more is drawn, so that unknown ones occur.
CLASSES: Final = {1: 12, 2: 13, 3: 3, 4: 11, 5: 3, 6: 11, 7: 6, 8: 4, 9: 9, 10: 8, 119: 1}
COMMAND_CLASSES: Final = (3, 3, 4, 4, 4, 5, 6, 7, 8, 9, 10, 119)


def frame(dice: random.Random, flags: int, kind: int, track: int, channel: int, payload: bytes) -> bytes:
    """Returns one frame; one in thirty has a fault in its header."""
    header = bytearray(12)
    header[0] = flags
    header[1] = kind
    header[2:4] = (12 + len(payload)).to_bytes(2, "big")
    header[5] = track
    header[6:8] = channel.to_bytes(2, "big")
    if dice.randrange(30) == 0:
        header[dice.randrange(12)] ^= 1 << dice.randrange(8)
    return bytes(header) + payload


def _fields(dice: random.Random) -> bytes:
    """Returns octets that are likely to be decoded as fields: short strings, counts, maps, sets."""
    parts = []
    for _ in range(dice.randrange(5)):
        shape = dice.randrange(8)
        if shape == 0:
            parts.append(dice.randbytes(dice.randrange(5)))
        elif shape == 1:
            text = dice.choice((b"", b"q", b"amq.direct", b"d", b"\xff\xfe"))
            parts.append(bytes([len(text)]) + text)
        elif shape == 2:
            text = dice.choice((b"", b"s", b"name", b"\x00\x01"))
            parts.append(len(text).to_bytes(2, "big") + text)
        elif shape == 3:
            low = dice.choice((0, 1, 2, 5, 2**31 - 1, 2**31, 2**32 - 1))
            high = (low + dice.choice((0, 0, 1, 7, 2**31 - 1, 2**31))) % 2**32
            ranges = dice.randrange(3)
            parts.append((ranges * 8).to_bytes(2, "big") + (low.to_bytes(4, "big") + high.to_bytes(4, "big")) * ranges)
        elif shape == 4:
            entry = b"\x01k" + bytes([dice.randrange(256)]) + dice.randbytes(dice.randrange(9))
            body = (1).to_bytes(4, "big") + entry
            parts.append((len(body)).to_bytes(4, "big") + body)
        elif shape == 5:
            parts.append(dice.choice((0, 1, 2**31, 2**32 - 1)).to_bytes(4, "big"))
        elif shape == 6:
            parts.append(bytes([dice.randrange(4)]))
        else:
            parts.append(dice.choice((0, 1, 65535)).to_bytes(2, "big"))
    return b"".join(parts)


def _flags(dice: random.Random) -> bytes:
    return dice.choice((b"\x00\x00", b"\x01\x00", b"\x03\x00", b"\x07\x00", dice.randbytes(2)))


def control(dice: random.Random) -> bytes:
    """Returns the payload of a control, mostly a known one."""
    kind = dice.choice((1, 2, 2, 2))
    return bytes([kind, dice.randint(0, CLASSES[kind] + 1)]) + _flags(dice) + _fields(dice)


def command(dice: random.Random) -> bytes:
    """Returns the payload of a command, mostly a known one."""
    kind = dice.choice(COMMAND_CLASSES)
    head = b"\x01" + bytes([dice.randrange(2)]) if dice.randrange(20) else dice.randbytes(2)
    return bytes([kind, dice.randint(0, CLASSES[kind] + 1)]) + head + _flags(dice) + _fields(dice)


def header(dice: random.Random) -> bytes:
    """Returns a header segment: a few structs with mostly correct sizes."""
    parts = []
    for _ in range(dice.randrange(4)):
        inner = dice.choice((b"\x04\x01", b"\x04\x02", b"\x04\x03", dice.randbytes(2))) + _flags(dice) + _fields(dice)
        size = len(inner) + (dice.randint(-2, 2) if dice.randrange(8) == 0 else 0)
        parts.append(max(size, 0).to_bytes(4, "big") + inner)
    return b"".join(parts)


def assembly(dice: random.Random, channel: int) -> bytes:
    """Returns a control, or a command with or without header and body; now and then a frame is misplaced."""
    if dice.randrange(2):
        return frame(dice, 0x0F, 0, 0, channel, control(dice))
    payloads = [(1, command(dice))]
    if dice.randrange(2):
        payloads.append((2, header(dice)))
    if dice.randrange(2):
        body = dice.randbytes(dice.randrange(20))
        payloads += [(3, body)] if dice.randrange(3) else [(3, body[:5]), (3, body[5:])]
    frames = []
    for number, (kind, payload) in enumerate(payloads):
        first_frame = number == 0 or payloads[number - 1][0] != kind
        last_frame = number == len(payloads) - 1 or payloads[number + 1][0] != kind
        flags = (8 if number == 0 else 0) | (2 if first_frame else 0) | (1 if last_frame else 0)
        flags |= 4 if kind == payloads[-1][0] else 0
        frames.append(frame(dice, flags, kind, 1, channel, payload))
    if dice.randrange(12) == 0:
        dice.shuffle(frames)
    if dice.randrange(12) == 0:
        frames.pop(dice.randrange(len(frames)))
    return b"".join(frames)


def conversation(dice: random.Random, channel: int) -> bytes:
    """Returns one to six assemblies, mostly on `channel`."""
    return b"".join(
        assembly(dice, channel if dice.randrange(8) else dice.choice((0, 1, 2, 7, 65535))) for _ in range(dice.randint(1, 6))
    )
