"""A client over as many connections as it takes, in memory."""

from __future__ import annotations

import pytest
from tests.conversation.stage import Stage, staged

from amqp_sansio.config import ClientConfig, SaslError, ServerConfig
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.retry import NEVER
from amqp_sansio.errors import ConnectionClosedError, ConnectionLost, LimitError, LocalProtocolError, SessionLost
from amqp_sansio.events import ConnectionClosed, Origin
from amqp_sansio.limits import Limits
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import CloseCode


def test_sessions_may_be_wanted_before_there_is_a_connection() -> None:
    stage = Stage()
    core = stage.client.open_session("early")
    stage.connect()
    assert core.speakable
    assert stage.client.opened.result().virtual_host == ""
    assert stage.client.connections == 1


def test_names_are_made_of_the_prefix_and_are_not_given_twice() -> None:
    stage = staged()
    assert [stage.open().name for _ in range(2)] == [b"test-1", b"test-2"]
    stage.open("mine")
    with pytest.raises(LocalProtocolError, match="in use by this client"):
        stage.client.open_session(b"mine")


def test_a_broker_that_never_answers_our_detach_uses_up_the_channels_and_gives_them_back_when_it_does() -> None:
    """A number is not used again as long as the other side may still speak on it: then LimitError says which limit it was."""
    stage = staged(retry=NEVER, server=ServerConfig(channel_max=4))
    late = b""
    for number in range(4):
        stage.open(f"session {number}").close()
        late = stage.client.machine.data_to_send()
    with pytest.raises(LimitError, match="channels"):
        stage.client.open_session()
    with pytest.raises(LocalProtocolError, match="in use by this client"):
        stage.client.open_session("session 3")
    assert len(stage.client.cores) == 4
    assert stage.peer is not None
    stage.peer.receive_data(late)
    stage.broker.tick(stage.now)
    list(stage.broker.events())
    stage.run()
    assert len(stage.client.cores) == 3
    stage.open("session 3")


def test_a_clean_end() -> None:
    stage = staged()
    core = stage.open()
    ended = stage.client.close()
    stage.run()
    assert stage.client.machine.finished
    stage.client.give_up(ConnectionLost("over"))
    assert ended.result() is None
    assert isinstance(core.ended.error, SessionLost)
    with pytest.raises(ConnectionClosedError):
        stage.client.open_session()
    assert stage.client.close() is ended


def test_a_connection_that_is_not_open_is_left_at_once() -> None:
    client = Client(ClientConfig(), prefix="p")
    with pytest.raises(ConnectionClosedError):
        _ = client.machine
    assert client.close().done
    client = Client(ClientConfig(), prefix="p")
    client.begin()
    assert client.close().done


def test_a_client_that_never_reconnects_loses_everything_with_the_connection() -> None:
    stage = staged(retry=NEVER)
    core = stage.open(timeout=600)
    waiting = core.execute(queue.Declare("q"))
    stage.cut()
    assert not stage.client.comes_back
    assert isinstance(waiting.error, SessionLost)
    assert isinstance(core.ended.error, SessionLost)


def test_after_a_loss_there_is_a_new_wait_for_the_next_connection() -> None:
    stage = staged()
    first = stage.client.opened
    stage.cut()
    assert stage.client.opened is not first
    second = stage.client.opened
    assert not second.done
    stage.connect()
    second.result()
    assert stage.client.connections == 2


def test_giving_up_fails_every_pending_call() -> None:
    stage = Stage()
    core = stage.client.open_session()
    stage.client.begin()
    stage.client.give_up(OSError("no"))
    for ticket in (stage.client.opened, stage.client.ended, core.opened):
        assert ticket.error is not None


def test_what_is_opened_behind_the_last_connection_raises_with_the_reason_of_its_end() -> None:
    lost, closed = Stage(), Stage()
    lost.client.give_up(ConnectionLost("the other side closed it (503)"))
    with pytest.raises(ConnectionClosedError, match=r"^session\.attach: the connection is closed: .*closed it \(503\)"):
        lost.client.open_session()
    closed.client.close()
    with pytest.raises(ConnectionClosedError, match="the client is closed"):
        closed.client.open_session()


def test_a_session_that_this_connection_cannot_carry_is_over_and_the_others_are_not() -> None:
    stage = Stage(config=ClientConfig(limits=Limits(sessions=1)))
    one, two = stage.client.open_session(), stage.client.open_session()
    stage.connect()
    assert one.speakable
    assert two.ended.error is not None
    with pytest.raises(Exception, match="sessions"):
        stage.client.open_session()
    assert list(stage.client.cores) == [one.name]


def test_a_session_left_in_the_middle_of_a_loss_ended_well() -> None:
    stage = staged()
    core = stage.open(timeout=600)
    ended = core.close()
    stage.cut()
    assert ended.result() is None


def test_hosts_that_the_broker_names_are_remembered() -> None:
    stage = staged(server=ServerConfig(known_hosts=("amqp:tcp:other:1",)))
    assert stage.client.known_hosts == ("amqp:tcp:other:1",)


def test_events_of_sessions_that_nobody_knows_are_nobodys() -> None:
    stage = staged()
    session = stage.client.machine.session("by hand")
    stage.run()
    session.detach()
    stage.run()
    assert stage.client.cores == {}


def test_what_came_happens_in_the_tick_behind_it_by_the_clock_of_that() -> None:
    stage = Stage(config=ClientConfig(heartbeat=10))
    stage.connect()
    client, peer = stage.client, stage.peer
    assert peer is not None
    assert client.due == 10.0
    peer.close(CloseCode.CONNECTION_FORCED, "go")
    client.receive_data(peer.data_to_send())
    before = client.closed  # what came is only stored
    client.tick(1000.0)  # nobody is given up for silence: there were octets
    assert (before, client.closed) == (None, ConnectionClosed(Origin.PEER, 320, "go"))
    assert client.due is None


def test_a_connection_lasted_until_its_end_however_quiet_it_was() -> None:
    stage = staged()
    assert not stage.client.lasted(1.0)
    stage.now = 1000.0
    stage.cut()
    assert stage.client.lasted(1000.0)


def test_a_connection_is_of_use_once_something_was_answered() -> None:
    stage = staged()
    core = stage.open()
    assert not stage.client.useful
    core.execute(queue.Declare("q"))
    stage.run()
    assert stage.client.useful


def test_the_impossible_raises_at_its_caller() -> None:
    with pytest.raises(SaslError, match="PLAIN cannot carry a NUL"):
        Client(ClientConfig(username="a\0", password="b"), prefix="p")


def test_a_connection_is_useful_when_something_came_of_it_and_not_before() -> None:
    stage = staged()
    core = stage.open(timeout=600)
    useful = [stage.client.useful]
    stage.get(core.execute(queue.Declare("q")))
    useful.append(stage.client.useful)
    stage.cut()
    stage.connect()
    useful.append(stage.client.useful)
    assert useful == [False, True, False]
