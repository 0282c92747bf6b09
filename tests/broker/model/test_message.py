"""A message shares its header with those that have the same, and another family gets the header in its own form."""

from __future__ import annotations

import pickle
import random
from operator import attrgetter

import pytest
from tests.broker.model.things import following, message
from tests.steps import MOST, steps

from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.model.message import (
    AVAILABLE,
    BLOCK,
    NO_HEADERS,
    BlockList,
    Cursor,
    Envelope,
    Form,
    Intake,
    Message,
    NeutralProperties,
    QueueEntry,
)
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.errors import DecodeError, HeaderError
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.wire.layouts.layout import decode_headers, encode_headers


def test_the_mark_changes_nothing_else() -> None:
    sent = message("k", b"body", "x", priority=7, user_id=b"me", application_headers={"a": 1}, content_type="t")
    plain = decode_headers(sent.envelope.header, 0, len(sent.envelope.header))
    marked = decode_headers(sent.envelope.redelivered_header, 0, len(sent.envelope.redelivered_header))
    assert isinstance(marked[0], DeliveryProperties)
    assert isinstance(plain[0], DeliveryProperties)
    assert (plain[0].redelivered, marked[0].redelivered) == (False, True)
    assert [v for f, v in zip(plain[0].FIELDS, plain[0].values(), strict=True) if f != "redelivered"] == [
        v for f, v in zip(marked[0].FIELDS, marked[0].values(), strict=True) if f != "redelivered"
    ]
    assert plain[1:] == marked[1:]
    assert len(sent.envelope.header) == len(sent.envelope.redelivered_header)
    assert sent.envelope.redelivered_header is sent.envelope.redelivered_header


def test_size_is_header_and_body() -> None:
    sent = message("k", b"body")
    assert sent.size == len(sent.envelope.header) + 4


def test_application_headers_are_read_when_asked_for() -> None:
    assert message(application_headers={"a": "b"}).application_headers == {"a": "b"}
    assert message().application_headers == {}
    assert message(content_type="x").application_headers == {}


def test_application_headers_that_cannot_be_read() -> None:
    header = encode_headers([MessageProperties(application_headers={"a": "b"})])[:-1] + b""
    broken = Message(1, Envelope(FORM, header), b"")
    with pytest.raises(HeaderError):
        broken.application_headers  # noqa: B018  # reading it is the point


def test_it_shows_no_content() -> None:
    assert "secret" not in repr(message("k", b"secret"))
    assert "octets" in repr(Envelope(FORM, b"secret"))
    assert "secret" not in repr(Envelope(FORM, b"secret"))


def test_what_its_header_says() -> None:
    sent = message("k", b"", "x", priority=9, delivery_mode=2, redelivered=True, user_id=b"me")
    e = sent.envelope
    assert (e.routing_key, e.exchange, e.priority, e.persistent, e.redelivered, e.user_id) == (
        "k", "x", 9, True, True, b"me",
    )  # fmt: skip


def test_messages_are_numbered_from_one() -> None:
    intake = Intake()
    envelope = message("k").envelope
    assert [intake.made(envelope, b"").number for _ in range(3)] == [1, 2, 3]
    assert Intake(last=7).made(envelope, b"").number == 8


def test_a_ttl_begins_when_the_message_comes() -> None:
    made = Intake().made(message("k", ttl=1500).envelope, b"", 10.0, 3)
    assert (made.expires, made.arrived, made.publisher) == (11.5, 10.0, 3)
    assert Intake().made(message("k").envelope, b"", 10.0).expires is None


def test_what_was_stored_comes_back() -> None:
    stored = message("k", b"body", priority=3, delivery_mode=2, user_id=b"u")
    intake = Intake()
    again = intake.restored(9, stored.envelope.form.envelope(stored.envelope.header, False), stored.body, 5.0)
    assert again.envelope == stored.envelope
    assert (again.number, again.body, again.expires) == (9, b"body", 5.0)
    assert intake.made(again.envelope, b"").number == 10


