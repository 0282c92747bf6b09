"""Whose turn it is."""

from __future__ import annotations

import threading

import pytest

from amqp_sansio.adapters.sync.turn import Turn


def test_what_was_sent_goes_out_at_the_end_of_the_turn_once() -> None:
    turn = Turn(threading.RLock())
    ended: list[bool] = []
    turn.ended = lambda: ended.append(turn.wanted)
    with turn:
        turn.want()
        turn.want()
        assert not ended
    assert ended == [False]
    with turn:
        pass
    assert ended == [False]


def test_a_turn_is_given_back_whatever_happens_in_it() -> None:
    lock = threading.RLock()
    turn = Turn(lock)

    def fail() -> None:
        raise OSError("gone")

    turn.ended = fail
    with pytest.raises(OSError, match="gone"), turn:
        turn.want()
    taken: list[bool] = []
    thread = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False)))
    thread.start()
    thread.join()
    assert taken == [True]


def test_a_turn_within_a_turn_is_one_with_it() -> None:
    """What gives the lock up once has given it up, and output goes out at the end of the outer one."""
    lock = threading.RLock()
    turn = Turn(lock)
    ended: list[bool] = []
    turn.ended = lambda: ended.append(True)
    with turn:
        with turn:
            turn.want()
        assert not ended
        lock.release()
        taken: list[bool] = []
        thread = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False)))
        thread.start()
        thread.join()
        assert taken == [True]
        turn._lock = lock = threading.RLock()  # type: ignore[misc]  # that thread ended with the other one
        lock.acquire()
    assert ended == [True]
