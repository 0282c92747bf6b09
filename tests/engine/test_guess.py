"""Which framing a stream is in that is heard from the middle."""

from __future__ import annotations

import pytest
from tests.families.made_up import LINES

from amqp_sansio.engine.guess import SMALL, Guess
from amqp_sansio.wire.framing import Framing
from amqp_sansio.wire.segments import SEGMENTATION, frame_control

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
            if told is None:
                guess.receive(stream[at : at + piece])
                told = guess.look(False)
            else:
                guess.receive(told.rest + stream[at : at + piece])
                told = told._replace(rest=b"")
        told = told or guess.look(True)
        assert (told and told[:2]) == found
        guess.receive(b"" if told is None else told.rest)
        assert guess.base + guess.size == 100 + len(stream)
        assert guess.passed == guess.base - 100
        assert stream.endswith(guess.take())


def test_the_first_one_wins() -> None:
    for framings in ((SEGMENTATION, LINES), (LINES, SEGMENTATION)):
        guess = Guess(framings)
        guess.receive(BEAT * 3 + LINE * 3)
        told = guess.look(False)
        assert told == (0, SEGMENTATION, BEAT[12:] + LINE * 3)
        assert guess.take() == BEAT * 2 + BEAT[:12]


def test_behind_a_gap_it_begins_anew() -> None:
    guess = Guess((SEGMENTATION, LINES))
    guess.receive(LINE * 2)
    assert guess.look(False) is None
    guess.lost(50)
    assert (guess.base, guess.passed, guess.size) == (2 * len(LINE) + 50, 2 * len(LINE), 0)
    guess.receive(LINE * 3)
    told = guess.look(False)
    assert told is not None
    assert told[:2] == (2 * len(LINE) + 50, LINES)


class Late(Framing):
    """Three frames in a row begin at an octet, which shows behind another one; before that it waits at the first octet."""

    def __init__(self, place: int, seen: int) -> None:
        super().__init__(8, 8, 8, 8)
        self.place, self.seen = place, seen

    def find(self, octets: bytes, start: int, ended: bool) -> tuple[int, int]:
        return (self.place, 0) if len(octets) >= self.seen else (0, self.seen)


@pytest.mark.parametrize("seen", [10, SMALL, SMALL + 1, 2 * SMALL + 300, 9 * SMALL])
def test_what_is_found_and_behind_which_octet_does_not_depend_on_the_pieces(seen: int) -> None:
    found = []
    stream = bytes(12 * SMALL)
    for piece in (1, 7, 1000, len(stream)):
        framing = Late(3, seen)
        guess, told, at = Guess((Waits(1_000_000), framing)), None, 0
        while told is None:
            guess.receive(stream[at : at + piece])
            at += piece
            told = guess.look(False)
        found.append((told.place, told.framing is framing, at - len(told.rest)))
    assert len(set(found)) == 1
    assert seen <= found[0][2] <= seen + seen // 8 if seen > SMALL else found[0][2] == seen


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