def test_a_copy_has_a_number_of_its_own() -> None:
    intake = Intake()
    first = intake.made(message("k").envelope, b"body")
    copy = intake.copy(first)
    assert (copy.number, copy.envelope, copy.body) == (2, first.envelope, b"body")


def redelivered(entry: QueueEntry) -> bool:
    first = decode_headers(entry.header_in(FORM), 0, len(entry.header_in(FORM)))[0]
    assert isinstance(first, DeliveryProperties)
    return first.redelivered


@pytest.mark.rule("message.delivery-properties.redelivered.implementation")
def test_the_header_says_whether_somebody_may_have_had_the_message() -> None:
    queue = Queue("q")
    entry = queue.put(message())
    assert (entry.redelivered, redelivered(entry)) == (False, False)
    assert queue.take() is entry
    queue.release(entry, set_redelivered=True)
    assert (entry.redelivered, redelivered(entry)) == (True, True)


def test_a_message_that_was_published_as_redelivered_is_delivered_so() -> None:
    entry = Queue("q").put(message(redelivered=True))
    assert (entry.redelivered, redelivered(entry)) == (True, True)


def test_two_queues_have_two_entries_of_one_message() -> None:
    sent = message()
    one, two = Queue("a").put(sent), Queue("b").put(sent)
    assert one.message is two.message
    assert one.queue.acquire(one)
    assert two.state == AVAILABLE


def test_it_shows_what_it_is_and_not_what_is_in_it() -> None:
    shown = repr(Queue("q").put(message("key", b"secret")))
    assert "available" in shown
    assert "secret" not in shown


QUEUE = Queue("q")
SENT = message()


def entries(count: int) -> list[QueueEntry]:
    return [QueueEntry(QUEUE, SENT, position, AVAILABLE) for position in range(count)]


def test_an_empty_line() -> None:
    line = BlockList()
    assert not line
    assert (line.head, line.after(-1), list(line)) == (None, None, [])


@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK])
def test_what_is_appended_comes_in_order(count: int) -> None:
    line, all_of_them = BlockList(), entries(count)
    for entry in all_of_them:
        line.append(entry)
    assert list(line) == all_of_them
    for entry in all_of_them:
        assert line.head is entry
        line.remove(entry)
    assert not line


def test_appended_entries_fill_one_block_after_the_other() -> None:
    line = BlockList()
    for entry in entries(3 * BLOCK):
        line.append(entry)
    assert [len(block) for block in line._blocks] == [BLOCK] * 3


def test_what_is_put_back_in_any_order_comes_in_order() -> None:
    line, all_of_them = BlockList(), entries(5 * BLOCK)
    shuffled = all_of_them[:]
    random.Random(1).shuffle(shuffled)
    for entry in shuffled:
        line.insert(entry)
    assert list(line) == all_of_them
    for entry in shuffled[: 4 * BLOCK]:
        line.remove(entry)
    left = sorted(shuffled[4 * BLOCK :], key=lambda entry: entry.position)
    assert list(line) == left
    assert line.head is left[0]


def test_what_comes_after_a_position() -> None:
    line, all_of_them = BlockList(), entries(3 * BLOCK)
    for entry in all_of_them[::2]:
        line.append(entry)
    for position in range(-1, 3 * BLOCK - 2):
        found = line.after(position)
        assert found is not None
        assert found.position == position + 2 - position % 2
    assert line.after(3 * BLOCK - 2) is None


def test_a_line_by_another_number() -> None:
    line, all_of_them = BlockList(attrgetter("released")), entries(3 * BLOCK)
    for entry in all_of_them:
        entry.released = 5 * BLOCK - entry.position
        line.insert(entry)
    assert list(line) == all_of_them[::-1]
    assert line.after(5 * BLOCK - 1) is all_of_them[0]
    for entry in all_of_them[1::2]:
        line.remove(entry)
    assert list(line) == all_of_them[::2][::-1]


def seen(cursor: Cursor) -> list[bytes]:
    found = []
    while (entry := following(cursor)) is not None:
        found.append(entry.message.body)
    return found


