"""What every client has over as many connections as it takes, whatever is spoken on them."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from tests.conversation import stage as sessions
from tests.conversation.channels import stage as channels
from tests.conversation.stage import staged

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.base_client import BaseClient, Ending
from amqp_sansio.conversation.channels.client import ChannelClient
from amqp_sansio.conversation.client import Client
from amqp_sansio.dialects import AMQP_0_9_1, AMQP_0_10, Dialect
from amqp_sansio.errors import ConnectionClosedError, ConnectionLost, LocalProtocolError, SessionLost
from amqp_sansio.events import Origin
from amqp_sansio.spec import queue
from amqp_sansio.wire.codec import Codec

Staged: TypeAlias = sessions.Stage | channels.Stage


@pytest.fixture(params=[sessions.staged, channels.staged], ids=["sessions", "channels"])
def stage(request: pytest.FixtureRequest) -> Staged:
    made: Staged = request.param()
    return made


def made(family: type[Client] | type[ChannelClient], **settings: Any) -> BaseClient:
    return family(ClientConfig(dialect=AMQP_0_10 if family is Client else AMQP_0_9_1), prefix="p", **settings)


FAMILIES = pytest.mark.parametrize("family", [Client, ChannelClient])


def test_an_open_connection_is_counted_and_lasts(stage: Staged) -> None:
    client = stage.client
    opened = [(client.opened.done, client.connections)]
    assert client.lasted(0.0)
    assert not client.lasted(1.0)
    stage.now = 1000.0
    stage.cut()
    assert client.lasted(1000.0)
    opened.append((client.opened.done, client.connections))
    assert client.closed is not None
    assert client.closed.origin == Origin.EOF
    stage.connect()
    opened.append((client.opened.done, client.connections))
    assert opened == [(True, 1), (False, 1), (True, 2)]


def test_a_clean_end(stage: Staged) -> None:
    client = stage.client
    ended = client.close()
    stage.run()
    assert client.machine.finished
    client.give_up(ConnectionLost("over"))
    assert ended.result() is None
    assert client.close() is ended
    assert not client.comes_back


def test_giving_up_fails_the_end(stage: Staged) -> None:
    stage.client.give_up(ConnectionLost("over"))
    with pytest.raises(ConnectionLost, match="over"):
        stage.client.ended.result()


@FAMILIES
def test_without_a_connection_there_is_no_machine(family: type[Client] | type[ChannelClient]) -> None:
    client = made(family)
    with pytest.raises(ConnectionClosedError):
        _ = client.machine
    assert client.close().done


@FAMILIES
def test_its_block_is_entered_once(family: type[Client] | type[ChannelClient]) -> None:
    client = made(family)
    with pytest.raises(LocalProtocolError, match="a channel"):
        client.must_be_entered("a channel")
    client.enter()
    client.must_be_entered("a channel")
    with pytest.raises(LocalProtocolError, match="opened before"):
        client.enter()


@FAMILIES
def test_what_the_other_side_begins_with_is_kept_until_the_connection_is_open(
    family: type[Client] | type[ChannelClient],
) -> None:
    client = made(family)
    client.begin()
    client.receive_data(b"HTTP/1.1 ")
    client.receive_data(b"400 " + b"x" * 1000)
    assert client.said.startswith(b"HTTP/1.1 400")
    assert len(client.said) == 64
    assert client.heard == 2


@pytest.mark.parametrize(
    ("family", "other", "named"),
    [(Client, AMQP_0_9_1, "adapters.*.channels"), (ChannelClient, AMQP_0_10, "the one without channels")],
)
def test_a_client_knows_the_door_of_the_other_family(
    family: type[Client] | type[ChannelClient], other: Dialect[Codec], named: str
) -> None:
    client = made(family)
    client.begin()
    assert client.right_door == ""
    client.receive_data(other.header)
    assert named in client.right_door


def test_close_does_not_wait_again_for_a_broker_that_let_one_end_time_out() -> None:
    client = Client(ClientConfig(), prefix="p")
    ending = Ending(client, 10.0)
    assert (ending.timeout, ending.seconds) == (10.0, 10.0)
    ending.missed()
    assert (ending.timeout, ending.seconds) == (0.0, 10.0)
    client.connections += 1  # it came back
    assert ending.timeout == 10.0


def test_a_broker_that_has_spoken_since_is_waited_for_again() -> None:
    stage = staged()
    ending = Ending(stage.client, 10.0)
    ending.missed()
    assert ending.timeout == 0.0
    core = stage.client.open_session()
    assert ending.timeout == 0.0
    stage.run()
    assert core.opened.done
    assert ending.timeout == 10.0


def test_a_broker_that_makes_progress_has_come_further_however_much_is_sent_meanwhile() -> None:
    stage = staged()
    ending = Ending(stage.client, 10.0)
    core = stage.client.open_session()
    before = ending.come(core)
    stage.run()
    core.execute(queue.Declare("q"))
    attached = ending.come(core)
    core.publish("", "q", b"x", {})
    assert before != attached == ending.come(core)
    stage.run()
    assert ending.come(core) != attached


def test_a_silent_end_names_what_was_awaited_and_what_is_in_doubt() -> None:
    stage = staged()
    ending = Ending(stage.client, 10.0)
    core = stage.open()
    sent = core.publish("", "q", b"x", {})
    id = core.session._outbound.next_id - 1
    ending.silent(core, "execution.sync")
    assert ending.timeout == 0.0
    for ticket in (sent, core.ended):
        with pytest.raises(SessionLost, match=r"no answer to execution.sync within 10.0 seconds") as lost:
            ticket.result()
        assert id in lost.value.in_doubt
