"""How octets are read follows the limits of the same names."""

from __future__ import annotations

import attrs
import pytest
from tests.families.made_up import TEXTS

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.errors import DecodeError
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import connection
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.message import Transfer
from amqp_sansio.wire.codec import DEFAULT_READING, Codec, Reading
from amqp_sansio.wire.framing import COMMAND, CONTROL, Assembly


def test_the_default_is_that_of_the_default_limits() -> None:
    assert Reading.of(DEFAULT_LIMITS) == DEFAULT_READING


@pytest.mark.parametrize("name", ["nesting", "zero_width_elements", "ranges"])
def test_a_limit_is_taken_over(name: str) -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, **{name: 7})
    assert getattr(Reading.of(limits), name) == 7


def test_text_that_is_not_utf_8_is_an_error_by_default() -> None:
    assert Reading.of(Limits()).text == "strict"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", Reading().text)


CODECS: tuple[Codec, ...] = (AMQP_0_10.codec, TEXTS)
CONTROLS: tuple[Control, ...] = (
    connection.Start(None, ("PLAIN", "ANONYMOUS"), ("en_US",)),
    connection.StartOk(None, "PLAIN", b"\x00a\xff", "en_US"),
    connection.Secure(b"x"),
    connection.SecureOk(b""),
    connection.Tune(1, 4096, 0, 9),
    connection.TuneOk(1, 4096, 3),
    connection.Open("/", None, True),
    connection.OpenOk(("a", "b")),
    connection.Heartbeat(),
    connection.Close(320, "why"),
    connection.CloseOk(),
)


def unit(payload: bytes, kind: int = CONTROL) -> Assembly:
    """A whole unit on channel 1."""
    return Assembly(1, 0, kind, payload, None, None, 0, len(payload))


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.VERB)
def test_every_codec_has_the_words_of_class_connection(codec: Codec, control: Control) -> None:
    assert codec.read_control(unit(codec.write_control(control)), DEFAULT_READING) == control


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_a_control_that_cannot_be_read_is_a_decode_error(codec: Codec) -> None:
    with pytest.raises(DecodeError):
        codec.read_control(unit(b"\xff\xff\xff"), DEFAULT_READING)


def test_a_codec_says_what_a_unit_says() -> None:
    layout = AMQP_0_10.codec
    assert layout.verb_in(unit(layout.encode_command(Sync(), False), COMMAND)) == "execution.sync"
    assert layout.verb_in(unit(layout.encode_control(connection.CloseOk()))) == "connection.close-ok"
    assert layout.verb_in(unit(b"\x01")) == "an empty control"
    assert layout.verb_in(unit(b"", COMMAND)) == "an empty command"


def test_a_codec_says_behind_what_a_content_may_come() -> None:
    layout = AMQP_0_10.codec
    assert layout.carries(*layout.codes_of(Transfer))
    assert not layout.carries(*layout.codes_of(Sync))