def test_everything_is_seen_once_urgent_ones_first_and_what_comes_later_too() -> None:
    queue = Queue("q")
    for at in range(4):
        queue.put(message(body=b"%d" % at, priority=9 if at == 2 else 4))
    cursor = queue.cursor()
    assert seen(cursor) == [b"2", b"0", b"1", b"3"]
    queue.put(message(body=b"4"))
    queue.put(message(body=b"5", priority=9))
    assert seen(cursor) == [b"5", b"4"]
    assert queue.available == 6


def test_two_cursors_do_not_know_of_each_other() -> None:
    queue = Queue("q")
    queue.put(message(body=b"a"))
    first = queue.cursor()
    assert seen(first) == [b"a"]
    assert seen(queue.cursor()) == [b"a"]


def test_what_is_acquired_is_passed_over() -> None:
    queue = Queue("q")
    for at in range(3):
        queue.put(message(body=b"%d" % at))
    taken = queue.take()
    assert taken is not None
    cursor = queue.cursor()
    assert seen(cursor) == [b"1", b"2"]
    queue.release(taken)
    assert seen(cursor) == []
    assert seen(queue.cursor()) == [b"0", b"1", b"2"]


def test_what_is_gone_while_somebody_looks() -> None:
    queue = Queue("q")
    all_of_them = [queue.put(message(body=b"%d" % at)) for at in range(4)]
    cursor = queue.cursor()
    assert following(cursor) is all_of_them[0]
    queue.remove(all_of_them[0])
    queue.remove(all_of_them[1])
    assert seen(cursor) == [b"2", b"3"]


def test_what_is_held_is_waited_for() -> None:
    queue = Queue("q")
    queue.put(message(body=b"0"))
    held = queue.put(message(body=b"1"), held=True)
    queue.put(message(body=b"2"))
    cursor = queue.cursor()
    assert seen(cursor) == [b"0"]
    queue.unhold(held)
    assert seen(cursor) == [b"1", b"2"]


def test_a_cursor_that_sees_releases_sees_what_is_released_behind_it() -> None:
    queue = Queue("q")
    entries = [queue.put(message(body=b"%d" % at)) for at in range(5)]
    queue.acquire(entries[1])
    queue.acquire(entries[3])
    browser, cursor = queue.cursor(), queue.cursor(released=True)
    assert seen(browser) == seen(cursor) == [b"0", b"2", b"4"]
    queue.acquire(entries[2])
    for at in (1, 2, 3):
        queue.release(entries[at])
    queue.put(message(body=b"5"))
    assert seen(cursor) == [b"1", b"2", b"3", b"5"]
    assert seen(browser) == [b"5"]
    assert seen(queue.cursor(released=True)) == [b"%d" % at for at in range(6)]
    assert seen(cursor) == []


def test_what_is_released_ahead_of_a_cursor_is_seen_once() -> None:
    queue = Queue("q")
    entries = [queue.put(message(body=b"%d" % at)) for at in range(6)]
    cursor = queue.cursor(released=True)
    assert following(cursor) is entries[0]
    for at in (4, 2):
        queue.acquire(entries[at])
        queue.release(entries[at])
    assert seen(cursor) == [b"1", b"3", b"4", b"2", b"5"]
    assert seen(cursor) == []


def test_what_is_acquired_and_put_back_is_not_seen_again() -> None:
    """Its subscriber could not take it; a release that the cursor has not seen yet still counts."""
    queue = Queue("q")
    first, second = queue.put(message(body=b"1")), queue.put(message(body=b"2"))
    cursor = queue.cursor(released=True)
    assert seen(cursor) == [b"1", b"2"]
    queue.acquire(second)
    queue.release(second)
    for entry in (first, second):
        queue.acquire(entry)
        queue.put_back(entry)
    assert seen(cursor) == [b"2"]


