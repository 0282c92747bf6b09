"""The witness of a whole conversation: limits, endings, what is lost."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest
from tests.families.channels import (
    ALL,
    EIGHT,
    NINE,
    ONE,
    Said,
    broken,
    c,
    content,
    frame,
    notes,
    observe,
    opened,
    opening,
    s,
    told,
)
from tests.steps import assert_linear

from amqp_sansio.engine.channel_witness import OpeningWitness
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.observed import Speaker
from amqp_sansio.engine.observer import Observer
from amqp_sansio.limits import DEFAULT_LIMITS, MAX_CHANNELS, Limits
from amqp_sansio.spec.connection import Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.fields import as_fields


def heard(*controls: Start | StartOk | Tune | TuneOk) -> tuple[OpeningWitness, list[str]]:
    findings = Findings(False, DEFAULT_LIMITS)
    witness = OpeningWitness(findings)
    for control in controls:
        witness.hear(control)
    return witness, [each.rule for each in findings.found]


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize(
    ("answer", "rules"),
    [
        (TuneOk(2047, 131072), []),
        (TuneOk(1, 4096), []),
        (TuneOk(2048, 131072), ["connection.tune-ok.channel-max.upper-limit"]),
        (TuneOk(0, 131072), ["connection.tune-ok.channel-max.upper-limit"]),
        (TuneOk(2047, 131073), ["connection.tune-ok.frame-max.upper-limit"]),
        (TuneOk(2047, 0), ["connection.tune-ok.frame-max.upper-limit"]),
        (TuneOk(2047, 4095), ["connection.tune-ok.frame-max.minimum"]),
    ],
)
def test_answers_to_an_offer(answer: TuneOk, rules: list[str], pipelined: bool) -> None:
    offer = Tune(2047, 131072)
    witness, found = heard(answer, offer) if pipelined else heard(offer, answer)
    assert found == rules
    assert witness.agreed
    assert (witness.channels, witness.frame_max) == (answer.channel_max or MAX_CHANNELS, answer.max_frame_size)


def test_without_a_bound_all_may_be_asked_for() -> None:
    assert heard(Tune(0, 0), TuneOk(65535, 0))[1] == []
    assert heard(Tune(0, 100))[1] == ["connection.tune.frame-max.minimum"]


@pytest.mark.parametrize("pipelined", [False, True])
def test_a_mechanism_that_was_not_offered(pipelined: bool) -> None:
    start, answer = Start({}, ("PLAIN",), ()), StartOk({}, "X", b"", "")
    assert heard(*((answer, start) if pipelined else (start, answer)))[1] == ["connection.start-ok.mechanism.validity"]


def test_capabilities() -> None:
    witness, _ = heard(Start(as_fields({"capabilities": {"a": True, "b": False}}), ("PLAIN",), ()))
    assert [witness.able("server", each) for each in "abc"] == [True, False, False]
    assert witness.able("client", "a") is None
    assert heard(StartOk({"capabilities": 7}, "PLAIN"))[0].able("client", "a") is False


@pytest.mark.parametrize(("most", "told"), [(2, True), (3, False), (4, False)])
def test_channels_that_are_followed(most: int, told: bool) -> None:
    """One more than are followed: the others are forgotten, and nobody is accused of what depends on them."""
    found = observe([*opening(ONE, opens=3), ("C", frame(ONE, "tx.commit", 1))], limits=Limits(channels=most))
    assert ("limits.channels" in notes(found)) is told
    assert broken(found) == ([] if told else ["C tx.select-required"])


ENDINGS = {
    "connection.eof": [],
    "connection.close-ok": [("C", frame(ONE, "connection.close", 0, reply_code=200))],
    "": [("C", frame(ONE, "connection.close", 0, reply_code=200)), ("S", frame(ONE, "connection.close-ok", 0))],
}


@pytest.mark.parametrize("note", ENDINGS)
def test_endings(note: str) -> None:
    watch = Observer(dialects=ALL)
    for who, octets in [*opening(ONE), *ENDINGS[note]]:
        watch.receive_data("C" if who == "C" else "S", octets)
    watch.receive_eof("S")
    watch.receive_eof("C")
    assert notes(list(watch.events())) == ([note] if note else [])


def test_what_was_asked_at_the_wrong_time_may_be_answered() -> None:
    words = [("C", frame(ONE, "connection.open", 0)), ("S", frame(ONE, "connection.open-ok", 0))]
    assert broken(observe([*opening(ONE), *[("C" if who == "C" else "S", octets) for who, octets in words]])) == [
        "C connection.sequence"
    ]


def test_a_content_that_breaks_off_is_nobodys_tag() -> None:
    deliver = frame(ONE, "basic.deliver", consumer_tag="t", delivery_tag=1)
    words = [
        ("C", frame(ONE, "basic.consume", consumer_tag="t")),
        ("S", frame(ONE, "basic.consume-ok", consumer_tag="t") + deliver + content(size=4) + frame(ONE, "basic.qos-ok")),
        ("C", frame(ONE, "basic.ack", delivery_tag=1)),
    ]
    found = observe([*opening(ONE), *[("C" if who == "C" else "S", octets) for who, octets in words]])
    assert broken(found) == ["S content.interrupted", "S reply.unasked"]


def test_a_channel_that_is_opened_anew_knows_nothing_of_before() -> None:
    words = [
        ("C", frame(ONE, "tx.select")),
        ("S", frame(ONE, "tx.select-ok")),
        ("C", frame(ONE, "channel.close", reply_code=200)),
        ("S", frame(ONE, "channel.close-ok")),
        *opened(ONE, 1),
        ("C", frame(ONE, "tx.commit")),
    ]
    said = [*opening(ONE), *[("C" if who == "C" else "S", octets) for who, octets in words]]
    assert broken(observe(said)) == ["C tx.select-required"]


# Channels beyond what was agreed on, and units heard while frames are looked for, cost the same each.
@pytest.mark.parametrize("gaps", [False, True])
def test_many_channels_cost_linear(gaps: bool) -> None:
    def work(count: int) -> Callable[[], object]:
        watch = Observer(dialects=ALL)
        said = [*opening(NINE, channels=1, opens=0), *[each for n in range(2, count) for each in opened(NINE, n)]]

        def run() -> None:
            for at, (who, octets) in enumerate(said):
                watch.receive_data(who, octets)
                if gaps and at > 6:
                    watch.receive_gap("C" if who == "S" else "S", 1)
                list(watch.events())

        return run

    assert_linear(work, 200)


def test_a_server_that_sends_a_header_before_the_client_has_spoken_is_a_note() -> None:
    found = observe([("S", ONE.header), *opening(ONE)])
    assert "connection.protocol-header" in notes(found)
    assert broken(found) == []


def test_words_of_the_wrong_side_change_nothing() -> None:
    words = [("S", frame(ONE, "tx.select")), ("C", frame(ONE, "connection.open-ok", 0)), ("C", frame(ONE, "basic.qos"))]
    said = [*opening(ONE), *[("C" if who == "C" else "S", octets) for who, octets in words]]
    assert broken(observe(said)) == ["S method.direction", "C method.direction"]


# ack, nack and cancel by the server, and cancel-ok by the client, are RabbitMQ's extensions of 0-9-1.
@pytest.mark.parametrize(("who", "verb"), [("S", "basic.ack"), ("S", "basic.cancel"), ("C", "basic.cancel-ok")])
def test_what_only_rabbitmq_lets_a_side_say(who: Speaker, verb: str) -> None:
    assert broken(observe([*opening(EIGHT), (who, frame(EIGHT, verb))])) == [f"{who} method.direction"]
    assert f"{who} method.direction" not in broken(observe([*opening(ONE), (who, frame(ONE, verb))]))


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        (["C channel.resume", "C tx.select", "S channel.ok", "C channel.ping", "S channel.ok", "S tx.select-ok"], ""),
        (["C channel.resume", "S channel.ok", "C channel.close", "S channel.close-ok", "C channel.resume"], ""),
        (["C channel.resume", "S tx.select-ok"], "S channel.closed"),
        (["C channel.resume", "S channel.ok", "S channel.ok"], "S reply.unasked"),
        (["C channel.resume", "S channel.open-ok"], "S reply.unasked"),
        (["C channel.resume", "C channel.close", "S channel.close-ok"], "S reply.unasked"),
    ],
)
def test_a_channel_that_is_resumed(said: list[str], wrong: str) -> None:
    words = [(each[0], frame(NINE, each[2:])) for each in said]
    found = observe([*opening(NINE, opens=0), *[("C" if who == "C" else "S", octets) for who, octets in words]])
    assert broken(found) == ([wrong] if wrong else [])


# What the client says behind its open is on its way when the server sends it elsewhere, or speaks another version.
def test_what_is_on_its_way_to_a_server_that_is_gone() -> None:
    ahead = ["connection.start-ok", "connection.tune-ok", "connection.open"]
    first = [("C", NINE.header), *[("C", frame(NINE, verb, 0)) for verb in ahead]]
    late = ("C", frame(NINE, "channel.open"))
    refused = [first[0], ("S", ONE.header), *first[1:], late]
    asked = [*first, *[("S", frame(NINE, f"connection.{verb}", 0)) for verb in ("start", "tune", "redirect")], late]
    for said in (refused, asked):
        found = observe([("C" if who == "C" else "S", octets) for who, octets in said])
        assert [each for each in broken(found) if "sequence" in each or "channel" in each or "open" in each] == []


def test_a_secret_may_be_updated_before_the_answer_to_open() -> None:
    said = opening(ONE, opens=0)
    update = ("C", frame(ONE, "connection.update-secret", 0, new_secret=b"s", reason="r"))
    words = [*said[:-1], update, said[-1], ("S", frame(ONE, "connection.update-secret-ok", 0))]
    assert broken(observe([("C" if who == "C" else "S", octets) for who, octets in words])) == []


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
