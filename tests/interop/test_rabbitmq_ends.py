"""How connections with channels end at RabbitMQ, and what is known then; and how they are held up."""

from __future__ import annotations

import ssl
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.interop.rabbitmq_talk import DIALECTS, EXTENDED, Talk
from tests.interop.test_rabbitmq_adapters import LOOPS, PROTOCOLS
from tests.interop.test_rabbitmq_channels import holds

from amqp_sansio import errors
from amqp_sansio.dialects import AMQP_0_9_1, ChannelDialect
from amqp_sansio.engine.sasl import External
from amqp_sansio.errors import ConnectionClosedError, InDoubt
from amqp_sansio.events import (
    ChannelClosed,
    Confirmed,
    ConnectionBlocked,
    ConnectionClosed,
    ConnectionUnblocked,
    LoginRefused,
    MessageDelivered,
    MessageGot,
    Origin,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.codes import DeliveryMode
from amqp_sansio.spec.methods import basic, channel, confirm, exchange, queue
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.wire.method_frames import frame_content, frame_method, put_frame
from tools.interop.rabbitmq import RabbitMq

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
extended = pytest.mark.parametrize("dialect", EXTENDED, ids=lambda dialect: dialect.name)
pytestmark = pytest.mark.usefixtures("witness")
PROPERTIES_WITH_U = b"\x20\x00" + b"\0\0\0\x05" + b"\x01kUab"
"""Headers with a letter that RabbitMQ does not read."""


def framed(dialect: ChannelDialect, method: Method, number: int = 1) -> bytes:
    """A method as our client would not say it."""
    return frame_method(number, dialect.codec.encode(method), 131072)


def publish(dialect: ChannelDialect, properties: bytes, key: str) -> bytes:
    """A publish with properties of our rabbitmq."""
    method = dialect.codec.encode(basic.Publish("", key, False, False, 0))
    return b"".join(frame_content(1, method, 60, properties, b"m", 131072, 1))


BREACHES: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "an unknown type of exchange": (503, "exchange.declare", ()),
    "a second channel.open": (504, "channel.open", ("channel.second-open",)),
    "a channel that is not open": (504, "queue.declare", ("channel.not-open",)),
    "a body without a header": (505, "basic.publish", ("content.body-unexpected",)),
    "a tag twice": (530, "basic.consume", ("basic.consume.consumer-tag",)),
    "immediate": (540, "basic.publish", ()),
    "a letter that nobody knows": (541, "", ("content.table",)),
    "a frame without its end": (501, "", ("frame.end",)),
}
"""What ends a connection: with which code, because of which method, and which rules the observer names, said on purpose."""


def breach(what: str, dialect: ChannelDialect, name: str) -> bytes:
    declare = framed(dialect, queue.Declare("x", True, False, False, False, False, {}, 0), 9)
    said: dict[str, bytes] = {
        "an unknown type of exchange": framed(
            dialect, exchange.Declare("sansio-x", "no such type", False, False, False, {}, 0, False, False)
        ),
        "a second channel.open": framed(dialect, channel.Open("")),
        "a channel that is not open": declare,
        "a body without a header": framed(dialect, basic.Publish("", name, False, False, 0)) + put_frame(3, 1, b"m"),
        "a tag twice": 2 * framed(dialect, basic.Consume(name, "c", False, False, False, False, 0, {}, {})),
        "immediate": b"".join(
            frame_content(1, dialect.codec.encode(basic.Publish("", name, False, True, 0)), 60, b"\0\0", b"m", 4096, 1)
        ),
        "a letter that nobody knows": publish(dialect, PROPERTIES_WITH_U, name),
        "a frame without its end": declare[:-1] + b"\0",
    }
    return said[what]


