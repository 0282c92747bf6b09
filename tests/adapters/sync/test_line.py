"""How blocking code waits, with a driver in which time is over at once."""

from __future__ import annotations

import threading
import time

import pytest
from tests.adapters.served import Served

from amqp_sansio.adapters.sync import Pending, connect
from amqp_sansio.adapters.sync.line import Line
from amqp_sansio.adapters.sync.turns import Turn
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import MessageReturned


class Silent:
    """Nothing is ever settled, and there is no room."""

    def __init__(self) -> None:
        self.waited: list[float | None] = []
        """Until when, in seconds from then."""

    def wait(self, ticket: Ticket[None], until: float | None) -> bool:
        self.waited.append(None if until is None else until - time.monotonic())
        return False

    def wait_writable(self, until: float | None) -> bool:
        return until is None

    def free(self, timeout: float | None = None) -> bool:
        return False


@pytest.fixture
def driver() -> Silent:
    return Silent()


@pytest.fixture
def line(driver: Silent) -> Line:
    return Line(driver, Turn(threading.RLock()))  # type: ignore[arg-type]


def test_a_wait_is_over_after_its_own_time(line: Line, driver: Silent) -> None:
    with pytest.raises(TimeoutError, match=r"no answer within 5.0 seconds"):
        line.wait(Ticket(), 5.0)
    assert 4 < (driver.waited[0] or 0) <= 5


def test_what_is_there_is_not_waited_for(line: Line) -> None:
    ticket: Ticket[int] = Ticket()
    ticket.settle(1)
    assert line.within(60.0, lambda: line.asked(lambda: ticket)) == 1


def test_without_time_nothing_begins_and_others_have_a_turn(line: Line) -> None:
    def begun() -> None:
        raise AssertionError

    took: list[bool] = []

    def other() -> None:
        with line.turn:
            took.append(True)

    thread = threading.Thread(target=other)
    with line.turn:
        thread.start()
        while not took:
            with pytest.raises(TimeoutError, match=r"no answer within 0 seconds"):
                line.within(0, begun)
    thread.join()


def test_no_wait_takes_the_end_of_the_time_of_a_call_for_its_own(line: Line) -> None:
    """Whatever a call waits for within its `timeout`, and however it handles a wait that takes too long: the call is over."""

    def patient() -> None:
        for _ in range(2):
            try:
                line.wait(Ticket(), 60.0)
            except TimeoutError:
                raise AssertionError from None

    with pytest.raises(TimeoutError, match=r"no answer within 1.0 seconds"):
        line.within(1.0, patient)
    with pytest.raises(TimeoutError, match=r"no room within 1.0 seconds"):
        line.within(1.0, line.writable)
    line.writable()  # and the time of a call is that of no other


@pytest.mark.parametrize(("outer", "inner"), [(1.0, 60.0), (60.0, 1.0)])
def test_of_two_calls_the_one_whose_time_is_over_first_says_so(line: Line, outer: float, inner: float) -> None:
    with pytest.raises(TimeoutError, match=r"no answer within 1.0 seconds"):
        line.within(outer, lambda: line.within(inner, lambda: line.wait(Ticket())))


def test_the_time_of_a_call_is_that_of_its_thread(line: Line, driver: Silent) -> None:
    def other() -> None:
        with pytest.raises(TimeoutError):
            line.wait(Ticket(), 60.0)

    def work() -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    line.within(1.0, work)
    assert (driver.waited[0] or 0) > 50


def test_it_is_asked_as_often_as_one_likes() -> None:
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.declare_queue("q")
        pending = session.send("", "q", b"x")
        assert [pending.result(), pending.result(0.0), pending.done, repr(pending)] == [None, None, True, "<Pending done>"]
        lost = session.send("", "nowhere", b"x", mandatory=True)
        for _ in range(2):
            with pytest.raises(MessageReturned):
                lost.result()


def test_it_waits_no_longer_than_it_may() -> None:
    ticket: Ticket[int] = Ticket()
    asked: list[float | None] = []

    def wait(ticket: Ticket[int], timeout: float | None) -> int:
        asked.append(timeout)
        raise TimeoutError

    pending = Pending(ticket, wait)
    for timeout in (0.5, None):
        with pytest.raises(TimeoutError):
            pending.result(timeout)
    assert (asked, repr(pending)) == ([0.5, None], "<Pending open>")
