"""Whose turn it is."""

from __future__ import annotations

import threading

import pytest

from amqp_sansio.adapters.sync.turn import TimeIsOver, Turn


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


def held(lock: threading.RLock) -> bool:
    """Whether another thread would have to wait for it."""
    taken: list[bool] = []

    def take() -> None:
        taken.append(lock.acquire(blocking=False))
        if taken[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return not taken[0]


class Interrupting:
    """A lock whose calls are interrupted when they are done, or before: the next one only."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.at = ""

    def _look(self, at: str) -> None:
        if at == self.at:
            self.at = ""
            raise KeyboardInterrupt

    def acquire(self) -> bool:
        self._look("before acquire")
        self.lock.acquire()
        self._look("behind acquire")
        return True

    def release(self) -> None:
        self.lock.release()
        self._look("behind release")


@pytest.mark.parametrize("at", ["before acquire", "behind acquire"])
def test_an_interrupt_at_the_beginning_of_a_turn_takes_no_lock_along(at: str) -> None:
    lock = Interrupting()
    turn = Turn(lock)  # type: ignore[arg-type]
    lock.at = at
    with pytest.raises(KeyboardInterrupt), turn:
        pass
    assert not held(lock.lock)
    with turn:
        assert held(lock.lock)
    assert not held(lock.lock)


@pytest.mark.parametrize("at", ["behind release", "in the wait", "before acquire", "behind acquire"])
def test_an_interrupt_of_a_wait_leaves_the_lock_in_its_turn_and_nothing_torn(at: str) -> None:
    lock = Interrupting()
    turn = Turn(lock)  # type: ignore[arg-type]
    torn: list[bool] = []
    turn.torn = lambda: torn.append(True)
    with pytest.raises(KeyboardInterrupt), turn:
        try:
            lock.at = at
            turn.aside(lock._look, "in the wait")
        finally:
            assert held(lock.lock)
    assert not held(lock.lock)
    assert not torn


def test_an_interrupt_in_the_middle_of_a_turn_tears_it_once() -> None:
    lock = threading.RLock()
    turn = Turn(lock)
    torn: list[bool] = []
    turn.torn = lambda: torn.append(held(lock))
    with pytest.raises(KeyboardInterrupt), turn, turn:
        raise KeyboardInterrupt
    assert torn == [True]
    for harmless in (OSError, TimeIsOver):
        with pytest.raises(harmless), turn:
            raise harmless
    assert torn == [True]


def test_a_lock_that_an_interrupt_left_behind_is_given_back_at_the_end() -> None:
    lock = threading.RLock()
    turn = Turn(lock)
    turn.__enter__()  # and the interrupt came before `__exit__` did anything
    turn.over()
    assert not held(lock)
    with turn:
        assert held(lock)
    assert not held(lock)
