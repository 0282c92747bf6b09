"""What `sync` waits for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conversation.channels.stage import Stage, staged

from amqp_sansio.conversation.channels.calls import Barrier, Fetch, with_queue
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.dialects import AMQP_0_8, AMQP_0_9, AMQP_0_9_1, AMQP_0_9_RABBITMQ, ChannelDialect
from amqp_sansio.errors import ChannelClosed, EncodeError, LimitError, LocalProtocolError, MessageNacked, MessageReturned
from amqp_sansio.events import MethodReceived
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic, channel, exchange, queue
from amqp_sansio.spec.methods import channel as channels


def test_it_waits_for_the_answer_and_for_whatever_becomes_of_the_messages() -> None:
    answered: Ticket[Method] = Ticket()
    messages: list[Ticket[None]] = [Ticket() for _ in range(3)]
    barrier = Barrier(answered, messages)
    messages[1].fail(MessageNacked(2))
    answered.settle(channel.FlowOk(True))
    messages[0].settle(None)
    assert not barrier.done
    messages[2].settle(None)
    barrier.result()


def test_it_fails_with_its_question() -> None:
    answered: Ticket[Method] = Ticket()
    barrier = Barrier(answered, [Ticket()])
    answered.fail(ChannelClosed(1, "gone"))
    with pytest.raises(ChannelClosed):
        barrier.result()


@pytest.mark.parametrize("answers", [False, True])
def test_an_abandoned_wait_leaves_no_callback_behind(answers: bool) -> None:
    answered: Ticket[Method] = Ticket()
    messages: list[Ticket[None]] = [Ticket() for _ in range(3)]
    barrier = Barrier(answered, messages)
    if answers:
        answered.settle(channel.FlowOk(True))
    called: list[int] = []

    def one() -> None:
        called.append(1)

    def other() -> None:
        called.append(2)

    barrier.on_done(one)
    barrier.on_done(other)
    barrier.forget(one)
    assert len(answered._callbacks) + sum([len(each._callbacks) for each in messages]) == 1
    barrier.forget(other)
    assert not answered._callbacks
    assert not any(each._callbacks for each in messages)
    answered.settle(channel.FlowOk(True))
    for message in messages:
        message.settle(None)
    assert not barrier.done
    barrier.on_done(one)  # somebody waits again
    assert called == [1]


def declare(name: str) -> queue.Declare:
    return queue.Declare(name, False, False, False, False, False, {}, 0)


def test_syncs_at_a_server_that_says_nothing_leave_nothing_behind() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    messages = [core.publish("", "q", b"", {}) for _ in range(3)]
    stage.broker.mute = True
    for _ in range(5):
        waits = core.sync()
        waits.on_done(stage.run)
        waits.forget(stage.run)
        stage.run()
    assert not any(message._callbacks for message in messages)
    assert len(core.calls) == 1
    assert not any(ticket._callbacks for ticket, _ in core.calls._methods.values())


def test_a_second_sync_asks_again_if_the_channel_has_sent_something_since() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    first = core.sync()
    core.publish("", "q", b"", {})
    second = core.sync()
    assert len(core.calls) == 2
    core.sync()
    assert len(core.calls) == 2
    stage.run()
    assert (first.done, second.done) == (True, True)


def test_a_sync_leaves_deliveries_paused_where_the_user_has_paused_them() -> None:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(channels.Flow(False)))
    stage.get(core.sync())
    stage.get(core.execute(channels.Flow(True)))
    stage.get(core.sync())
    flows = [each.method for each in stage.broker.heard if isinstance(each, MethodReceived)]
    assert flows == [channels.Flow(False), channels.Flow(False), channels.Flow(True), channels.Flow(True)]


def test_a_cancel_that_wants_no_answer_ends_its_subscription() -> None:
    stage = staged()
    stage.queue("q", b"1")
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    stage.run()
    core.execute(basic.Cancel(inbox.tag, True))
    stage.run()
    assert (inbox.closed, core.consumers.inboxes, stage.bodies("q")) == (True, {}, [b"1"])


def test_no_name_is_that_of_the_queue_which_was_declared_last() -> None:
    """By the server's rule; so the topology has it by its name."""
    stage = staged()
    core = stage.open()
    stage.get(core.execute(declare("old")))
    calls = [
        core.execute(declare("")), core.execute(queue.Bind("", "amq.fanout", "", False, {}, 0)),
        core.execute(queue.Bind("", "amq.direct", "k", False, {}, 0)),
    ]  # fmt: skip
    inbox = core.consumers.subscribe("")
    # The broker of these tests knows no such rule.
    answers = [
        queue.DeclareOk("amq.gen-1", 0, 0), queue.BindOk(), queue.BindOk(), basic.QosOk(), basic.ConsumeOk(inbox.tag),
    ]  # fmt: skip
    for id, answer in zip(list(core.calls._methods), answers, strict=True):
        core.calls.answered(id, answer)
    assert all(each.done for each in calls)
    assert [(each.queue, each.routing_key) for each in bound(stage)] == [("amq.gen-1", "amq.gen-1"), ("amq.gen-1", "k")]
    assert inbox.queue == "amq.gen-1"
    core.calls._executed(queue.Unbind("", "amq.fanout", "", {}, 0, False), queue.UnbindOk())
    assert [each.routing_key for each in bound(stage)] == ["k"]
    core.calls._executed(queue.Delete("", False, False, False, 0), queue.DeleteOk(0))
    assert (bound(stage), list(stage.client.topology.queues)) == ([], ["old"])


