"""The life of one channel, and what an observer keeps of one."""

from __future__ import annotations

import tracemalloc

from tests.families.channels import ALL, ONE, Said, c, content, frame, opened, opening, s, told

from amqp_sansio.engine.observer import Observer


def test_a_word_at_the_wrong_time_may_be_answered() -> None:
    late = [c("channel.close", reply_code=200), c("queue.declare"), s("queue.declare-ok"), s("channel.close-ok")]
    assert told(*late) == ["C channel.closed"]


def delivery(tag: int) -> Said:
    return "S", frame(ONE, "basic.deliver", consumer_tag="t", delivery_tag=tag) + content(b"m")


def test_what_was_delivered_at_the_wrong_time_may_be_acknowledged() -> None:
    """The server speaks behind its close: the breach is its own, and the client answers what came."""
    consuming = [c("basic.consume", consumer_tag="t"), s("basic.consume-ok", consumer_tag="t"), delivery(1)]
    ack = c("basic.ack", delivery_tag=2)
    assert told(*consuming, ack) == ["C delivery-tag.unknown"]
    assert told(*consuming, s("channel.close", reply_code=200), delivery(2), ack) == ["S channel.closed"]
    close: Said = "S", frame(ONE, "connection.close", 0, reply_code=200)
    assert told(*consuming, close, delivery(2), ack) == ["S connection.closed"]


def test_a_channel_that_was_never_opened_may_be_open_to_the_other_side() -> None:
    words = [
        c("channel.close", reply_code=200),
        s("channel.close-ok"),
        c("queue.declare"),
        s("queue.declare-ok"),
        c("tx.commit"),
    ]
    assert told(*words) == ["C channel.closed"]


def test_an_idle_channel_is_a_few_hundred_octets() -> None:
    watch = Observer(dialects=ALL)

    def hear(first: int, last: int) -> None:
        for number in range(first, last):
            for who, octets in opened(ONE, number):
                watch.receive_data(who, octets)
                list(watch.events())

    for who, octets in opening(ONE, opens=0):
        watch.receive_data(who, octets)
    hear(1, 101)
    tracemalloc.start()
    try:
        hear(101, 1101)
        assert tracemalloc.get_traced_memory()[0] < 400 * 1000
    finally:
        tracemalloc.stop()


def test_answering_a_close_leaves_the_content_unfinished() -> None:
    begun: Said = "C", frame(ONE, "basic.publish") + content(b"half", size=8)
    assert told(begun, s("channel.close", reply_code=200), c("channel.close-ok")) == []
    assert told(begun, c("channel.close", reply_code=200)) == ["C content.interrupted"]
    words = [begun, s("channel.close", reply_code=200), c("channel.close-ok"), c("channel.open"), begun, begun]
    assert told(*words) == ["C content.interrupted"]
