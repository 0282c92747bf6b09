"""Where a broker is, and as whom."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.address import HEARTBEAT, Address, Endpoint, known_hosts, without_password
from amqp_sansio.errors import AddressError


def test_all_parts_of_an_address() -> None:
    address = Address.parse(
        "amqps://us%40er:p%3Ass@one.example:99,[::1],three/v%2Fhost?heartbeat=30&connect_timeout=2.5&frame_max=8192"
    )
    assert address.endpoints == (Endpoint("one.example", 99, True), Endpoint("::1", 5671, True), Endpoint("three", 5671, True))
    assert (address.username, address.password, address.virtual_host) == ("us@er", "p:ss", "v/host")
    assert (address.heartbeat, address.connect_timeout, address.frame_max) == (30, 2.5, 8192)
    assert [str(each) for each in address.endpoints] == ["one.example:99", "[::1]:5671", "three:5671"]


@pytest.mark.parametrize(
    ("url", "virtual_host"),
    [("amqp://h", ""), ("amqp://h/", ""), ("amqp://h/test", "test"), ("amqp://h/%2F", "/")],
)
def test_the_virtual_host(url: str, virtual_host: str) -> None:
    address = Address.parse(url)
    assert address.virtual_host == virtual_host
    assert address.username is None
    assert address.endpoints == (Endpoint("h", 5672, False),)


def test_a_config_says_what_the_address_says() -> None:
    config = Address.parse("amqp://joe:secret@h/test?heartbeat=7&frame_max=4096").config(ClientConfig(locale="de_DE"))
    assert (config.username, config.password, config.virtual_host) == ("joe", "secret", "test")
    assert (config.heartbeat, config.max_frame_size, config.locale) == (7, 4096, "de_DE")
    bare = Address.parse("amqp://h").config(ClientConfig(username="joe", password="x", heartbeat=9))
    assert (bare.username, bare.heartbeat, bare.virtual_host) == ("joe", 9, "")


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://h", "begins with"),
        ("h:5672", "an address begins with"),
        ("", "begins with"),
        ("amqp://", "names no host"),
        ("amqp:///test", "names no host"),
        ("amqp://u:p@", "names no host"),
        ("amqp://a,,b", "names no host"),
        ("amqp://h:0", "a port is 1 to 65535"),
        ("amqp://h:65536", "a port is 1 to 65535"),
        ("amqp://h:-1", "a port is 1 to 65535"),
        ("amqp://h:x", "a port is 1 to 65535"),
        ("amqp://h:\u0663", "a port is 1 to 65535"),
        ("amqp://::1", "in brackets"),
        ("amqp://u:%ff@h", "percent-encoded octets must be UTF-8"),
        ("amqp://u@h/%ff", "percent-encoded octets must be UTF-8"),
        ("amqp://u%00:p@h", "has a NUL in it"),
        ("amqp://u:p%00@h", "has a NUL in it"),
        ("amqp://h..i", "1 to 63 characters"),
        (f"amqp://{'h' * 64}", "1 to 63 characters"),
        ("amqp://h%0a", "is printable"),
        ("amqp://[::1", "in brackets"),
        ("amqp://u:p/w@h", "%2F stands for /"),
        ("amqp://u:p?w@h", "%2F stands for /"),
        ("amqp://[::1]x", "in brackets"),
        ("amqp://h/a/b", "%2F"),
        ("amqp://h?heartbeat=x", "heartbeat is 0 to 65535"),
        ("amqp://h?heartbeat=-1", "heartbeat is 0 to 65535"),
        ("amqp://h?heartbeat=65536", "heartbeat is 0 to 65535"),
        ("amqp://h?connect_timeout=nan", "connect_timeout is"),
        ("amqp://h/x#y", "%23 stands for #"),
        ("amqp://h?heartbeat=1#y", "%23 stands for #"),
        ("amqp://h?frame_max=4095", "frame_max is 4096 to 65535"),
        ("amqp://h?frame_max=65536", "frame_max is 4096 to 65535"),
        ("amqp://h?colour=red", "no option colour; there are heartbeat"),
        ("amqp://h?hearbeat=3", r"no option hearbeat \(heartbeat may be meant\); there are"),
    ],
)
def test_what_is_wrong_is_named(url: str, rule: str) -> None:
    with pytest.raises(AddressError, match=rule) as caught:
        Address.parse(url)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), AddressError)


@pytest.mark.parametrize(
    "url",
    [
        "amqp://joe:secret@h:x",
        "amqp://joe:secret\ud800@h",
        "http://joe:secret@h",
        "joe:secret@h",
        "amqp://joe:secret@h?x=y",
        "amqp://joe:9/secret@h",
        "amqp://joe:secret/9@h",
        "amqp://joe:secret?9#@h",
        "amqp://joe:secret",
        "amqp://joe:secret/x",
        "amqp://h?user=joe&password=secret",
        "amqp://joe@h?heartbeat=5&Passwd=secret&x=y",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    with pytest.raises(AddressError) as caught:
        Address.parse(url)
    assert "secret" not in str(caught.value) + repr(caught.value)
    assert "secret" not in without_password(url)
    assert "secret" not in repr(Address.parse("amqp://joe:secret@h"))
    assert without_password("amqp://joe@h/x") == "amqp://joe@h/x"
    assert without_password("amqp://joe:a@secret/b@h") == "amqp://joe:***@h"  # or a virtual host, who knows


def test_a_port_that_python_does_not_read_as_a_number_is_refused() -> None:
    with pytest.raises(AddressError):
        Address.parse(f"amqp://h:{'9' * 5000}")


def test_what_an_option_says_that_does_not_exist_is_not_shown() -> None:
    with pytest.raises(AddressError, match=r"^amqp://h: no option password; there are heartbeat"):
        Address.parse("amqp://h?password=secret")


@pytest.mark.parametrize("given", [None, 5, b"amqp://joe:secret@h"])
def test_what_is_no_address_is_refused_as_one(given: object) -> None:
    with pytest.raises(AddressError, match=r"an address is text that begins with amqp://") as caught:
        Address.of(given)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)


def test_an_address_may_be_given_as_it_is() -> None:
    address = Address.parse("amqp://h")
    assert Address.of(address) is address
    assert Address.of("amqp://h") == address


# No text at all makes `parse` raise anything but AddressError.
@given(st.one_of(st.text(), st.text("amqps:/@[],?=&%.1h").map(lambda rest: f"amqp://{rest}")))
def test_any_text_is_an_address_or_an_error(text: str) -> None:
    try:
        address = Address.parse(text)
    except AddressError:
        return
    assert all(1 <= each.port <= 65535 and each.host for each in address.endpoints)


def test_hosts_that_brokers_name() -> None:
    assert known_hosts("amqp:tcp:a:5673,tcp:b,ssl:c:1") == (Endpoint("a", 5673), Endpoint("b"), Endpoint("c", 1, True))
    assert known_hosts("amqp:tcp:a", tls=True) == (Endpoint("a", 5671, True),)
    assert known_hosts("a:1,b") == (Endpoint("a", 1), Endpoint("b"))
    assert known_hosts("amqp:rdma:x:1,tcp:b") == (Endpoint("b"),)
    for text in ("", "amqp:", "amqp:rdma:x", "amqp:tcp:", f"amqp:tcp:h:{'9' * 5000}"):
        with pytest.raises(AddressError):
            known_hosts(text)


def test_without_a_word_about_heartbeats_there_are_some() -> None:
    assert Address.parse("amqp://h").config().heartbeat == HEARTBEAT
    assert Address.parse("amqp://h").config(ClientConfig()).heartbeat == 0
    assert Address.parse("amqp://h?heartbeat=0").config().heartbeat == 0
