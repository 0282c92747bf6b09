"""What a channel hears: answers, and words at the wrong time; limits of the other side are in `limited`."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.carriers import BareChannelCarrier, open_channel
from tests.engine.channels.stage import DIALECTS, Stage, answer
from tests.families.channels import content, frame

from amqp_sansio.config import Profile
from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9_1, AMQP_0_9_RABBITMQ, ChannelDialect
from amqp_sansio.engine.channels import returns
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.engine.channels.hearing import ENDED
from amqp_sansio.engine.channels.server import ServedChannel
from amqp_sansio.engine.connection import Role
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import (
    ChannelClosed,
    ConnectionClosed,
    ConsumerCancelled,
    ContentReceived,
    Event,
    MessageDelivered,
    MessageReturned,
    MethodAnswered,
    MethodReceived,
    Origin,
    Violation,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods import basic, channel, queue, stream
from amqp_sansio.spec.methods.test import Integer, IntegerOk
from amqp_sansio.wire.method_frames import frame_method, put_frame


def broken(events: list[Event]) -> Violation | None:
    """What the other side did wrong, if the connection or a channel ended by it."""
    return next((each.violation for each in events if isinstance(each, (ChannelClosed, ConnectionClosed))), None)


def test_a_consumer_tag_is_used_once() -> None:
    stage = Stage()
    client, _ = stage.open()
    client.consume("q", "t")
    client._consumers.drop(("basic", "t"))
    client.consume("q", "t")
    stage.run()
    found = broken(stage.take()[1])
    assert found is not None
    assert (found.rule, found.code) == ("basic.consume.consumer-tag", 530)


@pytest.mark.parametrize(("first", "second", "rule"), [
    ("tx.select", "confirm.select", "confirm.with-tx"),
    ("confirm.select", "tx.select", "confirm.with-tx"),
    ("confirm.select", "tx.commit", "tx.select-required"),
])  # fmt: skip
def test_modes_exclude_each_other(first: str, second: str, rule: str) -> None:
    stage = Stage()
    stage.open()
    stage.server.receive_data(frame(AMQP_0_9_1, first, 1) + frame(AMQP_0_9_1, second, 1))
    found = broken(list(stage.server.events()))
    assert found is not None
    assert (found.rule, found.code) == (rule, 406)
    assert stage.server.is_open


ACKS = st.lists(
    st.one_of(
        st.builds(lambda tag, bits: frame_method(1, pack(">HHQB", 60, 80, tag, bits)), st.integers(0, 9), st.integers(0, 3)),
        st.sampled_from([
            frame(AMQP_0_9_1, "basic.nack", 1), frame(AMQP_0_9_1, "channel.flow", 1), put_frame(8, 0, b""),
            frame_method(2, pack(">HHQB", 60, 80, 1, 0)), frame(AMQP_0_9_1, "channel.close", 1), put_frame(3, 1, b"stray"),
        ]),
    ),
    max_size=8,
)  # fmt: skip


@given(acks=ACKS, late=st.booleans(), size=st.sampled_from([1, 20, 21, 4096]), strict=st.booleans())
def test_a_confirm_means_the_same_on_the_quick_way(acks: list[bytes], late: bool, size: int, strict: bool) -> None:
    """A client hears the same of a basic.ack whether it is cut at once or read with every check."""
    told = []
    for quick in (True, False):
        stage = Stage(profile=Profile(strict=strict))
        client, _ = stage.open()
        if late:
            client.publish("", "q", b"before confirm mode")
        client.select_confirm(no_wait=True)
        for body in (b"one", b"two", b"three", b"four", b"five"):
            client.publish("", "q", body)
        if not quick:
            client._channels._ack = 0
        octets, heard = b"".join(acks), list[Event]()
        for at in range(0, len(octets), size):
            stage.client.receive_data(octets[at : at + size])
            heard += stage.client.events()
        told.append((heard, client.in_doubt, client.state, stage.client.closed_cause, stage.client.data_to_send()))
    assert told[0] == told[1]


def test_tags_go_up() -> None:
    stage = Stage()
    client, _ = stage.open()
    client.consume("q", "t", no_wait=True)
    one = frame(AMQP_0_9_1, "basic.deliver", 1, consumer_tag="t", delivery_tag=5) + content(b"m")
    stage.client.receive_data(one + one)
    found = broken(list(stage.client.events()))
    assert found is not None
    assert (found.rule, found.code) == ("delivery-tag.order", 503)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("no_ack", [False, True])
@pytest.mark.parametrize("by_server", [False, True])
def test_what_comes_to_a_consumer_behind_its_end(by_server: bool, no_ack: bool, strict: bool) -> None:
    """RabbitMQ delivers, and answers again, when the queue goes at the same time; by the letter nobody has the tag."""
    stage = Stage(profile=Profile(strict=strict))
    client, served = stage.open()
    client.consume("q", "t", no_ack=no_ack, no_wait=True)
    stage.run()
    if by_server:
        served.cancel_consumer("t")
    else:
        client.cancel("t")
        stage.run()
        answer(served, basic.CancelOk("t"))
    stage.run()
    stage.take()
    late = frame(AMQP_0_9_1, "basic.deliver", 1, consumer_tag="t", delivery_tag=1) + content(b"m")
    stage.client.receive_data(late + frame(AMQP_0_9_1, "basic.cancel-ok", 1, consumer_tag="t"))
    heard = list(stage.client.events())
    found = broken(heard)
    if strict:
        assert found is not None
        assert found.rule == "basic.deliver.consumer-tag"
    else:
        assert [type(each) for each in heard] == [MessageDelivered]
        assert client.unsettled == (RangeSet() if no_ack else RangeSet.of(1))


@pytest.mark.parametrize(("behind", "fine"), [(ENDED - 1, True), (ENDED, False), (ENDED + 1, False)])
def test_so_many_consumers_are_remembered_behind_their_end(behind: int, fine: bool) -> None:
    stage = Stage()
    client, served = stage.open()
    for number in range(behind + 1):
        client.consume("q", f"t{number}", no_wait=True)
        stage.run()
        served.cancel_consumer(f"t{number}")
        stage.run()
    assert len(client._ended) == min(behind + 1, ENDED)
    stage.client.receive_data(frame(AMQP_0_9_1, "basic.deliver", 1, consumer_tag="t0", delivery_tag=1) + content(b"m"))
    assert (broken(list(stage.client.events())) is None) is fine


def test_an_answer_to_something_else() -> None:
    stage = Stage()
    client, _ = stage.open()
    client.declare_queue("q")
    stage.client.receive_data(frame(AMQP_0_9_1, "queue.purge-ok", 1))
    found = broken(list(stage.client.events()))
    assert found is not None
    assert (found.rule, found.legal) == ("reply.other", ("queue.declare-ok",))


def test_words_behind_a_close() -> None:
    stage = Stage(profile=Profile(strict=True))
    stage.open()
    stage.client.receive_data(frame(AMQP_0_9_1, "channel.close", 1, reply_code=404))
    assert [type(each) for each in stage.client.events()] == [ChannelClosed]
    stage.client.receive_data(frame(AMQP_0_9_1, "basic.return", 1) + content())
    found = broken(list(stage.client.events()))
    assert found is not None
    assert found.rule == "channel.not-open"


def test_what_comes_behind_a_breach_is_passed_over_until_the_close_is_answered() -> None:
    stage = Stage()
    stage.open()
    ack = frame(AMQP_0_9_1, "basic.ack", 1, delivery_tag=7)
    stage.server.receive_data(ack + ack + frame(AMQP_0_9_1, "queue.declare", 1))
    assert [type(each) for each in stage.server.events()] == [ChannelClosed]
    stage.server.receive_data(frame(AMQP_0_9_1, "channel.close-ok", 1))
    assert list(stage.server.events()) == []
    assert stage.server._channels.used == {}


def test_a_server_may_wait_for_the_answer_to_its_cancel() -> None:
    stage = Stage()
    client, served = stage.open()
    client.consume("q", "t", no_wait=True)
    stage.run()
    stage.take()
    served.send(basic.Cancel("t", False))
    stage.run()
    heard, told = stage.take()
    assert heard == [ConsumerCancelled(1, "t", Origin.PEER)]
    assert told == [MethodAnswered(1, 1, basic.CancelOk("t"))]


@pytest.mark.parametrize("dialect", DIALECTS[1:], ids=lambda dialect: dialect.name)
def test_classes_without_halves_of_their_own_go_through_as_they_are(dialect: ChannelDialect) -> None:
    """Classes message, file, stream, dtx, tunnel and test: what is said is told, and what wants an answer gets one."""
    stage = Stage(dialect)
    client, served = stage.open()
    client.send(stream.Publish(exchange="x", routing_key="k", ticket=0), stream.Properties(content_type="a"), b"octets")
    stage.run()
    (told,) = stage.take()[1]
    assert isinstance(told, ContentReceived)
    assert (told.body, told.read_properties()) == (b"octets", stream.Properties(content_type="a"))
    if dialect is AMQP_0_8_UNBIND:
        served.send(Integer(1, 2, 3, 4, 5))
        stage.run()
        ((asked,), _) = stage.take()
        assert isinstance(asked, MethodReceived)
        assert asked.id is not None
        client.reply(asked.id, IntegerOk(15))
        stage.run()
        assert stage.take()[1] == [MethodAnswered(1, 1, IntegerOk(15))]
    else:
        served.send(channel.Ping())
        stage.run()
        ((asked,), _) = stage.take()
        assert isinstance(asked, MethodReceived)
        assert asked.id is not None
        client.reply(asked.id, channel.Ok())
        stage.run()
        assert stage.take()[1] == [MethodAnswered(1, 1, channel.Ok())]
    assert stage.violations == []


@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_octets_in_pieces_make_the_same_events(piece: int) -> None:
    octets = (
        frame(AMQP_0_9_RABBITMQ, "basic.deliver", 1, consumer_tag="t", delivery_tag=1) + content(b"one")
        + frame(AMQP_0_9_RABBITMQ, "queue.declare-ok", 1, queue="q")
        + frame(AMQP_0_9_RABBITMQ, "basic.deliver", 1, consumer_tag="t", delivery_tag=2) + content(b"")
        + frame(AMQP_0_9_RABBITMQ, "channel.close", 1, reply_code=404, reply_text="gone", class_id=50, method_id=20)
    )  # fmt: skip
    heard: list[list[Event]] = []
    for size in (piece, len(octets)):
        stage = Stage(AMQP_0_9_RABBITMQ, profile=Profile())
        client, _ = stage.open()
        client.consume("q", "t", no_wait=True)
        client.declare_queue("q")
        events: list[Event] = []
        for at in range(0, len(octets), size):
            stage.client.receive_data(octets[at : at + size])
            events += stage.client.events()
        heard.append(events)
    assert heard[0] == heard[1]
    assert [type(each).__name__ for each in heard[0]] == [
        "MessageDelivered", "MethodAnswered", "MessageDelivered", "ChannelClosed",
    ]  # fmt: skip


def test_an_answer_with_no_question_of_ours_left_is_unasked() -> None:
    stage = Stage()
    client, served = stage.open()
    client.declare_queue("q")
    stage.run()
    answer(served, queue.DeclareOk("q", 0, 0))
    stage.run()
    stage.take()
    stage.client.receive_data(frame(AMQP_0_9_1, "queue.declare-ok", 1))
    found = broken(list(stage.client.events()))
    assert found is not None
    assert found.rule == "reply.unasked"


@pytest.mark.parametrize("headers", ["lazy", "eager"])
def test_deliveries_like_others_mean_what_they_mean_one_by_one(headers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick way and the way of every other method give the same events and keep the same books."""

    def deliver(tag: int, body: bytes, consumer: str = "t", key: str = "k") -> bytes:
        said = {"consumer_tag": consumer, "delivery_tag": tag, "exchange": "x", "routing_key": key}
        return frame(AMQP_0_9_1, "basic.deliver", 1, **said) + content(body, properties=b"\x80\0\4text")

    octets = [
        *[deliver(tag, b"m" * (tag % 3)) for tag in range(1, 6)],
        deliver(6, b"m", "u"), deliver(7, b"m"), deliver(9, b"m"), deliver(10, b"m", key="other"),
        deliver(11, b"m" * 9000)[:5000], deliver(11, b"m" * 9000)[5000:], deliver(12, b"m"),
        deliver(12, b"not higher"), deliver(13, b"behind the end"),
    ]  # fmt: skip
    heard: list[list[Event]] = []
    books: list[object] = []
    for quick in (True, False):
        stage = Stage(max_frame_size=16384)
        client, _ = stage.open()
        client.consume("q", "t", no_wait=True)
        client.consume("q", "u", no_wait=True, no_ack=True)
        stage.client.eager_headers = headers == "eager"  # type: ignore[misc]
        if not quick:
            monkeypatch.setattr(type(stage.client._channels), "learn", lambda *_: None)
        events: list[Event] = []
        for each in octets:
            stage.client.receive_data(each)
            events += stage.client.events()
        heard.append(events)
        books.append((client.unsettled, client._deliveries.tags.last, client._deliveries.tags.count))
        reader = stage.client._channels._reader
        assert reader is not None
        assert bool(reader.known) is (quick and headers == "lazy")
    assert heard[0] == heard[1]
    assert books[0] == books[1]
    assert [type(each).__name__ for each in heard[0]] == ["MessageDelivered"] * 11 + ["ChannelClosed", "ConnectionClosed"]


