"""What asyncio and trio must both do with channels, written once for whoever awaits: a `Loop` brings its own ways."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme
from tests.adapters.loops import Loop, until
from tests.adapters.scenarios import QUICK
from tests.adapters.served import Served
from tests.adapters.served_channels import ServedChannels

from amqp_sansio.conversation.channels.client import ChannelClientEvent
from amqp_sansio.conversation.happenings import Connected, ConnectionEnded
from amqp_sansio.dialects import AMQP_0_8, AMQP_0_9, AMQP_0_9_1, ChannelDialect
from amqp_sansio.engine.sasl import ExternalServer, PlainServer
from amqp_sansio.errors import (
    ChannelClosed,
    ConnectFailed,
    InDoubt,
    LocalProtocolError,
    MessageNacked,
    MessageReturned,
    StaleDelivery,
    SubscriptionCancelled,
    SubscriptionClosed,
)
from amqp_sansio.events import Authenticated, ConnectionBlocked, ConnectionUnblocked

NAMES = {AMQP_0_9_1: "0-9-1", AMQP_0_9: "0-9", AMQP_0_8: "0-8"}


async def there_and_back(loop: Loop, url: str, count: int = 50, tls: ssl.SSLContext | None = None) -> list[bytes]:
    """Messages published, confirmed, consumed and accepted."""
    found = []
    async with loop.connect(url, tls=tls) as connection, connection.channel() as channel:
        await channel.declare_queue("q")
        pending = [await channel.send("", "q", b"%d" % number, persistent=True) for number in range(count)]
        await channel.sync()
        for each in pending:
            assert each.done
            await each
        async with channel.subscribe("q", prefetch=7) as subscription:
            async for message in subscription:
                found.append(message.body)
                message.accept()
                if len(found) == count:
                    break
    return found


@pytest.mark.parametrize("dialect", NAMES, ids=lambda dialect: dialect.name)
def test_there_and_back(loop: Loop, dialect: ChannelDialect) -> None:
    with ServedChannels(dialect) as served:
        url = f"{served.url}?protocol={NAMES[dialect]}"
        assert loop.run(lambda: there_and_back(loop, url)) == [b"%d" % number for number in range(50)]
        assert served.bodies("q") == []
        assert not served.broker.sides


def test_by_tls_with_the_names_of_a_url(loop: Loop, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    there = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("elsewhere").configure_cert(there)
    with ServedChannels(tls=there) as served:
        trusted = f"{served.url}?cacertfile={tmp_path}/ca.pem"
        assert len(loop.run(lambda: there_and_back(loop, f"{trusted}&server_name_indication=elsewhere"))) == 50
        assert len(loop.run(lambda: there_and_back(loop, f"{served.url}?verify=verify_none"))) == 50
        with pytest.raises(ConnectFailed, match="certificate"):
            loop.run(lambda: there_and_back(loop, trusted))


def test_by_tls_with_a_password_alone(loop: Loop, tmp_path: Path) -> None:
    """A client without a certificate proves its password, though the server would take a certificate instead."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    there = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(there)
    authority.configure_trust(there)
    there.verify_mode = ssl.CERT_OPTIONAL

    with ServedChannels(tls=there) as served:
        served.broker.mechanisms = (ExternalServer(None), PlainServer(lambda *said: said == ("ann", "hush")))
        address = served.url.removeprefix("amqps://") + f"?cacertfile={tmp_path}/ca.pem"
        assert len(loop.run(lambda: there_and_back(loop, f"amqps://ann:hush@{address}"))) == 50
        proved = [event for event in served.broker.heard if isinstance(event, Authenticated)]
        assert [(event.mechanism, event.identity) for event in proved] == [("PLAIN", "ann")]
        with pytest.raises(ConnectFailed, match=r"refused|403"):
            loop.run(lambda: there_and_back(loop, f"amqps://ann:wrong@{address}"))
        with pytest.raises(ConnectFailed, match=r"refused|403"):
            loop.run(lambda: there_and_back(loop, f"amqps://ann:hush@{address}&auth_mechanism=external"))


