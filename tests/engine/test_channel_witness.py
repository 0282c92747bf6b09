"""What a channel is used for: consumers and their limits, flow, settling of what need not be settled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.families.channels import EIGHT, NINE, ONE, Said, broken, c, content, frame, notes, observe, opening, s, told
from tests.steps import assert_linear

from amqp_sansio.dialects import ChannelDialect
from amqp_sansio.engine.checker import ChannelDoubt, Speaker
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Note
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import BodyContent, Method
from amqp_sansio.spec.methods import basic, channel, confirm, queue, tx
from amqp_sansio.wire.method_frames import frame_method


def deliver(tag: int, consumer: str = "t") -> Said:
    return "S", frame(ONE, "basic.deliver", consumer_tag=consumer, delivery_tag=tag) + content(b"m")


@pytest.mark.parametrize("no_ack", [False, True])
def test_what_is_got(no_ack: bool) -> None:
    got: Said = "S", frame(ONE, "basic.get-ok", delivery_tag=1) + content(b"m")
    assert told(c("basic.get", no_ack=no_ack), got, c("basic.ack", delivery_tag=1)) == (
        ["C delivery-tag.twice"] if no_ack else []
    )


@pytest.mark.parametrize(("most", "known"), [(1, False), (2, True), (3, True)])
def test_ranges_of_tags_that_are_followed(most: int, known: bool) -> None:
    words = [c("basic.consume", consumer_tag="t"), *[deliver(tag) for tag in (1, 2, 3)], c("basic.ack", delivery_tag=2)]
    found = told(*words, c("basic.ack", delivery_tag=9), limits=Limits(ranges=most))
    assert found == (["C delivery-tag.unknown"] if known else ["limits.ranges"])


# A side that has agreed to stop says no contents until it is asked to go on.
@pytest.mark.parametrize("strict", [False, True])
def test_flow(strict: bool) -> None:
    publish: Said = "C", frame(ONE, "basic.publish") + content(b"m")
    stop = [s("channel.flow", active=False), publish, c("channel.flow-ok", active=False)]
    late = ["C channel.flow-ok"] if strict else ["channel.flow-ok"]
    assert told(*stop, strict=strict) == []
    assert told(*stop, publish, publish, strict=strict) == late  # once
    assert told(*stop, s("channel.flow", active=True), publish, c("channel.flow-ok", active=True), publish, strict=strict) == []
    again = [s("channel.flow", active=True), s("channel.flow", active=False), c("channel.flow-ok", active=True), publish]
    assert told(*stop, *again, strict=strict) == []
    asked = [s("channel.flow", active=False), s("channel.flow", active=True), c("channel.flow-ok", active=False), publish]
    assert told(*asked, strict=strict) == []


def test_the_client_stops_deliveries_too() -> None:
    words = [
        c("basic.consume", consumer_tag="t"),
        s("basic.consume-ok", consumer_tag="t"),
        c("channel.flow", active=False),
        deliver(1),
        s("channel.flow-ok", active=False),
    ]
    got: Said = "S", frame(ONE, "basic.get-ok", delivery_tag=2) + content(b"m")
    assert told(*words, c("basic.get"), got) == []  # what is asked for by name comes
    assert told(*words, deliver(2)) == ["channel.flow-ok"]


def test_rolled_back_settling_is_settled_again() -> None:
    words = [c("tx.select"), c("basic.consume", consumer_tag="t"), deliver(1), c("basic.ack", delivery_tag=1), c("tx.rollback")]
    assert told(*words, c("basic.ack", delivery_tag=1)) == []
    assert told(*words[:-1], c("tx.commit"), c("basic.ack", delivery_tag=1)) == ["C delivery-tag.twice"]


def test_many_recoveries_cost_linear() -> None:
    def work(count: int) -> Callable[[], object]:
        said: list[Said] = [c("basic.consume", consumer_tag="t")]
        said += [deliver(tag) for tag in range(1, 2 * count + 1)]
        said.append(("C", b"".join([frame(ONE, "basic.ack", delivery_tag=tag) for tag in range(1, 2 * count, 2)])))
        said.append(("C", (frame(ONE, "basic.recover") + frame(ONE, "basic.ack", delivery_tag=2, multiple=True)) * count))
        return lambda: observe([*opening(ONE), *said])

    assert_linear(work, 100)


def test_several_are_confirmed_at_once() -> None:
    publish: Said = "C", frame(ONE, "basic.publish") + content(b"m")
    words: list[Said] = [c("confirm.select"), *[publish] * 3, s("basic.ack", delivery_tag=2, multiple=True)]
    assert told(*words, s("basic.nack", delivery_tag=3)) == []
    assert told(*words, s("basic.ack", delivery_tag=1)) == ["S confirm.twice"]


def test_what_a_channel_is_used_for_behind_its_close_is_not_known() -> None:
    used = [c("tx.select"), s("tx.select-ok"), c("channel.close", reply_code=200), s("channel.close-ok")]
    assert told(*used, c("queue.declare"), s("queue.purge-ok")) == ["C channel.closed"]


def test_answers_out_of_their_order_are_a_note() -> None:
    words = [c("tx.select"), c("queue.declare"), s("queue.declare-ok"), s("tx.select-ok")]
    assert told(*words) == ["reply.order"]
    assert told(*words, strict=True) == ["S reply.order"]
    assert told(c("tx.select"), c("queue.declare"), s("tx.select-ok"), s("queue.declare-ok")) == []


def test_what_some_versions_do_not_answer_holds_nothing_up() -> None:
    assert told(c("basic.recover"), c("basic.qos"), s("basic.qos-ok")) == []


def test_an_error_ends_all_that_was_asked() -> None:
    words = [c("queue.declare"), s("channel.close", reply_code=404), c("channel.close-ok"), c("channel.open")]
    assert told(*words, s("channel.open-ok"), s("queue.declare-ok")) == ["channel.close", "S reply.unasked"][::-1]


def test_the_server_asks_too() -> None:
    assert told(s("channel.flow", active=True), c("channel.flow-ok", active=True)) == []
    assert told(c("channel.flow-ok", active=True)) == ["C reply.unasked"]


def test_what_was_asked_before_a_close_may_still_be_answered() -> None:
    closing = [c("queue.declare"), s("channel.flow", active=True), c("channel.close", reply_code=200)]
    assert told(*closing, s("queue.declare-ok"), s("channel.close-ok")) == []
    assert told(*closing, s("queue.purge-ok")) == ["S reply.other"]
    assert told(*closing, c("channel.flow-ok", active=True)) == ["C channel.closed"]
    refusing = [s("channel.flow", active=True), s("channel.close", reply_code=404), c("channel.flow-ok", active=True)]
    assert told(*refusing, c("channel.close-ok")) == ["channel.close"]


def test_what_was_asked_before_the_connection_is_closed_may_still_be_answered() -> None:
    words: list[Said] = [("C", frame(ONE, "connection.close", 0, reply_code=200)), s("queue.declare-ok")]
    assert told(c("queue.declare"), *words, ("S", frame(ONE, "connection.close-ok", 0))) == []


@pytest.mark.parametrize("dialect", [NINE, EIGHT], ids=lambda dialect: dialect.name)
def test_what_the_version_does_not_answer_is_not_awaited(dialect: ChannelDialect) -> None:
    recover: Said = "C", frame(dialect, "basic.recover")
    answer: Said = "S", frame(dialect, "basic.qos-ok")
    assert told(recover, recover, answer, dialect=dialect, limits=Limits(replay_commands=1)) == ["S reply.unasked"]


@pytest.mark.parametrize(("most", "known"), [(1, False), (2, True), (3, True)])
def test_answers_that_are_awaited(most: int, known: bool) -> None:
    words = [c("queue.declare"), c("queue.declare"), s("queue.purge-ok")]
    assert told(*words, limits=Limits(replay_commands=most)) == (["S reply.other"] if known else ["limits.replay_commands"])


# Whoever asks and answers what was not asked makes linear cost, as does who settles what came again.
@pytest.mark.parametrize(
    ("asks", "answers"),
    [
        (["queue.declare"], ["basic.qos-ok"]),
        (["queue.declare", "basic.qos"], ["basic.qos-ok"]),
        (["basic.recover"], ["basic.recover-ok"]),
    ],
)
def test_many_words_cost_linear(asks: list[str], answers: list[str]) -> None:
    def work(count: int) -> Callable[[], object]:
        said: list[Said] = [
            ("C", b"".join([frame(ONE, verb) * count for verb in asks])),
            ("S", b"".join([frame(ONE, verb) * count for verb in answers])),
        ]
        return lambda: observe([*opening(ONE), *said])

    assert_linear(work, 200)


def said(*verbs: str, who: Speaker = "C", name: bytes = b"r") -> list[tuple[Speaker, bytes]]:
    """What a side says of one reference, each answered."""
    found: list[tuple[Speaker, bytes]] = []
    for verb in verbs:
        if verb == "transfer":
            found.append((who, frame(NINE, "message.transfer", body=BodyContent(name, True))))
        else:
            found.append((who, frame(NINE, f"message.{verb}", reference=name)))
        answer = "message.offset" if verb == "resume" else "message.ok"
        found.append(("S" if who == "C" else "C", frame(NINE, answer)))
    return found


@pytest.mark.parametrize("who", ["C", "S"])
@pytest.mark.parametrize(
    ("verbs", "rule"),
    [
        (("open", "append", "transfer", "checkpoint", "close", "resume", "append", "close"), ""),
        (("open", "open"), "message.open.reference.duplicate-reference"),
        (("open", "resume"), "message.resume.reference.non-existent-reference"),
        (("append",), "message.append.reference.non-existent-reference"),
        (("transfer",), "message.transfer.reference.non-existent-reference"),
        (("open", "close", "checkpoint"), "message.checkpoint.reference.non-existent-reference"),
        (("open", "close", "close"), "message.close.reference.non-existent-reference"),
    ],
)
def test_lives_of_a_reference(who: Speaker, verbs: tuple[str, ...], rule: str) -> None:
    found = observe([*opening(NINE), *said(*verbs, who=who)])
    assert broken(found) == ([f"{who} {rule}"] if rule else [])


def test_a_reference_belongs_to_the_side_and_channel_that_opened_it() -> None:
    other = said("append", who="S")
    assert broken(observe([*opening(NINE), *said("open"), *other])) == ["S message.append.reference.non-existent-reference"]
    again = ("C", frame(NINE, "message.open", 2, reference=b"r"))
    assert broken(observe([*opening(NINE, opens=2), *said("open"), ("C", again[1])])) == []


@pytest.mark.parametrize(("most", "told"), [(1, True), (2, False), (3, False)])
def test_references_that_are_followed(most: int, told: bool) -> None:
    """One more than are followed: nobody is accused of what nobody remembers."""
    both = [*said("open", name=b"a"), *said("open", name=b"b")]
    wrong = said("close", "close", name=b"b")
    found = observe([*opening(NINE), *both, *wrong], limits=Limits(subscriptions=most))
    assert ("limits.subscriptions" in notes(found)) is told
    assert broken(found) == ([] if told else ["C message.close.reference.non-existent-reference"])


# "A recipient MUST NOT acknowledge a message until its reference is closed": other answers pass it.
def test_the_answer_to_a_transfer_by_reference_may_come_last() -> None:
    words: list[tuple[Speaker, bytes]] = [
        ("C", frame(NINE, "message.open", reference=b"r")),
        ("C", frame(NINE, "message.transfer", body=BodyContent(b"r", True))),
        ("C", frame(NINE, "message.resume", reference=b"s")),
        ("C", frame(NINE, "message.get")),
        ("S", frame(NINE, "message.offset")),
        ("S", frame(NINE, "message.empty")),
        ("S", frame(NINE, "message.ok")),
        ("S", frame(NINE, "message.ok")),
    ]
    assert broken(observe([*opening(NINE), *words], strict=True)) == []


@pytest.mark.parametrize("no_ack", [False, True])
def test_a_consumer_that_the_server_names(no_ack: bool) -> None:
    words = [c("basic.consume", no_ack=no_ack), s("basic.consume-ok", consumer_tag="named"), deliver(1, "named")]
    assert told(*words, c("basic.ack", delivery_tag=1)) == (["C delivery-tag.twice"] if no_ack else [])


def test_what_was_on_its_way_to_a_consumer_may_come_until_it_is_cancelled() -> None:
    words = [c("basic.consume", consumer_tag="t"), s("basic.consume-ok", consumer_tag="t"), c("basic.cancel", consumer_tag="t")]
    assert told(*words, deliver(1), s("basic.cancel-ok", consumer_tag="t")) == []
    assert told(*words, s("basic.cancel-ok", consumer_tag="t"), deliver(1)) == ["S basic.deliver.consumer-tag"]
    assert told(*words, c("basic.consume", consumer_tag="t")) == []


@pytest.mark.parametrize(("most", "known"), [(1, False), (2, True), (3, True)])
def test_consumers_that_are_followed(most: int, known: bool) -> None:
    words = [c("basic.consume", consumer_tag=tag) for tag in "ab"]
    found = told(*words, deliver(1, "x"), limits=Limits(subscriptions=most))
    assert found == (["S basic.deliver.consumer-tag"] if known else ["limits.subscriptions"])


def test_an_answer_names_the_tag_that_was_asked_for() -> None:
    consume = c("basic.consume", consumer_tag="t")
    assert told(consume, s("basic.consume-ok", consumer_tag="u")) == ["S basic.consume-ok.consumer-tag"]
    words = [consume, s("basic.consume-ok", consumer_tag="t"), c("basic.cancel", consumer_tag="t")]
    assert told(*words, s("basic.cancel-ok", consumer_tag="u")) == ["S basic.cancel-ok.consumer-tag"]
    assert told(c("basic.consume"), s("basic.consume-ok", consumer_tag="u")) == []


def test_destinations_of_0_9_are_those_of_one_consumer_each() -> None:
    """Nobody answers them by name, so a cancel counts at once."""
    consume: Said = "C", frame(NINE, "message.consume", destination="d")
    cancel: Said = "C", frame(NINE, "message.cancel", destination="d")
    assert told(consume, consume, dialect=NINE) == ["C message.consume.destination"]
    assert told(consume, cancel, consume, dialect=NINE) == []
    assert told(*[consume, cancel] * 3, dialect=NINE, limits=Limits(subscriptions=1)) == []


# What is in doubt.

Word = tuple[Speaker, Method]

OPENED: list[Word] = [("C", channel.Open()), ("S", channel.OpenOk())]
PUBLISH: Word = "C", basic.Publish("", "orders")
SELECT: list[Word] = [("C", confirm.Select()), ("S", confirm.SelectOk())]
TX: list[Word] = [("C", tx.Select()), ("S", tx.SelectOk())]
ASKED: list[Word] = [("C", queue.Declare("orders")), ("S", queue.DeclareOk("orders"))]
CONSUME: list[Word] = [("C", basic.Consume("orders")), ("S", basic.ConsumeOk("me"))]
CLOSED: list[Word] = [("C", channel.Close(200)), ("S", channel.CloseOk())]
REFUSED: list[Word] = [("S", channel.Close(404)), ("C", channel.CloseOk())]


def delivery(tag: int) -> Word:
    return "S", basic.Deliver("me", tag)


def octets(method: Method, number: int = 1) -> bytes:
    frames = frame_method(number, ONE.codec.encode(method))
    return frames + content(b"m", number) if method.VERB in ONE.codec.carrying else frames


def heard(said: list[Word], *more: Said, limits: Limits = Limits()) -> Observer:
    watch = Observer(ONE, limits=limits)
    able = ("basic.nack", "publisher_confirms")
    for speaker, frames in [*opening(ONE, able, opens=0), *[(speaker, octets(method)) for speaker, method in said], *more]:
        watch.receive_data(speaker, frames)
        list(watch.events())
    return watch


def counted(said: list[Word], *more: Said, limits: Limits = Limits()) -> ChannelDoubt:
    return heard(said, *more, limits=limits)._in_doubt()


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ([PUBLISH, PUBLISH], 2),
        ([PUBLISH, *ASKED, PUBLISH], 1),
        ([("C", queue.Declare("orders")), PUBLISH, ("S", queue.DeclareOk("orders"))], 1),  # asked before the publish
        ([PUBLISH, *CLOSED], 0),
        ([PUBLISH, *REFUSED], 1),
        ([("S", channel.Close(404)), PUBLISH, ("C", channel.CloseOk())], 1),
        ([("S", channel.Close(404)), PUBLISH, *CLOSED], 1),  # both close: the server's close-ok is no word about the publish
        ([*SELECT, PUBLISH, PUBLISH, PUBLISH, ("S", basic.Ack(2))], 2),
        ([*SELECT, PUBLISH, PUBLISH, PUBLISH, ("S", basic.Ack(2, True))], 1),
        ([*SELECT, PUBLISH, PUBLISH, ("S", basic.Ack(0, True))], 0),
        ([*SELECT, PUBLISH, ("S", basic.Nack(1))], 0),  # refused, not in doubt
        ([*SELECT, PUBLISH, *ASKED], 1),
        ([*SELECT, PUBLISH, *CLOSED], 1),
        ([PUBLISH, ("C", confirm.Select(True)), PUBLISH, PUBLISH, ("S", basic.Ack(2))], 2),  # the first one and number 1
        ([PUBLISH, ("C", confirm.Select(True)), PUBLISH, ("S", basic.Ack(1, True))], 0),
        ([PUBLISH, ("C", confirm.Select(True)), PUBLISH, *ASKED], 1),
        ([PUBLISH, ("C", confirm.Select(True)), PUBLISH, *CLOSED], 1),
        ([*SELECT, PUBLISH, *CLOSED, *OPENED, PUBLISH], 2),
        ([PUBLISH, ("C", basic.Recover(True)), ("S", basic.RecoverOk())], 1),  # that may be answered at any time
        ([PUBLISH, ("S", channel.Flow(True)), ("C", channel.FlowOk(True))], 1),  # the server asks, and has taken nothing
        (
            [
                PUBLISH,
                ("C", queue.Declare("a")),
                PUBLISH,
                ("C", queue.Purge("a")),
                ("S", queue.PurgeOk(0)),
                ("S", queue.DeclareOk("a")),
            ],
            0,
        ),
        ([*TX, PUBLISH, *CLOSED], 1),
        ([*TX, PUBLISH, *ASKED], 1),
        ([*TX, PUBLISH, ("C", tx.Commit()), ("S", tx.CommitOk())], 0),
        ([*TX, PUBLISH, ("C", tx.Rollback()), ("S", tx.RollbackOk())], 0),
        ([PUBLISH, ("C", channel.Open())], 1),
    ],
)
def test_a_publish_is_in_doubt_until_the_server_has_taken_it(said: list[Word], left: int) -> None:
    assert counted([*OPENED, *said]) == (left, 0, 0)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ([*CONSUME, delivery(1), delivery(2)], 2),
        ([*CONSUME, delivery(1), delivery(2), delivery(3), ("C", basic.Ack(2))], 2),
        ([*CONSUME, delivery(1), delivery(2), delivery(3), ("C", basic.Ack(2, True))], 1),
        ([*CONSUME, delivery(1), ("C", basic.Nack(1, False, True))], 0),
        ([*CONSUME, delivery(1), ("C", basic.Reject(1))], 0),
        ([*CONSUME, delivery(1), *CLOSED], 1),
        ([*CONSUME, delivery(1), ("C", basic.Recover(True)), ("S", basic.RecoverOk()), delivery(2)], 1),
        ([*CONSUME, ("C", basic.Recover(True)), delivery(1), ("S", basic.RecoverOk())], 0),
        ([*CONSUME, delivery(1), ("C", basic.RecoverAsync(True))], 0),
        ([("C", basic.Consume("orders", no_ack=True)), ("S", basic.ConsumeOk("me")), delivery(1)], 0),
        ([("C", basic.Consume("orders", "me", no_ack=True, no_wait=True)), delivery(1)], 0),
        ([("C", basic.Get("orders")), ("S", basic.GetOk(1))], 1),
        ([("C", basic.Get("orders", True)), ("S", basic.GetOk(1))], 0),
        ([*TX, *CONSUME, delivery(1), ("C", basic.Ack(1))], 1),  # nobody commits the ack
        ([*TX, *CONSUME, delivery(1), ("C", basic.Ack(1)), ("C", tx.Commit()), ("S", tx.CommitOk())], 0),
        ([*TX, *CONSUME, delivery(1), ("C", basic.Ack(1)), ("C", tx.Rollback()), ("S", tx.RollbackOk())], 1),
        ([*CONSUME, ("S", channel.Close(404)), delivery(1)], 0),  # RabbitMQ delivers after its close, and takes it back
    ],
)
def test_a_delivery_is_in_doubt_until_the_client_has_settled_it(said: list[Word], left: int) -> None:
    assert counted([*OPENED, *said]) == (0, left, 0)


def test_a_commit_does_not_settle_what_the_client_took_back_before() -> None:
    said: list[Word] = [*OPENED, *TX, *CONSUME, delivery(1), ("C", basic.Ack(1)), ("C", tx.Rollback()), ("S", tx.RollbackOk())]
    assert counted([*said, ("C", tx.Commit()), ("S", tx.CommitOk())]) == (0, 1, 0)


def test_a_commit_is_in_doubt_until_the_server_has_answered_it() -> None:
    assert counted([*OPENED, *TX, PUBLISH, ("C", tx.Commit())]) == (1, 0, 1)
    assert counted([*OPENED, *TX, PUBLISH, ("C", tx.Commit()), ("S", tx.CommitOk())]) == (0, 0, 0)
    for answer in (channel.Close(406), tx.CommitOk()):  # the channel is not transacted
        assert counted([*OPENED, ("C", tx.Commit()), ("S", answer)]) == (0, 0, 0)


CLOSE = frame(ONE, "connection.close", 0, reply_code=200)
CLOSE_OK = frame(ONE, "connection.close-ok", 0)


@pytest.mark.parametrize(
    ("more", "left"),
    [
        ([("C", CLOSE), ("S", CLOSE_OK)], 0),
        ([("S", CLOSE), ("C", CLOSE_OK)], 1),
        ([("C", CLOSE), ("S", frame(ONE, "connection.blocked", 0))], 1),
        ([("S", CLOSE_OK)], 1),  # it answers nothing
    ],
)
def test_the_server_takes_what_came_before_the_clients_close_of_the_connection(more: list[Said], left: int) -> None:
    assert counted([*OPENED, PUBLISH], *more) == (left, 0, 0)


def test_an_observer_counts_nothing_of_what_it_has_missed() -> None:
    watch = heard([*OPENED, PUBLISH])
    watch.receive_gap("C", 100)
    assert [type(each.event) for each in watch.events()] == [Note]
    assert watch._in_doubt() == (0, 0, 0)
    unreadable = frame_method(1, ONE.codec.encode(basic.Ack(1))[:-1])
    assert counted([*OPENED, PUBLISH], ("C", unreadable)) == (0, 0, 0)
    confirms: list[Word] = [("S", basic.Ack(tag)) for tag in range(2, 12, 2)]
    assert counted([*OPENED, *SELECT, *[PUBLISH] * 12, *confirms], limits=Limits(ranges=4)) == (0, 0, 0)
    many = [delivery(tag) for tag in range(1, 9)] + [("C", basic.Ack(tag)) for tag in range(2, 9, 2)]
    few = Limits(ranges=4)
    assert counted([*OPENED, *CONSUME, *many], limits=few) == (0, 4, 0)
    assert counted([*OPENED, *CONSUME, *many, delivery(9), ("C", basic.Ack(9)), delivery(10)], limits=few) == (0, 0, 0)


@pytest.mark.parametrize("early", [("S", basic.Ack(2)), ("C", basic.Ack(2))])
def test_where_an_answer_was_captured_before_its_message_nothing_of_the_channel_is_counted(early: Word) -> None:
    said = [*OPENED, *SELECT, *CONSUME, PUBLISH, delivery(1)]
    assert counted(said) == (1, 1, 0)
    assert counted([*said, early, PUBLISH, delivery(2)]) == (0, 0, 0)


def test_a_delivery_that_does_not_arrive_whole_is_not_in_doubt() -> None:
    cut = frame(ONE, "basic.deliver", consumer_tag="me", delivery_tag=1)
    said = [*OPENED, *CONSUME, PUBLISH]
    assert counted(said, ("S", cut + frame(ONE, "channel.close")), ("C", frame(ONE, "channel.close-ok"))) == (1, 0, 0)


def test_what_is_in_doubt_is_stored_and_a_former_version_counted_nothing() -> None:
    watch = heard([*OPENED, PUBLISH, *CLOSED, *OPENED, *TX, *CONSUME, PUBLISH, delivery(1), ("C", tx.Commit())])
    assert watch._in_doubt() == (1, 1, 1)
    assert Observer.restore(watch.snapshot(), dialects=(ONE,))._in_doubt() == (1, 1, 1)


@given(st.lists(st.one_of(st.just(0), st.integers(1, 20)), max_size=40), st.booleans())
def test_what_is_confirmed_and_what_is_in_doubt_are_all_that_was_published(steps: list[int], multiple: bool) -> None:
    """Whatever the order of publishes and confirms, a publish is in doubt exactly when no confirm names it."""
    said: list[Word] = [*OPENED, *SELECT]
    last, outstanding = 0, set[int]()
    for step in steps:
        if not step:
            last += 1
            outstanding.add(last)
            said.append(PUBLISH)
        elif step <= last:
            outstanding -= set(range(1, step + 1)) if multiple else {step}
            said.append(("S", basic.Ack(step, multiple)))
    assert counted(said) == (len(outstanding), 0, 0)
