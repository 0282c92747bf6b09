"""Tests of amqp_sansio.wire.method_framing; what every framing does is in test_framing."""

from __future__ import annotations

import pytest

from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.framing import Assembly, Malformed
from amqp_sansio.wire.method_framing import METHODS, METHODS_AND_TRACES


def test_a_control_without_octets_is_a_heartbeat() -> None:
    frame = METHODS.own(b"", 4096)
    assert frame == bytes.fromhex("08 0000 00000000 ce")
    reader = METHODS.reader(DEFAULT_LIMITS, 4096, strict=True, carries=lambda *_: False, offset=0, opening=True)
    reader.receive(frame)
    unit = reader.next()
    assert isinstance(unit, Assembly)
    assert METHODS.is_own(unit)
    assert unit.payload == b""
    with pytest.raises(EncodeError):
        METHODS.own(b"", 7)


@pytest.mark.parametrize("kind", [4, 5, 6, 7])
def test_framings_that_list_them_read_frames_out_of_band_and_traces(kind: int) -> None:
    frame = bytes([kind]) + bytes.fromhex("0001 00000002 6869 ce")
    for framing, known in ((METHODS, False), (METHODS_AND_TRACES, True)):
        reader = framing.overhearing(DEFAULT_LIMITS, lambda *_: False, 0)
        reader.receive(frame)
        unit = reader.next()
        if known:
            assert isinstance(unit, Assembly)
            assert (unit.kind, unit.channel, unit.payload) == (kind, 1, b"hi")
        else:
            assert isinstance(unit, Malformed)
            assert (unit.rule, unit.code, unit.fatal) == ("frame.type", 501, False)


def test_class_connection_is_the_connections_own_on_any_channel() -> None:
    """Where channels begin at 1 the connection refuses it there."""
    reader = METHODS.overhearing(DEFAULT_LIMITS, lambda *_: False, 0)
    reader.receive(bytes.fromhex("01 0001 00000004 000a0033 ce"))
    unit = reader.next()
    assert isinstance(unit, Assembly)
    assert METHODS.is_own(unit)
