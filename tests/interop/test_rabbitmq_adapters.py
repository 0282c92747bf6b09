"""The adapters' channels at RabbitMQ: what a program does with them is true at the broker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from tests.adapters.asyncio.test_connection import AsyncioLoop
from tests.adapters.blocking import BlockingLoop
from tests.adapters.conditions import PATIENCE
from tests.adapters.trio.test_connection import TrioLoop
from tests.cli.test_channels import said
from tests.docs.test_snippets import snippets
from tests.examples.test_examples import ADAPTERS, CHANNELS, ROOT, run
from tests.interop.cutting import Cutting
from tests.interop.overhearing import Overhearing

from amqp_sansio.adapters.asyncio import channels as by_asyncio
from amqp_sansio.adapters.sync import channels as blocking
from amqp_sansio.adapters.trio import channels as by_trio
from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.dialects import CHANNEL_PROTOCOLS
from amqp_sansio.errors import (
    ChannelClosed,
    ConnectFailed,
    InDoubt,
    MessageNacked,
    MessageReturned,
    StaleDelivery,
    SubscriptionCancelled,
)
from tools.interop.rabbitmq import RabbitMq

pytestmark = pytest.mark.usefixtures("witness")
QUICK = RetryPolicy(attempts=40, first=0.05, factor=1.0, jitter=0.0, give_up=30.0)
PROTOCOLS = pytest.mark.parametrize("protocol", CHANNEL_PROTOCOLS)
EXTENDED = pytest.mark.parametrize("protocol", ["0-9-1", "0-9-rabbitmq"])
"""Those in which RabbitMQ has its extensions."""


def loops() -> list[Any]:
    of_asyncio, of_trio, of_none = AsyncioLoop(), TrioLoop(), BlockingLoop()
    of_asyncio.connect, of_trio.connect, of_none.dial = by_asyncio.connect, by_trio.connect, blocking.connect
    return [of_asyncio, of_trio, of_none]


LOOPS = pytest.mark.parametrize("loop", loops(), ids=["asyncio", "trio", "sync"])
AWAITING = pytest.mark.parametrize("loop", loops()[:2], ids=["asyncio", "trio"])


@pytest.fixture
def rabbitmq(rabbitmq: RabbitMq) -> Iterator[Overhearing]:
    """A line to it, on which all is overheard."""
    with Overhearing(rabbitmq.port) as line:
        yield line


def left(node: Overhearing, queue: str) -> list[bytes]:
    """What is on a queue, which is gone afterwards."""
    with blocking.connect(node.url) as connection, connection.channel() as channel:
        found: list[Message] = []
        if count := channel.declare_queue(queue, passive=True).message_count:
            with channel.subscribe(queue, prefetch=count) as subscription:
                found += [subscription.receive(PATIENCE) for _ in range(count)]
                for message in found:
                    message.accept()
        assert channel.delete_queue(queue) == 0
    return [message.body for message in found]


@PROTOCOLS
@LOOPS
def test_messages_there_and_back(rabbitmq: Overhearing, loop: Any, protocol: str) -> None:
    async def main() -> None:
        url = f"{rabbitmq.url}?protocol={protocol}&connection_name=interop"
        async with loop.connect(url) as connection, connection.channel() as channel:
            await channel.declare_queue("there")
            pending = [await channel.send("", "there", b"%d" % each, persistent=True) for each in range(100)]
            for each in pending:
                await each
            async with channel.subscribe("there", prefetch=7) as subscription:
                for expected in range(60):
                    message = await subscription.receive(PATIENCE)
                    assert message.body == b"%d" % expected
                    message.accept()
            await channel.sync()

    loop.run(main)
    assert left(rabbitmq, "there") == [b"%d" % each for each in range(60, 100)]


@PROTOCOLS
@LOOPS
def test_a_subscription_that_ends_at_once_leaves_the_connection_working(
    rabbitmq: Overhearing, loop: Any, protocol: str
) -> None:
    """RabbitMQ 3.10 ends the connection with 541 over a cancel that it hears before it has said consume-ok."""

    async def main() -> None:
        async with loop.connect(f"{rabbitmq.url}?protocol={protocol}") as connection, connection.channel() as channel:
            await channel.declare_queue("brief")
            await channel.publish("", "brief", b"stays")
            for _ in range(10):
                async with channel.subscribe("brief"):
                    pass

    loop.run(main)
    assert left(rabbitmq, "brief") == [b"stays"]


@EXTENDED
@LOOPS
def test_ten_thousand_confirms_in_a_window_of_a_thousand(rabbitmq: Overhearing, loop: Any, protocol: str) -> None:
    async def main() -> None:
        async with loop.connect(f"{rabbitmq.url}?protocol={protocol}") as connection, connection.channel() as channel:
            await channel.declare_queue("many")
            pending = []
            for _ in range(10_000):
                pending.append(await channel.send("", "many", b"x"))
                assert len(channel._core.in_flight) <= 1000
            await channel.sync()
            assert all(each.done for each in pending)
            assert await channel.delete_queue("many") == 10_000

    loop.run(main)


@PROTOCOLS
@LOOPS
def test_what_became_of_messages(rabbitmq: Overhearing, loop: Any, protocol: str) -> None:
    async def main() -> None:
        async with loop.connect(f"{rabbitmq.url}?protocol={protocol}") as connection, connection.channel() as channel:
            full = {"x-max-length": 1, "x-overflow": "reject-publish"}
            await channel.declare_queue("full", arguments=full)
            await channel.publish("", "full", b"in")
            with pytest.raises(MessageNacked) if protocol in ("0-9-1", "0-9-rabbitmq") else nullcontext():
                await channel.publish("", "full", b"out")
            with pytest.raises(MessageReturned) as caught:
                await channel.publish("", "nowhere", mandatory=True)
            assert caught.value.code == 312
            pending = [await channel.send("", "nowhere", b"%d" % (each % 3), mandatory=True) for each in range(30)]
            await channel.sync()
            for each in pending:
                with pytest.raises(MessageReturned):
                    await each

    loop.run(main)
    assert left(rabbitmq, "full") == [b"in"]


@PROTOCOLS
@LOOPS
def test_a_rejected_message_goes_to_the_dead_letters(rabbitmq: Overhearing, loop: Any, protocol: str) -> None:
    async def main() -> None:
        async with loop.connect(f"{rabbitmq.url}?protocol={protocol}") as connection, connection.channel() as channel:
            await channel.declare_queue("dead")
            arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
            await channel.declare_queue("living", exclusive=True, arguments=arguments)
            await channel.publish("", "living", b"1")
            async with channel.subscribe("living") as subscription:
                (await subscription.receive(PATIENCE)).release()
                again = await subscription.receive(PATIENCE)
                assert again.redelivered
                again.reject()
            async with channel.subscribe("dead") as subscription:
                dead = await subscription.receive(PATIENCE)
                assert dead.headers["x-death"][0]["queue"] == "living"
                dead.accept()

    loop.run(main)
    assert left(rabbitmq, "dead") == []


@PROTOCOLS
@LOOPS
def test_a_transaction_counts_whole_or_not_at_all(rabbitmq: Overhearing, loop: Any, protocol: str) -> None:
    async def main() -> None:
        async with loop.connect(f"{rabbitmq.url}?protocol={protocol}") as connection, connection.channel() as channel:
            await channel.declare_queue("both")
            async with channel.transaction():
                await channel.publish("", "both", b"1")
            with pytest.raises(ValueError, match="back"):
                async with channel.transaction():
                    await channel.publish("", "both", b"2")
                    raise ValueError("back")

    loop.run(main)
    assert left(rabbitmq, "both") == [b"1"]


@PROTOCOLS
@LOOPS
def test_a_refused_call_ends_its_channel_alone(rabbitmq: Overhearing, loop: Any, protocol: str) -> None:
    async def refused(connection: Any, call: Callable[[Any], Awaitable[object]]) -> int | None:
        async with connection.channel() as channel:
            with pytest.raises(ChannelClosed) as caught:
                await call(channel)
            return caught.value.code

    async def main() -> None:
        async with loop.connect(f"{rabbitmq.url}?protocol={protocol}") as connection, connection.channel() as alive:
            await alive.declare_queue("owned", exclusive=True)
            codes = [
                await refused(connection, lambda each: each.declare_queue("none", passive=True)),
                await refused(connection, lambda each: each.declare_queue("owned", exclusive=True, auto_delete=True)),
                await refused(connection, lambda each: each.declare_exchange("amq.mine")),
            ]
            async with loop.connect(f"{rabbitmq.url}?protocol={protocol}") as other:
                codes.append(await refused(other, lambda each: each.get("owned")))
            assert codes == [404, 406, 403, 405]
            await alive.publish("", "owned", b"still here")
            assert await alive.purge("owned") == 1

    loop.run(main)


@PROTOCOLS
@LOOPS
def test_a_refused_call_ends_a_channel_with_busy_consumers_alone(rabbitmq: Overhearing, loop: Any, protocol: str) -> None:
    """RabbitMQ goes on to deliver behind its close; the witness accuses it of that, and not us."""

    async def main() -> None:
        async with loop.connect(f"{rabbitmq.url}?protocol={protocol}") as connection, connection.channel() as alive:
            await alive.declare_queue("busy", exclusive=True)
            for number in range(400):
                await alive.send("", "busy", b"%d" % number)
            await alive.sync()
            for _ in range(3):
                async with connection.channel() as channel:
                    subscription = channel.subscribe("busy", prefetch=150)
                    (await subscription.receive(timeout=10)).release()
                    with pytest.raises(ChannelClosed, match="404"):
                        await channel.declare_queue("none", passive=True)
            assert connection.is_open
            await alive.sync()

    loop.run(main)


@EXTENDED
@AWAITING
def test_a_request_is_answered(rabbitmq: Overhearing, loop: Any, protocol: str) -> None:
    async def main() -> None:
        connecting = loop.connect(f"{rabbitmq.url}?protocol={protocol}")
        async with connecting as connection, connection.channel() as asking, connection.channel() as serving:
            await serving.declare_queue("rpc", exclusive=True)

            async def serve() -> None:
                async with serving.subscribe("rpc") as requests:
                    request = await requests.receive(PATIENCE)
                    await serving.publish("", request.reply_to, request.body.upper(), correlation_id=request.correlation_id)
                    request.accept()

            async def ask() -> None:
                assert (await asking.request("", "rpc", b"abc", timeout=PATIENCE)).body == b"ABC"

            await loop.both(serve, ask)
            assert await serving.delete_queue("rpc") == 0

    loop.run(main)


@EXTENDED
def test_a_request_of_blocking_code_is_answered(rabbitmq: Overhearing, protocol: str) -> None:
    url = f"{rabbitmq.url}?protocol={protocol}"
    with blocking.connect(url) as connection, connection.channel() as asking, connection.channel() as serving:
        serving.declare_queue("rpc", exclusive=True)

        def serve() -> None:
            with serving.subscribe("rpc") as requests:
                request = requests.receive(PATIENCE)
                serving.publish("", request.reply_to or "", request.body.upper(), correlation_id=request.correlation_id)
                request.accept()

        worker = threading.Thread(target=serve)
        worker.start()
        assert asking.request("", "rpc", b"abc", timeout=PATIENCE).body == b"ABC"
        worker.join()
        assert serving.delete_queue("rpc") == 0


@EXTENDED
@LOOPS
def test_a_deleted_queue_cancels_its_subscription(rabbitmq: Overhearing, loop: Any, protocol: str) -> None:
    async def main() -> None:
        async with loop.connect(f"{rabbitmq.url}?protocol={protocol}") as connection, connection.channel() as channel:
            await channel.declare_queue("gone")
            subscription = channel.subscribe("gone")
            await channel.sync()
            await channel.delete_queue("gone")
            with pytest.raises(SubscriptionCancelled):
                await subscription.receive(PATIENCE)

    loop.run(main)


@LOOPS
def test_behind_a_loss_everything_is_as_it_was_and_nothing_is_published_again(rabbitmq: Overhearing, loop: Any) -> None:
    async def main(line: Cutting) -> None:
        url = f"amqp://127.0.0.1:{line.port}"
        async with loop.connect(url, retry=QUICK) as connection, connection.channel() as channel:
            queue = (await channel.declare_queue("", exclusive=True)).queue
            await channel.declare_queue("kept")
            await channel.declare_exchange("topics", "topic", auto_delete=True)
            await channel.bind(queue, "topics", "a.#")
            subscription = channel.subscribe(queue, prefetch=3)
            await channel.publish("topics", "a.b", b"1")
            first = await subscription.receive(PATIENCE)
            line.cut()
            pending = []
            try:
                for each in range(500):
                    pending.append(await channel.send("", "kept", b"%d" % each))
            except InDoubt:
                pass
            doubtful = 0
            for each in pending:
                try:
                    await each
                except InDoubt:
                    doubtful += 1
            with pytest.raises(StaleDelivery):
                first.accept()
            await channel.publish("topics", "a.c", b"2")
            assert (await subscription.receive(PATIENCE)).body == b"2"
            assert channel.remade == 1
            there = await channel.delete_queue("kept")
            assert len(pending) - doubtful <= there <= len(pending)

    with Cutting(rabbitmq.port) as line:
        loop.run(lambda: main(line))


def test_a_worker_thread_acknowledges_while_another_one_publishes(rabbitmq: Overhearing) -> None:
    count = 2_000
    with blocking.connect(rabbitmq.url) as connection, connection.channel() as channel:
        channel.declare_queue("threads")

        def publish() -> None:
            for each in range(count):
                channel.send("", "threads", b"%d" % each)

        worker = threading.Thread(target=publish)
        worker.start()
        with channel.subscribe("threads", prefetch=50) as subscription:
            for expected in range(count):
                message = subscription.receive(PATIENCE)
                assert message.body == b"%d" % expected
                threading.Thread(target=message.accept).start() if expected % 100 == 0 else message.accept()
        worker.join()
        channel.sync()
    assert left(rabbitmq, "threads") == []


@PROTOCOLS
@LOOPS
@pytest.mark.parametrize("where", ["guest:wrong@127.0.0.1:{}", "guest:guest@127.0.0.1:{}/none"])
def test_a_refused_login_says_why(rabbitmq: Overhearing, loop: Any, protocol: str, where: str) -> None:
    async def main() -> None:
        with pytest.raises(ConnectFailed, match=r"refused|ACCESS|access|vhost"):
            async with loop.connect(f"amqp://{where.format(rabbitmq.port)}?protocol={protocol}"):
                raise AssertionError

    loop.run(main)


@LOOPS
def test_a_new_secret(rabbitmq: Overhearing, loop: Any) -> None:
    async def main() -> None:
        async with loop.connect(rabbitmq.url) as connection, connection.channel() as channel:
            await channel.declare_queue("secret")
            await channel.publish("", "secret", b"before")
            await connection.update_secret("guest", "it expires")
            await channel.publish("", "secret", b"behind")

    loop.run(main)
    assert left(rabbitmq, "secret") == [b"before", b"behind"]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_examples_do_there_what_they_say(rabbitmq: Overhearing, adapter: str) -> None:
    for example, printed in CHANNELS.items():
        count = [] if example == "channel_request" else ["20"]
        assert run(adapter, example, rabbitmq.url, *count).startswith(printed)
    assert left(rabbitmq, "channel-work") == []
    assert left(rabbitmq, "channel-log") == [b"line %d" % number for number in range(20)]


def names_of(page: str) -> dict[str, Any]:
    """What the snippets of a page of the manual define."""
    names: dict[str, Any] = {"__name__": "snippet"}
    for snippet in snippets(ROOT / "docs" / page):
        if snippet.language == "python":
            exec(compile(snippet.text, page, "exec"), names)
    return names


def test_the_first_channel_prints_what_its_page_shows(rabbitmq: Overhearing, capsys: pytest.CaptureFixture[str]) -> None:
    names_of("tutorial/first-channel.md")["main"](rabbitmq.url)
    shown = [each.text for each in snippets(ROOT / "docs/tutorial/first-channel.md") if each.language == "text"]
    assert [capsys.readouterr().out] == shown


def test_the_pages_about_rabbitmq_do_what_they_say(rabbitmq: Overhearing, capsys: pytest.CaptureFixture[str]) -> None:
    names_of("how-to/move-from-pika.md")["moved"](rabbitmq.url)
    names_of("how-to/request-reply.md")["ask_on_a_channel"](rabbitmq.url)
    names_of("how-to/client-transactions.md")["move_on_a_channel"](rabbitmq.url)
    page = names_of("how-to/rabbitmq.md")

    async def serve(channel: by_asyncio.Channel) -> None:
        async with channel.subscribe("questions") as questions:
            question = await questions.receive(PATIENCE)
            await channel.publish("", question.reply_to or "", b"late", correlation_id=question.correlation_id)
            question.accept()

    async def main() -> None:
        await page["open_and_close"](rabbitmq.url)
        async with by_asyncio.connect(rabbitmq.url) as connection, connection.channel() as channel:
            await page["publish"](channel)
            await page["consume"](channel, 1001)
            await channel.declare_queue("questions", exclusive=True)
            async with connection.channel() as other, asyncio.TaskGroup() as tasks:
                tasks.create_task(serve(other))
                assert await page["ask"](channel) == b"late"
        await page["outlive"](rabbitmq.url)
        await page["refused"](rabbitmq.url)

    asyncio.run(main())
    assert "404 queue.declare\n" in capsys.readouterr().out
    assert left(rabbitmq, "orders") == left(rabbitmq, "tasks") == []
    worker = names_of("how-to/workers.md")
    with blocking.connect(rabbitmq.url) as connection, connection.channel() as channel:
        channel.delete_queue("tasks")  # of the page about pika, without dead letters
        worker["declare_for_channels"](channel)
        for body in (b"1", b"busy", b"nonsense", b"2"):
            channel.publish("", "tasks", body, persistent=True)
        worker["run_on_a_channel"](channel)
        dead = channel.get("dead-tasks", timeout=PATIENCE)
        assert dead is not None
        assert (dead.body, channel.delete_queue("tasks")) == (b"nonsense", 0)


def test_the_verbs_work_with_rabbitmq(rabbitmq: Overhearing, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    status, _, err = said(capfdbinary, "send", rabbitmq.url, "--queue", "shell", "--create", "one", "two", "three")
    assert (status, len(err.splitlines())) == (0, 1)
    assert b"speaks AMQP 0-9-1" in err
    for protocol, body in (("0-9", b"one\n"), ("0-8", b"two\n")):
        url = f"{rabbitmq.url}?protocol={protocol}"
        assert said(capfdbinary, "receive", url, "shell", "--count", "1") == (0, body, b"")
    assert left(rabbitmq, "shell") == [b"three"]
