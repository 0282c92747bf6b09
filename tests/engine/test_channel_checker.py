"""What an observer says of the older dialects: each violation by a name of its own, secrets hidden, in any pieces."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from random import Random

import pytest
from tests.families.channels import (
    ALL,
    EIGHT,
    FAMILY,
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
    payload,
    s,
    told,
)
from tests.steps import assert_linear

from amqp_sansio.dialects import (
    AMQP_0_8,
    AMQP_0_8_QPID,
    AMQP_0_8_UNBIND,
    AMQP_0_9,
    AMQP_0_9_1,
    AMQP_0_9_1_QPID,
    AMQP_0_9_RABBITMQ,
    Dialect,
)
from amqp_sansio.engine.channel_checker import OpeningWitness
from amqp_sansio.engine.checker import Speaker
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.observer import Observed, Observer
from amqp_sansio.events import ControlSeen, MethodSeen, Note, Violation
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.limits import DEFAULT_LIMITS, MAX_CHANNELS, Limits
from amqp_sansio.spec.connection import Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.fields import as_fields
from amqp_sansio.wire.method_codec import MethodCodec
from amqp_sansio.wire.method_frames import put_frame

PUBLISH = frame(ONE, "basic.publish", routing_key="x")
DELIVER = frame(ONE, "basic.deliver", consumer_tag="t", delivery_tag=1)
CONSUME: list[Said] = [
    ("C", frame(ONE, "basic.consume", consumer_tag="t")),
    ("S", frame(ONE, "basic.consume-ok", consumer_tag="t")),
]
DELIVERED: list[Said] = [*CONSUME, ("S", DELIVER + content(b"m"))]
CONFIRMING: list[Said] = [("C", frame(ONE, "confirm.select")), ("S", frame(ONE, "confirm.select-ok"))]


def said(who: str, *octets: bytes) -> list[Said]:
    return [("C" if who == "C" else "S", b"".join(octets))]


def m(verb: str, channel: int = 1, **fields: object) -> bytes:
    return frame(ONE, verb, channel, **fields)


BROKEN: dict[str, tuple[list[Said], list[str]]] = {
    "bad end octet": (said("C", m("basic.qos")[:-1] + b"\0"), ["C frame.end"]),
    "frame larger than agreed": (said("C", put_frame(3, 1, bytes(131065))), ["C connection.tune-ok.frame-max"]),
    "frame of unknown type": (said("C", put_frame(9, 1, b"abc")), ["C frame.type"]),
    "frame type of 0-8": (said("C", put_frame(4, 1, b"abc")), ["C frame.type"]),
    "unknown class": (said("C", put_frame(1, 1, b"\0\x63\0\1")), ["C method.unknown"]),
    "unknown number": (said("C", put_frame(1, 1, b"\0\x32\0\x63")), ["C method.unknown"]),
    "arguments too short": (said("C", put_frame(1, 1, payload(ONE, "basic.qos")[:-1])), ["C method.arguments-short"]),
    "arguments too long": (said("C", put_frame(1, 1, payload(ONE, "basic.qos") + b"\0")), ["C method.arguments-long"]),
    "no text": (
        said("C", put_frame(1, 1, payload(ONE, "queue.purge", queue="ab").replace(b"ab", b"\xff\xfe"))),
        ["C method.arguments"],
    ),
    "undecodable table": (
        said("C", put_frame(1, 1, payload(ONE, "queue.declare", arguments={"k": 1}).replace(b"I", b"Z"))),
        ["C method.table"],
    ),
    "no method": (said("C", put_frame(1, 1, b"")), ["C frame.method"]),
    "header without method": (said("C", content(size=3)), ["C content.header-unexpected"]),
    "body without header": (said("C", put_frame(3, 1, b"abc")), ["C content.body-unexpected"]),
    "body too long": (said("C", PUBLISH, content(b"abcd", size=3)), ["C content.size"]),
    "header of another class": (said("C", PUBLISH, content(size=3, of=10)), ["C content.class"]),
    "header too short": (said("C", PUBLISH, put_frame(2, 1, b"\0\x3c")), ["C content.header"]),
    "weight": (said("C", PUBLISH, content(b"a").replace(b"\0\x3c\0\0", b"\0\x3c\0\1")), ["C content.weight"]),
    "properties": (said("C", PUBLISH, content(properties=b"\0\1\0\0")), ["C content.properties"]),
    "table in properties": (
        said("C", PUBLISH, content(properties=b"\x20\0\0\0\0\4\1kZ\0")),
        ["C content.table"],
    ),
    "name in a table of properties": (
        said("C", PUBLISH, content(properties=b"\x20\0\0\0\0\2\5k")),
        ["C content.table"],
    ),
    "method within a content": (
        said("C", PUBLISH, content(size=3), m("channel.close", reply_code=200)),
        ["C content.interrupted"],
    ),
    "method on channel 0": (said("C", m("basic.qos", 0)), ["C channel.zero"]),
    "content on channel 0": (said("C", m("basic.publish", 0), content(b"a", 0)), ["C channel.zero"]),
    "class connection on a channel": (said("C", m("connection.close", 1, reply_code=200)), ["C connection.channel"]),
    "handshake after open": (said("C", m("connection.tune-ok", 0)), ["C connection.sequence"]),
    "heartbeat on a channel": (said("C", put_frame(8, 1, b"")), ["C frame.heartbeat"]),
    "heartbeat with octets": (said("C", put_frame(8, 0, b"x")), ["C frame.heartbeat"]),
    "client says what servers say": (said("C", m("queue.declare-ok")), ["C method.direction"]),
    "server says what clients say": (said("S", m("queue.declare")), ["S method.direction"]),
    "client starts": (said("C", m("connection.start", 0)), ["C method.direction"]),
    "consumer tag used twice": (
        [*CONSUME, *said("C", m("basic.consume", consumer_tag="t"))],
        ["C basic.consume.consumer-tag"],
    ),
    "consumer tag of nobody": (said("S", DELIVER, content(b"m")), ["S basic.deliver.consumer-tag"]),
    "method before open": (said("C", m("basic.qos", 5)), ["C channel.not-open"]),
    "second open": (said("C", m("channel.open")), ["C channel.second-open"]),
    "open without close-ok": (
        [*said("C", m("tx.commit")), *said("S", m("channel.close", reply_code=406)), *said("C", m("channel.open"))],
        ["C tx.select-required", "C channel.second-open"],
    ),
    "reply that nobody asked for": (said("S", m("queue.purge-ok")), ["S reply.unasked"]),
    "reply of another method": (
        [*said("C", m("queue.declare")), *said("S", m("queue.delete-ok"))],
        ["S reply.other"],
    ),
    "reply to what wants none": (
        [*said("C", m("queue.purge", no_wait=True)), *said("S", m("queue.purge-ok"))],
        ["S reply.unasked"],
    ),
    "close-ok that nobody asked for": (said("C", m("connection.close-ok", 0)), ["C reply.unasked"]),
    "channel.close-ok that nobody asked for": (said("C", m("channel.close-ok")), ["C reply.unasked"]),
    "secret that nobody updated": (said("S", m("connection.update-secret-ok", 0)), ["S reply.unasked"]),
    "channel.close crossed": (
        [
            *said("C", m("channel.close", reply_code=200)),
            *said("S", m("channel.close", reply_code=404), m("channel.close-ok")),
            *said("C", m("channel.close-ok"), m("channel.open")),
        ],
        [],
    ),
    "words behind one's own channel.close": (
        said("C", m("channel.close", reply_code=200), m("basic.qos")),
        ["C channel.closed"],
    ),
    "words behind channel.close-ok": (
        [*said("S", m("channel.close", reply_code=404)), *said("C", m("channel.close-ok"), m("basic.qos"))],
        ["C channel.closed"],
    ),
    "words in flight when the channel was closed": (
        [*said("S", m("channel.close", reply_code=404)), *said("C", m("basic.qos"), m("channel.close-ok"))],
        [],
    ),
    "connection.close crossed": (
        [
            *said("C", m("connection.close", 0, reply_code=200)),
            *said("S", m("connection.close", 0, reply_code=504), m("connection.close-ok", 0)),
            *said("C", m("connection.close-ok", 0)),
        ],
        [],
    ),
    "words behind one's own close": (
        said("C", m("connection.close", 0, reply_code=200), m("basic.qos")),
        ["C connection.closed"],
    ),
    "words behind close-ok": (
        [*said("S", m("connection.close", 0, reply_code=320)), *said("C", m("connection.close-ok", 0), m("basic.qos"))],
        ["C connection.closed"],
    ),
    "words in flight when the connection was closed": (
        [*said("S", m("connection.close", 0, reply_code=320)), *said("C", m("basic.qos"), m("connection.close-ok", 0))],
        [],
    ),
    "tag settled twice": (
        [*DELIVERED, *said("C", m("basic.ack", delivery_tag=1), m("basic.ack", delivery_tag=1))],
        ["C delivery-tag.twice"],
    ),
    "tag settled twice, with one before it": (
        [
            *DELIVERED,
            *said("S", m("basic.deliver", consumer_tag="t", delivery_tag=2), content(b"m")),
            *said("C", m("basic.ack", delivery_tag=2), m("basic.ack", delivery_tag=2, multiple=True)),
        ],
        ["C delivery-tag.twice"],
    ),
    "tag never delivered": ([*DELIVERED, *said("C", m("basic.reject", delivery_tag=2))], ["C delivery-tag.unknown"]),
    "tag delivered twice": ([*DELIVERED, *said("S", DELIVER, content(b"m"))], ["S delivery-tag.order"]),
    "confirm of what was not published": (
        [*CONFIRMING, *said("S", m("basic.ack", delivery_tag=1))],
        ["S confirm.unpublished"],
    ),
    "confirmed twice": (
        [*CONFIRMING, *said("C", PUBLISH, content(b"a")), *said("S", m("basic.ack", delivery_tag=1) * 2)],
        ["S confirm.twice"],
    ),
    "confirm without select": (
        [*said("C", PUBLISH, content(b"a")), *said("S", m("basic.ack", delivery_tag=1))],
        ["S confirm.select-required"],
    ),
    "tx behind confirm": ([*CONFIRMING, *said("C", m("tx.select"))], ["C confirm.with-tx"]),
    "confirm behind tx": (
        [*said("C", m("tx.select")), *said("S", m("tx.select-ok")), *said("C", m("confirm.select"))],
        ["C confirm.with-tx"],
    ),
    "commit without tx": (said("C", m("tx.commit")), ["C tx.select-required"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("piece", [0, 1])
def test_each_violation_by_its_name(name: str, piece: int) -> None:
    words, expected = BROKEN[name]
    conversation = opening(ONE)
    if piece:  # whole frames and single octets
        conversation += [(who, octets[at : at + 1]) for who, octets in words for at in range(len(octets))][-4000:]
        if sum(len(octets) for _, octets in words) > 4000:
            return
    else:
        conversation += words
    assert broken(observe(conversation)) == expected


def test_a_violation_says_where_and_what_was_legal() -> None:
    told = [event for _, _, _, event in observe([*opening(ONE), *said("C", m("channel.open"))]) if isinstance(event, Violation)]
    start = sum([len(octets) for who, octets in opening(ONE) if who == "C"])
    assert [(each.channel, each.offset, each.said, each.code) for each in told] == [(1, start, "channel.open", 504)]
    assert told[0].legal == ("work", "channel.close")


@pytest.mark.parametrize("dialect", [EIGHT, NINE])
@pytest.mark.parametrize("kind", [4, 5, 6, 7])
def test_frames_out_of_band_and_traces_are_known_where_the_document_names_them(
    dialect: Dialect[MethodCodec], kind: int
) -> None:
    found = observe([*opening(dialect), ("C", put_frame(kind, 1, b"abc"))])
    assert broken(found) == []
    assert notes(found) == [f"frame.{('oob-method', 'oob-header', 'oob-body', 'trace')[kind - 4]}"]


# Each capability that an extension needs, who says the extension, and what it is.
EXTENSIONS = {
    "consumer_cancel_notify": [*CONSUME, *said("S", m("basic.cancel", consumer_tag="t", no_wait=True))],
    "connection.blocked": said("S", m("connection.blocked", 0, reason="low on memory")),
}


@pytest.mark.parametrize("capability", EXTENSIONS)
@pytest.mark.parametrize("able", [True, False])
@pytest.mark.parametrize("strict", [True, False])
def test_an_extension_without_capability(capability: str, able: bool, strict: bool) -> None:
    """A violation in strict, a note otherwise; nothing where the other side has the capability."""
    found = observe([*opening(ONE, (capability,) if able else ()), *EXTENSIONS[capability]], strict)
    rule = f"capability.{capability}"
    assert [each for each in broken(found) if rule in each] == ([f"S {rule}"] if strict and not able else [])
    assert (rule in notes(found)) is (not strict and not able)


@pytest.mark.parametrize("verb", ["confirm.select", "exchange.bind", "exchange.unbind"])
def test_what_the_client_says_wants_a_capability_of_the_server(verb: str) -> None:
    conversation = opening(ONE)
    unable = frame(ONE, "connection.start", 0, mechanisms=("PLAIN",), locales=("en_US",))
    conversation[1] = ("S", unable)
    assert [each for each in notes(observe([*conversation, *said("C", m(verb))])) if "capability" in each]
    assert not [each for each in notes(observe([*opening(ONE), *said("C", m(verb))])) if "capability" in each]


@pytest.mark.parametrize("octets", [4999, 5000, 5001])
def test_a_frame_is_as_large_as_was_agreed(octets: int) -> None:
    found = observe([*opening(ONE, frame_max=5000), *said("C", PUBLISH, content(bytes(octets - 8)))])
    assert broken(found) == (["C connection.tune-ok.frame-max"] if octets > 5000 else [])


@pytest.mark.parametrize("octets", [4095, 4096, 4097])
def test_no_frame_is_larger_than_4096_octets_before_tune(octets: int) -> None:
    conversation = opening(ONE)
    empty = len(frame(ONE, "connection.start", 0, server_properties={"k": ""}, mechanisms=("PLAIN",)))
    properties = {"k": "x" * (octets - empty)}
    conversation[1] = "S", frame(ONE, "connection.start", 0, server_properties=properties, mechanisms=("PLAIN",))
    assert len(conversation[1][1]) == octets
    assert broken(observe(conversation, strict=True)) == (["S frame.before-tune"] if octets > 4096 else [])
    assert broken(observe(conversation)) == []


@pytest.mark.parametrize(("number", "rule"), [(9, []), (10, []), (11, ["C connection.tune-ok.channel-max"])])
def test_channel_max_as_the_highest_number(number: int, rule: list[str]) -> None:
    assert broken(observe([*opening(ONE, channels=10), *opened(ONE, number)])) == rule


@pytest.mark.parametrize(("opens", "rule"), [(1, []), (2, []), (3, ["C connection.tune-ok.channel-max.count"])])
def test_channel_max_as_a_count(opens: int, rule: list[str]) -> None:
    found = observe([*opening(NINE, channels=2, opens=0), *[each for n in range(opens) for each in opened(NINE, 900 + n)]])
    assert broken(found) == rule
    assert notes(found).count("connection.tune-ok.channel-max") == min(opens, 2)


@pytest.mark.parametrize("dialect", FAMILY, ids=lambda dialect: dialect.name)
def test_secrets_stay_hidden(dialect: Dialect[MethodCodec]) -> None:
    """In events, their reprs, violations and notes; undecodable ones, too."""
    conversation = opening(dialect, opens=0)
    conversation[3:3] = [
        ("S", frame(dialect, "connection.secure", 0, challenge=b"hush-1")),
        ("C", frame(dialect, "connection.secure-ok", 0, response=b"hush-2")),
    ]
    if dialect is ONE:
        conversation.append(("C", frame(ONE, "connection.update-secret", 0, new_secret=b"hush-3", reason="r")))
        conversation.append(("C", put_frame(1, 0, payload(ONE, "connection.update-secret", new_secret=b"hush-4") + b"x")))
    # Which 0-8 and 0-9 have not: the client says it all the same.
    conversation.append(("C", put_frame(1, 0, payload(ONE, "connection.update-secret", new_secret=b"hush-7"))))
    conversation.append(("C", put_frame(1, 0, payload(dialect, "connection.start-ok", response=b"hush-5") + b"x")))
    conversation.append(("C", put_frame(1, 0, payload(dialect, "connection.secure-ok", response=b"hush-6")[:-1])))
    for strict in (False, True):
        told = [repr(event) for _, _, _, event in observe(conversation, strict)]
        assert len(told) > 8
        assert not [each for each in told if "hush" in each]


def test_close_names_the_side_the_code_and_the_method() -> None:
    close: dict[str, object] = {"reply_code": 404, "reply_text": "NOT_FOUND", "class_id": 50, "method_id": 10}
    words = said("S", m("channel.close", 1, **close), m("connection.close", 0, **{**close, "reply_code": 504}))
    told = [event.text for _, _, _, event in observe([*opening(ONE), *words]) if isinstance(event, Note)]
    assert told == [
        "the server closes the channel 1 with 404 about queue.declare: NOT_FOUND",
        "the server closes the connection with 504 about queue.declare: NOT_FOUND",
    ]


def test_methods_and_contents_are_reported_as_they_came() -> None:
    words = said("C", PUBLISH, content(b"body", properties=b"\x80\0\4text"))
    *_, (speaker, start, end, event) = observe([*opening(ONE), *words])
    assert isinstance(event, MethodSeen)
    assert (speaker, event.channel, event.verb, event.body) == ("C", 1, "basic.publish", b"body")
    assert getattr(event.properties, "content_type", None) == "text"
    assert end - start == len(words[0][1])
    heartbeat = observe([*opening(ONE), *said("C", put_frame(8, 0, b""))])[-1].event
    assert isinstance(heartbeat, ControlSeen)
    assert heartbeat.verb == "connection.heartbeat"


def test_frames_are_reported_on_request() -> None:
    watch = Observer(dialects=ALL, frames=True)
    for who, octets in [*opening(ONE), *said("C", PUBLISH, content(b"a"))]:
        watch.receive_data(who, octets)
    frames = [event for _, _, _, event in watch.events() if isinstance(event, FrameSeen)]
    assert [(each.kind, each.verb) for each in frames[-3:]] == [(1, "basic.publish"), (2, None), (3, None)]


# What an observer tells does not depend on the pieces that it is given.
def test_octet_by_octet() -> None:
    conversation = [*opening(ONE), *DELIVERED, *said("C", m("basic.ack", delivery_tag=1), m("basic.ack", delivery_tag=1))]
    assert observe(conversation, piece=1) == observe(conversation)


# A snapshot between two words changes nothing.
def test_a_snapshot_between_any_two_words() -> None:
    words = [
        *DELIVERED,
        *CONFIRMING,
        *said("C", PUBLISH),
        *said("C", content(b"a")),
        *said("C", m("basic.ack", delivery_tag=7)),
    ]
    conversation = [*opening(ONE), *words]
    whole = observe(conversation)
    watch, found = Observer(dialects=ALL), list[Observed]()
    for who, octets in conversation:
        watch = Observer.restore(watch.snapshot(), dialects=ALL)
        watch.receive_data(who, octets)
        found += watch.events()
    watch.finish()
    assert [*found, *watch.events()] == whole
    assert broken(whole) == ["C delivery-tag.unknown"]


# Behind a gap nobody is accused of what depends on what was lost.
@pytest.mark.parametrize("who", ["C", "S"])
def test_nothing_is_accused_behind_a_gap(who: str) -> None:
    watch = Observer(dialects=ALL)
    for speaker, octets in [*opening(ONE), *DELIVERED]:
        watch.receive_data(speaker, octets)
    watch.receive_gap("C" if who == "C" else "S", 100)
    answers = m("queue.purge-ok") * 4 + m("queue.delete-ok")
    words = [("C", m("basic.ack", delivery_tag=9) * 4), ("S", answers + m("basic.ack", delivery_tag=4))]
    for other, octets in words:
        watch.receive_data("C" if other == "C" else "S", octets)
    watch.finish()
    assert broken(list(watch.events())) == []


def test_heard_from_the_middle() -> None:
    watch = Observer(dialects=ALL, middle=True)
    for speaker, octets in [*DELIVERED, *said("C", m("basic.ack", delivery_tag=1) * 4), *said("S", m("basic.qos-ok") * 4)]:
        watch.receive_data(speaker, octets)
    watch.finish()
    found = list(watch.events())
    assert broken(found) == []
    assert "framing" in notes(found)
    assert "basic.ack" in [event.verb for _, _, _, event in found if isinstance(event, MethodSeen)]


@pytest.mark.parametrize("again", [False, True])
def test_what_was_taken_for_another_family_is_read_again_once_the_server_tells(again: bool) -> None:
    """A header that nobody knows; the server answers with its own, and the client goes on in that version."""
    watch = Observer(dialects=ALL)
    watch.receive_data("C", b"AMQP\0\0\x09\2" + m("connection.start-ok", 0)[:5])
    found = list(watch.events())
    watch.receive_data("S", ONE.header)
    found += watch.events()
    if again:
        watch = Observer.restore(watch.snapshot(), dialects=ALL)
    watch.receive_data("C", m("connection.start-ok", 0)[5:])
    found += watch.events()
    assert [event.verb for _, _, _, event in found if isinstance(event, ControlSeen)] == ["connection.start-ok"]


# Which of the dialects with the same frames it is that was heard from the middle is found from what is said, or stays open.
@pytest.mark.parametrize(
    ("words", "verbs", "notes_"),
    [
        ([m("basic.ack", delivery_tag=1)] * 4, ["basic.ack"] * 4, []),
        ([m("basic.ack")] * 3 + [m("confirm.select")], ["basic.ack"] * 3 + ["confirm.select"], []),
        ([m("basic.ack")] * 3 + [m("basic.recover")], ["basic.ack"] * 3 + ["basic.recover"], ["0-9-1"]),
        (
            [frame(EIGHT, "basic.ack")] * 3 + [frame(EIGHT, "connection.close", 0, reply_code=200, reply_text="long enough")],
            ["basic.ack"] * 3 + ["connection.close"],
            ["0-8 unbind"],
        ),
        (
            [frame(NINE, "basic.ack")] * 3 + [frame(NINE, "channel.ping")] + [frame(NINE, "basic.ack")],
            ["basic.ack"] * 3 + ["channel.ping", "basic.ack"],
            ["0-9 RabbitMQ"],
        ),
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_which_dialect_it_is_in_the_middle(words: list[bytes], verbs: list[str], notes_: list[str], again: bool) -> None:
    watch = Observer(dialects=ALL, middle=True)
    found = list[Observed]()
    for octets in words:
        watch.receive_data("C", octets)
        found += watch.events()
        if again:
            watch = Observer.restore(watch.snapshot(), dialects=ALL)
    watch.finish()
    found += watch.events()
    assert [getattr(event, "verb", None) for _, _, _, event in found if isinstance(event, MethodSeen | ControlSeen)] == verbs
    texts = {event.rule: event.text for _, _, _, event in found if isinstance(event, Note)}
    assert texts["framing"] == "heard from the middle: three frames in a row are those of 0-9-1 or 0-9 RabbitMQ or 0-8 unbind"
    assert [text for rule, text in texts.items() if rule == "dialect"] == [
        f"the dialect of this stream without a beginning is {name}" for name in notes_
    ]
    assert broken(found) == []


def in_the_middle(*words: Said, again: bool = False) -> list[Observed]:
    """What an observer tells that was not there from the beginning; `again`: restored from a snapshot behind each."""
    watch = Observer(dialects=ALL, middle=True)
    found = list[Observed]()
    for speaker, octets in words:
        watch.receive_data(speaker, octets)
        found += watch.events()
        if again:
            watch = Observer.restore(watch.snapshot(), dialects=ALL)
    watch.finish()
    return [*found, *watch.events()]


ACK: Said = ("C", m("basic.ack"))


# While nobody knows which dialect it is, nobody is held to what holds in one of them alone.
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    ("words", "verbs"),
    [
        # Numbers that only the server may say in 0-9-1, as connection.unblocked, are close-ok in 0-8.
        ([ACK, ACK, ("C", frame(EIGHT, "connection.close-ok", 0))], ["basic.ack"] * 2 + ["connection.close-ok"]),
        # A content that 0-9-1 has not.
        (
            [ACK, ACK, ACK, ("C", frame(EIGHT, "file.stage") + content(b"octets", of=70))],
            ["basic.ack"] * 3 + ["file.stage"],
        ),
        ([ACK, ACK, ACK, ("C", frame(NINE, "message.get")), ACK], ["basic.ack"] * 3 + ["message.get", "basic.ack"]),
    ],
    ids=["speaker", "content", "no content"],
)
def test_what_one_of_several_dialects_has_is_no_violation(words: list[Said], verbs: list[str], again: bool) -> None:
    found = in_the_middle(*words, again=again)
    assert broken(found) == []
    assert [getattr(event, "verb", None) for *_, event in found if isinstance(event, MethodSeen | ControlSeen)] == verbs


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    ("dialect", "settled", "rule"),
    [(NINE, False, []), (NINE, True, []), (ONE, False, []), (ONE, True, ["C connection.tune-ok.channel-max"])],
)
def test_channel_max_is_a_count_as_long_as_it_may_be(
    dialect: Dialect[MethodCodec], settled: bool, rule: list[str], again: bool
) -> None:
    """0-9-1 numbers channels up to channel-max, 0-8 and 0-9 count them: which of them it is shows in what is said."""
    tells: list[Said] = [("C", frame(dialect, "channel.ping" if dialect is NINE else "basic.recover"))] if settled else []
    high = opened(dialect, 11)
    found = in_the_middle(*opening(dialect, channels=10)[1:], *tells, *high, again=again)
    assert broken(found) == rule


# What was heard before three frames were found is told later than it was said: the other side may have answered it.
@pytest.mark.parametrize("again", [False, True])
def test_what_waited_to_be_found_is_not_held_against_the_other_side(again: bool) -> None:
    first, *rest = opening(ONE)[3:]  # from tune on
    found = in_the_middle(first, *rest, again=again)
    assert broken(found) == []
    refused: list[Said] = [
        ("C", m("channel.open")),
        ("S", m("channel.open-ok")),
        ("C", m("queue.declare", passive=True)),
        ("S", m("channel.close", reply_code=404)),
        ("C", m("channel.close-ok")),
        ("C", m("channel.open")),
        ("S", m("channel.open-ok")),
    ]
    found = in_the_middle(*refused, *refused[2:], again=again)
    assert broken(found) == []
    assert broken(in_the_middle(*refused, *refused[2:], ("C", m("channel.open")))) == ["C channel.second-open"]


def test_a_client_ahead_with_a_wrong_answer_is_accused_at_its_octet() -> None:
    """The client says start-ok and tune-ok before the server has said what it offers."""
    header, start, start_ok, tune, tune_ok, open_ok, *_ = opening(ONE, channels=4000)
    start = "S", frame(ONE, "connection.start", 0, mechanisms=("AMQPLAIN",), locales=("en_US",))
    found = observe([header, start_ok, tune_ok, start, tune, open_ok])
    told = [(event.speaker, event.offset, event.rule) for *_, event in found if isinstance(event, Violation)]
    assert told == [
        ("C", 8, "connection.start-ok.mechanism.validity"),
        ("C", 8 + len(start_ok[1]), "connection.tune-ok.channel-max.upper-limit"),
    ]


# Whatever is changed, left out or said twice in a conversation, an observer raises nothing, and tells the same in pieces.
@pytest.mark.parametrize("dialect", FAMILY, ids=lambda dialect: dialect.name)
def test_damaged_conversations(dialect: Dialect[MethodCodec]) -> None:
    random = Random(dialect.name)
    words: list[Said] = [
        ("C", frame(dialect, "basic.consume", consumer_tag="t")),
        ("S", frame(dialect, "basic.consume-ok", consumer_tag="t")),
        ("S", frame(dialect, "basic.deliver", consumer_tag="t", delivery_tag=1) + content(b"m", properties=b"\x80\0\4text")),
        ("C", frame(dialect, "queue.declare", arguments={"a": [1, "b", None]}) + frame(dialect, "basic.ack", delivery_tag=1)),
        ("C", frame(dialect, "tx.select") + frame(dialect, "channel.close", reply_code=200)),
        ("S", frame(dialect, "channel.close-ok")),
    ]
    for _ in range(60):
        conversation = [*opening(dialect), *words]
        for _ in range(random.randint(1, 5)):
            at = random.randrange(1, len(conversation))
            who, octets = conversation[at]
            place = random.randrange(len(octets))
            other = octets[:place] + bytes([random.randrange(256)]) + octets[place + random.randrange(3) :]
            conversation[at] = who, random.choice([other, octets * 2, octets[place:], other])
        conversation = [(who, octets) for who, octets in conversation if octets]
        whole = observe(conversation, strict=True)
        parts = observe(conversation, strict=True, piece=1)
        for speaker in "CS":
            assert [each for each in parts if each.speaker == speaker] == [each for each in whole if each.speaker == speaker]


# Words of another edition of the document are violations, and a note names that edition, once.
@pytest.mark.parametrize(
    ("dialect", "edition", "verb"),
    [
        (AMQP_0_8, AMQP_0_8_UNBIND, "queue.unbind"),
        (AMQP_0_8, AMQP_0_8_QPID, "exchange.bound"),
        (AMQP_0_8_UNBIND, AMQP_0_8_QPID, "basic.consume"),
        (AMQP_0_9, AMQP_0_9_RABBITMQ, "confirm.select"),
        (AMQP_0_9_1, AMQP_0_9_1_QPID, "exchange.bound"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
@pytest.mark.parametrize("strict", [False, True])
def test_the_note_about_another_edition_has_its_name(
    dialect: Dialect[MethodCodec], edition: Dialect[MethodCodec], verb: str, strict: bool
) -> None:
    watch = Observer(dialects=[dialect], strict=strict)
    for who, octets in [*opening(dialect), ("C", frame(edition, verb)), ("C", frame(edition, verb))]:
        watch.receive_data("C" if who == "C" else "S", octets)
    watch.finish()
    found = list(watch.events())
    assert [event.text for _, _, _, event in found if isinstance(event, Note) and event.rule == "variant"] == [
        f"{verb} is not that of {dialect.codec.name}: it is {edition.codec.name}"
    ]
    assert len([each for each in broken(found) if each.startswith("C method.")]) == 2


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
