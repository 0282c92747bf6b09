"""What callers give is checked, and the error says what would be legal."""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import pytest

from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.config import ClientConfig, Profile, ServerConfig
from amqp_sansio.conversation.address import Endpoint
from amqp_sansio.conversation.channels.address import ChannelAddress
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.errors import EncodeError
from amqp_sansio.errors.checks import check_bits, check_timeout, check_types, checked, integers
from amqp_sansio.limits import BrokerLimits, Limits, ServerLimits
from amqp_sansio.spec import queue
from amqp_sansio.wire.layouts.fields import FIELDS

SETTINGS: list[type] = [
    Profile, ClientConfig, ServerConfig, Limits, ServerLimits, BrokerLimits, BrokerConfig, RetryPolicy,
]  # fmt: skip
NEVER_RIGHT = [b"x", ..., math.nan, "\ud800", (5,)]
"""What is no value of any setting."""


@pytest.mark.parametrize("timeout", [None, 0, -1, 2.5, math.inf])
def test_seconds_are_a_timeout(timeout: object) -> None:
    check_timeout(timeout)


@pytest.mark.parametrize("timeout", ["5", True, math.nan, b"1", [1]])
def test_what_is_no_number_is_no_timeout(timeout: object) -> None:
    with pytest.raises(EncodeError, match=r"timeout: seconds, or None for no limit, not .+"):
        check_timeout(timeout)


def test_text_is_text_and_a_flag_is_true_or_false() -> None:
    check_types(str, queue="q", exchange="")
    check_types(bool, durable=True, passive=False)
    with pytest.raises(EncodeError, match=r"^queue: text, not None$"):
        check_types(str, exchange="e", queue=None)
    with pytest.raises(EncodeError, match=r"^durable: True or False, not 'yes'$"):
        check_types(bool, durable="yes")


def test_a_bit_is_true_or_false() -> None:
    fields = FIELDS[queue.Declare]
    check_bits(queue.Declare("q", durable=True), fields)
    with pytest.raises(EncodeError, match=r"^durable: True or False, not 1$"):
        check_bits(queue.Declare("q", durable=1), fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", SETTINGS)
@pytest.mark.parametrize("value", NEVER_RIGHT, ids=repr)
def test_every_setting_refuses_what_it_never_is_and_names_itself(kind: type, value: object) -> None:
    for field in attrs.fields(kind):
        with pytest.raises(EncodeError) as raised:
            kind(**{field.name: value})
        assert raised.value.what == f"{kind.__name__}.{field.name}"
        assert raised.value.rule


@pytest.mark.parametrize("kind", [Limits, ServerLimits, BrokerLimits])
@pytest.mark.parametrize("value", [0, -1, True, "5", None, math.nan])
def test_every_limit_is_a_positive_number(kind: type, value: object) -> None:
    for field in attrs.fields(kind):
        with pytest.raises(
            EncodeError, match=rf"{kind.__name__}\.{field.name}: (an integer of 1 or more|a number above 0), not "
        ):
            kind(**{field.name: value})


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Profile(strict="yes"), "Profile.strict: True or False, not 'yes'"),  # type: ignore[arg-type]
        (lambda: ClientConfig(limits=5), "ClientConfig.limits: takes Limits, not 5"),  # type: ignore[arg-type]
        (lambda: ClientConfig(dialect="0-9"), "ClientConfig.dialect: takes Dialect, not '0-9'"),  # type: ignore[arg-type]
        (lambda: ServerConfig(dialects=[]), "ServerConfig.dialects: takes one Dialect or more, not []"),
        (lambda: ClientConfig(password=b"hush"), "ClientConfig.password: text that UTF-8 can carry, not bytes"),  # type: ignore[arg-type]
        (lambda: Endpoint("h", -1), "Endpoint.port: an integer of 0..65535, not -1"),
        (lambda: ChannelAddress(endpoints=("h",)), "ChannelAddress.endpoints: takes a tuple of Endpoint, not ('h',)"),  # type: ignore[arg-type]
        (lambda: PlainServer(5), "PlainServer.verify: takes a callable, not 5"),  # type: ignore[arg-type]
    ],
)
def test_the_error_says_what_where_and_what_is_legal(make: Callable[[], object], text: str) -> None:
    with pytest.raises(EncodeError) as raised:
        make()
    assert str(raised.value) == text


def test_none_is_legal_where_the_annotation_has_it_beside_what_a_validator_takes() -> None:
    @attrs.frozen(field_transformer=checked())
    class Settings:
        most: int | None = attrs.field(default=None, validator=integers(1, 3))

    assert (Settings().most, Settings(3).most) == (None, 3)
    for wrong in (0, 4):
        with pytest.raises(EncodeError, match=f"Settings.most: an integer of 1..3, not {wrong}"):
            Settings(wrong)


@pytest.mark.parametrize("kind", [Limits, ServerLimits, BrokerLimits])
def test_one_validator_checks_all_that_annotations_say_because_each_costs_imports(kind: type) -> None:
    assert [field.name for field in attrs.fields(kind) if field.validator is not None] == [attrs.fields(kind)[-1].name]
