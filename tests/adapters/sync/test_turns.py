"""Whose turn it is."""

from __future__ import annotations

import select
import selectors
import socket
import threading
from collections.abc import Iterator

import pytest

from amqp_sansio.adapters.sync.turns import AGAIN, Handoff, Poller, TimeIsOver, Turn


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
        found = Poller(a, b)
        assert found.shared is hasattr(select, "epoll")
        found.close()


def test_only_epoll_is_shared() -> None:
    a, b = socket.socketpair()
    with a, b:
        found = Poller(a, b, selectors.SelectSelector)
        assert not found.shared
        found.close()


@pytest.mark.parametrize("kind", KINDS)
def test_it_reports_what_it_listens_to_and_nothing_else(kind: type[selectors.BaseSelector]) -> None:
    poke, poking = socket.socketpair()
    connected, other = socket.socketpair()
    with poke, poking, connected, other:
        listening = Poller(poke, connected, kind)
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
        listening = Poller(poke, connected)
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


class Watched(Poller):
    """Remembers the sockets that it should listen to."""

    def __init__(self, poke: socket.socket, connected: socket.socket) -> None:
        super().__init__(poke, connected)
        self.told: list[tuple[bool, bool]] = []

    def listen(self, reading: bool, writing: bool) -> None:
        self.told.append((reading, writing))
        super().listen(reading, writing)


class Scene:
    """A handoff over one end of a pair; `pokes` counts."""

    def __init__(self) -> None:
        self.connected, self.other = socket.socketpair()
        self.poked, self.poking = socket.socketpair()
        self.poller = Watched(self.poked, self.connected)
        self.lock = threading.RLock()
        self.pokes = 0
        self.handoff = Handoff(self.poller, self.connected, Turn(self.lock), self.poke)

    def poke(self) -> None:
        self.pokes += 1

    def lead(self) -> None:
        self.handoff.take(False)
        self.handoff.give_back()

    def close(self) -> None:
        self.handoff.close()
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
    """However often somebody in front listens, the thread hears of it once, and looks at its own pace."""
    assert scene.handoff.look(False) is None
    for _ in range(100):
        scene.lead()
    assert (scene.pokes, scene.poller.told) == (1, [(True, False), (False, False)])
    for _ in range(10):
        scene.lead()
        assert scene.handoff.look(False) == AGAIN
        assert scene.handoff.lent
    assert scene.pokes == 1


def test_the_thread_takes_it_back_when_nobody_came(scene: Scene) -> None:
    scene.handoff.look(False)
    scene.lead()
    assert scene.handoff.look(True) == AGAIN
    assert scene.poller.told[-1] == (False, True)
    assert scene.handoff.look(False) is None
    assert scene.poller.told[-1] == (True, False)
    assert not scene.handoff.lent


def test_during_a_long_wait_the_thread_sleeps_until_it_is_over(scene: Scene) -> None:
    scene.handoff.look(False)
    scene.handoff.take(False)
    assert (scene.handoff.look(False), scene.handoff.look(False)) == (AGAIN, None)
    assert scene.handoff.lent
    scene.handoff.give_back()
    assert scene.pokes == 2
    scene.lead()
    assert scene.pokes == 2
    assert (scene.handoff.look(False), scene.handoff.look(False)) == (AGAIN, None)
    assert not scene.handoff.lent


def test_a_caller_that_waits_gets_what_arrives(scene: Scene) -> None:
    handoff = scene.handoff
    handoff.take(False)
    assert handoff.listen(0) is None
    scene.other.send(b"x")
    assert handoff.listen(None) is True
    scene.connected.recv(1)
    heard: list[bool | None] = []

    def wait() -> None:
        with scene.lock:
            heard.append(handoff.listen(None))

    thread = threading.Thread(target=wait)
    thread.start()
    while not handoff.waiting:  # it gives up the lock when it waits
        scene.lock.release()
        scene.lock.acquire()
    handoff.kick()
    scene.lock.release()
    thread.join(30)
    scene.lock.acquire()
    assert heard == [False]
    handoff.kick()  # nobody waits: nothing is left for who waits next
    assert handoff.listen(0) is None


def test_a_thread_that_cannot_be_woken_listens_itself() -> None:
    connected, other = socket.socketpair()
    poked, poking = socket.socketpair()
    with connected, other, poked, poking:
        handoff = Handoff(Poller(poked, connected, selectors.SelectSelector), connected, Turn(threading.RLock()), lambda: None)
        assert not handoff.may_lend
        assert handoff.look(False) is None
        other.send(b"x")
        assert handoff._poller.wait(None) == (False, True)
        handoff.close()
