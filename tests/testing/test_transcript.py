"""The record of who said what."""

from __future__ import annotations

import pytest

from amqp_sansio.dialects import AMQP_0_8, AMQP_0_9, AMQP_0_9_1, AMQP_0_10, ChannelDialect
from amqp_sansio.spec.connection import Secure, StartOk, UpdateSecret
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.methods import basic
from amqp_sansio.testing.transcript import Transcript
from amqp_sansio.wire.segments import frame_command, frame_control

LAYOUT = AMQP_0_10.codec


def test_a_word_is_written_down_once_it_is_whole() -> None:
    transcript = Transcript()
    transcript.begin(0, 1)
    octets = AMQP_0_10.header + frame_control(0, LAYOUT.encode_control(StartOk({}, "PLAIN", b"\0ann\0hush", "en_US")))
    for octet in octets:
        transcript.hear(3, "client", bytes([octet]))
    assert transcript.lines == [
        "    0 --- connection 1 ---",
        "    3 client: protocol header AMQP 0-10",
        "    3 client: [0] connection.start-ok(client_properties=Map({}), mechanism='PLAIN', response=<9 octets>, "
        "locale='en_US')",
    ]


def test_commands_tell_what_they_carry() -> None:
    transcript = Transcript()
    transcript.begin(0, 1)
    payload = LAYOUT.encode_command(Transfer("x", 1, 0), True)
    transcript.hear(1, "server", AMQP_0_10.header + b"".join(frame_command(4, payload, b"", b"hello", 65535)))
    assert transcript.lines[-1] == (
        "    1 server: [4] message.transfer(destination='x', accept_mode=1, acquire_mode=0) sync"
        ", header of 0 octets, body of 5 octets"
    )


def test_what_cannot_be_read_is_written_down_as_such() -> None:
    transcript = Transcript()
    transcript.begin(0, 1)
    transcript.hear(1, "client", AMQP_0_10.header + b"\x0f\x00\x00\x10" + bytes(8) + b"\x01\x63\x00\x00")
    transcript.hear(2, "client", b"\x0f\x00\x00\x0d" + bytes(8) + b"\x01")
    transcript.hear(3, "client", b"\x0f\x00\x00\x05" + bytes(8))
    assert "connection.99 that cannot be read" in transcript.lines[2]
    assert "an empty control that cannot be read" in transcript.lines[3]
    assert "a frame of 5 octets" in transcript.lines[4]
    transcript.note(9, "nobody said this")
    assert str(transcript).endswith("    9 nobody said this")


def test_a_challenge_shows_as_its_length() -> None:
    transcript = Transcript()
    transcript.begin(0, 1)
    transcript.hear(1, "server", AMQP_0_10.header + frame_control(0, LAYOUT.encode_control(Secure(b"hush"))))
    assert transcript.lines[-1].endswith("connection.secure(challenge=<4 octets>)")


@pytest.mark.parametrize("dialect", [AMQP_0_8, AMQP_0_9, AMQP_0_9_1], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("size", [1, 1000])
def test_the_header_of_the_client_tells_the_family(dialect: ChannelDialect, size: int) -> None:
    """Nobody named the dialect, and the server says no header."""
    transcript = Transcript()
    transcript.begin(0, 1)
    codec = dialect.codec
    publish = codec.encode(basic.Publish("x", "k"))
    said = (
        ("client", dialect.header),
        ("client", framed(5, publish) + framed(5, codec.write_header(60, 5, basic.Properties()), 2) + framed(5, b"hello", 3)),
        ("server", framed(5, codec.encode(basic.Ack(7, True))) + framed(0, b"")),
    )
    for speaker, octets in said:
        for at in range(0, len(octets), size):
            transcript.hear(1, speaker, octets[at : at + size])
    ticket = "" if dialect is AMQP_0_9_1 else ", ticket=0"
    assert transcript.lines[1:] == [
        f"    1 client: protocol header AMQP {dialect.name}",
        f"    1 client: [5] basic.publish(exchange='x', routing_key='k'{ticket}), header of 14 octets, body of 5 octets",
        "    1 server: [5] basic.ack(delivery_tag=7, multiple=True)",
        "    1 server: [0] connection.heartbeat()",
    ]


def test_what_cannot_be_read_of_a_channel_is_written_down_as_such() -> None:
    transcript = Transcript()
    transcript.begin(0, 1)
    transcript.hear(1, "client", AMQP_0_9_1.header)
    transcript.hear(2, "server", b"AMQP\0\0\x09\1")  # a refusal
    transcript.hear(3, "client", framed(0, AMQP_0_9_1.codec.write_control(UpdateSecret(b"hush", "old"))))
    transcript.hear(4, "client", framed(1, b"\0\x3c\0\x63") + b"\x09" + bytes(7))
    assert transcript.lines[2:4] == [
        "    2 server: protocol header AMQP 0-9-1",
        "    3 client: [0] connection.update-secret(new_secret=<4 octets>, reason='old')",
    ]
    assert "[1] basic.99 that cannot be read" in transcript.lines[4]
    assert "frame" in transcript.lines[5]


def framed(channel: int, payload: bytes, kind: int = 1) -> bytes:
    """A frame; a method without octets is a heartbeat."""
    kind = kind if payload else 8
    return bytes([kind]) + channel.to_bytes(2, "big") + len(payload).to_bytes(4, "big") + payload + b"\xce"
