"""Settings."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import attrs
import pytest

from amqp_sansio import __version__
from amqp_sansio.broker import BrokerConfig
from amqp_sansio.config import STRICT_PROFILE, Accepted, Challenge, ClientConfig, Profile, ServerConfig
from amqp_sansio.engine.sasl import Plain, PlainServer
from amqp_sansio.errors import EncodeError


def test_everything_has_a_default() -> None:
    assert ClientConfig() == ClientConfig(locale="en_US")
    assert ServerConfig().channel_max == 65535
    assert Profile().completion == "default"
    assert STRICT_PROFILE.strict


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["version"] == ClientConfig().properties["version"] == ServerConfig().properties["version"] == __version__


def test_settings_are_frozen() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        ClientConfig().heartbeat = 3  # type: ignore[misc]


def test_no_secret_in_a_repr() -> None:
    assert "hush" not in repr(ClientConfig(username="u", password="hush"))
    assert "hush" not in repr(Challenge(b"hush"))
    assert "somebody" in repr(Accepted("somebody"))


@pytest.mark.parametrize("size", [4095, 65536, True, None, "4096"])
def test_a_frame_size_out_of_range_is_reported_at_once(size: int) -> None:
    with pytest.raises(EncodeError, match="max_frame_size"):
        ClientConfig(max_frame_size=size)
    with pytest.raises(EncodeError, match="max_frame_size"):
        ServerConfig(max_frame_size=size)


@pytest.mark.parametrize("size", [4096, 65535])
def test_a_frame_size_in_range_is_kept(size: int) -> None:
    assert ClientConfig(max_frame_size=size).max_frame_size == size


def test_texts_that_the_wire_cannot_carry_are_reported_at_once() -> None:
    ClientConfig(virtual_host="v" * 255)
    with pytest.raises(EncodeError, match="virtual_host"):
        ClientConfig(virtual_host="v" * 256)
    with pytest.raises(EncodeError, match="virtual_host"):
        ClientConfig(virtual_host="é" * 128)


@pytest.mark.rule("connection.start.locales.required-support")
def test_rule_connection_start_locales_required_support() -> None:
    with pytest.raises(EncodeError, match="required-support"):
        ServerConfig(locales=("de_DE",))


@pytest.mark.rule("connection.tune.heartbeat-max.permitted-range")
def test_rule_connection_tune_heartbeat_max_permitted_range() -> None:
    ServerConfig(heartbeat_min=5, heartbeat_max=5)
    with pytest.raises(EncodeError, match="permitted-range"):
        ServerConfig(heartbeat_min=5, heartbeat_max=4)


@pytest.mark.rule("connection.tune.heartbeat-max.no-heartbeat-min")
def test_rule_connection_tune_heartbeat_max_no_heartbeat_min() -> None:
    ServerConfig(heartbeat_min=None, heartbeat_max=None)
    with pytest.raises(EncodeError, match="no-heartbeat-min"):
        ServerConfig(heartbeat_min=None)


def test_one_name_is_taken_for_a_tuple_of_one() -> None:
    assert ServerConfig(virtual_hosts="a").virtual_hosts == ("a",)


def test_names_of_mechanisms_are_no_mechanisms() -> None:
    for config in (ClientConfig, ServerConfig):
        with pytest.raises(EncodeError, match=f"{config.__name__}.mechanisms: objects with a name and a `start`.*not str"):
            config(mechanisms=("PLAIN",))  # type: ignore[arg-type]


def test_a_class_of_mechanisms_is_no_mechanism() -> None:
    with pytest.raises(EncodeError, match=r"ClientConfig\.mechanisms: objects, not classes: Plain\(...\), not Plain"):
        ClientConfig(mechanisms=(Plain,))  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match=r"ServerConfig\.mechanisms: objects, not classes"):
        ServerConfig(mechanisms=(PlainServer,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "setting", "legal"),
    [
        (ServerConfig, "attach", "accept, refuse"),
        (ServerConfig, "headers", "lazy, eager"),
        (ClientConfig, "headers", "lazy, eager"),
        (ClientConfig, "blocked", "publish, raise"),
        (Profile, "completion", "default, on_hand_out, manual"),
        (Profile, "octets", "frames, body"),
        (Profile, "error_codes", "qpid, rabbitmq, spec"),
        (Profile, "unpointed", "unknown-ids, illegal-state"),
        (BrokerConfig, "error_codes", "qpid, rabbitmq, spec"),
    ],
)
def test_a_word_that_a_setting_does_not_know_is_refused(make: Any, setting: str, legal: str) -> None:
    with pytest.raises(EncodeError, match=f"{make.__name__}.{setting}: one of {legal}, not 'other'"):
        make(**{setting: "other"})


def test_a_wrong_text_is_shown() -> None:
    with pytest.raises(EncodeError, match="virtual_host: text of at most 255 octets, not 3"):
        ClientConfig(virtual_host=3)  # type: ignore[arg-type]
