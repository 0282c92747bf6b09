"""The last message of each key, numbers of messages, and turns of priority levels."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.things import Sink, bodies, durable_host, journalled, message, publish, refusal
from tests.broker.test_snapshot import rebuilt

from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.journal import Dequeued, Enqueued, MessageStored
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import ACQUIRED, AVAILABLE, Envelope, Message, QueueEntry
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.queue_options import LastValues, MessageNumbering, ReadHeaders, Shares
from amqp_sansio.broker.snapshot import survey
from amqp_sansio.kernel.timers import AT_ONCE
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec.message import MessageProperties, ReplyTo
from amqp_sansio.spec.values import List, Value
from amqp_sansio.wire.layouts.layout import decode_headers, encode_headers


def keyed(key: Value, **more: Any) -> Message:
    return message("q", application_headers={} if key is None else {"key": key}, **more)


def with_values(host: VirtualHost, **arguments: Value) -> VirtualHost:
    host.declare_queue("q", durable=True, arguments={"qpid.last_value_queue_key": "key", **arguments})
    return host


def put(host: VirtualHost, *texts: str, mode: int = 1) -> None:
    """Publishes "a1" with key "a"; what begins with "-" has none."""
    for text in texts:
        headers = {} if text.startswith("-") else {"key": text[0]}
        publish(host, "", "q", text.encode(), application_headers=headers, delivery_mode=mode)


def test_which_message_takes_whose_place() -> None:
    values, queue = LastValues("key", ReadHeaders()), Queue("q")
    first, second = QueueEntry(queue, keyed("a"), 0, 1), QueueEntry(queue, keyed("a"), 1, 1)
    assert values.last_for(first.message) is None
    values.add(first)
    assert values.last_for(second.message) is first
    assert values.replaceable(second.message) is first
    first.state = ACQUIRED
    assert values.replaceable(second.message) is None
    first.state = AVAILABLE
    assert not values.superseded(first)
    values.add(second)
    assert (values.last_for(first.message), values.superseded(first), values.superseded(second)) == (second, True, False)
    values.remove(first)
    assert values.last_for(first.message) is second
    values.remove(second)
    assert values.last_for(first.message) is None


def test_a_header_is_read_once_for_all_queues_that_look_for_a_key_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of a megabyte takes a quarter of a second: a message to a thousand such queues would take minutes."""
    host, read = VirtualHost(), list[Envelope]()
    for number in range(20):
        host.declare_queue(f"q{number}", arguments={"qpid.last_value_queue_key": f"key{number % 3}"})
        host.bind(f"q{number}", "amq.fanout")

    def headers(of: Message) -> Any:
        read.append(of.envelope)
        return FORM.headers(of.envelope.header)

    monkeypatch.setattr(Message, "application_headers", property(headers))
    for _ in range(2):
        publish(host, "amq.fanout", "", application_headers={f"key{number}": "a" for number in range(3)})
    assert host.messages == 20
    assert len(read) == 2
    assert host._headers._map is None, "nothing is kept of it"


def test_keys_are_compared_as_text_and_what_has_none_takes_no_place() -> None:
    values, queue = LastValues("key", ReadHeaders()), Queue("q")
    entry = QueueEntry(queue, keyed("7"), 0, 1)
    values.add(entry)
    assert [values.last_for(keyed(key)) is entry for key in ("8", None, b"7", 7, "7")] == [False, False, True, True, True]
    broken = Message(1, Envelope(FORM, encode_headers([MessageProperties(application_headers={"key": "7"})])[:-1]), b"")
    nobody = QueueEntry(queue, broken, 1, 1)
    values.add(nobody)
    assert (values.last_for(broken), values.superseded(nobody)) == (None, False)
    values.remove(nobody)


def test_a_key_is_made_once_for_all_queues_that_get_the_message() -> None:
    """A list of a megabyte as a key took 40 milliseconds for each of the queues, four times."""
    host = VirtualHost()
    for name in ("a", "b", "c"):
        host.declare_queue(name, arguments={"qpid.last_value_queue_key": "key"})
        host.bind(name, "amq.fanout")
    publish(host, "amq.fanout", "", application_headers={"key": List([1, 2])})
    kept = [queue.last_values._last for queue in host.queues.values() if queue.last_values is not None]
    keys = [key for last in kept for key in last]
    assert len(keys) == 3
    assert keys[0] is keys[1] is keys[2], keys


