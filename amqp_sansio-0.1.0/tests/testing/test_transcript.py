"""The record of who said what."""

from __future__ import annotations

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.spec.connection import Secure, StartOk
from amqp_sansio.spec.message import Transfer
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
