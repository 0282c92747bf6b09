"""What is published and what is read of a content does not depend on the quick ways, which say nothing when they give up."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.families.channels import FAMILY, content, frame

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.engine.channels.endpoint import Channels
from amqp_sansio.errors import AmqpError, DecodeError
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.limits import Limits
from amqp_sansio.spec.fields import Field, FieldTable
from amqp_sansio.spec.methods.basic import Properties
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.field_tables import FlatTables
from amqp_sansio.wire.method_codec import PROPERTIES_AT, Publishing, RepeatedProperties, read_properties
from tools.replay import record

interpreted = pytest.mark.skipif(COMPILED, reason="nobody can take the quick ways out of compiled code")
TEXTS = st.sampled_from(["", "a", "é", "x" * 255, "x" * 256, "\ud800"])
NUMBERS = st.sampled_from([0, 1, True, 255, 256, -1, 1 << 31, -(1 << 31), (1 << 64) - 1, 1 << 64, 1.0])
VALUES: st.SearchStrategy[Any] = st.one_of(
    TEXTS, NUMBERS, st.none(), st.binary(max_size=3), st.sampled_from([1.5, float("nan"), Decimal("1.5"), object(), 3j]),
    st.sampled_from([[1, "two"], (), {"in": {"it": 1}}, Field("s", 7), Field("", "x"), Field("?", 1), [[]]]),
)  # fmt: skip
TABLES = st.one_of(st.dictionaries(st.one_of(TEXTS, st.just(1)), VALUES, max_size=4), st.sampled_from([None, "no table", 7]))
SAID = st.fixed_dictionaries(
    {},
    optional={
        "content_type": TEXTS, "headers": TABLES, "delivery_mode": NUMBERS, "priority": NUMBERS, "reply_to": TEXTS,
        "timestamp": NUMBERS, "message_id": st.one_of(TEXTS, NUMBERS), "app_id": TEXTS, "mandatory": st.booleans(),
        "immediate": st.booleans(), "ticket": st.sampled_from([0, 1, 1.0, 1 << 16, "1"]), "size": st.sampled_from([None, 3]),
        "properties": st.sampled_from([None, b"\0\0", b"\x10\0\2", b"\1", Properties(priority=1), Properties(), 7]),
    },
)  # fmt: skip
MESSAGES = st.tuples(TEXTS, TEXTS, st.sampled_from([b"", b"x", bytes(5000), bytearray(b"x"), "text", None]), SAID)

NAMES = st.sampled_from(["", "a", "é", "x" * 255])
GOOD = st.tuples(
    NAMES, NAMES, st.sampled_from([b"", b"x", bytes(5000)]),
    st.fixed_dictionaries(
        {"mandatory": st.booleans(), "immediate": st.booleans(), "ticket": st.sampled_from([0, 1, 65535])},
        optional={
            "content_type": NAMES, "headers": st.dictionaries(NAMES, st.sampled_from(["", "a", 1, True]), max_size=3),
            "priority": st.integers(0, 255), "reply_to": NAMES, "timestamp": st.integers(0, (1 << 64) - 1), "app_id": NAMES,
        },
    ),
)  # fmt: skip
"""What the quick way writes; most of the others are to be refused."""


def opened(dialect: Any, confirms: bool) -> tuple[ChannelClientConnection, Channel]:
    client = ChannelClientConnection(ClientConfig(dialect=dialect, limits=Limits(unconfirmed=5)))
    server = ChannelServerConnection(ServerConfig(dialects=(dialect,), max_frame_size=4096))

    def opening(client: ChannelClientConnection) -> Any:
        yield
        channel = client.channel()
        if confirms and "confirm.select" in dialect.codec.verbs:
            channel.select_confirm()
        yield

    record(client, server, opening)
    (channel,) = client.channels
    return client, channel


def published(dialect: Any, confirms: bool, said: list[Any]) -> list[object]:
    client, channel = opened(dialect, confirms)
    found: list[object] = []
    for exchange, key, body, more in said:
        try:
            found.append(channel.publish(exchange, key, body, **more))
        except AmqpError as error:
            found.append((type(error), str(error)))
        if channel.body_left:
            channel.body(bytes(channel.body_left))
        found += [client.data_to_send(), channel.in_doubt, channel._last_id, channel._published.count]
    numbers = channel._returnable._numbers
    return [*found, {pair: each.freeze() for pair, each in numbers.items()}]


@interpreted
@given(st.sampled_from(FAMILY), st.booleans(), st.lists(st.one_of(GOOD, MESSAGES), max_size=6))
def test_a_message_is_published_as_by_any_other_method(dialect: Any, confirms: bool, said: list[Any]) -> None:
    quick = published(dialect, confirms, said)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Publishing, "write", _not_at_all)
        patch.setattr(FlatTables, "write", _not_at_all)
        assert published(dialect, confirms, said) == quick


def _not_at_all(*_: object) -> bytes:
    raise TypeError


DELIVERIES = st.lists(
    st.tuples(
        st.sampled_from(["t", "t", "t", "u", "", "other"]), st.sampled_from([0, 1, 1, 1, 1, 2]), st.booleans(),
        st.sampled_from(["", "x"]), st.sampled_from(["k", "l", "long", "\xe9"]), st.sampled_from([b"", b"m", bytes(5000)]),
        st.lists(st.tuples(st.integers(0, 100), st.sampled_from([0, 1, 0x3C, 0x80, 0xFF])), max_size=1),
    ),
    max_size=12,
)  # fmt: skip


def heard(dialect: Any, said: bytes, piece: int, learns: bool) -> object:
    """What a client makes of it that consumes as t, and as u without acknowledging."""
    client, channel = opened(dialect, False)
    channel.consume("q", "t", no_wait=True)
    channel.consume("q", "u", no_wait=True, no_ack=True)
    events: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        if not learns:
            patch.setattr(Channels, "learn", lambda *_: None)
        for at in range(0, len(said), piece):
            client.receive_data(said[at : at + piece])
            events += client.events()
    tags = channel._deliveries.tags
    return events, client.data_to_send(), channel.unsettled, tags.last, tags.count, tags.ids.next_id, channel.state


@interpreted
@given(st.sampled_from(FAMILY), DELIVERIES, st.sampled_from([7, 100, 1 << 20]))
def test_the_client_hears_a_delivery_as_any_other_method(dialect: Any, deliveries: list[Any], piece: int) -> None:
    tag, octets = 0, b""
    for consumer, step, again, exchange, key, body, changes in deliveries:
        tag += step
        said = {"consumer_tag": consumer, "delivery_tag": tag, "redelivered": again, "exchange": exchange, "routing_key": key}
        one = bytearray(frame(dialect, "basic.deliver", 1, **said) + content(body))
        for at, octet in changes:
            one[at % len(one)] = octet
        octets += bytes(one)
    assert heard(dialect, octets, piece, True) == heard(dialect, octets, piece, False)


HEADERS = st.builds(
    Properties,
    st.one_of(st.none(), st.sampled_from(["", "é", "text/plain"])),
    headers=st.one_of(
        st.none(),
        st.dictionaries(
            st.sampled_from(["", "a", "é", "bb"]),
            st.one_of(
                st.sampled_from(["", "x", "é", True, False, 0, -1, 1 << 31, 1.5, b"\xff", None, [1, "x"], {"in": 1}]),
                st.builds(Field, st.sampled_from("bBsuIilLSxtFV"), st.sampled_from([0, 1, "x"])),
            ),
            max_size=4,
        ),
    ),
    priority=st.one_of(st.none(), st.integers(0, 255)),
    timestamp=st.one_of(st.none(), st.integers(0, (1 << 64) - 1)),
    app_id=st.one_of(st.none(), st.just("app")),
)
CHANGES = st.lists(st.tuples(st.integers(0, 200), st.sampled_from([0, 1, 2, 0x53, 0x74, 0x49, 0x80, 0xFF])), max_size=2)
READINGS = [Reading(), Reading(nesting=0), Reading(text="surrogateescape"), Reading(canonical=True)]


def tell(read: Any) -> object:
    try:
        made = read()
    except DecodeError as error:
        return type(error), str(error), error.octet, error.code
    fields = [(name, each.letter, each.value, each.octets) for name, each in made.headers.fields] if made.headers else []
    return repr(made), repr(fields)


@interpreted
@given(st.sampled_from(FAMILY), HEADERS, CHANGES, st.sampled_from(READINGS))
def test_properties_are_read_as_the_interpreter_reads_them(
    dialect: Any, properties: Properties, changes: list[tuple[int, int]], reading: Reading
) -> None:
    codec = dialect.codec
    try:
        octets = bytearray(codec.write_header(60, 0, properties))
    except AmqpError:
        return
    for at, octet in changes:
        octets[PROPERTIES_AT + at % (len(octets) - PROPERTIES_AT)] = octet
    header = bytes(octets)
    quick = tell(lambda: codec.read_properties(header, reading))
    how = RepeatedProperties(codec, reading)
    other = codec.write_header(60, 0, Properties("text/plain", app_id="é"))
    assert [tell(partial(how.read, each)) for each in (header, other, header)] == [quick, tell(lambda: how.read(other)), quick]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FlatTables, "read", lambda self, b, p, end: None)
        kind, fields = codec.contents[60]
        table = codec.read_table
        assert quick == tell(
            lambda: read_properties(kind, "header", fields, header, PROPERTIES_AT, len(header), reading, table)
        )


def test_a_table_that_was_read_quickly_is_the_table_of_its_fields() -> None:
    codec = FAMILY[0].codec
    octets = codec.write_table({"a": "x", "b": 1})
    table, end = codec.read_table(octets, 0, len(octets), Reading(), 0)
    assert isinstance(table, FieldTable)
    assert (end, table.chosen) == (len(octets), False)
    assert table == FieldTable(table.fields) == {"a": "x", "b": 1}
    assert codec.write_table(table) == octets
    assert table.fields == (("a", Field("S", "x")), ("b", Field("I", 1)))