@pytest.mark.parametrize("quick", [True, False])
def test_a_delivery_like_others_is_for_the_consumer_who_has_the_tag_now(quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def deliver(tag: int, consumer: str = "t") -> bytes:
        return frame(AMQP_0_9_1, "basic.deliver", 1, consumer_tag=consumer, delivery_tag=tag) + content(b"m")

    stage = Stage(profile=Profile(strict=True))  # else it remembers consumers behind their end
    client, _ = stage.open()
    if not quick:
        monkeypatch.setattr(type(stage.client._channels), "learn", lambda *_: None)

    def heard(octets: bytes) -> list[str]:
        stage.client.receive_data(octets)
        return [type(each).__name__ for each in stage.client.events()]

    client.consume("q", "t", no_wait=True, no_ack=True)
    assert heard(deliver(1) + deliver(2)) == ["MessageDelivered"] * 2
    client.cancel("t", no_wait=True)
    client.consume("q", "t", no_wait=True)
    assert heard(deliver(3) + deliver(4)) == ["MessageDelivered"] * 2
    assert client.unsettled == RangeSet.span(3, 4)
    client.consume("q", "u", no_wait=True)
    cancel = frame(AMQP_0_9_1, "basic.cancel", 1, consumer_tag="u", no_wait=True)
    assert heard(deliver(5, "u") + deliver(6, "u") + cancel) == [*["MessageDelivered"] * 2, "ConsumerCancelled"]
    assert heard(deliver(7, "u")) == ["ChannelClosed", "ConnectionClosed"]


@pytest.mark.parametrize("role", ["client", "server"])
def test_recoveries_take_no_memory(role: Role) -> None:
    """However often all is taken back, with a hole in it each time; a tag of what was is nobody's fault."""
    carrier = BareChannelCarrier(role, limits=Limits(ranges=10))
    half = open_channel(carrier)
    book = half._deliveries
    client, served = isinstance(half, Channel), isinstance(half, ServedChannel)
    if isinstance(half, Channel):
        half.consume("q", "t", no_wait=True)
    else:
        carrier.hear(basic.Consume("q", "t", no_wait=True))
    for first in range(1, 301, 3):
        for tag in range(first, first + 3):
            if isinstance(half, ServedChannel):
                half.deliver("t")
            else:
                carrier.hear(basic.Deliver("t", tag, False, "", ""))
        if isinstance(half, Channel):
            half.ack(first + 1)
            half.recover()
            carrier.hear(basic.RecoverOk())
        elif isinstance(half, ServedChannel):
            carrier.hear(basic.Ack(first + 1, False), basic.Recover(True))
            answer(half, basic.RecoverOk())
        assert not half.unsettled
        assert book._returned.range_count <= (10 if served else 0)
    assert client is not served
    if served:
        carrier.hear(basic.Ack(1, False), basic.Ack(300, False))
    assert carrier.failed == []
    assert half.closed_cause is None


def test_messages_of_two_keys_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A publisher with confirms whose mandatory messages are all taken, for as long as it likes."""
    monkeypatch.setattr(returns, "RANGES", 50)
    carrier = BareChannelCarrier("client")
    half = open_channel(carrier)
    assert isinstance(half, Channel)
    half.select_confirm(no_wait=True)
    for number in range(1, 501):
        half.publish("x", "ab"[number % 2], b"m", mandatory=True)
        if number > 10:
            carrier.hear(basic.Ack(number - 10, False))
    kept = half._returnable._numbers
    assert sum([numbers.range_count for numbers in kept.values()]) <= 50
    carrier.happened()
    carrier.hear(basic.Ack(499, True), basic.Return(312, "NO_ROUTE", "x", "a"))
    returned = carrier.happened()[-1]
    assert isinstance(returned, MessageReturned)
    assert returned.number == 500


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_consumer_that_was_cancelled_without_an_answer_counts_no_more(dialect: ChannelDialect) -> None:
    stage = Stage(dialect, limits=Limits(subscriptions=2))
    client, served = stage.open()
    for number in range(6):
        client.consume("q", str(number), no_wait=True)
        stage.run()
        client.cancel(str(number), no_wait=True)
        stage.run()
    client.consume("q", "last", no_wait=True)
    stage.run()
    assert served.consumers == client.consumers == ("last",)
    with pytest.raises(LocalProtocolError, match="no such consumer"):
        served.deliver("5")
    assert not stage.violations


@pytest.mark.parametrize("verb", ["basic.consume-ok", "basic.cancel-ok"])
def test_an_answer_names_the_consumer_that_was_asked_for(verb: str) -> None:
    for tag, right in (("t", True), ("u", False)):
        stage = Stage()
        client, _ = stage.open()
        client.consume("q", "u", no_wait=True)
        client.consume("q", "t", no_wait=verb == "basic.cancel-ok")
        if verb == "basic.cancel-ok":
            client.cancel("t")
        stage.client.receive_data(frame(AMQP_0_9_1, verb, consumer_tag=tag))
        ends = [each for each in stage.client.events() if isinstance(each, ConnectionClosed)]
        assert [each.violation and each.violation.rule for each in ends] == ([] if right else [f"{verb}.consumer-tag"])


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_get_whose_message_comes_after_our_close_is_reported_as_unanswered(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    gets = [client.get("q"), client.get("q")]
    stage.say_client()
    for asked in served._heard.kept:
        served.got(asked.id, b"x")
    client.close()
    stage.run()
    (closed,) = stage.client_events
    assert isinstance(closed, ChannelClosed)
    assert closed.calls == RangeSet.of(*gets)
    assert not closed.unsettled  # nobody had them


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("wrong", ["tag", "number", "properties"])
def test_a_call_whose_answer_breaks_a_rule_is_reported_as_unanswered(dialect: ChannelDialect, wrong: str) -> None:
    stage = Stage(dialect, headers="eager")
    client, _ = stage.open()
    client.publish("", "q")
    if wrong == "tag":
        id = client.consume("q", "mine")
        octets = frame(dialect, "basic.consume-ok", consumer_tag="other")
    else:
        id = client.get("q")
        octets = frame(dialect, "basic.get-ok", delivery_tag=0 if wrong == "number" else 1)
        octets += content(properties=b"\x80\x00" if wrong == "properties" else b"\0\0")
    events = stage._feed(stage.client, octets)
    (closed,) = [each for each in events if isinstance(each, ChannelClosed)]
    assert closed.calls == RangeSet.of(id)
    assert closed.in_doubt == client.in_doubt == RangeSet.of(1)  # for it tells nothing of what came before
