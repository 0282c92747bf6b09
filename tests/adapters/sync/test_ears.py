"""What the thread in the background listens to."""

from __future__ import annotations

import select
import selectors
import socket
import threading

import pytest

from amqp_sansio.adapters.sync.ears import Ears

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
