"""Transfers, as the model takes messages."""

from __future__ import annotations

from math import ceil
from typing import Any
from uuid import UUID

import pytest
from tests.broker.model.things import refusal

from amqp_sansio.broker import conditions
from amqp_sansio.broker.fronts.sessions import reception as module
from amqp_sansio.broker.fronts.sessions.error_column import code_of
from amqp_sansio.broker.fronts.sessions.reception import Reception
from amqp_sansio.broker.model.message import Message
from amqp_sansio.broker.model.message_factory import Intake
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.spec.message import DeliveryProperties, FragmentProperties, MessageProperties, Transfer
from amqp_sansio.wire.headers import decode_headers, encode_headers
from amqp_sansio.wire.layouts.properties import write_properties

TO_X = Transfer("x", 0, 0)


def read(intake: Intake, *structs: Struct, **more: Any) -> Message:
    return Reception(intake).read(TO_X, encode_headers(structs), b"body", **more)


def structs_of(message: Message) -> tuple[Struct, ...]:
    return decode_headers(message.header, 0, len(message.header))


def test_messages_are_numbered_from_one() -> None:
    intake = Intake()
    assert [read(intake).number for _ in range(3)] == [1, 2, 3]
    assert read(Intake(last=7)).number == 8


def test_the_exchange_is_written_into_the_header_and_everything_else_stays() -> None:
    given = DeliveryProperties(priority=3, delivery_mode=2, exchange="a lie", routing_key="k", resume_id="r", resume_ttl=1)
    more = MessageProperties(message_id=UUID(int=1), application_headers={"a": 1})
    message = read(Intake(), more, given)
    first, second = structs_of(message)
    assert first == DeliveryProperties(
        priority=3, delivery_mode=2, exchange="x", routing_key="k", resume_id="r", resume_ttl=1
    )  # fmt: skip
    assert second == more
    assert (message.exchange, message.routing_key, message.priority, message.persistent) == ("x", "k", 3, True)


def test_a_transfer_without_header() -> None:
    message = Reception(Intake()).read(Transfer(), b"", b"")
    assert structs_of(message) == (DeliveryProperties(exchange=""),)
    assert (message.routing_key, message.priority, message.persistent, message.expires) == ("", 4, False, None)


def test_structs_that_nobody_knows_are_passed_on() -> None:
    unknown = b"\0\0\0\x04\x77\x01ab"
    message = Reception(Intake()).read(TO_X, unknown, b"")
    assert message.header.endswith(unknown)


def test_the_same_header_is_read_once_and_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHED", 2)
    reception = Reception(Intake())
    header = write_properties(routing_key="k")
    first = reception.read(TO_X, header, b"1")
    assert reception.read(TO_X, header, b"2").envelope is first.envelope
    assert reception.read(Transfer("y", 0, 0), header, b"3").envelope is not first.envelope
    reception.read(TO_X, write_properties(routing_key="l"), b"4")
    assert len(reception._cache) == 1


def test_a_priority_beyond_9_counts_as_9() -> None:
    assert read(Intake(), DeliveryProperties(priority=200)).priority == 9


def test_a_ttl_begins_when_the_message_comes() -> None:
    intake = Intake()
    properties = DeliveryProperties(ttl=1500)
    assert read(intake, properties, now=10.0).expires == 11.5
    assert read(intake, properties, now=20.0).expires == 21.5
    assert read(intake, DeliveryProperties(ttl=2**64 - 1)).expires is not None
    assert read(intake, DeliveryProperties(expiration=1)).expires is None


def test_with_an_epoch_the_expiration_is_written() -> None:
    intake = Intake(epoch=1_000_000_000)
    for now in (10.0, 20.0):
        (first,) = structs_of(read(intake, DeliveryProperties(ttl=1500), now=now))
        assert isinstance(first, DeliveryProperties)
        assert first.expiration == 1_000_000_000 + int(now + 2)  # never before the ttl is over
        assert first.ttl == 1500


def test_an_expiration_that_came_in_milliseconds_is_written_in_milliseconds() -> None:
    intake = Intake(epoch=1_000_000_000)
    for came, unit in ((10**11 - 1, 1), (10**11, 1000)):
        (first,) = structs_of(read(intake, DeliveryProperties(ttl=1500, expiration=came), now=10.0))
        assert isinstance(first, DeliveryProperties)
        assert first.expiration == ceil(1_000_000_011.5 * unit)


@pytest.mark.parametrize("came", [None, 10**11])
def test_however_long_a_ttl_is_an_expiration_can_be_written(came: int | None) -> None:
    (first,) = structs_of(read(Intake(epoch=1_000_000_000), DeliveryProperties(ttl=2**64 - 1, expiration=came)))
    assert isinstance(first, DeliveryProperties)
    assert first.expiration == (2**63 - 1 if came else ceil(1_000_000_000 + (2**64 - 1) / 1000))


@pytest.mark.rule("message.message-properties.user-id.authentication")
def test_a_user_id_is_that_of_the_connection_or_is_refused() -> None:
    intake = Intake()
    signed = MessageProperties(user_id=b"me")
    for identity in ("me", "me@realm", None):
        assert read(intake, signed, identity=identity).user_id == b"me"
    assert read(intake, identity="me").user_id == b""
    for identity in ("you", "", "realm@me"):
        refused = refusal(read, intake, signed, identity=identity)
        assert refused.condition is conditions.TRANSFER_USER_ID
        assert code_of(refused, "qpid") == code_of(refused, "spec") == ErrorCode.UNAUTHORIZED_ACCESS


def test_fragments_are_refused_and_whole_messages_are_none() -> None:
    assert read(Intake(), FragmentProperties(True, True)).body == b"body"
    for fragment in (FragmentProperties(True, False), FragmentProperties(False, True), FragmentProperties()):
        assert refusal(read, Intake(), fragment).condition is conditions.TRANSFER_FRAGMENT


def test_a_header_that_cannot_be_read_is_refused() -> None:
    broken = b"\0\0\0\x05\x04\x01\x00\x02\x50"  # a routing key of 80 octets that is not there
    assert refusal(Reception(Intake()).read, TO_X, broken, b"").condition is conditions.TRANSFER_HEADER


def test_structs_that_were_read_before_are_not_read_again() -> None:
    header = write_properties(routing_key="k")
    message = Reception(Intake()).read(TO_X, header, b"", structs=(DeliveryProperties(routing_key="other"),))
    assert message.routing_key == "other"
