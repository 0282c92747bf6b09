"""The numbers that a queue gives to what comes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.broker.model.things import bodies, durable_host, journalled, message, publish
from tests.broker.test_durable_state import rebuilt

from amqp_sansio.broker.durable_state import survey
from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.journal import Dequeued, Enqueued, MessageStored
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import Envelope, Message
from amqp_sansio.broker.model.numbering import Numbering
from amqp_sansio.broker.transactions.coordinator import Coordinator
from amqp_sansio.kernel.timers import AT_ONCE
from amqp_sansio.spec.message import MessageProperties, ReplyTo
from amqp_sansio.wire.layouts.layout import decode_headers, encode_headers


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
    envelope = Numbering("n").numbered(sent)
    expected = message("q", b"", application_headers={"n": 1, "more": 1}, **properties).envelope
    assert decode_headers(envelope.header, 0, len(envelope.header)) == decode_headers(expected.header, 0, len(expected.header))
    assert [getattr(envelope, name) for name in Envelope.FIELDS[1:]] == [
        getattr(expected, name) for name in Envelope.FIELDS[1:]
    ]


def test_structs_that_nobody_knows_stay_and_a_message_without_properties_gets_some() -> None:
    unknown = b"\0\0\0\x04\x77\x01ab"
    plain = Message(1, Envelope(FORM, message("q").header + unknown), b"")
    header = Numbering("n").numbered(plain).header
    assert header == plain.header + encode_headers([MessageProperties(application_headers={"n": 1})])
    broken = Message(2, Envelope(FORM, encode_headers([MessageProperties(application_headers={"a": "b"})])[:-1]), b"")
    assert Numbering("n").numbered(broken) is broken.envelope


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
    again, _ = rebuilt(survey(host, Coordinator(host, host.journal, host.limits)))
    publish(again, "", "q", b"b", delivery_mode=2)
    assert numbers(again) == [1, 2, 3, 4]


def test_behind_the_largest_number_comes_0() -> None:
    numbering = Numbering("n")
    for odd in ("x", -1, 2**32, 2**32 - 1):
        numbering.restored(message(application_headers={"n": odd}))
    numbering.restored(message())
    header = numbering.numbered(message()).header
    (_, properties) = decode_headers(header, 0, len(header))
    assert isinstance(properties, MessageProperties)
    assert properties.application_headers == {"n": 0}
