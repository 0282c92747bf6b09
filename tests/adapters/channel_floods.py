"""What every adapter's client of channels must do beside a server that floods it, or says what nobody asked for."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, repeat

import pytest
from tests.adapters.loops import Loop
from tests.adapters.strangers import HostileChannels
from tests.families.channels import ONE, content, frame

from amqp_sansio.conversation.channels import consumers
from amqp_sansio.errors import ChannelClosed

MIB = 1024 * 1024
Said = Callable[[str], Iterator[bytes]]


def deliveries(tag: str, first: int = 1, step: int = 1) -> Iterator[bytes]:
    """Messages with these delivery tags."""
    for number in count(first, step):
        yield frame(ONE, "basic.deliver", consumer_tag=tag, delivery_tag=number) + content(b"x" * 1000)


def to_a_stranger(tag: str) -> Iterator[bytes]:
    """Messages to a consumer that nobody asked for."""
    return deliveries("stranger")


def backwards(tag: str) -> Iterator[bytes]:
    """Messages whose tags go down."""
    return deliveries(tag, 1 << 32, -1)


def returns(tag: str, octets: int = 1000) -> Iterator[bytes]:
    """Messages come back that nobody published."""
    return repeat(frame(ONE, "basic.return", reply_code=312, reply_text="NO_ROUTE") + content(b"x" * octets))


def answers(tag: str) -> Iterator[bytes]:
    """Answers to what nobody asked."""
    return repeat(frame(ONE, "queue.declare-ok", queue="q"))


def headers(tag: str) -> Iterator[bytes]:
    """Headers of contents, one behind the other."""
    return repeat(content(size=1000))


def a_large_table(tag: str) -> Iterator[bytes]:
    """A table that fits into no frame of the size that was agreed on."""
    table = b"\x01xS" + (200_000).to_bytes(4, "big") + b"y" * 200_000
    properties = b"\x20\0" + len(table).to_bytes(4, "big") + table
    return repeat(frame(ONE, "basic.deliver", consumer_tag=tag, delivery_tag=1) + content(b"", properties=properties))


def an_endless_body(tag: str) -> Iterator[bytes]:
    """A message that is announced as larger than we take."""
    yield frame(ONE, "basic.deliver", consumer_tag=tag, delivery_tag=1) + content(b"x" * 1000, size=1 << 40)
    while True:
        yield content(b"x" * 1000)[-1008:]


@contextmanager
def little_memory() -> Iterator[None]:
    """What is done in it takes less than 4 MiB at any time."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MIB


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (to_a_stranger, r"basic.deliver.consumer-tag: basic.deliver with consumer-tag \"stranger\": no consumer has this tag"),
        (backwards, r"delivery-tag.order: basic.deliver with delivery-tag 4294967295: tags of a channel go up from 1"),
        (answers, r"reply.unasked: queue.declare-ok: nobody asked for it"),
        (
            headers,
            r"content.header-unexpected: a header frame: a header frame without a method that carries a content before it",
        ),
        (a_large_table, r"connection.tune-ok.frame-max: a header frame of 200033 octets: a frame larger than what was agreed"),
        (an_endless_body, r"limits.assembly_octets: a body of 1099511627776 octets behind method 60.60: more than our limit"),
        (deliveries, r"basic.qos.prefetch-count: basic.deliver with consumer-tag .*: \d+ messages wait to be received"),
    ],
)
def test_a_server_that_floods_is_dropped_and_memory_stays_flat(
    loop: Loop, said: Said, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver hears which rule the server broke with which method, and nothing is kept of the flood."""
    monkeypatch.setattr(consumers, "BEYOND_OCTETS", MIB)

    async def main(url: str) -> None:
        async with loop.connect(url, close_timeout=60.0) as connection, connection.channel() as channel:
            async with channel.subscribe("q", prefetch=10) as subscription:
                await channel.closed
                await subscription.receive()

    with HostileChannels(said, 16 * MIB).serving() as server:
        with little_memory(), pytest.raises(ChannelClosed, match=why) as caught:
            loop.run(lambda: main(server.url))
    assert server.sent < 16 * MIB
    assert caught.value.code == (406 if said in (an_endless_body, deliveries) else None)
    assert caught.value.method == ("basic.deliver" if caught.value.code == 406 else "")


def test_messages_that_come_back_are_not_kept(loop: Loop) -> None:
    """A server may return what it likes; until it is gone it is read, and nothing grows."""

    async def main(url: str) -> None:
        async with loop.connect(url) as connection, connection.channel() as channel:
            channel.subscribe("q")
            await channel.closed

    with HostileChannels(lambda tag: returns(tag, 30_000), 16 * MIB).serving() as server:
        with little_memory(), pytest.raises(ChannelClosed, match="the connection ended: the octets ended without a close"):
            loop.run(lambda: main(server.url))
    assert server.sent >= 16 * MIB


def test_a_deadline_passes_however_many_messages_come_back(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url, close_timeout=0.5) as connection, connection.channel() as channel:
            async with channel.subscribe("q") as subscription:
                await loop.receive(subscription, 0.1)

    with HostileChannels(returns, 1024 * MIB).serving() as server:
        with pytest.raises(loop.timed_out):
            loop.run(lambda: main(server.url))
    assert server.sent < 1024 * MIB
