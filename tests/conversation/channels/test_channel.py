"""The faces of a channel for code that awaits, driven without any loop: to wait is to let the octets flow."""

from __future__ import annotations

from typing import TypeVar

import pytest
from tests.conversation.channels.stage import Stage, staged
from tests.conversation.staged_line import StagedLine, run

from amqp_sansio.conversation.base_client import Ending
from amqp_sansio.conversation.channels.address import ChannelAddress
from amqp_sansio.conversation.channels.channel import Channel, ChannelConnection
from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import ChannelClosed, MessageNacked, SubscriptionClosed, TransactionFailed
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import exchange, queue

Value = TypeVar("Value")


class World(StagedLine):
    """A stage, and a way of waiting on it."""

    def __init__(self) -> None:
        self.stage: Stage = staged()
        super().__init__(self.stage.run)
        self.ending = Ending(self.stage.client, 1.0)

    def channel(self) -> Channel:
        return Channel(self.stage.client.open_channel(), self, self.ending)


def test_there_and_back() -> None:
    world = World()

    async def main() -> list[bytes]:
        async with world.channel() as channel:
            await channel.declare_queue("q")
            await channel.publish("", "q", b"one")
            pending = await channel.send("", "q", b"two")
            assert not pending.done
            await pending
            found: list[bytes] = []
            async with channel.subscribe("q") as subscription:
                async for message in subscription:
                    found.append(message.body)
                    message.accept()
                    if len(found) == 2:
                        await subscription.cancel()
            return found

    assert run(main()) == [b"one", b"two"]
    assert world.stage.bodies("q") == []


class Busy(World):
    """One whose socket takes octets, or does not; `waited` counts who waits until it does."""

    def __init__(self) -> None:
        super().__init__()
        self.taking = True
        self.waited = 0

    def free(self, timeout: float | None = None) -> bool:
        return self.taking

    async def writable(self) -> None:
        self.waited += 1


@pytest.mark.parametrize("word", ["send", "publish"])
def test_a_message_waits_for_the_socket_and_for_room_and_for_nothing_else(word: str) -> None:
    world = Busy()
    waited: list[int] = []

    async def main() -> None:
        async with world.channel() as channel:
            await channel.declare_queue("q")
            channel._core.in_flight.most = 2
            for taking in (True, False, True):
                world.taking = taking
                await (channel.send if word == "send" else channel.publish)("", "q")
                waited.append(world.waited)

    run(main())
    assert waited == ([0, 1, 3] if word == "send" else [0, 1, 1])  # the third that is sent waits for room, too


def test_every_call_hands_its_timeout_on() -> None:
    world = World()

    async def main() -> None:
        async with world.channel() as channel:
            await channel.declare_queue("q", timeout=1)
            await channel.declare_exchange("e", timeout=2)
            await channel.bind("q", "e", timeout=3)
            await channel.publish("", "q", timeout=4)
            await channel.send("", "q", timeout=5)
            await channel.sync(timeout=6)
            await channel.get("q", timeout=7)
            await channel.unbind("q", "e", timeout=8)
            await channel.purge("q", timeout=9)
            await channel.delete_queue("q", timeout=10)
            await channel.delete_exchange("e", timeout=11)
            await channel.execute(queue.Declare("r", False, False, False, False, False, {}, 0), timeout=12)

    run(main())
    assert [each for each in world.timeouts if each != 1.0 or isinstance(each, int)] == list(range(1, 13))


@pytest.mark.parametrize("timeout", [None, 13.0])
def test_a_request_hands_its_timeout_on_and_waits_no_longer_than_for_its_answer(timeout: float | None) -> None:
    world = World()
    answer: Ticket[Message] = Ticket()
    world.before = lambda ticket, _: answer.settle(world.stage.fetch(core, "q")) if ticket is answer else None

    async def main() -> bytes:
        async with world.channel() as channel:
            channel._core.requests.publish = lambda *_: answer  # type: ignore[method-assign]
            return (await channel.request("", "rpc", b"abc", timeout=timeout)).body

    world.stage.queue("q", b"ABC")
    core = world.stage.open()
    assert run(main()) == b"ABC"
    assert [each for each in world.timeouts if each != 1.0] == ([] if timeout is None else [timeout])


@pytest.mark.parametrize(("timeout", "handed_on"), [(None, []), (13.0, [13.0])])
def test_an_opening_without_a_block_hands_its_timeout_on(timeout: float | None, handed_on: list[float]) -> None:
    world = World()

    async def main() -> bool:
        world.stage.client.enter()
        connection = ChannelConnection(ChannelAddress.parse("amqp://h/"), world.stage.client, world, 1.0)
        return (await connection.open_channel(timeout=timeout)).is_open

    assert run(main())
    assert world.timeouts == handed_on


