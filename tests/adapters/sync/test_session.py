"""Sessions, subscriptions and transactions for blocking code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from tests.adapters.scenarios import QUICK
from tests.adapters.served import Served
from tests.conversation.stage import refuse, staged

from amqp_sansio.adapters.sync import Connection, connect
from amqp_sansio.adapters.sync.line import Line
from amqp_sansio.adapters.sync.session import Session
from amqp_sansio.adapters.sync.turns import Turn
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.base_client import Ending
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import BranchFailed, MessageReturned, SessionFailed, SessionLost, TransactionFailed
from amqp_sansio.limits import Limits
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.xids import xid

XID = xid(1, b"global", b"branch")


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as served:
        yield served


@pytest.fixture
def connection(served: Served) -> Iterator[Connection]:
    with connect(served.url) as connection:
        yield connection


def test_what_is_asked_is_answered(connection: Connection) -> None:
    with connection.session() as session:
        session.execute(queue.Declare("q"))
        session.publish("", "q", b"x")
        answer = session.execute(queue.Query("q"))
        assert isinstance(answer, QueueQueryResult)
        assert answer.message_count == 1


def test_errors_reach_the_waiting_caller(connection: Connection) -> None:
    with pytest.raises(SessionFailed, match=r"404 to queue.delete"), connection.session() as session:
        session.execute(queue.Delete("nowhere"))
    with pytest.raises(SessionFailed, match="404"), connection.session() as session:
        session._core.execute(queue.Delete("nowhere"))
    with pytest.raises(MessageReturned), connection.session() as session:
        session.publish("", "nowhere", b"", mandatory=True)
    with pytest.raises(MessageReturned), connection.session() as session:
        session.send("", "nowhere", b"", mandatory=True)
    with pytest.raises(KeyError), connection.session() as session, session.subscribe("nowhere"):
        raise KeyError("mine")


def test_transactions(connection: Connection, served: Served) -> None:
    with connection.session() as session:
        session.execute(queue.Declare("q"))
        with session.transaction():
            session.send("", "q", b"x")
        assert served.depth("q") == 1
        with pytest.raises(KeyError), session.transaction():
            session.send("", "q", b"y")
            raise KeyError("mine")
        session.sync()
        assert served.depth("q") == 1


def test_branches(connection: Connection, served: Served) -> None:
    with connection.session() as session:
        session.execute(queue.Declare("q"))
        with session.branch(XID):
            session.send("", "q", b"x")
        assert session.prepare(XID) == XaStatus.XA_OK
        assert session.recover() == (XID,)
        session.rollback(XID)
        with session.branch(XID):
            session.send("", "q", b"x")
        session.commit(XID, one_phase=True)
        with pytest.raises(KeyError), session.branch(XID):
            raise KeyError("mine")
        with pytest.raises(BranchFailed):
            session.prepare(XID)
        assert served.depth("q") == 1
    with pytest.raises((BranchFailed, SessionFailed)), connection.session() as session:
        session.forget(xid(1, b"unknown", b""))


def test_a_transaction_whose_session_is_lost_was_not_committed(served: Served) -> None:
    with connect(served.url, retry=QUICK) as connection, pytest.raises((TransactionFailed, SessionLost)):
        with connection.session() as session, session.transaction():
            session.publish("", "q", b"x")
            served.cut()
            session.publish("", "q", b"x")


def test_a_subscription_is_an_iterator_until_it_is_cancelled(connection: Connection) -> None:
    with connection.session() as session:
        session.execute(queue.Declare("q"))
        for number in range(3):
            session.send("", "q", b"%d" % number)
        found = []
        with session.subscribe("q", accept=False) as subscription:
            for message in subscription:
                found.append(message.body)
                if len(found) == 3:
                    subscription.cancel()
        assert found == [b"0", b"1", b"2"]


def test_a_broker_that_does_not_answer_is_not_awaited_for_ever_at_the_end(served: Served) -> None:
    with connect(served.url, close_timeout=0.5) as connection:
        with pytest.raises(KeyError), connection.session() as session:
            served.silence()
            raise KeyError("mine")
    assert "no answer to detach within 0.5 seconds" in str(session._core.ended.error)


def test_a_broker_that_let_one_end_pass_is_not_waited_for_at_the_next(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    wait = Line.wait

    def waiting(line: Line, ticket: Ticket[object], timeout: float | None = None) -> object:
        if timeout is not None:
            asked.append(timeout)
        return wait(line, ticket, timeout)

    with connect(served.url) as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
    with pytest.raises(KeyError), connect(served.url, close_timeout=0.5) as connection:
        with connection.session() as session, session.subscribe("q"):
            session.sync()
            served.silence()
            monkeypatch.setattr(Line, "wait", waiting)
            raise KeyError("mine")
    assert asked == [0.5, 0.0, 0.0]


class Scripted:
    """A driver without socket and clock: to wait is to let the octets flow; when the broker is silent, the time is over."""

    def __init__(self) -> None:
        self.stage = staged()
        self.silent = False

    def wait(self, ticket: Ticket[object], until: float | None) -> bool:
        if not self.silent:
            self.stage.run()
        assert ticket.done or until is not None, "it would wait for ever"
        return ticket.done

    def free(self, timeout: float | None = None) -> bool:
        return True

    def wait_writable(self, until: float | None) -> bool:
        return True

    def session(self, timeout: int = 0) -> Session:
        client = self.stage.client
        talk = client.open_session(None, timeout)
        line = Line(self, Turn(threading.RLock()))  # type: ignore[arg-type]
        return Session(talk, line, Ending(client, 1.0))


def test_a_silent_broker_is_not_awaited_for_ever_at_a_commit() -> None:
    driver = Scripted()
    with pytest.raises(TransactionFailed, match="unknown"), driver.session() as session, session.transaction():
        session.send("", "q", b"x")
        driver.silent = True


@pytest.mark.parametrize(("from_the_begin", "verb"), [(True, "dtx.start"), (False, "dtx.end")])
def test_a_silent_broker_is_not_awaited_for_ever_in_a_branch(from_the_begin: bool, verb: str) -> None:
    driver = Scripted()
    with pytest.raises(BranchFailed, match=verb), driver.session() as session:
        driver.silent = from_the_begin
        with session.branch(XID):
            driver.silent = True


def test_a_silent_broker_is_not_awaited_for_ever_when_a_subscription_is_cancelled() -> None:
    driver = Scripted()
    with pytest.raises(SessionLost, match=r"no answer to message.cancel within 1.0 seconds"), driver.session() as session:
        session.execute(queue.Declare("q"))
        subscription = session.subscribe("q")
        driver.silent = True
        subscription.cancel()


@pytest.mark.parametrize("at", ["begin", "end"])
def test_a_silent_broker_is_not_awaited_for_ever_to_attach_again_for_a_transaction(at: str) -> None:
    """The connection is there again, and the broker does not answer to the attach."""
    driver = Scripted()

    def lose() -> None:
        driver.stage.cut()
        driver.stage.greet()
        driver.silent = True

    with pytest.raises(SessionLost, match=r"no answer to session.attach within 1.0 seconds"), driver.session(60) as session:
        if at == "begin":
            lose()
        with session.transaction():
            session.send("", "q", b"x")
            lose()


def test_a_silent_broker_is_not_awaited_for_ever_to_attach() -> None:
    driver = Scripted()
    driver.silent = True
    for _ in range(2):
        with pytest.raises(SessionLost, match=r"no answer to session.attach within 1.0 seconds"), driver.session():
            raise AssertionError


CALLS: dict[str, Callable[[Session, float | None], object]] = {
    "say": lambda session, timeout: session.execute(queue.Declare("q"), timeout=timeout),
    "ask": lambda session, timeout: session.execute(queue.Query("q"), timeout=timeout),
    "sync": lambda session, timeout: session.sync(timeout=timeout),
    "publish": lambda session, timeout: session.publish("", "q", b"x", timeout=timeout),
    "prepare": lambda session, timeout: session.prepare(XID, timeout=timeout),
    "commit": lambda session, timeout: session.commit(XID, timeout=timeout),
    "rollback": lambda session, timeout: session.rollback(XID, timeout=timeout),
    "recover": lambda session, timeout: session.recover(timeout=timeout),
    "forget": lambda session, timeout: session.forget(XID, timeout=timeout),
    "confirmed": lambda session, timeout: session.send("", "q", b"x", timeout=timeout).result(timeout),
}


@pytest.mark.parametrize("call", CALLS)
def test_no_call_waits_for_ever_to_attach_again(call: str) -> None:
    driver = Scripted()
    with pytest.raises(SessionLost, match=r"no answer to session.attach within 1.0 seconds"), driver.session(60) as session:
        driver.stage.cut()
        driver.stage.greet()
        driver.silent = True
        CALLS[call](session, None)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("attached", [True, False])
def test_a_call_waits_no_longer_than_its_timeout(call: str, attached: bool) -> None:
    """A silent broker: the call says so after its own time, the end of the block after that of the connection."""
    driver = Scripted()
    with pytest.raises(SessionLost, match=r"within 1.0 seconds"), driver.session(60) as session:
        if call not in ("publish", "confirmed", "say", "ask", "sync", "wait"):
            session._core.transactions.select_dtx()
        if not attached:
            driver.stage.cut()
            driver.stage.greet()
        driver.silent = True
        with pytest.raises(TimeoutError, match=r"no answer within 0.01 seconds"):
            CALLS[call](session, 0.01)


def test_a_call_with_a_timeout_waits_for_an_attach_that_nobody_answers_no_longer_than_the_connection_does() -> None:
    driver = Scripted()
    driver.silent = True
    session = driver.session()
    with pytest.raises(SessionLost, match=r"no answer to session.attach within 1.0 seconds"):
        session.sync(timeout=60.0)


def test_a_refusal_that_a_call_has_raised_is_not_raised_again_while_the_session_is_still_attached() -> None:
    driver = Scripted()
    with driver.session() as session:
        refuse(driver.stage, session._core)
        with pytest.raises(SessionFailed, match="542"):
            session.execute(queue.Declare("q"))
        assert not session._core.ended.done
        driver.silent = True


def test_a_refusal_that_a_call_has_raised_is_not_raised_again_although_the_detach_never_comes(served: Served) -> None:
    url, config = f"{served.url}?heartbeat=0", ClientConfig(limits=Limits(detach_seconds=0.5))
    with connect(url, config=config, close_timeout=0.5) as connection, connection.session() as session:
        session.sync()
        served.refuse(session.name)
        with pytest.raises(SessionFailed, match="542"):
            session.execute(queue.Declare("q"))


def test_a_broker_does_what_they_say() -> None:
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.declare_exchange("e", "topic", timeout=9)
        session.declare_queue("q", arguments={"qpid.max_count": 10})
        session.bind("q", "e", "a.#")
        assert not session.bound("e", "q", "a.#").key_not_matched
        session.publish("e", "a.b", b"x")
        assert session.query_queue("q").message_count == 1
        session.purge("q")
        session.unbind("q", "e", "a.#")
        assert session.bound("e", "q", "a.#").key_not_matched
        session.delete_exchange("e")
        session.delete_queue("q")
        assert session.query_queue("q").queue is None
        with pytest.raises(SessionFailed, match="404"):
            session.declare_queue("q", passive=True)
