"""Channels and subscriptions for blocking code, and for several threads."""

from __future__ import annotations

import queue
import threading

import pytest
from tests.adapters.conditions import PATIENCE
from tests.adapters.served_channels import ServedChannels

from amqp_sansio.adapters.sync.channel import Channel
from amqp_sansio.adapters.sync.channels import Message, connect
from amqp_sansio.errors import MessageNacked, MessageReturned, SubscriptionCancelled, SubscriptionClosed


def test_each_call_has_its_answer() -> None:
    with ServedChannels() as served, connect(served.url) as connection, connection.channel() as channel:
        made = channel.declare_queue("", exclusive=True).queue
        channel.declare_exchange("e", "fanout")
        channel.bind(made, "e", "k")
        channel.publish("e", "k", b"1")
        channel.unbind(made, "e", "k")
        channel.publish("e", "k", b"2")
        assert channel.declare_queue(made, passive=True).message_count == 1
        message = channel.get(made)
        assert message is not None
        message.accept()
        assert channel.get(made) is None
        assert channel.purge(made) == 0
        channel.publish("", made, b"3")
        assert channel.delete_queue(made) == 1
        channel.delete_exchange("e")
        assert channel.is_open
        assert channel.number == 1
        assert channel.remade == 0


def test_what_becomes_of_a_message_is_raised() -> None:
    with ServedChannels() as served, connect(served.url) as connection, connection.channel() as channel:
        served.broker.full.add("full")
        channel.declare_queue("full")
        with pytest.raises(MessageReturned):
            channel.publish("", "nowhere", mandatory=True)
        with pytest.raises(MessageNacked):
            channel.publish("", "full")
        with pytest.raises(MessageNacked):
            channel.send("", "full").result()
        with pytest.raises(MessageNacked), connection.channel() as other:
            other.send("", "full")  # nobody asks what became of it


def test_a_subscription_ends_as_its_caller_asks() -> None:
    with ServedChannels() as served, connect(served.url) as connection, connection.channel() as channel:
        channel.declare_queue("q")
        with channel.subscribe("q") as subscription:
            with pytest.raises(TimeoutError):
                subscription.receive(0.01)
            for body in (b"1", b"2"):
                channel.publish("", "q", body)
            channel.sync()
            subscription.stop()
            subscription.receive(10).accept()
            assert subscription.consumer_tag
        with pytest.raises(SubscriptionClosed):
            subscription.receive()
        channel.sync()
        assert served.bodies("q") == [b"2"]
        with channel.subscribe("q") as subscription:
            channel.delete_queue("q")
            with pytest.raises(SubscriptionCancelled):
                while True:
                    subscription.receive(10)


def test_a_transaction_counts_whole_or_not_at_all() -> None:
    with ServedChannels() as served, connect(served.url) as connection, connection.channel() as channel:
        channel.declare_queue("q")
        with channel.transaction():
            channel.publish("", "q", b"1")
        with pytest.raises(ValueError, match="back"), channel.transaction():
            channel.publish("", "q", b"2")
            raise ValueError("back")
        assert served.bodies("q") == [b"1"]


def answer(channel: Channel, count: int) -> None:
    with channel.subscribe("rpc") as requests:
        for _ in range(count):
            request = requests.receive(PATIENCE)
            assert request.reply_to is not None
            channel.publish("", request.reply_to, request.body.upper(), correlation_id=request.correlation_id)
            request.accept()


def test_a_request_is_answered_by_another_thread() -> None:
    with ServedChannels() as served, connect(served.url) as connection:
        with connection.channel() as asking, connection.channel() as serving:
            serving.declare_queue("rpc")
            worker = threading.Thread(target=answer, args=(serving, 2))
            worker.start()
            for body in (b"abc", b"def"):
                assert asking.request("", "rpc", body, timeout=PATIENCE).body == body.upper()
            worker.join()
            with pytest.raises(TimeoutError):
                asking.request("", "rpc", b"abc", timeout=0.01)


def test_a_worker_thread_acknowledges_while_another_one_publishes() -> None:
    count = 300
    work: queue.SimpleQueue[Message | None] = queue.SimpleQueue()

    def accept() -> None:
        while (message := work.get()) is not None:
            message.accept()

    def publish(channel: Channel) -> None:
        for number in range(count):
            channel.publish("", "q", b"%d" % number)

    with ServedChannels() as served, connect(served.url) as connection, connection.channel() as channel:
        channel.declare_queue("q")
        workers = [threading.Thread(target=accept), threading.Thread(target=publish, args=(channel,))]
        for worker in workers:
            worker.start()
        with channel.subscribe("q", prefetch=10) as subscription:
            found = []
            for _ in range(count):
                message = subscription.receive(PATIENCE)
                found.append(message.body)
                work.put(message)
            work.put(None)
            for worker in workers:
                worker.join()
        assert found == [b"%d" % number for number in range(count)]
        assert served.bodies("q") == []
        assert channel.purge("q") == 0