def bound(stage: Stage) -> list[queue.Bind]:
    return [each for each in stage.client.topology.bindings if isinstance(each, queue.Bind)]


def test_what_cannot_be_remembered_is_not_declared() -> None:
    stage = staged(limits=Limits(declared=2))
    core = stage.open()
    calls = [core.execute(declare("a")), core.execute(declare("a"))]
    with pytest.raises(LimitError, match="declared"):
        core.execute(declare("b"))  # both may be of different things, for all that is known yet
    assert [stage.get(each) for each in calls]
    stage.get(core.execute(declare("b")))
    with pytest.raises(LimitError, match="declared"):
        core.execute(declare("c"))
    stage.get(core.execute(declare("a")))
    assert sorted(stage.broker.queues) == ["a", "b"]
    stage.get(core.execute(queue.Delete("a", False, False, False, 0)))
    stage.get(core.execute(declare("c")))


def test_what_the_server_refuses_makes_room_for_others() -> None:
    stage = staged(limits=Limits(declared=1))
    core = stage.open()
    refused = core.execute(queue.Bind("none", "amq.fanout", "", False, {}, 0))
    stage.run()
    assert refused.error is not None
    stage.get(stage.open().execute(declare("a")))


@pytest.mark.parametrize("dialect", [AMQP_0_8, AMQP_0_9, AMQP_0_9_RABBITMQ, AMQP_0_9_1], ids=lambda dialect: dialect.name)
def test_a_method_that_has_no_answer_in_its_version_waits_for_none(dialect: ChannelDialect) -> None:
    stage = staged(dialect)
    core = stage.open()
    methods = [each for each in (basic.Recover(True), basic.RecoverAsync(True)) if each.VERB in dialect.codec.verbs]
    tickets = [core.execute(each) for each in methods]
    stage.run()
    assert all(each.done for each in tickets)
    assert len(core.calls) == 0


@pytest.mark.parametrize("early", [False, True])
def test_a_message_that_its_caller_does_not_wait_for_any_more_goes_back(early: bool) -> None:
    stage = staged()
    stage.queue("q", b"1")
    fetch = Fetch(stage.open(), "q")
    fetch.leave()
    waits = fetch.say()
    if early:
        fetch.leave()
    stage.run()
    assert waits.done
    if not early:
        fetch.leave()  # cancelled before it went on
    stage.run()
    assert stage.bodies("q") == [b"1"]


def test_a_caller_who_left_a_channel_that_ended_gives_nothing_back() -> None:
    stage = staged()
    stage.queue("q", b"1")
    core = stage.open()
    came, empty, lost = Fetch(core, "q"), Fetch(core, "q"), Fetch(core, "q")
    for each in (came, empty):
        each.say()
    stage.run()
    lost.say()
    stage.cut()
    for each in (came, empty, lost):
        each.leave()