def test_the_error_of_the_wrong_door_names_the_right_one(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url):
            raise AssertionError

    with Served() as served, pytest.raises(ConnectFailed, match="the one without channels"):
        loop.run(lambda: main(served.url))


def test_each_call_has_its_answer(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection, connection.channel() as channel:
            made = (await channel.declare_queue("", exclusive=True)).queue
            await channel.declare_exchange("e", "fanout")
            await channel.bind(made, "e", "k")
            await channel.publish("e", "k", b"1")
            await channel.unbind(made, "e", "k")
            await channel.publish("e", "k", b"2")
            assert (await channel.declare_queue(made, passive=True)).message_count == 1
            message = await channel.get(made)
            assert message is not None
            message.accept()
            assert await channel.get(made) is None
            assert await channel.purge(made) == 0
            await channel.publish("", made, b"3")
            assert await channel.delete_queue(made) == 1
            await channel.delete_exchange("e")
            assert channel.is_open
            assert channel.number == 1
            assert channel.remade == 0

    with ServedChannels() as served:
        loop.run(lambda: main(served.url))
        assert "e" not in served.broker.exchanges


def test_what_becomes_of_a_message_is_raised(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection, connection.channel() as channel:
            await channel.declare_queue("full")
            with pytest.raises(MessageReturned):
                await channel.publish("", "nowhere", mandatory=True)
            with pytest.raises(MessageNacked):
                await channel.publish("", "full")
            pending = await channel.send("", "full")
            with pytest.raises(MessageNacked):
                await pending
            with pytest.raises(MessageNacked):
                async with connection.channel() as other:
                    await other.send("", "full")  # nobody asks what became of it

    with ServedChannels() as served:
        served.broker.full.add("full")
        loop.run(lambda: main(served.url))


def test_a_refused_call_ends_its_channel_and_leaves_the_connection_working(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection:
            async with connection.channel() as channel:
                with pytest.raises(ChannelClosed) as caught:
                    await channel.declare_queue("none", passive=True)
                assert (caught.value.code, caught.value.method) == (404, "queue.declare")
                assert not channel.is_open
                with pytest.raises(ChannelClosed):
                    await channel.closed
            async with connection.channel() as channel:
                await channel.declare_queue("q")
            await channel.closed

    with ServedChannels() as served:
        loop.run(lambda: main(served.url))


def test_a_receiver_waits_no_longer_than_it_says(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection, connection.channel() as channel:
            await channel.declare_queue("q")
            async with channel.subscribe("q") as subscription:
                with pytest.raises(TimeoutError):
                    await subscription.receive(0.01)
                await channel.publish("", "q", b"1")
                (await subscription.receive(10)).accept()
                await channel.publish("", "q", b"2")
                await channel.publish("", "q", b"3")
                await channel.sync()
                await subscription.stop()
                (await subscription.receive(10)).accept()
                assert subscription.consumer_tag
            with pytest.raises(SubscriptionClosed):
                await subscription.receive()

    with ServedChannels() as served:
        loop.run(lambda: main(served.url))
        assert served.bodies("q") == [b"3"]


def test_a_queue_that_is_deleted_cancels_its_subscription(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection, connection.channel() as channel:
            await channel.declare_queue("q")
            async with channel.subscribe("q") as subscription:
                await channel.delete_queue("q")
                with pytest.raises(SubscriptionCancelled):
                    await subscription.receive(10)

    with ServedChannels() as served:
        loop.run(lambda: main(served.url))


def test_a_request_is_answered_by_another_task(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection, connection.channel() as asking, connection.channel() as serving:
            await serving.declare_queue("rpc")

            async def serve() -> None:
                async with serving.subscribe("rpc") as requests:
                    request = await requests.receive(10)
                    assert request.reply_to is not None
                    await serving.publish("", request.reply_to, request.body.upper(), correlation_id=request.correlation_id)
                    request.accept()

            async def ask() -> None:
                assert (await asking.request("", "rpc", b"abc", timeout=10)).body == b"ABC"
                with pytest.raises(TimeoutError):
                    await asking.request("", "rpc", b"abc", timeout=0.01)

            await loop.both(serve, ask)

    with ServedChannels() as served:
        loop.run(lambda: main(served.url))


def test_a_transaction_counts_whole_or_not_at_all(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection, connection.channel() as channel:
            await channel.declare_queue("q")
            async with channel.transaction():
                await channel.publish("", "q", b"1")
            with pytest.raises(ValueError, match="back"):
                async with channel.transaction():
                    await channel.publish("", "q", b"2")
                    raise ValueError("back")

    with ServedChannels() as served:
        loop.run(lambda: main(served.url))
        assert served.bodies("q") == [b"1"]


def test_the_broker_blocks_and_unblocks(loop: Loop) -> None:
    heard: list[ChannelClientEvent] = []

    async def main(served: ServedChannels) -> None:
        async with loop.connect(served.url, on_event=heard.append) as connection:
            served.block(True)
            await until(loop, connection._client, lambda: connection.blocked)
            served.block(False)
            await until(loop, connection._client, lambda: not connection.blocked)
            await connection.update_secret("guest", "new")

    with ServedChannels() as served:
        loop.run(lambda: main(served))
        assert served.broker.secrets == [b"guest"]
    assert [type(each) for each in heard] == [Connected, ConnectionBlocked, ConnectionUnblocked, ConnectionEnded]


def test_behind_a_loss_everything_is_as_it_was_and_nothing_is_published_again(loop: Loop) -> None:
    async def main(served: ServedChannels) -> None:
        async with loop.connect(served.url, retry=QUICK) as connection, connection.channel() as channel:
            queue = (await channel.declare_queue("", exclusive=True)).queue
            await channel.declare_exchange("e", "direct")
            await channel.bind(queue, "e", "k")
            subscription = channel.subscribe(queue)
            await channel.publish("e", "k", b"1")
            first = await subscription.receive(10)
            served.broker.mute = True
            pending = await channel.send("e", "k", b"2")
            served.cut()
            served.broker.mute = False  # before the client comes again
            with pytest.raises(InDoubt):
                await pending
            with pytest.raises(StaleDelivery):
                first.accept()
            await channel.publish("e", "k", b"3")
            assert (await subscription.receive(10)).body == b"3"
            assert channel.remade == 1

    with ServedChannels() as served:
        loop.run(lambda: main(served))


def test_a_call_that_waits_at_a_loss_fails(loop: Loop) -> None:
    async def main(served: ServedChannels) -> None:
        async with loop.connect(served.url, retry=QUICK) as connection, connection.channel() as channel:
            served.broker.mute = True

            async def ask() -> None:
                with pytest.raises(ChannelClosed):
                    await channel.declare_queue("q")

            async def cut() -> None:
                while not channel._core.calls:  # nothing is heard meanwhile that could tell
                    await loop.turn()
                served.cut()
                served.broker.mute = False

            await loop.both(ask, cut)
            await channel.declare_queue("q")

    with ServedChannels() as served:
        loop.run(lambda: main(served))


@pytest.mark.parametrize("steps", range(8))
def test_a_cancelled_publish_leaves_no_half_of_a_message_and_no_lock(loop: Loop, steps: int) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection, connection.channel() as channel:
            await channel.declare_queue("q")
            body = bytes(1_000_000)

            async def publish() -> None:
                await channel.publish("", "q", body)

            await loop.cancelled_after(steps, publish)
            await channel.publish("", "q", b"whole", timeout=30)

    with ServedChannels() as served:
        loop.run(lambda: main(served.url))
        assert {len(body) for body in served.bodies("q")} <= {5, 1_000_000}
        assert served.bodies("q")[-1] == b"whole"


def test_a_channel_wants_its_connection_entered(loop: Loop) -> None:
    with ServedChannels() as served, pytest.raises(LocalProtocolError, match="before its connection is open"):
        loop.connect(served.url).channel()
