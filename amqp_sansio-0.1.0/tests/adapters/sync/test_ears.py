"""What the thread in the background listens to."""

from __future__ import annotations

import select
import socket
import threading

import pytest

from amqp_sansio.adapters.sync.ears import Ears, EpollEars, PlainEars, ears

KINDS = [PlainEars, *([EpollEars] if hasattr(select, "epoll") else [])]


def test_the_best_there_is() -> None:
    a, b = socket.socketpair()
    with a, b:
        found = ears(a, b)
        assert type(found) is KINDS[-1]
        found.close()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_listened_to_is_heard_and_nothing_else(kind: type[PlainEars] | type[EpollEars]) -> None:
    poke, poking = socket.socketpair()
    connected, other = socket.socketpair()
    with poke, poking, connected, other:
        listening: Ears = kind(poke, connected)
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
        listening = EpollEars(poke, connected)
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
