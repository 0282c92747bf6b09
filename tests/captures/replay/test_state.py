from __future__ import annotations

import pytest
from tests.kept.scene import DATA, OPTIONS

from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.flows import Piece
from amqp_sansio.captures.replay.recorder import SessionHistory
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.captures.replay.state import VERSION, read, write
from amqp_sansio.engine.observer import Observer
from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.serials import MutableRangeSet


def test_a_state_holds_what_it_may_and_what_is_given_is_left_out() -> None:
    rows = Rows()
    ids = MutableRangeSet()
    ids.add(3)
    piece = Piece(1, 2, b"x", 3, 4, 5)
    back = read(write([rows, {"ids": ids}, piece, (1, None)], {"rows": rows}), {"rows": rows})
    assert isinstance(back, list)
    assert back[0] is rows
    assert 3 in back[1]["ids"]
    assert back[2] == piece
    assert type(back[2]) is Piece


def test_an_observer_goes_on() -> None:
    back = read(write(Observer(strict=True), {}), {})
    assert isinstance(back, Observer)
    assert back.strict


def test_other_versions_and_other_octets_are_refused() -> None:
    octets = write((1,), {})
    for bad in (b"", bytes([VERSION + 1]) + octets[1:], octets[:-1], octets + b"\0", bytes([VERSION]) + b"garbage"):
        with pytest.raises(DecodeError):
            read(bad, {})


def test_nothing_else_is_written() -> None:
    with pytest.raises(TypeError):
        write(OSError(), {})


def test_in_the_version_before_a_recorder_kept_what_its_history_keeps() -> None:
    octets = (DATA / "kept" / "before-families" / "replay.bin").read_bytes()
    assert octets[0] == VERSION - 1
    (recorder,) = ConnectionReplay.restore(octets, OPTIONS)._recorders.values()
    assert isinstance(recorder.history, SessionHistory)
    assert recorder.history.late == {"C": False, "S": False}
    assert recorder.history._sessions
