"""Declaring again what was declared, before the user's channels are open again."""

from __future__ import annotations

import pytest
from tests.conversation.channels.stage import Stage, staged
from tests.families.channels import content, frame

from amqp_sansio.conversation.channels import restoring
from amqp_sansio.conversation.channels.core import ChannelCore
from amqp_sansio.conversation.channels.restoring import TRIES
from amqp_sansio.conversation.channels.topology import nothing
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.dialects import AMQP_0_9_1
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.errors import LimitError
from amqp_sansio.events.channel import ChannelClosed
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods import exchange, queue
from amqp_sansio.spec.reply_codes import ReplyCode


def declare(stage: Stage, names: list[str]) -> None:
    core = stage.open()
    stage.get(core.execute(exchange.Declare("e", "direct", False, False, False, {}, 0, False, False)))
    for name in names:
        stage.get(core.execute(queue.Declare(name, False, False, False, False, True, {}, 0)))  # its no-wait is not kept
        stage.get(core.execute(queue.Bind(name, "e", "k", False, {}, 0)))


def forget(stage: Stage) -> None:
    """The broker is another one."""
    stage.broker.queues.clear()
    stage.broker.bindings.clear()
    del stage.broker.exchanges["e"]


@pytest.mark.parametrize("window", [1, 2, 64])
def test_all_that_was_declared_is_there_again(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoring, "WINDOW", window)
    stage = staged()
    names = [f"q{each}" for each in range(5)]
    declare(stage, names)
    stage.cut()
    forget(stage)
    stage.connect()
    assert sorted(stage.broker.queues) == names
    assert stage.broker.bindings == {("e", "k", name) for name in names}
    assert all(core.is_open for core in stage.client.cores)
    assert stage.client.machine.channels == tuple([core.channel for core in stage.client.cores])  # its own one is closed


def test_what_the_server_refuses_is_left_out_and_the_rest_goes_on() -> None:
    stage = staged()
    declare(stage, ["a", "b"])
    topology = stage.client.topology
    topology.hear(queue.Bind("none", "e", "k", False, {}, 0), None)
    topology.hear(queue.Bind("b", "e", "l", False, {}, 0), None)
    stage.cut()
    forget(stage)
    stage.connect()
    assert stage.broker.bindings == {("e", "k", "a"), ("e", "k", "b"), ("e", "l", "b")}
    assert len(topology.bindings) == 3
    assert all(core.is_open for core in stage.client.cores)


def test_nothing_is_declared_when_the_user_says_so() -> None:
    stage = staged(topology=nothing)
    declare(stage, ["a"])
    stage.cut()
    forget(stage)
    stage.connect()
    assert not stage.broker.queues
    assert all(core.is_open for core in stage.client.cores)


def test_one_channel_is_enough() -> None:
    """A server that allows one channel at a time allows the user's when the one that declares is closed."""
    stage = staged(limits=Limits(channels=1))
    declare(stage, ["a"])
    stage.cut()
    forget(stage)
    stage.connect()
    assert sorted(stage.broker.queues) == ["a"]
    assert [(core.is_open, core.error) for core in stage.client.cores] == [(True, None)]


def test_a_second_loss_in_the_middle_begins_anew() -> None:
    stage = staged()
    declare(stage, ["a", "b"])
    stage.cut()
    forget(stage)
    stage.broker.mute = True
    stage.connect()
    stage.cut()
    stage.broker.mute = False
    stage.connect()
    assert sorted(stage.broker.queues) == ["a", "b"]
    assert all(core.is_open for core in stage.client.cores)