@each_dialect
@pytest.mark.parametrize("what", BREACHES)
def test_a_breach_ends_the_connection(rabbitmq: RabbitMq, dialect: ChannelDialect, what: str) -> None:
    """What was published before it is in the queue, and nothing else is."""
    code, method, wrong = BREACHES[what]
    name = f"sansio-{code}-{len(what)}"
    with Talk(rabbitmq.port, dialect) as keeper:
        kept = keeper.open()
        keeper.declare(kept, name, exclusive=False)
        with Talk(rabbitmq.port, dialect, wrong=wrong) as talk:
            on = talk.open()
            on.publish("", name, b"before")
            talk.say(breach(what, dialect, name))
            talk.until(lambda: talk.client.finished)
            (closed,) = talk.all(ConnectionClosed)
            (ended,) = talk.all(ChannelClosed)
        assert (closed.origin, closed.code) == (Origin.PEER, code)
        assert (closed.method or "") in (method, "")
        assert ended.in_doubt == RangeSet.of(1)
        keeper.until(lambda: keeper.count(kept, name) == 1)
        kept.get(name, no_ack=True)
        assert keeper.wait(MessageGot)[0].body == b"before"
        keeper.answer(kept, kept.delete_queue(name), queue.DeleteOk)


def test_an_operator_ends_the_connection(rabbitmq: RabbitMq) -> None:
    names = {dialect: f"sansio-320-{dialect.name}" for dialect in DIALECTS}
    with ExitStack() as stack:
        talks = {dialect: stack.enter_context(Talk(rabbitmq.port, dialect)) for dialect in DIALECTS}
        for dialect, talk in talks.items():
            on = talk.open()
            talk.declare(on, names[dialect], exclusive=False)
            on.publish("", names[dialect], b"m")
            talk.until(lambda talk=talk, on=on, name=names[dialect]: talk.count(on, name) == 1)  # type: ignore[misc]
        rabbitmq.control("close_all_connections", "the office closes")
        for talk in talks.values():
            talk.until(lambda talk=talk: talk.client.finished)  # type: ignore[misc]
            (closed,) = talk.all(ConnectionClosed)
            assert (closed.origin, closed.code) == (Origin.PEER, 320)
            assert "the office closes" in closed.text
            (ended,) = talk.all(ChannelClosed)
            assert ended.origin is Origin.PEER
    with Talk(rabbitmq.port) as talk:
        on = talk.open()
        for name in names.values():
            assert talk.answer(on, on.delete_queue(name), queue.DeleteOk).message_count == 1


@each_dialect
def test_closes_cross(rabbitmq: RabbitMq, dialect: ChannelDialect) -> None:
    """RabbitMQ never answers a close that crossed its own: the connection ends all the same."""
    with Talk(rabbitmq.port, dialect, wrong=("channel.second-open",)) as talk:
        on = talk.open()
        talk.say(framed(dialect, channel.Open("")))
        talk.client.close(ReplyCode.REPLY_SUCCESS, "bye")
        talk.until(lambda: talk.client.finished)
        (closed,) = talk.all(ConnectionClosed)
    assert (closed.origin, closed.code) in ((Origin.PEER, 504), (Origin.LOCAL, 200))
    assert [event.channel for event in talk.all(ChannelClosed)] == [on.number]


@each_dialect
def test_a_server_that_is_silent(rabbitmq: RabbitMq, dialect: ChannelDialect) -> None:
    """We hear nothing for two intervals: it is given up, and what was in doubt is told; its queue tells what it had taken."""
    with Talk(rabbitmq.port, dialect, heartbeat=1) as talk:
        on = talk.open()
        name = talk.declare(on, exclusive=False).queue
        first = on.publish("", name, b"taken")
        talk.until(lambda: talk.count(on, name) == 1)
        rabbitmq.hold()
        try:
            number = on.publish("", name, b"in doubt")
            talk.until(lambda: talk.client.finished)
        finally:
            rabbitmq.go_on()
        (closed,) = talk.all(ConnectionClosed)
        (ended,) = talk.all(ChannelClosed)
    assert (closed.origin, ended.origin) == (Origin.TIMEOUT, Origin.TIMEOUT)
    assert (first, ended.in_doubt) == (1, RangeSet.of(number))
    with Talk(rabbitmq.port, dialect) as talk:
        on = talk.open()
        on.get(name, no_ack=True)
        (event,) = talk.wait(MessageGot)
        assert event.body == b"taken"
        assert talk.answer(on, on.delete_queue(name), queue.DeleteOk).message_count <= 1