def test_an_end_that_is_not_answered_is_waited_for_once() -> None:
    world = World()

    async def main() -> None:
        async with world.channel() as channel:
            await channel.declare_queue("q")
            world.stage.broker.mute = True
            world.deaf = True

    with pytest.raises(TimeoutError):
        run(main())
    assert world.ending.timeout == 0.0


def test_an_error_of_the_block_is_not_hidden_by_that_of_its_end() -> None:
    world = World()

    async def main() -> None:
        async with world.channel() as channel:
            await channel.declare_queue("q")
            world.deaf = True
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        run(main())


def test_an_error_that_was_seen_is_not_raised_again_by_the_end_of_the_block() -> None:
    world = World()

    async def main() -> None:
        async with world.channel() as channel:
            with pytest.raises(ChannelClosed):
                await channel.purge("none")

    run(main())


def test_what_became_of_a_message_is_raised_at_the_end_unless_somebody_asked() -> None:
    world = World()
    world.stage.queue("full")
    world.stage.broker.full.add("full")

    async def main(asks: bool) -> None:
        async with world.channel() as channel:
            pending = await channel.send("", "full")
            if asks:
                with pytest.raises(MessageNacked):
                    await pending

    run(main(True))
    with pytest.raises(MessageNacked):
        run(main(False))


def test_a_stop_lets_what_came_be_received() -> None:
    world = World()
    world.stage.queue("q", b"1", b"2")

    async def main() -> None:
        async with world.channel() as channel, channel.subscribe("q") as subscription:
            assert (await subscription.receive()).body == b"1"
            await subscription.stop()
            assert (await subscription.receive(3)).body == b"2"
            with pytest.raises(SubscriptionClosed):
                await subscription.receive()

    run(main())


async def abandoned(channel: Channel) -> None:
    async with channel.transaction():
        await channel.publish("", "q", b"2")
        raise ValueError("back")


def test_a_transaction_ends_with_its_block() -> None:
    world = World()
    world.stage.queue("q")

    async def main() -> None:
        async with world.channel() as channel:
            async with channel.transaction():
                await channel.publish("", "q", b"1")
            with pytest.raises(ValueError, match="back"):
                await abandoned(channel)
            with pytest.raises(TransactionFailed):
                async with channel.transaction():
                    await channel.publish("none", "q", b"3")

    run(main())
    assert world.stage.bodies("q") == [b"1"]


class Written(Channel):
    """What would be said."""

    def __init__(self) -> None:
        self.said: list[tuple[Method, float | None]] = []

    async def execute(self, method: Method, *, timeout: float | None = None) -> Method:
        self.said.append((method, timeout))
        answers = {queue.Declare: queue.DeclareOk("q", 3, 1), queue.Delete: queue.DeleteOk(5), queue.Purge: queue.PurgeOk(4)}
        return answers.get(type(method), method)


def test_each_call_puts_its_arguments_where_they_belong() -> None:
    channel = Written()

    async def main() -> None:
        declared = await channel.declare_queue("q", passive=True, exclusive=True, arguments={"x": 1}, timeout=1)
        assert (declared.queue, declared.message_count, declared.consumer_count) == ("q", 3, 1)
        await channel.declare_queue("q", durable=True, auto_delete=True)
        assert await channel.delete_queue("q", if_unused=True, timeout=2) == 5
        assert await channel.purge("q", timeout=3) == 4
        await channel.bind("q", "e", "k", arguments={"x": 1}, timeout=4)
        await channel.unbind("q", "e", "k", timeout=5)
        await channel.declare_exchange("e", "topic", durable=True, internal=True, timeout=6)
        await channel.declare_exchange("e", passive=True, auto_delete=True)
        await channel.delete_exchange("e", if_unused=True, timeout=7)

    run(main())
    assert channel.said == [
        (queue.Declare("q", True, False, True, False, False, {"x": 1}, 0), 1),
        (queue.Declare("q", False, True, False, True, False, None, 0), None),
        (queue.Delete("q", True, False, False, 0), 2),
        (queue.Purge("q", False, 0), 3),
        (queue.Bind("q", "e", "k", False, {"x": 1}, 0), 4),
        (queue.Unbind("q", "e", "k", None, 0, False), 5),
        (exchange.Declare("e", "topic", False, True, False, None, 0, False, True), 6),
        (exchange.Declare("e", "direct", True, False, False, None, 0, True, False), None),
        (exchange.Delete("e", True, False, 0), 7),
    ]