def test_what_the_next_broker_cannot_do_is_left_out() -> None:
    """A binding of exchanges wants a capability: a broker without it refuses nothing, for nothing is said."""
    stage = staged()
    declare(stage, ["a"])
    topology = stage.client.topology
    topology.hear(exchange.Bind("e", "amq.fanout", "", False, {}, 0), None)
    topology.hear(queue.Bind("a", "e", "l", False, {}, 0), None)
    stage.cut()
    forget(stage)
    stage.broker.capabilities = {"publisher_confirms": True}
    stage.connect()
    assert stage.broker.bindings == {("e", "k", "a"), ("e", "l", "a")}
    assert len(topology.bindings) == 2
    assert all(core.is_open for core in stage.client.cores)


def test_no_more_waits_for_an_answer_than_the_limit_of_calls() -> None:
    stage = staged(limits=Limits(calls=2))
    names = [f"q{each}" for each in range(5)]
    declare(stage, names)
    stage.cut()
    forget(stage)
    stage.connect()
    assert sorted(stage.broker.queues) == names


def test_a_server_that_leaves_no_channel_for_the_rest_leaves_nobody_waiting() -> None:
    """It returns more than we take, on the only channel that it agrees to: that is closed, and no other one can be had yet."""
    stage = staged()
    declare(stage, ["a", "b"])
    cores = tuple(stage.client.cores)
    stage.cut()
    forget(stage)
    stage.broker.channel_max = 1
    stage.broker.mute = True
    stage.connect()
    server = stage.server
    assert server is not None
    server._write(frame(AMQP_0_9_1, "basic.return", reply_code=312) + content(size=1 << 40))
    stage.run()
    assert stage.client.is_open
    assert [type(core.error) for core in cores] == [LimitError]


def test_a_server_that_refuses_the_channel_of_the_declarations_leaves_nobody_waiting() -> None:
    stage = staged()
    declare(stage, ["a"])
    stage.cut()
    forget(stage)
    stage.broker.refusals = 1
    stage.connect()
    assert not stage.broker.queues
    assert all(core.is_open for core in stage.client.cores)


def test_answers_in_another_order_and_with_other_names_rename_nothing() -> None:
    stage = staged()
    declare(stage, ["a"])
    stage.cut()
    stage.broker.mute = True
    stage.connect()
    (channel,) = [each.number for each in stage.client.machine.channels]
    answers = frame(AMQP_0_9_1, "queue.declare-ok", channel, queue="other") + frame(AMQP_0_9_1, "exchange.declare-ok", channel)
    stage.client.receive_data(answers)
    stage.client.tick(stage.now)
    stage.client.receive_data(frame(AMQP_0_9_1, "queue.bind-ok", channel))
    stage.client.tick(stage.now)
    assert list(stage.client.topology.queues) == ["a"]
    stage.run()
    assert all(core.is_open for core in stage.client.cores)


@pytest.mark.parametrize("rounds", range(12))
def test_a_second_loss_anywhere_finds_the_queues_that_the_server_named(rounds: int) -> None:
    stage = staged()
    core = stage.open()
    calls = [core.execute(queue.Declare("", False, False, True, False, False, {}, 0)) for _ in range(2)]
    stage.run()
    names = [each.result().queue for each in calls]  # type: ignore[attr-defined]
    for name in names:
        stage.get(core.execute(queue.Bind(name, "amq.fanout", "", False, {}, 0)))
    inboxes = [core.subscribe(name) for name in names]
    stage.run()
    stage.cut()
    stage.client.begin()
    server = stage.server = stage.broker.connect()
    for _ in range(rounds):  # so far goes the first attempt
        stage.client.tick(stage.now)
        server.receive_data(stage.client.machine.data_to_send())
        stage.broker.hear(server)
        stage.client.receive_data(server.data_to_send())
    stage.cut()
    stage.connect()
    assert (core.is_open, core.error) == (True, None)
    assert [inbox.queue for inbox in inboxes] == list(stage.client.topology.queues) == list(stage.broker.queues)
    stage.get(core.publish("amq.fanout", "", b"1", {}))
    stage.run()
    assert [len(inbox.messages) for inbox in inboxes] == [1, 1]