def test_a_killed_node_leaves_in_doubt_what_it_did_not_confirm(rabbitmq: RabbitMq) -> None:
    """1,000 are outstanding when it is killed: each publish was confirmed or is in doubt, none both, none neither.

    Started again, it has each message that it confirmed once, and of those in doubt some, once, in their order.  0-8 has no
    confirms: an answer tells that what was published before it was taken, not that it is on a disk.
    """
    taken: dict[ChannelDialect, tuple[str, RangeSet]] = {}
    with ExitStack() as stack:
        talks = {dialect: stack.enter_context(Talk(rabbitmq.port, dialect)) for dialect in DIALECTS}
        channels = {dialect: talk.open() for dialect, talk in talks.items()}
        for dialect, on in channels.items():
            talks[dialect].declare(on, f"sansio-killed-{dialect.name}", durable=True, exclusive=False)
        rabbitmq.control("eval", "mnesia:sync_log().")  # declare-ok comes before the queue is on a disk
        for dialect, on in channels.items():
            talk, confirms, name = talks[dialect], dialect in EXTENDED, f"sansio-killed-{dialect.name}"
            if confirms:
                talk.answer(on, on.select_confirm(), confirm.SelectOk)
            for number in range(500):
                on.publish("", name, b"%d" % number, delivery_mode=DeliveryMode.PERSISTENT)
            if not confirms:
                talk.count(on, name)
            talk.until(lambda on=on: not on.in_doubt)  # type: ignore[misc]
            for number in range(500, 1500):
                on.publish("", name, b"%d" % number, delivery_mode=DeliveryMode.PERSISTENT)
            talk.say()  # nothing is heard before the end: 1,000 are outstanding
        rabbitmq.kill()
        for dialect, on in channels.items():
            talk, confirms = talks[dialect], dialect in EXTENDED
            talk.until(lambda talk=talk: talk.client.finished)  # type: ignore[misc]
            (ended,) = talk.all(ChannelClosed)
            confirmed = RangeSet()
            for event in talk.all(Confirmed):
                assert not confirmed & event.ids
                confirmed = confirmed | event.ids
            assert ended.origin is Origin.EOF
            assert confirmed | ended.in_doubt == (RangeSet.span(1, 1500) if confirms else RangeSet.span(501, 1500))
            assert not confirmed & ended.in_doubt
            with pytest.raises(ConnectionClosedError):
                on.publish("", "anything", b"more")
            taken[dialect] = f"sansio-killed-{dialect.name}", confirmed
    rabbitmq.restart()
    for dialect, (name, confirmed) in taken.items():
        with Talk(rabbitmq.port, dialect) as talk:
            on = talk.open()
            count = talk.count(on, name)
            on.consume(name, "c", no_ack=True)
            there = [int(event.body) + 1 for event in talk.wait(MessageDelivered, count)]
            talk.answer(on, on.delete_queue(name), queue.DeleteOk)
        assert there == sorted(set(there))
        assert RangeSet.of(*there) - RangeSet.span(1, 1500) == RangeSet()
        assert confirmed.issubset(RangeSet.of(*there))


