"""What `sync` waits for."""

from __future__ import annotations

import pytest

from amqp_sansio.conversation.channels.barrier import Barrier
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import ChannelClosed, MessageNacked
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import channel


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
