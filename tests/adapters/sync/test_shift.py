"""Who listens to a socket: by turns, with nobody waiting in earnest."""

from __future__ import annotations

import select
import selectors
import socket
import threading
from collections.abc import Iterator

import pytest

from amqp_sansio.adapters.sync.ears import Ears
from amqp_sansio.adapters.sync.shift import AGAIN, Shift
from amqp_sansio.adapters.sync.turn import Turn

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