@pytest.mark.parametrize("enabled", [False, True])
def test_a_queue_keeps_the_last_message_of_each_key_in_the_order_in_which_they_came(enabled: bool) -> None:
    host = with_values(durable_host() if enabled else VirtualHost())
    queue = host.queues["q"]
    put(host, "a1", "b1", "a2", "-1", "a3", "c1", "-2", "c2")
    journalled(host)
    assert bodies(queue) == [b"b1", b"-1", b"a3", b"-2", b"c2"]
    assert (queue.messages, host.messages) == (5, 5)
    browser = Sink(acquires=False)
    host.subscribe("q", browser)
    host.dispatch(100)
    put(host, "b2")
    journalled(host)
    host.dispatch(100)
    assert browser.bodies == [b"b1", b"-1", b"a3", b"-2", b"c2", b"b2"]


def test_what_somebody_has_goes_when_it_comes_back_or_is_accepted() -> None:
    host = with_values(VirtualHost())
    queue = host.queues["q"]
    put(host, "a1", "b1")
    a, b = queue.take(), queue.take()
    assert a is not None
    assert b is not None
    put(host, "a2")
    host.release([a, b])
    assert bodies(queue) == [b"b1", b"a2"]
    first = queue.take()
    assert first is b
    put(host, "b2")
    host.dequeue([b])
    assert bodies(queue) == [b"a2", b"b2"]
    put(host, "b3")
    assert bodies(queue) == [b"a2", b"b3"]
    older = queue.take()
    assert older is not None
    put(host, "a3")
    host.dequeue([*queue.all()][1:])
    values = queue.last_values
    assert values is not None
    assert values.last_for(keyed("a")) is None, "nothing is kept of what is gone"
    host.release([older])
    assert bodies(queue) == [], "a newer one has come, though it is gone as well"


def test_what_goes_and_what_comes_are_one_entry() -> None:
    host = with_values(durable_host())
    put(host, "a1", mode=2)
    journalled(host)
    put(host, "a2", mode=2)
    (entry,) = host.journal.take()
    assert [type(each) for each in entry.operations] == [Dequeued, MessageStored, Enqueued]


def test_a_full_queue_takes_what_replaces_something() -> None:
    host = with_values(VirtualHost(), **{"qpid.max_count": 2})
    put(host, "a1", "b1", "a2")
    assert bodies(host.queues["q"]) == [b"b1", b"a2"]
    assert refusal(put, host, "c1").text.startswith("limit queue_messages is 2")
    queues = [host.queues["q"]]
    twice = [(keyed("a", body=b"a3"), queues), (keyed("a", body=b"a4"), queues)]
    assert refusal(host.commit, twice, ()).text.startswith("limit queue_messages is 2"), "both count at once"
    ring_of_two: dict[str, Value] = {"qpid.max_count": 2, "qpid.policy_type": "ring"}
    ring = with_values(VirtualHost(), **ring_of_two)
    put(ring, "a1", "b1", "a2", "c1")
    assert bodies(ring.queues["q"]) == [b"a2", b"c1"]


def test_a_full_host_takes_what_replaces_something() -> None:
    host = with_values(VirtualHost(limits=BrokerLimits(host_messages=2)))
    put(host, "a1", "b1", "a2")
    assert bodies(host.queues["q"]) == [b"b1", b"a2"]
    assert refusal(put, host, "c1").text.startswith("limit host_messages is 2")


def test_a_full_queue_takes_a_dead_letter_that_replaces_something() -> None:
    host = with_values(VirtualHost(), **{"qpid.max_count": 1})
    host.bind("q", "amq.fanout")
    host.declare_queue("from", "amq.fanout")
    put(host, "a1")
    publish(host, "", "from", b"b2", application_headers={"key": "b"})
    publish(host, "", "from", b"a2", application_headers={"key": "a"})
    host.delete_queue("from")
    assert bodies(host.queues["q"]) == [b"a2"]


def test_dead_letters_take_their_places_too() -> None:
    host = with_values(VirtualHost())
    host.bind("q", "amq.fanout")
    host.declare_queue("from", "amq.fanout")
    put(host, "a1", "b1")
    publish(host, "", "from", b"a2", application_headers={"key": "a"})
    entry = host.queues["from"].take()
    assert entry is not None
    host.reject([entry])
    assert bodies(host.queues["q"]) == [b"b1", b"a2"]


def test_the_last_one_is_there_after_a_restart_also_when_somebody_had_the_one_before() -> None:
    host = with_values(durable_host())
    put(host, "a1", mode=2)
    journalled(host)
    assert host.queues["q"].take() is not None
    put(host, "a2", "b1", mode=2)
    journalled(host)
    again, _ = rebuilt(survey(host))
    assert bodies(again.queues["q"]) == [b"a2", b"b1"]
    assert (again.messages, again.queues["q"].available) == (2, 2)
    put(again, "a3", mode=2)
    journalled(again)
    assert bodies(again.queues["q"]) == [b"b1", b"a3"]


