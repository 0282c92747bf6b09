"""Which framing a stream is in that is heard from the middle."""

from __future__ import annotations

import pytest
from tests.families.made_up import LINES

from amqp_sansio.engine.guess import SMALL, Guess
from amqp_sansio.wire.framing import Framing
from amqp_sansio.wire.segmentation import SEGMENTATION
from amqp_sansio.wire.segments import frame_control

LINE = LINES.frame(1, 1, b"text", 100)
BEAT = frame_control(0, bytes.fromhex("010a0000"))


@pytest.mark.parametrize("piece", [1, 3, 1000])
@pytest.mark.parametrize(("octets", "framing"), [(LINE, LINES), (BEAT, SEGMENTATION)])
def test_three_frames_in_a_row_tell(piece: int, octets: bytes, framing: Framing) -> None:
    for count, found in ((3, (102, framing)), (2, None)):
        guess = Guess((SEGMENTATION, LINES))
        guess.begin(100)
        stream, told = b"\xff?" + octets * count, None
        for at in range(0, len(stream), piece):
            guess.receive(stream[at : at + piece])
            told = told or guess.look(False)
        told = told or guess.look(True)
        assert told == found
        assert guess.base + guess.size == 100 + len(stream)
        assert guess.passed == guess.base - 100
        assert stream.endswith(guess.take())


def test_the_first_one_wins() -> None:
    for framings in ((SEGMENTATION, LINES), (LINES, SEGMENTATION)):
        guess = Guess(framings)
        guess.receive(BEAT * 3 + LINE * 3)
        assert guess.look(False) == (0, SEGMENTATION)


def test_behind_a_gap_it_begins_anew() -> None:
    guess = Guess((SEGMENTATION, LINES))
    guess.receive(LINE * 2)
    assert guess.look(False) is None
    guess.lost(50)
    assert (guess.base, guess.passed, guess.size) == (2 * len(LINE) + 50, 2 * len(LINE), 0)
    guess.receive(LINE * 3)
    assert guess.look(False) == (2 * len(LINE) + 50, LINES)


class Waits(Framing):
    """Waits for so many octets at the first one, or for one more at the end; it counts those that it is given."""

    def __init__(self, needed: int) -> None:
        super().__init__(8, 8, 8, 8)
        self.needed = needed
        self.given = 0

    def find(self, octets: bytes, start: int, ended: bool) -> tuple[int, int]:
        self.given += len(octets)
        return (0, self.needed) if self.needed else (len(octets), 1)


def test_one_that_waits_does_not_make_the_other_look_again_at_every_octet() -> None:
    costs = []
    for size in (8 * SMALL, 16 * SMALL):
        patient, hasty = Waits(1_000_000), Waits(0)
        guess = Guess((patient, hasty))
        for _ in range(0, size, 64):
            guess.receive(bytes(64))
            guess.look(False)
        costs.append(patient.given)
    assert costs[1] < 2.5 * costs[0]
