"""What was declared through a connection."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conversation.channels.stage import Stage, staged
from tests.families.channels import content, frame
from tests.steps import assert_linear

from amqp_sansio.conversation.channels import topology
from amqp_sansio.conversation.channels.core import ChannelCore
from amqp_sansio.conversation.channels.topology import TRIES, Declared, Topology, everything, nothing
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.dialects import AMQP_0_9_1
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.errors import ChannelClosed as Closed
from amqp_sansio.errors import LimitError
from amqp_sansio.events.channel import ChannelClosed
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import exchange, queue
from amqp_sansio.spec.reply_codes import ReplyCode


def declared_queue(name: str, passive: bool = False) -> queue.Declare:
    return queue.Declare(name, passive, False, False, False, False, {}, 0)


def declared_exchange(name: str, passive: bool = False) -> exchange.Declare:
    return exchange.Declare(name, "direct", passive, False, False, {}, 0, False, False)


def bound(name: str, source: str = "e", key: str = "k", **arguments: str) -> queue.Bind:
    return queue.Bind(name, source, key, False, arguments, 0)


def joined(to: str, source: str = "e", key: str = "k") -> exchange.Bind:
    return exchange.Bind(to, source, key, False, {})


def filled(*methods: Declared) -> Topology:
    topology = Topology()
    for method in methods:
        topology.hear(method, None)
    return topology


def test_what_is_declared_is_kept_once_in_its_order() -> None:
    methods = declared_exchange("e"), declared_queue("a"), declared_queue("b"), bound("a"), joined("f")
    topology = filled(*methods, *methods)
    assert topology.exchanges == methods[:1]
    assert list(topology.queues.values()) == list(methods[1:3])
    assert topology.bindings == methods[3:]


def test_passive_declarations_and_the_default_exchange_declare_nothing() -> None:
    topology = filled(declared_queue("a", passive=True), declared_exchange("e", passive=True), declared_exchange(""))
    assert (topology.exchanges, topology.queues) == ((), {})


def test_a_queue_that_the_server_named_is_kept_by_that_name() -> None:
    topology = Topology()
    topology.hear(declared_queue(""), queue.DeclareOk("amq.gen-1", 0, 0))
    topology.hear(declared_queue(""), None)
    others = bound("other"), joined("amq.gen-1")
    for each in (bound("amq.gen-1"), *others):
        topology.hear(each, None)
    assert list(topology.queues) == ["amq.gen-1"]
    topology.rename({"amq.gen-1": "amq.gen-2"})
    assert list(topology.queues) == ["amq.gen-2"]
    assert list(topology.bindings) == [bound("amq.gen-2"), *others]
    topology.hear(queue.Unbind("amq.gen-2", "e", "k", {}, 0, False), queue.UnbindOk())
    assert list(topology.bindings) == [*others]


def test_key_and_arguments_distinguish_bindings() -> None:
    assert len(filled(bound("a"), bound("a", key="l"), bound("a", x="1"), bound("a", x="2"), bound("b")).bindings) == 5


def test_what_is_removed_is_forgotten_with_its_bindings() -> None:
    topology = filled(declared_exchange("e"), declared_queue("a"), declared_queue("b"), bound("a"), bound("b"), joined("f"))
    topology.hear(queue.Unbind("a", "e", "k", {}, 0, False), queue.UnbindOk())
    assert list(topology.bindings) == [bound("b"), joined("f")]
    topology.hear(queue.Delete("b", False, False, False, 0), queue.DeleteOk(0))
    assert list(topology.queues) == ["a"]
    assert list(topology.bindings) == [joined("f")]
    topology.hear(exchange.Unbind("f", "e", "k", False, {}), exchange.UnbindOk())
    assert not topology.bindings
    topology.hear(joined("f"), None)
    topology.hear(bound("a"), None)
    topology.hear(exchange.Delete("e", False, False, 0), exchange.DeleteOk())
    assert (topology.exchanges, topology.bindings) == ((), ())


def test_a_queue_that_goes_with_its_last_consumer_is_forgotten() -> None:
    going = queue.Declare("a", False, False, False, True, False, {}, 0)
    topology = filled(going, bound("a"), declared_queue("b"))
    assert [topology.goes_unconsumed(name) for name in ("a", "b", "c")] == [True, False, False]
    topology.forget_queue("a")
    assert (list(topology.queues), topology.bindings) == (["b"], ())


def test_what_the_server_refuses_is_dropped() -> None:
    declared: list[tuple[str, Declared]] = [("", declared_exchange("e")), ("a", declared_queue("a")), ("", bound("a"))]
    topology = filled(*[method for _, method in declared])
    for name, method in declared:
        topology.drop(name, method)
    assert (topology.exchanges, topology.queues, topology.bindings) == ((), {}, ())
    topology.drop(*declared[0])


def test_names_may_be_exchanged() -> None:
    topology = Topology()
    for name in ("a", "b"):
        topology.hear(queue.Declare("", False, False, False, False, False, {"of": name}, 0), queue.DeclareOk(name, 0, 0))
        topology.hear(bound(name), None)
    topology.rename({"a": "b", "b": "a", "unknown": "c"})
    assert {name: each.arguments for name, each in topology.queues.items()} == {"b": {"of": "a"}, "a": {"of": "b"}}
    assert sorted([each.queue for each in topology.bindings if isinstance(each, queue.Bind)]) == ["a", "b"]


def test_the_user_chooses() -> None:
    assert everything(declared_queue("a"))
    assert not nothing(declared_queue("a"))
    topology = Topology(lambda each: isinstance(each, queue.Declare) and each.queue != "b")
    for method in (declared_queue("a"), declared_queue("b"), declared_exchange("e"), bound("a"), joined("f")):
        topology.hear(method, None)
    assert (list(topology.queues), topology.exchanges, topology.bindings) == (["a"], (), ())


def test_an_exchange_that_goes_with_its_last_binding_is_forgotten() -> None:
    def going(name: str) -> exchange.Declare:
        return exchange.Declare(name, "fanout", False, False, False, {}, 0, True, False)

    declared = going("e"), going("f"), declared_exchange("g"), declared_queue("a"), declared_queue("b")
    topology = filled(*declared, bound("a"), bound("b"), joined("e", "f"), joined("f", "g"))
    topology.hear(queue.Unbind("a", "e", "k", {}, 0, False), queue.UnbindOk())
    assert [each.exchange for each in topology.exchanges] == ["e", "f", "g"]
    topology.hear(queue.Delete("b", False, False, False, 0), queue.DeleteOk(0))
    assert [each.exchange for each in topology.exchanges] == ["g"]
    assert not topology.bindings
    ring = filled(going("e"), going("f"), joined("e", "f"), joined("f", "e"))
    ring.hear(exchange.Delete("e", False, False, 0), exchange.DeleteOk())
    assert (ring.exchanges, ring.bindings) == ((), ())


def test_a_long_row_of_exchanges_goes_at_once() -> None:
    def prepared(size: int) -> Callable[[], object]:
        topology = Topology()
        for each in range(size):
            topology.hear(exchange.Declare(f"{each}", "fanout", False, False, False, {}, 0, True, False), None)
            topology.hear(joined(f"{each + 1}", f"{each}"), None)
        return lambda: topology.hear(exchange.Delete(f"{size}", False, False, 0), exchange.DeleteOk())

    assert_linear(prepared, 500)


def test_what_is_known_needs_no_room() -> None:
    topology = Topology(everything, 3)
    assert not topology.must_have_room(declared_queue("a", passive=True))
    assert not topology.must_have_room(declared_exchange(""))
    assert not topology.must_have_room(queue.Purge("a", False, 0))
    for method in (declared_exchange("e"), declared_queue("a"), bound("a")):
        assert topology.must_have_room(method)
        topology.hear(method, None)
        assert not topology.must_have_room(method)
    assert len(topology) == 3
    for more in (declared_exchange("f"), declared_queue("b"), declared_queue(""), bound("a", key="l"), joined("f")):
        with pytest.raises(LimitError, match="declared"):
            topology.must_have_room(more)


def test_what_waits_for_its_answer_takes_room() -> None:
    topology = Topology(everything, 1)
    answer: Ticket[Method] = Ticket()
    topology.expect(answer)
    with pytest.raises(LimitError):
        topology.must_have_room(declared_queue("a"))
    answer.fail(Closed(1, "refused"))
    assert topology.must_have_room(declared_queue("a"))


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
    monkeypatch.setattr(topology, "WINDOW", window)
    stage = staged()
    names = [f"q{each}" for each in range(5)]
    declare(stage, names)
    stage.cut()
    forget(stage)
    stage.connect()
    assert sorted(stage.broker.queues) == names
    assert stage.broker.bindings == {("e", "k", name) for name in names}
    assert all(core.is_open for core in stage.client.cores.values())
    channels = tuple([core.channel for core in stage.client.cores.values()])
    assert stage.client.machine.channels == channels  # its own one is closed


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
    assert all(core.is_open for core in stage.client.cores.values())


def test_nothing_is_declared_when_the_user_says_so() -> None:
    stage = staged(topology=nothing)
    declare(stage, ["a"])
    stage.cut()
    forget(stage)
    stage.connect()
    assert not stage.broker.queues
    assert all(core.is_open for core in stage.client.cores.values())


def test_one_channel_is_enough() -> None:
    """A server that allows one channel at a time allows the user's when the one that declares is closed."""
    stage = staged(limits=Limits(channels=1))
    declare(stage, ["a"])
    stage.cut()
    forget(stage)
    stage.connect()
    assert sorted(stage.broker.queues) == ["a"]
    assert [(core.is_open, core.error) for core in stage.client.cores.values()] == [(True, None)]


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
    assert all(core.is_open for core in stage.client.cores.values())


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
    assert all(core.is_open for core in stage.client.cores.values())


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
    cores = tuple(stage.client.cores.values())
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
    assert all(core.is_open for core in stage.client.cores.values())


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
    assert all(core.is_open for core in stage.client.cores.values())


@pytest.mark.parametrize("rounds", range(12))
def test_a_second_loss_anywhere_finds_the_queues_that_the_server_named(rounds: int) -> None:
    stage = staged()
    core = stage.open()
    calls = [core.execute(queue.Declare("", False, False, True, False, False, {}, 0)) for _ in range(2)]
    stage.run()
    names = [each.result().queue for each in calls]  # type: ignore[attr-defined]
    for name in names:
        stage.get(core.execute(queue.Bind(name, "amq.fanout", "", False, {}, 0)))
    inboxes = [core.consumers.subscribe(name) for name in names]
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