@pytest.mark.parametrize("wrong", [[], {}, 5, b"q"])
def test_a_wrong_name_is_refused_before_the_topology_reads_it(wrong: Any) -> None:
    """The function that chooses what is declared again gets to see only what can be sent."""
    chosen: list[Method] = []

    def choose(method: Method) -> bool:
        chosen.append(method)
        return True

    stage = staged(topology=choose)
    core = stage.open()
    for said in (
        declare(wrong),
        exchange.Declare(wrong),
        queue.Bind(wrong, "x"),
        queue.Bind("q", wrong),
        exchange.Bind("x", wrong),
    ):
        with pytest.raises(EncodeError):
            core.execute(said)
    assert chosen == []
    stage.get(core.execute(declare("q")))
    assert len(stage.client.topology) == 1


def test_an_answer_reaches_the_caller_of_its_request() -> None:
    stage = staged()
    stage.queue("q", b"1")
    core = stage.open()
    message = stage.fetch(core, "q")
    requests = core.requests
    one, two = requests.ask("1"), requests.ask("2")
    requests.answered("2", message)
    requests.answered("2", message)  # a second answer
    requests.answered("3", message)  # nobody asked that
    assert two.result() is message
    assert not one.done


def test_an_id_waits_once() -> None:
    requests = staged().open().requests
    first = requests.ask("1")
    with pytest.raises(LocalProtocolError, match="correlation_id '1'"):
        requests.ask("1")
    requests.forget(first)
    requests.ask("1")


def test_a_request_fails_with_what_became_of_it() -> None:
    requests = staged().open().requests
    one, two = requests.ask("1"), requests.ask("2")
    requests.failed("1", ValueError())
    requests.failed("1", ValueError())
    assert isinstance(one.error, ValueError)
    requests.lost(ChannelClosed(1, "gone"))
    assert isinstance(two.error, ChannelClosed)


def test_at_most_so_many_wait() -> None:
    requests = staged().open().requests
    requests.most = 2
    for id in ("1", "2"):
        requests.ask(id)
    with pytest.raises(LimitError, match="requests is 2"):
        requests.ask("3")


def test_only_its_caller_learns_the_outcome_of_a_request() -> None:
    stage = staged()
    core = stage.open()
    answer = core.requests.publish("", "nowhere", b"", {"mandatory": True})
    stage.run()
    assert isinstance(answer.error, MessageReturned)
    lost = core.requests.publish("", "nowhere", b"", {})
    stage.cut()
    assert isinstance(lost.error, ChannelClosed)
    core.in_flight.unheard()


@pytest.mark.parametrize("id", [b"\xff", 5, "x" * 256])
def test_a_wrong_id_is_refused_before_anything_waits_for_it(id: Any) -> None:
    stage = staged()
    core = stage.open()
    with pytest.raises(EncodeError, match="correlation_id"):
        core.requests.publish("", "q", b"", {"correlation_id": id})
    assert not core.requests._waiting


def test_another_place_for_answers_is_refused() -> None:
    core = staged().open()
    with pytest.raises(EncodeError, match=r"^request: reply_to: is amq\.rabbitmq\.reply-to"):
        core.requests.publish("", "q", b"", {"reply_to": "my-answers"})
    assert not core.requests._waiting


def test_no_name_of_a_queue_is_that_of_the_last_one() -> None:
    unbound = with_queue(queue.Unbind("", "e", "", {"x": 1}, 0, False), "q")
    assert unbound == queue.Unbind("q", "e", "q", {"x": 1}, 0, False)
    assert with_queue(queue.Bind("", "e", "k", True, {}, 0), "q") == queue.Bind("q", "e", "k", True, {}, 0)
    assert with_queue(queue.Delete("", True, False, False, 0), "q") == queue.Delete("q", True, False, False, 0)
    for other in (queue.Bind("r", "e", "", False, {}, 0), queue.Purge("", False, 0), exchange.Bind("", "e", "", False, {})):
        assert with_queue(other, "q") is other
