"""Commands cut into frames."""

from __future__ import annotations

from amqp_sansio.testing.speech.commands import frame
from amqp_sansio.testing.speech.expected_rule import blamed, nearly, spoken
from amqp_sansio.testing.speech.parts import PARTS

PART = PARTS["assembly: commands"]


def test_a_command_in_many_frames_is_whole() -> None:
    said = spoken(PART, ["client:command Bb", "client:command B", "client:command Be", "client:header be", "client:body Ebe"])
    assert blamed(said) is None


def test_a_frame_at_the_wrong_place() -> None:
    found = nearly(PART, ["client:command Bbe", "client:command BEbe"])
    assert found is not None
    assert found[0].breaks == found[1].rule


def test_flags() -> None:
    assert frame(1, "body", "Ee", b"x") == bytes.fromhex("05 03 000d 00 01 0001 00000000") + b"x"
