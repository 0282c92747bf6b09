"""What connections of both families do for blocking code, over real sockets."""

from __future__ import annotations

import gc
import os
import select
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.adapters.conditions import eventually
from tests.adapters.interrupting import Interrupted
from tests.adapters.scenarios import QUICK
from tests.adapters.served import Served
from tests.adapters.served_channels import ServedChannels

from amqp_sansio.adapters import sync
from amqp_sansio.adapters.sync import channels
from amqp_sansio.errors import ConnectionLost, LocalProtocolError

families = pytest.mark.parametrize(("connect", "broker"), [(sync.connect, Served), (channels.connect, ServedChannels)])


@families
def test_a_connection_is_opened_once_and_closed_as_often_as_one_likes(
    connect: Callable[..., Any], broker: type[Served | ServedChannels]
) -> None:
    before = threading.active_count()
    with broker() as served:
        with connect(served.url) as connection:
            assert connection.is_open
            with pytest.raises(LocalProtocolError, match="opened before"):
                connection._open()
            connection.close()
            connection.close()
        assert not connection.is_open
        connection.closed.result()
    assert threading.active_count() == before


@families
def test_a_connection_that_was_lost_is_made_again_and_counted(
    connect: Callable[..., Any], broker: type[Served | ServedChannels]
) -> None:
    with broker() as served, connect(served.url, retry=QUICK) as connection:
        served.cut()
        eventually(lambda: connection.remade == 1)


@families
def test_without_a_policy_the_loss_is_the_end_and_says_why(
    connect: Callable[..., Any], broker: type[Served | ServedChannels]
) -> None:
    with broker() as served, connect(served.url) as connection:
        served.cut()
        with pytest.raises(ConnectionLost):
            connection.closed.result()
        assert connection.remade == 0


def work_on_a_session(url: str, name: str) -> None:
    """Publishes, receives and ends, with confirms, a transaction and a subscription."""
    with sync.connect(url) as connection, connection.session() as session:
        session.declare_queue(name, exclusive=True)
        with session.subscribe(name) as messages:
            session.send("", name, b"one")
            session.publish("", name, b"two")
            for _ in range(2):
                messages.receive(timeout=20).accept()
        with session.transaction():
            session.send("", name, b"three")


def work_on_a_channel(url: str, name: str) -> None:
    """The same on a channel."""
    with channels.connect(url) as connection, connection.channel() as channel:
        channel.declare_queue(name, exclusive=True)
        with channel.subscribe(name) as messages:
            channel.send("", name, b"one")
            channel.publish("", name, b"two")
            for _ in range(2):
                messages.receive(timeout=20).accept()


def interrupt(work: Callable[[str, str], None], url: str, at: int) -> Interrupted:
    """An interrupt is what comes out, and leaves no thread: none waits for a lock that nobody gives back."""
    before = set(threading.enumerate())
    done = Interrupted(lambda: work(url, f"q{at}"), at)
    raised, done.raised = done.raised, None
    assert isinstance(raised, KeyboardInterrupt) if done.where else raised is None, (at, done.where, raised)
    del raised  # and with it the frames that hold what was not closed
    if not set(threading.enumerate()) <= before:
        eventually(lambda: gc.collect() >= 0 and set(threading.enumerate()) <= before)  # the thread may hold it at first
    return done


working = pytest.mark.parametrize(("work", "broker"), [(work_on_a_session, Served), (work_on_a_channel, ServedChannels)])


@working
def test_an_interrupt_anywhere_leaves_nothing_behind(
    work: Callable[[str, str], None], broker: type[Served | ServedChannels]
) -> None:
    """At some of the places where one can come, evenly spread."""
    with broker() as served:
        places = interrupt(work, served.url, 0).places
        if not places:
            pytest.skip("compiled code has no places that a trace shows")
        for at in range(1, places, max(1, places // 40)):
            interrupt(work, served.url, at)


@pytest.mark.soak
@working
def test_an_interrupt_at_every_place_leaves_nothing_behind(
    work: Callable[[str, str], None], broker: type[Served | ServedChannels]
) -> None:
    with broker() as served:
        at = 1
        while interrupt(work, served.url, at).where:
            at += 1


def in_receive(session: sync.Session) -> None:
    with session.subscribe("q") as messages:
        messages.receive()


def in_publish(session: sync.Session) -> None:
    session.publish("", "q", b"x")


def in_close(session: sync.Session) -> None:
    session.send("", "q", b"x")
    session.close()


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="no epoll here: another thread listens")
@pytest.mark.parametrize("wait", [in_receive, in_publish, in_close], ids=lambda each: each.__name__)
def test_an_interrupt_ends_a_wait_and_leaves_no_thread_and_no_socket(wait: Callable[[sync.Session], None]) -> None:
    """A Ctrl-C in earnest, from the system: to a client of a broker that answers nothing any more."""
    before = set(threading.enumerate())
    with Served() as served:
        serving = set(threading.enumerate())
        connection = sync.connect(served.url, close_timeout=0.05)
        driver = connection._line.driver
        connected = driver._socket
        assert connected is not None
        session = connection.open_session()
        session.declare_queue("q")
        served.silence()

        def press() -> None:
            eventually(lambda: driver._handoff is not None and driver._handoff.waiting)
            os.kill(os.getpid(), signal.SIGINT)

        pressing = threading.Thread(target=press)
        pressing.start()
        with pytest.raises(KeyboardInterrupt), connection:
            wait(session)
        pressing.join()
        assert set(threading.enumerate()) <= serving
        assert {connected.fileno(), driver._poke_in.fileno(), driver._poke_out.fileno()} == {-1}
    assert set(threading.enumerate()) <= before


@families
def test_a_connection_that_nobody_holds_is_closed(connect: Callable[..., Any], broker: type[Served | ServedChannels]) -> None:
    before = set(threading.enumerate())
    with broker() as served:
        serving = set(threading.enumerate())
        connection = connect(served.url, retry=QUICK)
        closed = connection.closed
        del connection
        gc.collect()
        assert set(threading.enumerate()) > serving  # what comes of it is still asked for
        del closed
        gc.collect()
        eventually(lambda: set(threading.enumerate()) <= serving)
    assert set(threading.enumerate()) <= before