@pytest.mark.parametrize("name", ["qpid.last_value_queue", "qpid.last_value_queue_no_browse"])
def test_the_older_words(name: str) -> None:
    host = VirtualHost()
    host.declare_queue("q", arguments={name: 1})
    for body in (b"1", b"2"):
        publish(host, "", "q", body, application_headers={"qpid.LVQ_key": "x"})
    assert bodies(host.queues["q"]) == [b"2"]


def with_numbers(host: VirtualHost, **arguments: Any) -> VirtualHost:
    """A queue `q` that numbers what comes, one `plain` that does not, and both bound to amq.fanout."""
    host.declare_queue("q", durable=True, arguments={"qpid.queue_msg_sequence": "n", **arguments})
    host.declare_queue("plain", durable=True)
    for name in ("q", "plain"):
        host.bind(name, "amq.fanout")
    return host


def numbers(host: VirtualHost, name: str = "q") -> list[object]:
    return [entry.message.application_headers.get("n") for entry in host.queues[name].all()]


def test_nothing_else_in_the_header_changes() -> None:
    properties: dict[str, Any] = {
        "priority": 7, "delivery_mode": 2, "content_length": 1, "message_id": UUID(int=1), "correlation_id": b"c",
        "reply_to": ReplyTo("e", "r"), "content_type": "t", "content_encoding": "u", "user_id": b"me", "app_id": b"a",
    }  # fmt: skip
    sent = message("q", b"", application_headers={"n": "mine", "more": 1}, **properties)
    envelope = MessageNumbering("n").numbered(sent)
    expected = message("q", b"", application_headers={"n": 1, "more": 1}, **properties).envelope
    assert decode_headers(envelope.header, 0, len(envelope.header)) == decode_headers(expected.header, 0, len(expected.header))
    assert envelope == attrs.evolve(expected, header=envelope.header)


def test_structs_that_nobody_knows_stay_and_a_message_without_properties_gets_some() -> None:
    unknown = b"\0\0\0\x04\x77\x01ab"
    plain = Message(1, Envelope(FORM, message("q").envelope.header + unknown), b"")
    header = MessageNumbering("n").numbered(plain).header
    assert header == plain.envelope.header + encode_headers([MessageProperties(application_headers={"n": 1})])
    broken = Message(2, Envelope(FORM, encode_headers([MessageProperties(application_headers={"a": "b"})])[:-1]), b"")
    assert MessageNumbering("n").numbered(broken) is broken.envelope


@pytest.mark.parametrize("enabled", [False, True])
def test_each_message_has_a_number_on_that_queue_alone(enabled: bool) -> None:
    host = with_numbers(durable_host() if enabled else VirtualHost())
    for _ in range(3):
        publish(host, "amq.fanout", "k", b"b", delivery_mode=2)
    journalled(host)
    assert (numbers(host), numbers(host, "plain")) == ([1, 2, 3], [None] * 3)
    queue = host.queues["q"]
    taken = queue.take()
    assert taken is not None
    host.release([taken], True)
    assert numbers(host) == [1, 2, 3], "it keeps its number"
    assert queue.available == 3
    host.dequeue([*queue.all(), *host.queues["plain"].all()])
    assert (host.messages, host.octets) == (0, 0)


def test_the_copy_is_stored_for_itself() -> None:
    host = with_numbers(durable_host())
    publish(host, "amq.fanout", "k", b"b", delivery_mode=2)
    stored = journalled(host)
    assert [type(each) for each in stored][-4:] == [MessageStored, Enqueued, MessageStored, Enqueued]
    host.dequeue(list(host.queues["q"].all()))
    (gone,) = journalled(host)
    assert isinstance(gone, Dequeued)
    assert gone.number == stored[-2].number


def test_a_ring_leaves_gaps() -> None:
    host = with_numbers(VirtualHost(), **{"qpid.policy_type": "ring", "qpid.max_count": 2})
    for at in range(5):
        publish(host, "", "q", b"%d" % at)
    assert (numbers(host), bodies(host.queues["q"])) == ([4, 5], [b"3", b"4"])