def locked(retry: RetryPolicy) -> tuple[Stage, ChannelCore, ChannelServerConnection]:
    """The client has connected again while the broker takes its old connection for alive, and the queue for that one's."""
    stage = staged(retry=retry)
    core = stage.open()
    for name in ("mine", "ours"):
        stage.get(core.execute(queue.Declare(name, False, False, name == "mine", False, False, {}, 0)))
        stage.get(core.execute(queue.Bind(name, "amq.fanout", "", False, {}, 0)))
    old = stage.lose()
    stage.broker.bindings.clear()
    del stage.broker.queues["ours"]
    stage.connect()
    return stage, core, old


def test_what_the_lost_connection_still_holds_is_declared_when_the_broker_has_noticed_the_loss() -> None:
    """RabbitMQ answers 405 until its own heartbeat tells it; everything else is there meanwhile."""
    stage, core, old = locked(RetryPolicy(first=1.0, jitter=0.9))
    assert ("ours" in stage.broker.queues, core.is_open, stage.client.awaits_end, stage.client.due) == (True, False, True, 1.0)
    for now, due in ((0.9, 1.0), (1.0, 3.0), (2.9, 3.0), (3.0, 7.0)):
        stage.now = now
        stage.run()
        assert (core.is_open, stage.client.due) == (False, due)
    stage.broker.lose(old)
    stage.now = 7.0
    stage.run()
    assert core.is_open
    assert (stage.client.awaits_end, stage.client.due) == (False, None)
    assert stage.broker.exclusive == {"mine": stage.server}
    assert stage.broker.bindings == {("amq.fanout", "", "mine"), ("amq.fanout", "", "ours")}
    assert all(isinstance(told, ChannelClosed) and told.code == 405 for told in stage.told[-3:])


@pytest.mark.parametrize(
    ("retry", "tries"),
    [(RetryPolicy(first=1.0, give_up=6.9), 2), (RetryPolicy(first=1.0, give_up=7.0), 3), (RetryPolicy(attempts=None), TRIES)],
)
def test_what_somebody_else_holds_is_left_out_in_the_end(retry: RetryPolicy, tries: int) -> None:
    stage, core, _ = locked(retry)
    for _ in range(tries):
        assert not core.is_open
        due = stage.client.due
        assert due is not None
        stage.now = due
        stage.run()
    assert core.is_open
    assert (stage.client.due, list(stage.client.topology.queues)) == (None, ["ours"])
    assert stage.broker.bindings == {("amq.fanout", "", "mine"), ("amq.fanout", "", "ours")}


def test_a_loss_while_it_waits_begins_anew() -> None:
    stage, core, old = locked(RetryPolicy(first=1.0))
    stage.cut()
    assert (stage.client.awaits_end, stage.client.due) == (False, None)
    stage.broker.lose(old)
    stage.connect()
    assert core.is_open
    assert stage.broker.exclusive == {"mine": stage.server}


def test_a_server_that_closes_the_channel_while_it_waits_leaves_nobody_waiting() -> None:
    stage, core, _ = locked(RetryPolicy(first=1.0))
    server = stage.server
    assert server is not None
    (side,) = [each for (connection, _), each in stage.broker.sides.items() if connection is server]
    side.channel.fail(ReplyCode.PRECONDITION_FAILED, "no time for that", "queue.declare")
    stage.run()
    assert core.is_open
    assert (stage.client.awaits_end, stage.client.due) == (False, None)


def test_the_listener_hears_of_its_channel_only_what_the_server_refuses() -> None:
    stage = staged()
    declare(stage, ["a"])
    stage.cut()
    stage.told.clear()
    stage.connect()
    assert not stage.told
    stage.client.topology.hear(queue.Bind("none", "e", "k", False, {}, 0), None)
    stage.cut()
    stage.told.clear()
    stage.connect()
    (refused,) = stage.told
    assert isinstance(refused, ChannelClosed)
    assert (refused.code, refused.method) == (404, "queue.bind")
