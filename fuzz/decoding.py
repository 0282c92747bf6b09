"""Fuzzes the decoders alone: octets as a control, a command, a header or a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from amqp_sansio.dialects import AMQP_0_10, AMQP_0_10_FINAL
from amqp_sansio.errors import DecodeError, EncodeError, HeaderError
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.layouts.layout import Layout
from fuzz.corpus import Said
from fuzz.subjects import LIMITS

LAYOUTS: Final = (AMQP_0_10.codec, AMQP_0_10_FINAL.codec)
READING: Final = Reading.of(LIMITS)
Decoded: TypeAlias = tuple[object, bytes]


def _control(layout: Layout, b: bytes) -> Decoded:
    made = layout.decode_control(b, 0, len(b), READING)
    return made, layout.encode_control(made)


def _command(layout: Layout, b: bytes) -> Decoded:
    made, sync = layout.decode_command(b, 0, len(b), READING)
    return (made, sync), layout.encode_command(made, sync)


def _struct(layout: Layout, b: bytes) -> Decoded:
    made = layout.decode_struct32(b, 0, len(b), READING)
    return made, layout.encode_struct32(made)


def _headers(layout: Layout, b: bytes) -> Decoded:
    layout.walk_headers(b, 0, len(b), LIMITS)
    made = layout.decode_headers(b, 0, len(b), READING)
    return made, b"".join([layout.encode_struct32(each) for each in made])


KINDS: Final[tuple[Callable[[Layout, bytes], Decoded], ...]] = (_control, _command, _struct, _headers)


def decoder(said: Said) -> list[str]:
    """Decodes them as each kind, by the two lowest bits of the first octet; the third bit chooses the layout.

    A decoded value is encoded and decoded again, and must be equal.  An exception is the stand-alone xid, which came with the
    errata: the layout of the first edition decodes it, but never encodes it.
    """
    octets = b"".join([octets for _, octets in said])
    if not octets:
        return []
    layout, kind = LAYOUTS[octets[0] >> 2 & 1], KINDS[octets[0] & 3]
    try:
        made, again = kind(layout, octets[1:])
    except (DecodeError, HeaderError) as error:
        return [f"{type(error).__name__} {error}"]
    except EncodeError as error:
        if layout is AMQP_0_10_FINAL.codec and error.what == "Xid":
            return [f"{type(error).__name__} {error}"]
        raise
    if repr(kind(layout, again)[0]) != repr(made):
        raise AssertionError(f"{made!r} is encoded as {again.hex()}, which is {kind(layout, again)[0]!r}")
    return [repr(made)]
