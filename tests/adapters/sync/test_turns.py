"""Whose turn it is."""

from __future__ import annotations

import select
import selectors
import socket
import threading
from collections.abc import Iterator

import pytest

from amqp_sansio.adapters.sync.turns import AGAIN, Ears, Shift, TimeIsOver, Turn


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


KINDS = [selectors.SelectSelector, selectors.DefaultSelector]


def test_the_best_there_is() -> None:
    a, b = socket.socketpair()
    with a, b:
        found = Ears(a, b)
        assert found.shared is hasattr(select, "epoll")
        found.close()


def test_only_epoll_is_shared() -> None:
    a, b = socket.socketpair()
    with a, b:
        found = Ears(a, b, selectors.SelectSelector)
        assert not found.shared
        found.close()


@pytest.mark.parametrize("kind", KINDS)
def test_it_reports_what_it_listens_to_and_nothing_else(kind: type[selectors.BaseSelector]) -> None:
    poke, poking = socket.socketpair()
    connected, other = socket.socketpair()
    with poke, poking, connected, other:
        listening = Ears(poke, connected, kind)
        assert listening.wait(0) == (False, False)
        other.send(b"x")
        assert listening.wait(0) == (False, False)  # nobody listens to it yet
        listening.listen(True, False)
        listening.listen(True, False)
        assert listening.wait(None) == (False, True)
        connected.recv(1)
        assert listening.wait(0) == (False, False)
        listening.listen(True, True)
        assert listening.wait(None) == (False, True)  # there is room to write
        listening.listen(False, False)
        other.close()
        assert listening.wait(0) == (False, False)  # not even its end
        poking.send(b"!")
        assert listening.wait(None) == (True, False)
        listening.close()


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="no epoll here")
def test_it_may_be_left_to_somebody_else_while_one_waits() -> None:
    poke, poking = socket.socketpair()
    connected, other = socket.socketpair()
    with poke, poking, connected, other:
        listening = Ears(poke, connected)
        listening.listen(True, False)
        heard: list[tuple[bool, bool]] = []
        thread = threading.Thread(target=lambda: heard.append(listening.wait(None)))
        thread.start()
        listening.listen(False, False)
        other.send(b"x")
        poking.send(b"!")
        thread.join(30)
        assert heard == [(True, False)]
        listening.listen(True, False)
        assert listening.wait(None) == (True, True)
        listening.close()


pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="no epoll here: nothing is lent")


class Watched(Ears):
    """Remembers what it is told to listen to."""

    def __init__(self, poke: socket.socket, connected: socket.socket) -> None:
        super().__init__(poke, connected)
        self.told: list[tuple[bool, bool]] = []

    def listen(self, reading: bool, writing: bool) -> None:
        self.told.append((reading, writing))
        super().listen(reading, writing)


class Scene:
    """A shift over one end of a pair; `pokes` counts."""

    def __init__(self) -> None:
        self.connected, self.other = socket.socketpair()
        self.poked, self.poking = socket.socketpair()
        self.ears = Watched(self.poked, self.connected)
        self.lock = threading.RLock()
        self.pokes = 0
        self.shift = Shift(self.ears, self.connected, Turn(self.lock), self.poke)

    def poke(self) -> None:
        self.pokes += 1

    def lead(self) -> None:
        self.shift.take(False)
        self.shift.give_back()

    def close(self) -> None:
        self.shift.close()
        for each in (self.connected, self.other, self.poked, self.poking):
            each.close()


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    made.lock.acquire()
    yield made
    made.lock.release()
    made.close()


def test_one_wait_after_the_other_changes_nothing_for_the_thread(scene: Scene) -> None:
    """However often somebody in front listens: the thread is told once, and looks at its own pace."""
    assert scene.shift.look(False) is None
    for _ in range(100):
        scene.lead()
    assert (scene.pokes, scene.ears.told) == (1, [(True, False), (False, False)])
    for _ in range(10):
        scene.lead()
        assert scene.shift.look(False) == AGAIN
        assert scene.shift.lent
    assert scene.pokes == 1


def test_the_thread_takes_it_back_when_nobody_came(scene: Scene) -> None:
    scene.shift.look(False)
    scene.lead()
    assert scene.shift.look(True) == AGAIN
    assert scene.ears.told[-1] == (False, True)
    assert scene.shift.look(False) is None
    assert scene.ears.told[-1] == (True, False)
    assert not scene.shift.lent


def test_during_a_long_wait_the_thread_sleeps_until_it_is_over(scene: Scene) -> None:
    scene.shift.look(False)
    scene.shift.take(False)
    assert (scene.shift.look(False), scene.shift.look(False)) == (AGAIN, None)
    assert scene.shift.lent
    scene.shift.give_back()
    assert scene.pokes == 2
    scene.lead()
    assert scene.pokes == 2
    assert (scene.shift.look(False), scene.shift.look(False)) == (AGAIN, None)
    assert not scene.shift.lent


def test_a_caller_that_waits_gets_what_arrives(scene: Scene) -> None:
    shift = scene.shift
    shift.take(False)
    assert shift.listen(0) is None
    scene.other.send(b"x")
    assert shift.listen(None) is True
    scene.connected.recv(1)
    heard: list[bool | None] = []

    def wait() -> None:
        with scene.lock:
            heard.append(shift.listen(None))

    thread = threading.Thread(target=wait)
    thread.start()
    while not shift.waiting:  # it gives up the lock when it waits
        scene.lock.release()
        scene.lock.acquire()
    shift.kick()
    scene.lock.release()
    thread.join(30)
    scene.lock.acquire()
    assert heard == [False]
    shift.kick()  # nobody waits: nothing is left for who waits next
    assert shift.listen(0) is None


def test_a_thread_that_cannot_be_woken_listens_itself() -> None:
    connected, other = socket.socketpair()
    poked, poking = socket.socketpair()
    with connected, other, poked, poking:
        shift = Shift(Ears(poked, connected, selectors.SelectSelector), connected, Turn(threading.RLock()), lambda: None)
        assert not shift.may_lend
        assert shift.look(False) is None
        other.send(b"x")
        assert shift._ears.wait(None) == (False, True)
        shift.close()