def test_dead_letters_have_numbers_too_and_live_as_long_as_before() -> None:
    host = with_numbers(VirtualHost())
    host.declare_queue("from", "amq.fanout")
    sent = message("from", b"letter", intake=host.intake, ttl=1000)
    host.begin_ttl(sent)
    host.enqueue(sent, [host.queues["from"]])
    entry = host.queues["from"].take()
    assert entry is not None
    host.reject([entry])
    assert (numbers(host), numbers(host, "plain")) == ([1], [None])
    assert host.next_expiry == AT_ONCE
    host.expire(5.0)
    host.expire(6.0)
    assert host.messages == 0


def test_after_a_restart_they_go_on() -> None:
    host = with_numbers(durable_host())
    for _ in range(3):
        publish(host, "", "q", b"b", delivery_mode=2)
    journalled(host)
    again, _ = rebuilt(survey(host))
    publish(again, "", "q", b"b", delivery_mode=2)
    assert numbers(again) == [1, 2, 3, 4]


def test_behind_the_largest_number_comes_0() -> None:
    numbering = MessageNumbering("n")
    for odd in ("x", -1, 2**32, 2**32 - 1):
        numbering.restored(message(application_headers={"n": odd}))
    numbering.restored(message())
    header = numbering.numbered(message()).header
    (_, properties) = decode_headers(header, 0, len(header))
    assert isinstance(properties, MessageProperties)
    assert properties.application_headers == {"n": 0}


def shared(priorities: list[int], **arguments: int) -> VirtualHost:
    """A queue `q` with a message for each of these priorities, whose bodies say priority and place."""
    host = VirtualHost()
    host.declare_queue("q", arguments={"qpid.priorities": 10, **arguments})
    for at, priority in enumerate(priorities):
        publish(host, "", "q", b"%d.%d" % (priority, at), priority=priority)
    return host


def reference(bodies: list[bytes], shares: list[int]) -> list[bytes]:
    """Lists by priority, of which each gives its share in turn, from the highest to the lowest, again and again."""
    levels = {level: [body for body in bodies if body.startswith(b"%d." % level)] for level in range(10)}
    found: list[bytes] = []
    while any(levels.values()):
        for level in range(9, -1, -1):
            share = shares[level] or len(bodies)
            found += levels[level][:share]
            del levels[level][:share]
    return found


@given(st.lists(st.integers(0, 9), max_size=40), st.lists(st.integers(0, 4), min_size=10, max_size=10))
def test_each_level_gives_its_share_before_the_next_one(priorities: list[int], shares: list[int]) -> None:
    host = shared(priorities, **{"qpid.fairshare": 0, **{f"qpid.fairshare-{n}": share for n, share in enumerate(shares)}})
    everything = bodies(host.queues["q"])
    sink = Sink()
    host.subscribe("q", sink)
    host.dispatch(1000)
    assert sink.bodies == reference(everything, shares)


def test_what_nobody_took_does_not_count() -> None:
    host = shared([9] * 4 + [1], **{"qpid.fairshare": 2})
    queue = host.queues["q"]
    short, sink = Sink(credit=0), Sink()
    for consumer in (short, sink):
        host.subscribe("q", consumer)
    host.dispatch(1000)
    assert short.asked == 1
    assert sink.bodies == [b"9.0", b"9.1", b"1.4", b"9.2", b"9.3"]
    assert queue.available == 0


def test_what_comes_back_has_had_its_turn() -> None:
    host = shared([9] * 3 + [1], **{"qpid.fairshare": 1})
    queue = host.queues["q"]
    first = queue.take()
    assert first is not None
    host.release([first])
    taken = [queue.take() for _ in range(4)]
    assert [entry and entry.message.body for entry in taken] == [b"1.3", b"9.0", b"9.1", b"9.2"]
    assert queue.take() is None


def test_a_level_that_is_alone_has_its_share_again_and_again() -> None:
    host = shared([9] * 5, **{"qpid.fairshare": 2})
    queue = host.queues["q"]
    for _ in range(3):
        assert queue.take() is not None
    publish(host, "", "q", b"low", priority=1)
    taken = [queue.take() for _ in range(3)]
    assert [entry and entry.message.body for entry in taken] == [b"9.3", b"low", b"9.4"]


@pytest.mark.parametrize(("most", "order"), [((1, 1, 1), [1, 0, 2]), ((1, 1, 0), [2, 1, 0]), ((1, 1, 2), [2, 1, 0])])
def test_the_turn_stays_with_a_level_that_has_not_had_its_share(most: tuple[int, ...], order: list[int]) -> None:
    shares = Shares(most)
    assert shares.order() == [2, 1, 0]
    shares.took(2)
    assert shares.order() == order
    shares.undo()
    assert shares.order() == [2, 1, 0]