def work(count: int, cursors: int) -> int:
    """The steps when so many messages are acquired, released and looked at by two cursors, three times over."""
    queue = Queue("q")
    entries = [queue.put(message()) for _ in range(count)]
    looking = [queue.cursor(released=True) for _ in range(cursors)]
    for cursor in looking:
        seen(cursor)

    def act() -> None:
        for _ in range(3):
            for entry in reversed(entries):
                queue.acquire(entry)
                queue.release(entry)
            for cursor in looking[:2]:
                assert len(seen(cursor)) == count

    return steps(act)


@pytest.mark.skipif(COMPILED, reason="the steps of compiled code cannot be counted")
def test_a_release_costs_the_same_whatever_else_there_is() -> None:
    """Twice the messages cost twice as much; a cursor that does not look costs nothing."""
    assert work(2000, 2) < MOST * work(1000, 2)
    assert work(1000, 200) == work(1000, 2)


def test_properties_that_are_not_set() -> None:
    nothing = NeutralProperties()
    assert (nothing.exchange, nothing.message_id, nothing.user_id, nothing.headers) == ("", "", b"", NO_HEADERS)
    assert (nothing.priority, nothing.ttl, nothing.reply_to, nothing.content_type) == (None, None, None, None)


def test_properties_are_a_value() -> None:
    said = NeutralProperties("x", "k", True, 5, reply_to=("", "q"))
    assert said == NeutralProperties("x", "k", True, 5, reply_to=("", "q")) != NeutralProperties()
    assert pickle.loads(pickle.dumps(said)) == said


class Words(Form):
    """The header is the routing key and, in upper case, the mark."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.asked: list[str] = []

    def properties(self, header: bytes) -> NeutralProperties:
        self.asked.append("properties")
        if header.startswith(b"?"):
            raise DecodeError("word", 0, "not a word")
        return NeutralProperties(routing_key=header.decode().lower(), redelivered=header.isupper())

    def marked(self, header: bytes) -> bytes:
        self.asked.append("marked")
        return header.upper()

    def written(self, properties: NeutralProperties) -> bytes:
        self.asked.append("written")
        key = f"{self.name}-{properties.routing_key}".encode()
        return key.upper() if properties.redelivered else key


def entry(header: bytes, form: Form, **facts: object) -> QueueEntry:
    envelope = Envelope(form, header, **facts)  # type: ignore[arg-type]  # facts as they are named there
    return QueueEntry(Queue("q"), Message(1, envelope, b""), 0, 1)


def test_its_own_family_gets_the_octets_of_the_publisher_and_nobody_reads_them() -> None:
    form = Words("one")
    mine = entry(b"key", form)
    assert mine.header_in(form) is mine.message.envelope.header
    assert form.asked == []
    mine.redelivered = True
    assert mine.header_in(form) == b"KEY"
    assert mine.header_in(form) is mine.message.envelope.redelivered_header
    assert form.asked == ["marked"]


def test_another_family_gets_them_in_its_own_form_made_once() -> None:
    one, other = Words("one"), Words("other")
    mine = entry(b"key", one)
    assert mine.header_in(other) == b"other-key"
    assert mine.header_in(other) is mine.header_in(other)
    mine.redelivered = True
    assert mine.header_in(other) == b"OTHER-KEY"
    assert (one.asked, other.asked) == (["properties", "marked", "properties"], ["written", "written"])


def test_of_a_header_that_cannot_be_read_the_other_family_gets_what_the_model_knows() -> None:
    other = Words("other")
    assert entry(b"?", Words("one"), routing_key="known").header_in(other) == b"other-known"


def test_a_form_says_all_of_it_itself() -> None:
    form = Form("bare")
    assert repr(form) == "<Form of bare>"
    for asked in (form.properties, form.headers, form.marked):
        with pytest.raises(NotImplementedError):
            asked(b"")
    with pytest.raises(NotImplementedError):
        form.headed(b"", "n", 1)
    with pytest.raises(NotImplementedError):
        form.envelope(b"", False)
    with pytest.raises(NotImplementedError):
        form.written(NeutralProperties())
