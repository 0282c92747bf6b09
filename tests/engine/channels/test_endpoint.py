"""The channels of a connection: numbers, limits, how they end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.engine.channels.stage import DIALECTS, Stage
from tests.families.channels import content, frame
from tests.steps import assert_linear

from amqp_sansio.config import Profile
from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9_1, ChannelDialect
from amqp_sansio.errors import ChannelClosedError, ConnectionClosedError, LimitError, LocalProtocolError
from amqp_sansio.events import ChannelClosed, ChannelOpened, ConnectionClosed, Origin
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods import channel
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.wire.method_frames import put_frame

by_name = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


def closed(events: list[object]) -> ConnectionClosed:
    (event,) = [each for each in events if isinstance(each, ConnectionClosed)]
    return event


def test_the_lowest_number_is_free_again_only_behind_close_ok() -> None:
    stage = Stage()
    first, second = stage.open()[0], stage.open()[0]
    assert (first.number, second.number) == (1, 2)
    first.close()
    assert stage.client.channel().number == 3
    with pytest.raises(LocalProtocolError, match="another channel"):
        stage.client.channel(1)
    stage.run()
    assert stage.client.channel().number == 1
    assert stage.client.channel(9).number == 9
    for number in (0, -1, 2048):
        with pytest.raises(LocalProtocolError, match="channel-max"):
            stage.client.channel(number)


def late(number: int) -> bytes:
    """What RabbitMQ delivers behind its own channel.close."""
    return frame(AMQP_0_9_1, "basic.deliver", number, consumer_tag="t", delivery_tag=9) + content(b"late", number)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("crossed", [False, True])
def test_what_the_server_delivers_behind_its_close_is_passed_over(crossed: bool, strict: bool) -> None:
    """Its channel.close does not wait for the deliveries under way; by the letter they are a violation."""
    stage = Stage(profile=Profile(strict=strict))
    first, second = stage.open()[0], stage.open()[0]
    served = stage.server._channels.used[1]
    if crossed:
        first.close()
    served.close(ReplyCode.NOT_FOUND, "no queue")
    stage.client.receive_data(stage.server.data_to_send() + late(1))
    heard = list(stage.client.events())
    assert type(heard[0]) is ChannelClosed
    assert stage.client.is_open is (len(heard) == 1) is not strict
    if not strict:
        second.publish("", "k", b"m")


def test_a_number_that_the_server_has_closed_is_the_last_to_be_used_again() -> None:
    stage = Stage(channel_max=3)
    for _ in range(3):
        stage.open()
    for number in (2, 1):
        stage.server._channels.used[number].close(ReplyCode.NOT_FOUND, "no queue")
    stage.run()
    stage.take()
    again = [stage.client.channel(), stage.client.channel()]
    assert [each.number for each in again] == [2, 1]
    stage.client.receive_data(late(2))  # before it is open again: of the former one
    stage.run()
    assert stage.take()[0] == [ChannelOpened(2), ChannelOpened(1)]
    stage.client.receive_data(late(2))
    assert closed(list(stage.client.events())).origin is Origin.VIOLATION


def test_a_number_that_the_client_has_closed_is_used_before_others() -> None:
    stage = Stage(channel_max=3)
    for _ in range(2):
        stage.open()
    stage.server._channels.used[1].close(ReplyCode.NOT_FOUND, "no queue")
    stage.client.channels[1].close()
    stage.run()
    assert [stage.client.channel().number for _ in range(3)] == [2, 3, 1]


@by_name
def test_so_many_channels_are_agreed_on(dialect: ChannelDialect) -> None:
    stage = Stage(dialect, channel_max=3)
    channels = [stage.client.channel() for _ in range(3)]
    with pytest.raises(LimitError, match="channels"):
        stage.client.channel()
    stage.run()
    assert stage.take()[0] == [ChannelOpened(number) for number in (1, 2, 3)]
    channels[1].close()
    stage.run()
    if dialect is AMQP_0_9_1:
        assert stage.client.channel().number == 2
    else:
        assert stage.client.channel(60000).number == 60000  # it is a count
    stage.run()
    stage.take()
    stage.server.receive_data(frame(dialect, "channel.open", 7))
    violation = closed(list(stage.server.events())).violation
    assert violation is not None
    assert violation.rule == "connection.tune-ok.channel-max"


@pytest.mark.parametrize(("opens", "fine"), [(1, True), (2, True), (3, False)])
def test_channels_are_limited(opens: int, fine: bool) -> None:
    stage = Stage(client_limits=Limits(channels=2))
    for _ in range(min(opens, 2)):
        stage.client.channel()
    if not fine:
        with pytest.raises(LimitError, match="channels"):
            stage.client.channel()


@by_name
def test_closes_cross(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    client.close(ReplyCode.REPLY_SUCCESS, "bye")
    served.fail(ReplyCode.NOT_FOUND, "gone")
    stage.run()
    heard, told = stage.take()
    assert [(each.origin, each.code) for each in heard if isinstance(each, ChannelClosed)] == [(Origin.PEER, 404)]
    assert [(each.origin, each.code) for each in told if isinstance(each, ChannelClosed)] == [(Origin.PEER, 200)]
    assert stage.client._channels.used == stage.server._channels.used == {}
    assert stage.violations == []


def test_what_was_on_its_way_when_we_closed_takes_doubt_away() -> None:
    stage = Stage()
    client, served = stage.open()
    client.select_confirm(no_wait=True)
    client.consume("q", "t", no_wait=True)
    client.publish("x", "k", b"m", mandatory=True)
    client.publish("x", "k", b"m")
    stage.run()
    stage.take()
    client.close()
    served.return_(ReplyCode.NO_ROUTE, "NO_ROUTE", "x", "k", b"m")
    served.confirm(1)
    served.deliver("t", b"m")
    stage.run()
    *before, end = stage.take()[0]
    assert [type(each).__name__ for each in before] == ["MessageReturned", "Confirmed"]
    assert isinstance(end, ChannelClosed)
    assert (end.origin, end.in_doubt, end.unsettled) == (Origin.LOCAL, RangeSet.of(2), RangeSet())


def test_a_content_whose_channel_closes_is_not_continued() -> None:
    stage = Stage()
    client, served = stage.open()
    client.publish("x", "k", b"ha", size=4)
    stage.run()
    served.close(ReplyCode.REPLY_SUCCESS)
    stage.run()
    assert client.body_left == 0
    with pytest.raises(Exception, match="closed"):
        client.body(b"lf")
    assert stage.violations == []
    again, _ = stage.open()
    again.publish("x", "k", b"whole")
    stage.run()
    assert [type(each).__name__ for each in stage.take()[1]] == ["ContentReceived"]
    assert stage.client.is_open


@pytest.mark.parametrize("who", ["client", "server"])
def test_the_end_of_the_connection_is_the_end_of_its_channels(who: str) -> None:
    stage = Stage()
    client, served = stage.open()
    client.consume("q", "t", no_wait=True)
    client.publish("x", "k", b"m")
    call = client.qos(1)
    stage.run()
    served.deliver("t", b"m")
    stage.run()
    stage.take()
    if who == "client":
        stage.client.receive_eof()
    else:
        stage.server.close()
        stage.run()
    stage.client_events += stage.client.events()
    end, last = stage.take()[0]
    assert isinstance(end, ChannelClosed)
    assert (end.calls, end.in_doubt, end.unsettled) == (RangeSet.of(call), RangeSet.of(1), RangeSet.of(1))
    assert end.concerned == RangeSet([(1, call)])
    assert isinstance(last, ConnectionClosed)
    assert end.origin == last.origin == (Origin.EOF if who == "client" else Origin.PEER)
    for said in (client.close, lambda: client.qos(1), lambda: client.publish("x", "k")):
        with pytest.raises(ConnectionClosedError):
            said()
    assert client.closed_cause is not None


WRONG = [
    ("channel.not-open", 504, lambda d: frame(d, "queue.declare-ok", 9)),
    ("reply.unasked", 504, lambda d: frame(d, "channel.open-ok", 9)),
    ("method.direction", 503, lambda d: frame(d, "queue.declare", 1)),
    ("method.unknown", 503, lambda d: b"\1\0\1\0\0\0\4\0\x32\0\x63\xce"),
    ("method.arguments-short", 502, lambda d: b"\1\0\1\0\0\0\5\0\x32\0\x0b\x09\xce"),
    ("reply.unasked", 503, lambda d: frame(d, "queue.declare-ok", 1)),
    ("basic.deliver.consumer-tag", 503, lambda d: frame(d, "basic.deliver", 1, consumer_tag="t", delivery_tag=1) + content()),
    ("content.interrupted", 505, lambda d: frame(d, "basic.return", 1) + frame(d, "basic.return", 1)),
    ("content.header-unexpected", 505, lambda d: content()),
    ("content.class", 505, lambda d: frame(d, "basic.return", 1) + content(of=50)),
    ("connection.channel", 504, lambda d: frame(d, "connection.close-ok", 1)),
]


@pytest.mark.parametrize(("rule", "code", "octets"), WRONG, ids=[f"{each[0]}-{at}" for at, each in enumerate(WRONG)])
@by_name
def test_what_the_server_does_wrong_ends_the_connection(dialect: ChannelDialect, rule: str, code: int, octets: object) -> None:
    stage = Stage(dialect)
    stage.open()
    assert callable(octets)
    stage.client.receive_data(octets(dialect))
    end = closed(list(stage.client.events()))
    assert end.violation is not None
    assert (end.violation.rule, end.violation.code) == (rule, code)
    assert end.violation.channel is not None


def test_the_order_of_answers_is_held_to_the_letter_only_when_strict() -> None:
    for strict in (False, True):
        stage = Stage(profile=Profile(strict=strict))
        client, _ = stage.open()
        client.declare_queue("q")
        client.qos(1)
        stage.client.receive_data(frame(AMQP_0_9_1, "basic.qos-ok", 1))
        assert stage.client.is_open
        list(stage.client.events())
        assert stage.client.is_open is not strict


def test_a_second_confirm_is_let_pass_unless_strict_and_one_of_nothing_is_not() -> None:
    for strict in (False, True):
        stage = Stage(profile=Profile(strict=strict))
        client, _ = stage.open()
        client.select_confirm(no_wait=True)
        client.publish("x", "k")
        stage.client.receive_data(frame(AMQP_0_9_1, "basic.ack", 1, delivery_tag=1) * 2)
        list(stage.client.events())
        assert stage.client.is_open is not strict
    stage = Stage()
    client, _ = stage.open()
    client.select_confirm(no_wait=True)
    stage.client.receive_data(frame(AMQP_0_9_1, "basic.ack", 1, delivery_tag=1))
    violation = closed(list(stage.client.events())).violation
    assert violation is not None
    assert violation.rule == "confirm.unpublished"


def test_frames_that_nobody_reads_are_passed_over() -> None:
    stage = Stage(AMQP_0_8_UNBIND)
    stage.open()
    stage.client.receive_data(b"\7\0\1\0\0\0\1x\xce")
    assert list(stage.client.events()) == []
    assert stage.client.is_open


def test_a_server_is_asked_for_a_channel_once() -> None:
    for octets, rule in (
        (frame(AMQP_0_9_1, "channel.open", 1), "channel.second-open"),
        (frame(AMQP_0_9_1, "queue.declare", 5), "channel.not-open"),
        (frame(AMQP_0_9_1, "channel.close", 5), "channel.not-open"),
    ):
        stage = Stage()
        stage.open()
        stage.server.receive_data(octets)
        violation = closed(list(stage.server.events())).violation
        assert violation is not None
        assert (violation.rule, violation.code) == (rule, 504)


def test_properties_that_cannot_be_read_end_the_connection_of_an_eager_server() -> None:
    for letter, code in ((False, 541), (True, 502)):
        stage = Stage(profile=Profile(error_codes="spec" if letter else "rabbitmq"))
        stage.open()
        stage.server.receive_data(frame(AMQP_0_9_1, "basic.publish", 1) + content(properties=b"\x80\0\x09short"))
        violation = closed(list(stage.server.events())).violation
        assert violation is not None
        assert (violation.rule, violation.code) == ("content.properties", code)


@pytest.mark.parametrize("most", [1000, 10_000])  # less than a frame of these bodies, and more
def test_the_channel_of_a_soft_breach_goes_and_the_connection_stays(most: int) -> None:
    stage = Stage(limits=Limits(assembly_octets=most), client_limits=Limits())
    client, _ = stage.open()
    client.publish("x", "k", bytes(most + 4000))
    client.qos(1)
    stage.run()
    (end,), (told,) = stage.take()
    assert isinstance(end, ChannelClosed)
    assert isinstance(told, ChannelClosed)
    assert (end.origin, end.code, told.origin) == (Origin.PEER, 406, Origin.VIOLATION)
    again, _ = stage.open()
    again.publish("x", "k", bytes(most - 50))
    stage.run()
    assert [type(each).__name__ for each in stage.take()[1]] == ["ContentReceived"]


@pytest.mark.parametrize("most", [1000, 10_000])  # less than a frame of these bodies, and more
def test_a_second_breach_behind_our_close_is_nothing_new(most: int) -> None:
    stage = Stage(limits=Limits(assembly_octets=most), client_limits=Limits())
    client, _ = stage.open()
    for _ in range(3):
        client.publish("x", "k", bytes(most + 4000))
    stage.run()
    assert [type(each).__name__ for each in stage.take()[1]] == ["ChannelClosed"]
    assert stage.server.is_open


def test_a_channel_that_was_closed_before_it_opened_is_not_reported_open() -> None:
    stage = Stage()
    client = stage.client.channel()
    client.close()
    stage.run()
    assert [type(each).__name__ for each in stage.take()[0]] == ["ChannelClosed"]
    assert stage.client._channels.used == stage.server._channels.used == {}


def test_a_channel_is_shown_by_number_and_state() -> None:
    client, served = Stage().open()
    assert (repr(client), repr(served)) == ("<Channel 1 open>", "<ServedChannel 1 open>")
    assert (client.role, served.role) == ("client", "server")
    assert client.closed_cause is None
    assert isinstance(channel.Open(), channel.Open)


def test_a_number_that_is_free_again_is_found_without_looking_at_those_in_use() -> None:
    def work(count: int) -> Callable[[], object]:
        stage = Stage()
        channels = [stage.client.channel() for _ in range(20 * count)]
        first = channels[0]
        stage.run()

        def run() -> None:
            nonlocal first
            for _ in range(count):
                first.close()
                stage.run()
                first = stage.client.channel()
                assert first.number == 1
                stage.client.channel()
                stage.run()

        return run

    assert_linear(work, 20)


def header(size: int, of: int = 60) -> bytes:
    return put_frame(2, 1, of.to_bytes(2, "big") + b"\0\0" + size.to_bytes(8, "big") + b"\0\0")


@by_name
@pytest.mark.parametrize(
    ("octets", "code"),
    [
        (header(1 << 40), 406),
        (header(3, of=50), 505),
        (put_frame(2, 1, b"\0\x3c\0\0"), 501),
        (header(3) + put_frame(3, 1, b"1234"), 501),
        (header(3) + header(3), 505),
        (put_frame(3, 1, b"1234"), 505),
        (header(3) + put_frame(3, 1, b"") * 20, 506),
        (header(3) + put_frame(1, 1, b"\0\x3c\0\x0b"), 505),
    ],
)
@pytest.mark.parametrize("piece", [None, 1])
def test_a_close_names_the_method_whose_content_is_wrong(
    dialect: ChannelDialect, octets: bytes, code: int, piece: int | None
) -> None:
    stage = Stage(dialect, piece=piece)
    _, served = stage.open()
    stage._feed(stage.server, frame(dialect, "basic.publish") + octets)
    stage.say_server()
    stage.run()
    ends = [each for each in stage.client_events if isinstance(each, ChannelClosed | ConnectionClosed)]
    assert (ends[-1].code, ends[-1].method) == (code, "basic.publish")
    assert served.closed_cause is not None


@by_name
def test_a_close_names_the_method_at_fault_whatever_follows_it(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    stage.open()
    stage.client.receive_data(frame(dialect, "basic.deliver", consumer_tag="none") + content())
    list(stage.client.events())
    stage.say_client()
    assert closed(list(stage.server_events)).method == "basic.deliver"


@by_name
def test_a_content_that_was_under_way_is_broken_off_by_the_answer_to_a_close(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    client.publish("", "q", b"abc", size=10)
    served.close(ReplyCode.NOT_FOUND, "no queue")  # before it hears of the content
    stage.run()
    assert [type(each) for each in stage.client_events + stage.server_events] == [ChannelClosed, ChannelClosed]
    assert not stage.violations
    with pytest.raises(ChannelClosedError):
        client.body(b"defghij")
    stage.open(client.number)
