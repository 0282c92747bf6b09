"""How connections of the adapters end at RabbitMQ, and how they are held up: what the program is told is true at the broker."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from tests.adapters.conditions import PATIENCE
from tests.adapters.loops import until
from tests.interop.overhearing import Overhearing
from tests.interop.test_rabbitmq_adapters import LOOPS, PROTOCOLS, left, loops
from tests.interop.test_rabbitmq_channels import LARGE, LETTERED
from tests.interop.test_rabbitmq_ends import BREACHES, breach, framed

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.dialects import CHANNEL_PROTOCOLS
from amqp_sansio.errors import AmqpError, ChannelClosed, ConnectionLost, InDoubt, StaleDelivery
from amqp_sansio.spec.methods import channel as channels
from tools.interop.rabbitmq import RabbitMq

pytestmark = pytest.mark.usefixtures("witness")
THREE = pytest.mark.parametrize("protocol", ["0-9-1", "0-9", "0-8"])
CONFIRMS = ("0-9-1", "0-9-rabbitmq")
"""In which RabbitMQ does."""


@pytest.fixture
def line(rabbitmq: RabbitMq) -> Iterator[Overhearing]:
    with Overhearing(rabbitmq.port) as line:
        yield line


def everybody(
    main: Callable[[Any, str, str, Callable[[], object]], Awaitable[object]], *then: Callable[[], object]
) -> list[str]:
    """Each adapter does `main` in each protocol, with a queue of its own, all at the same time; the queues.

    When all of them have come to their first `met()`, the first of `then` happens, and they go on; and so on.
    """
    steps = iter(then)
    who = {f"{type(loop).__name__}-{protocol}": (loop, protocol) for loop in loops() for protocol in CHANNEL_PROTOCOLS}
    barrier = threading.Barrier(len(who), lambda: next(steps)(), timeout=2 * PATIENCE)  # type: ignore[arg-type]

    def one(queue: str) -> None:
        loop, protocol = who[queue]
        try:
            loop.run(partial(main, loop, protocol, queue, barrier.wait))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(len(who)) as pool:
        for done in [pool.submit(one, queue) for queue in who]:
            done.result()
    return list(who)


async def doubts(pending: list[Any]) -> list[int]:
    """Which of them are in doubt; the others are confirmed."""
    found = []
    for number, each in enumerate(pending):
        try:
            await each
        except InDoubt:
            found.append(number)
    return found


# --- what is large, or many ---------------------------------------------------------------------------------------------------


@THREE
@LOOPS
@pytest.mark.parametrize("size", [0, 131064, 131065, 64 << 20])
def test_bodies_of_any_size(rabbitmq: RabbitMq, loop: Any, protocol: str, size: int) -> None:
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)

    async def main(url: str) -> None:
        async with loop.connect(url, config=ClientConfig(limits=LARGE)) as connection, connection.channel() as channel:
            await channel.declare_queue("large", exclusive=True)
            await channel.publish("", "large", body)
            message = await channel.get("large")
            assert message.body == body
            message.accept()
            assert await channel.get("large") is None

    with Overhearing(rabbitmq.port, limits=LARGE, shown=size < 1 << 20) as line:
        loop.run(lambda: main(f"{line.url}?protocol={protocol}"))


@PROTOCOLS
@LOOPS
def test_each_letter_of_field_tables_is_kept(line: Overhearing, loop: Any, protocol: str) -> None:
    async def main() -> None:
        async with loop.connect(f"{line.url}?protocol={protocol}") as connection, connection.channel() as channel:
            await channel.declare_queue("letters", exclusive=True)
            await channel.publish("", "letters", b"m", headers=LETTERED)
            message = await channel.get("letters")
            assert dict(message.raw_headers.fields) == LETTERED
            message.accept()
            assert await channel.delete_queue("letters") == 0

    loop.run(main)


@THREE
@LOOPS
def test_2047_channels(line: Overhearing, loop: Any, protocol: str) -> None:
    async def main() -> None:
        async with loop.connect(f"{line.url}?protocol={protocol}") as connection:
            opened = [await connection.channel().__aenter__() for _ in range(2047)]
            await opened[0].declare_queue("many", exclusive=True)
            for each in [await channel.send("", "many", b"%d" % channel.number) for channel in opened]:
                await each
            with pytest.raises(AmqpError, match="channels"):
                await connection.channel().__aenter__()
            async with opened[-1].subscribe("many", prefetch=2047) as subscription:
                there = [await subscription.receive(PATIENCE) for _ in opened]
                for message in there:
                    message.accept()
            assert {message.body for message in there} == {b"%d" % number for number in range(1, 2048)}
            assert await opened[-1].delete_queue("many") == 0

    loop.run(main)


# --- ends ------------------------------------------------------------------------------------------------------------------


@PROTOCOLS
@LOOPS
@pytest.mark.parametrize("what", BREACHES)
def test_a_breach_ends_the_connection(rabbitmq: RabbitMq, loop: Any, protocol: str, what: str) -> None:
    """The line commits it, for our client would not.  What was published before it is in the queue, and nothing else is."""
    code, _, wrong = BREACHES[what]

    async def main(line: Overhearing) -> None:
        with pytest.raises(AmqpError):
            async with loop.connect(f"{line.url}?protocol={protocol}") as connection, connection.channel() as channel:
                await channel.declare_queue("before")
                await channel.publish("", "before", b"before")
                line.say(breach(what, CHANNEL_PROTOCOLS[protocol], "before"))
                with pytest.raises(ChannelClosed, match=rf"\({code}\)|{code}"):
                    await channel.closed
                with pytest.raises(ConnectionLost, match=rf"\({code}\)"):
                    await connection.closed
                assert not connection.is_open
                await channel.publish("", "before", b"behind")

    with Overhearing(rabbitmq.port, wrong) as line:
        loop.run(lambda: main(line))
    with Overhearing(rabbitmq.port) as after:
        assert left(after, "before") == [b"before"]


@PROTOCOLS
@LOOPS
def test_closes_cross(rabbitmq: RabbitMq, loop: Any, protocol: str) -> None:
    """RabbitMQ never answers a close that crossed its own: ours ends all the same, at once."""

    async def main(line: Overhearing) -> None:
        async with loop.connect(f"{line.url}?protocol={protocol}", close_timeout=PATIENCE) as connection:
            with suppress(AmqpError):  # its channel may be gone by its end
                async with connection.channel() as channel:
                    await channel.declare_queue("crossed")
                    await channel.publish("", "crossed", b"m")
                    line.say(framed(CHANNEL_PROTOCOLS[protocol], channels.Open("")))
        assert not connection.is_open

    with Overhearing(rabbitmq.port, ("channel.second-open",)) as line:
        loop.run(lambda: main(line))
    with Overhearing(rabbitmq.port) as after:
        assert left(after, "crossed") == [b"m"]


def test_an_operator_ends_the_connection(rabbitmq: RabbitMq, line: Overhearing) -> None:
    async def main(loop: Any, protocol: str, queue: str, met: Callable[[], object]) -> None:
        with pytest.raises(AmqpError):
            async with loop.connect(f"{line.url}?protocol={protocol}") as connection, connection.channel() as channel:
                await channel.declare_queue(queue)
                await channel.publish("", queue, b"m")
                met()
                with pytest.raises(ConnectionLost, match=r"\(320\): CONNECTION_FORCED - the office closes"):
                    await connection.closed
                await channel.publish("", queue, b"behind")

    for queue in everybody(main, partial(rabbitmq.control, "close_all_connections", "the office closes")):
        assert left(line, queue) == [b"m"]


def test_a_line_that_is_silent(rabbitmq: RabbitMq, line: Overhearing) -> None:
    """RabbitMQ gives us up, and we it: what it had not confirmed is in doubt, and it never had it."""

    async def main(loop: Any, protocol: str, queue: str, met: Callable[[], object]) -> None:
        url = f"{line.url}?protocol={protocol}&heartbeat=1"
        with pytest.raises(AmqpError):
            async with loop.connect(url) as connection, connection.channel() as channel:
                await channel.declare_queue(queue)
                await channel.publish("", queue, b"taken")
                met()
                pending = [await channel.send("", queue, b"lost") for _ in range(10)]
                with pytest.raises(ConnectionLost, match="time ran out"):
                    await connection.closed
                assert await doubts(pending) == list(range(10))
                await channel.publish("", queue, b"behind")

    queues = everybody(main, lambda: setattr(line, "dead", frozenset("CS")))
    for _ in queues:
        assert line.left.acquire(timeout=PATIENCE), "RabbitMQ has ended each connection"
    with Overhearing(rabbitmq.port) as after:
        for queue in queues:
            assert left(after, queue) == [b"taken"]


class HalfOpen(Overhearing):
    """A line of which the broker does not hear that its clients are gone; counts what it refuses them when they come back."""

    refusals = b""

    def overhear(self, ear: object, speaker: str, octets: bytes) -> None:
        super().overhear(ear, speaker, octets)
        if speaker == "S" and (b"RESOURCE_LOCKED" in octets or b"in exclusive use" in octets):
            with self.turn:
                self.refusals += octets

    def refused(self, queue: str) -> int:
        """How often the broker refused that queue."""
        return self.refusals.count(b"'%s'" % queue.encode())


@pytest.fixture
def half_open(rabbitmq: RabbitMq) -> Iterator[HalfOpen]:
    with HalfOpen(rabbitmq.port) as line:
        yield line


HELD = RetryPolicy(jitter=0.0, longest=2.0)
"""Tries for much longer than all adapters need to be refused twice, even on a busy machine."""


def test_an_exclusive_queue_that_the_lost_connection_holds_is_declared_again(half_open: HalfOpen) -> None:
    """RabbitMQ refuses it (405) until it notices the loss; then the queue is a new one, and consumed as before."""

    async def main(loop: Any, protocol: str, queue: str, met: Callable[[], object]) -> None:
        url = f"{half_open.url}?protocol={protocol}&heartbeat=0"
        async with loop.connect(url, retry=HELD) as connection, connection.channel() as channel:
            await channel.declare_queue(queue, exclusive=True)
            async with channel.subscribe(queue, prefetch=1) as subscription:
                await channel.publish("", queue, b"goes with the first")
                first = await subscription.receive(PATIENCE)
                met()
                await until(loop, connection._client, lambda: half_open.refused(queue) >= 2)
                assert not channel.is_open
                met()
                await channel.publish("", queue, b"behind")
                message = await subscription.receive(PATIENCE)
                assert (message.body, message.redelivered, channel.remade) == (b"behind", False, 1)
                message.accept()
                with pytest.raises(StaleDelivery):
                    first.accept()
            assert await channel.delete_queue(queue) == 0

    everybody(main, half_open.leave, half_open.tell)


def test_an_exclusive_consumer_that_the_lost_connection_holds_starts_again(half_open: HalfOpen) -> None:
    """RabbitMQ refuses it (403) until it notices the loss; then it delivers again what was not accepted."""

    async def main(loop: Any, protocol: str, queue: str, met: Callable[[], object]) -> None:
        url = f"{half_open.url}?protocol={protocol}&heartbeat=0"
        async with loop.connect(url, retry=HELD) as connection, connection.channel() as channel:
            await channel.declare_queue(queue)
            async with channel.subscribe(queue, prefetch=1, exclusive=True) as subscription:
                await channel.publish("", queue, b"m")
                first = await subscription.receive(PATIENCE)
                met()
                await until(loop, connection._client, lambda: half_open.refused(queue) >= 2)
                met()
                message = await subscription.receive(PATIENCE)
                assert (message.body, first.redelivered, message.redelivered) == (b"m", False, True)
                message.accept()
                with pytest.raises(StaleDelivery):
                    first.accept()

    for queue in everybody(main, half_open.leave, half_open.tell):
        assert left(half_open, queue) == []


def test_the_node_is_blocked_and_unblocked(rabbitmq: RabbitMq, line: Overhearing) -> None:
    """Its memory alarm: what is published is held up, and all of it comes when it is over."""

    async def main(loop: Any, protocol: str, queue: str, met: Callable[[], object]) -> None:
        async with loop.connect(f"{line.url}?protocol={protocol}") as connection, connection.channel() as channel:
            await channel.declare_queue(queue)
            met()
            pending = [await channel.send("", queue, b"held up")]
            if protocol == "0-9-1":  # the others have no word for it
                await until(loop, connection._client, lambda: connection.blocked)
            pending.append(await channel.send("", queue, b"behind it"))
            met()
            await channel.sync()
            assert [each.done for each in pending] == [True, True]
            await until(loop, connection._client, lambda: not connection.blocked)

    alarm = partial(rabbitmq.control, "set_vm_memory_high_watermark")
    try:
        queues = everybody(main, partial(alarm, "0.000001"), partial(alarm, "0.4"))
    finally:
        alarm("0.4")
    for queue in queues:
        assert left(line, queue) == [b"held up", b"behind it"]


def test_a_killed_node_leaves_in_doubt_what_it_did_not_confirm(rabbitmq: RabbitMq, line: Overhearing) -> None:
    """1,000 are outstanding when it is killed, for the line loses what it says: just those are in doubt.

    Started again, it has each message that it confirmed once, and of those in doubt some, once, in order.  Where there are
    no confirms an answer tells that what was published before was read, not that it is on a disk.
    """

    async def main(loop: Any, protocol: str, queue: str, met: Callable[[], object]) -> None:
        with pytest.raises(AmqpError):
            async with loop.connect(f"{line.url}?protocol={protocol}") as connection, connection.channel() as channel:
                await channel.declare_queue(queue, durable=True)
                pending = [await channel.send("", queue, b"%d" % number, persistent=True) for number in range(500)]
                await channel.sync()
                met()
                pending += [await channel.send("", queue, b"%d" % number, persistent=True) for number in range(500, 1500)]
                met()
                with pytest.raises(ConnectionLost):
                    await connection.closed
                assert await doubts(pending) == list(range(500, 1500))
                await channel.publish("", queue, b"behind")

    def kill() -> None:
        rabbitmq.kill()
        line.cut()

    queues = everybody(main, lambda: setattr(line, "dead", frozenset("S")), kill)
    rabbitmq.restart()
    with Overhearing(rabbitmq.port) as after:
        for queue in queues:
            try:
                there = [int(body) for body in left(after, queue)]
            except ChannelClosed as lost:
                # The answer to a declare does not say that the queue is on a disk; a confirm of what is in it does.
                if lost.code == 404 and not queue.endswith(CONFIRMS):
                    continue
                raise
            assert there == sorted(set(there))
            assert there[:500] == list(range(500)) or not queue.endswith(CONFIRMS)
            assert set(there) <= set(range(1500))