def test_the_node_is_blocked_and_unblocked(rabbitmq: RabbitMq) -> None:
    """Its memory alarm: it reads nothing that is published, and all comes when it is over.  0-9-1 alone has words for it."""
    with ExitStack() as stack:
        talks = {dialect: stack.enter_context(Talk(rabbitmq.port, dialect)) for dialect in DIALECTS}
        channels = {dialect: talk.open() for dialect, talk in talks.items()}
        names = {dialect: talk.declare(channels[dialect]).queue for dialect, talk in talks.items()}
        rabbitmq.control("set_vm_memory_high_watermark", "0.000001")
        try:
            for dialect, talk in talks.items():
                channels[dialect].publish("", names[dialect], b"held up")
                talk.say()
            assert [each.reason for each in talks[AMQP_0_9_1].wait(ConnectionBlocked)] == ["low on memory"]
            assert talks[AMQP_0_9_1].client.blocked
            for dialect, on in channels.items():
                on.publish("", names[dialect], b"behind it")
        finally:
            rabbitmq.control("set_vm_memory_high_watermark", "0.4")
        talks[AMQP_0_9_1].wait(ConnectionUnblocked)
        assert not talks[AMQP_0_9_1].client.blocked
        for dialect, talk in talks.items():
            holds(talk, channels[dialect], names[dialect], b"held up", b"behind it")


@pytest.fixture(scope="module")
def tls(rabbitmq: RabbitMq) -> RabbitMq:
    """The node, which lets in who has the certificate of `sansio`."""
    rabbitmq.control("add_user", "sansio", "never said")
    rabbitmq.control("set_permissions", "sansio", ".*", ".*", ".*")
    return rabbitmq


@each_dialect
@pytest.mark.parametrize("certificate", [False, True])
def test_tls(tls: RabbitMq, certificates: Path, dialect: ChannelDialect, certificate: bool) -> None:
    """With a password, or with the client's certificate (EXTERNAL): whose message that is RabbitMQ checks (user-id)."""
    context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    who, settings = "guest", dict[str, Any]()
    if certificate:
        context.load_cert_chain(certificates / "client.pem")
        who, settings = "sansio", {"username": None, "password": "", "mechanisms": (External(),)}
    with Talk(
        tls.tls_port, dialect, wrap=lambda line: context.wrap_socket(line, server_hostname="localhost"), **settings
    ) as talk:
        on = talk.open()
        name = talk.declare(on).queue
        on.publish("", name, b"m" * 100_000, user_id=who)
        on.consume(name, "c", no_ack=True)
        (event,) = talk.wait(MessageDelivered)
        assert (event.body, event.properties.user_id) == (b"m" * 100_000, who)
        assert talk.count(on, name) == 0


@each_dialect
def test_a_certificate_of_nobody(tls: RabbitMq, certificates: Path, dialect: ChannelDialect) -> None:
    """EXTERNAL without a certificate: the login is refused."""
    context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    talk = Talk(
        tls.tls_port, dialect, wrap=lambda line: context.wrap_socket(line, server_hostname="localhost"),
        username=None, password="", mechanisms=(External(),),
    )  # fmt: skip
    talk.over()
    assert [event.mechanism for event in talk.all(LoginRefused)] == ["EXTERNAL"]


@LOOPS
@PROTOCOLS
def test_adapters_log_in_by_a_certificate(tls: RabbitMq, certificates: Path, loop: Any, protocol: str) -> None:
    """RabbitMQ checks whose message that is (user-id): another user's closes the channel, and the queue has but ours."""
    files = f"cacertfile={certificates / 'ca.pem'}&certfile={certificates / 'client.pem'}"
    url = f"amqps://localhost:{tls.tls_port}/?{files}&auth_mechanism=external&protocol={protocol}"

    async def main() -> None:
        async with loop.connect(url) as connection, connection.channel() as channel:
            name = (await channel.declare_queue(exclusive=True)).queue
            await channel.publish("", name, b"mine", user_id="sansio")
            async with connection.channel() as other:
                with pytest.raises((InDoubt, errors.ChannelClosed)):
                    await other.publish("", name, b"not mine", user_id="guest")
                    await other.sync()
            message = await channel.get(name)
            assert (message.body, message.user_id) == (b"mine", "sansio")
            assert await channel.get(name) is None
            message.accept()

    loop.run(main)
