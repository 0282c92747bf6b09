"""The code of a breach, and what it ends."""

from __future__ import annotations

import pytest

from amqp_sansio.engine.channels.breaches import code_of, ends_channel, order_of, rule_of_content, rule_of_unreadable
from amqp_sansio.errors import DecodeError
from amqp_sansio.wire.layouts.reply_codes import REPLY_CODES

LETTER = {version: frozenset([int(code) for code in codes]) for version, codes in REPLY_CODES.items()}


@pytest.mark.parametrize(
    ("rule", "code", "version", "found"),
    [
        ("delivery-tag.unknown", 406, None, 406),
        ("delivery-tag.unknown", 406, "0-9-1", 406),
        ("delivery-tag.unknown", 406, "0-8", 530),  # which has no 406
        ("content.interrupted", 505, "0-9-1", 505),
        ("content.interrupted", 505, "0-9", 504),
        ("content.properties", 502, None, 541),
        ("content.properties", 502, "0-9-1", 502),
        ("limits.assembly_octets", 506, None, 406),
        ("limits.assembly_octets", 506, "0-9-1", 311),
        ("delivery-tag.order", 0, None, 503),
        ("delivery-tag.order", 0, "0-8", 503),
    ],
)
def test_the_code_of_a_breach(rule: str, code: int, version: str | None, found: int) -> None:
    assert code_of(rule, code, None if version is None else LETTER[version]) == found


@pytest.mark.parametrize(("code", "channel"), [(311, True), (404, True), (406, True), (501, False), (504, False), (541, False)])
def test_a_soft_code_ends_the_channel_alone(code: int, channel: bool) -> None:
    assert ends_channel(code) is channel


@pytest.mark.parametrize(
    ("state", "word", "rule"),
    [
        ("open", "channel.open", "channel.second-open"),
        ("open", "channel.close-ok", "reply.unasked"),
        ("not-open", "work", "channel.not-open"),
        ("opening", "work", "channel.not-open"),
        ("closed", "work", "channel.closed"),
        ("refused", "work", "channel.closed"),
    ],
)
def test_a_word_out_of_turn(state: str, word: str, rule: str) -> None:
    assert order_of(state, word)[0] == rule


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        (DecodeError("queue.declare", 0, "limit nesting is 3", 506), "limits.nesting"),
        (DecodeError("method 9.9", 0, "no method", 503), "method.unknown"),
        (DecodeError("queue.declare.arguments[x]", 0, "bad", 502), "method.table"),
        (DecodeError("queue.declare.arguments", 0, "a name comes twice", 502), "method.table"),
        (DecodeError("queue.declare", 9, "2 octets over", 502), "method.arguments-long"),
        (DecodeError("queue.declare.queue", 9, "1 octet left", 502), "method.arguments-short"),
        (DecodeError("queue.declare.queue", 9, "no text", 502), "method.arguments"),
    ],
)
def test_what_cannot_be_read(error: DecodeError, rule: str) -> None:
    assert rule_of_unreadable("queue.declare", error) == rule


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        (DecodeError("header", 12, "flag 15 belongs to none of its 14 properties", 502), "content.properties"),
        (DecodeError("header.headers['k']", 20, "tables have no letter 'Z'", 502), "content.table"),
        (DecodeError("header.headers", 18, "a name of 5 octets and a letter go beyond the end", 502), "content.table"),
        (DecodeError("header.headers", 14, "limit nesting is 32", 506), "limits.nesting"),
    ],
)
def test_properties_that_cannot_be_read(error: DecodeError, rule: str) -> None:
    assert rule_of_content(error) == rule
