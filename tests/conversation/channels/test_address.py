"""URLs of brokers with channels."""

from __future__ import annotations

import pytest

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.address import Address
from amqp_sansio.conversation.channels.address import GUEST, ChannelAddress, is_of_channels
from amqp_sansio.dialects import AMQP_0_9_1, CHANNEL_PROTOCOLS
from amqp_sansio.engine.sasl import AmqPlain, External, Plain
from amqp_sansio.errors import AddressError


@pytest.mark.parametrize(
    ("path", "host"), [("", "/"), ("/", "/"), ("/%2F", "/"), ("/%2f", "/"), ("/orders", "orders"), ("/a%20b", "a b")]
)
def test_the_path_names_the_virtual_host(path: str, host: str) -> None:
    config = ChannelAddress.parse(f"amqp://broker{path}").config()
    assert (config.virtual_host or config.dialect.virtual_host) == host


def test_without_a_user_the_client_logs_in_as_guest() -> None:
    config = ChannelAddress.parse("amqp://broker").config()
    assert (config.username, config.password) == (GUEST, GUEST)
    assert config.dialect is AMQP_0_9_1
    named = ChannelAddress.parse("amqp://ann:h%40sh@broker").config()
    assert (named.username, named.password) == ("ann", "h@sh")


def test_a_configuration_with_mechanisms_of_its_own_keeps_them() -> None:
    own = ClientConfig(dialect=AMQP_0_9_1, mechanisms=(External(),))
    assert ChannelAddress.parse("amqp://broker").config(own).mechanisms == own.mechanisms


def test_every_option_of_rabbitmq_is_taken() -> None:
    url = (
        "amqps://ann:hush@broker:5671/orders?cacertfile=/ca.pem&certfile=/c.pem&keyfile=/k.pem&verify=verify_none"
        "&server_name_indication=other&auth_mechanism=external&auth_mechanism=PLAIN&auth_mechanism=amqplain"
        "&heartbeat=7&connection_timeout=2500&channel_max=12&connection_name=worker-3"
    )
    address = ChannelAddress.parse(url)
    assert (address.cacertfile, address.certfile, address.keyfile) == ("/ca.pem", "/c.pem", "/k.pem")
    assert address.verify is False
    assert address.server_name == "other"
    assert address.connect_timeout == 2.5
    config = address.config()
    assert config.channel_max == 12
    assert config.heartbeat == 7
    assert config.properties["connection_name"] == "worker-3"
    assert "product" in config.properties
    assert [type(each) for each in config.mechanisms] == [External, Plain, AmqPlain]


@pytest.mark.parametrize("name", CHANNEL_PROTOCOLS)
def test_the_protocol_is_chosen_by_name(name: str) -> None:
    assert ChannelAddress.parse(f"amqp://broker?protocol={name}").config().dialect is CHANNEL_PROTOCOLS[name]


@pytest.mark.parametrize("name", CHANNEL_PROTOCOLS)
def test_the_protocol_of_an_address_overrides_that_of_a_configuration(name: str) -> None:
    for own in CHANNEL_PROTOCOLS.values():
        base = ClientConfig(dialect=own)
        assert ChannelAddress.parse(f"amqp://broker?protocol={name}").config(base).dialect is CHANNEL_PROTOCOLS[name]
        assert ChannelAddress.parse("amqp://broker").config(base).dialect is own


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("protocol=1.0", "protocol is 0-9-1"),
        ("verify=maybe", "verify is verify_peer or verify_none, not 'maybe'"),
        ("auth_mechanism=kerberos", "auth_mechanism is plain, amqplain, external, not 'kerberos'"),
        ("channel_max=65536", "channel_max is 0 to 65535, not '65536'"),
        ("channel_max=-1", "channel_max is 0 to 65535, not '-1'"),
        ("frame_max=4095", "frame_max is 0 or 4096 to 4294967295, not '4095'"),
        ("frame_max=4294967296", "frame_max is 0 or 4096 to 4294967295, not '4294967296'"),
        ("connection_timeout=soon", "connection_timeout is 0 to"),
        (
            "colour=blue",
            "no option colour; there are heartbeat, connect_timeout, frame_max, insecure_plain, trust_redirects, cacertfile",
        ),
    ],
)
def test_an_option_that_cannot_be_is_named_and_no_password_with_it(query: str, said: str) -> None:
    with pytest.raises(AddressError) as caught:
        ChannelAddress.parse(f"amqp://ann:hush@broker?{query}")
    assert said in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "option", ["cacertfile=/ca.pem", "certfile=/c.pem", "keyfile=/k.pem", "verify=verify_peer", "server_name_indication=other"]
)
def test_nobody_takes_a_connection_without_tls_for_one_with_it(option: str) -> None:
    with pytest.raises(AddressError, match=f"{option.partition('=')[0]} is an option of TLS: .* amqps://"):
        ChannelAddress.parse(f"amqp://ann:hush@broker?{option}")


@pytest.mark.parametrize("wrong", ["..", ".a", "x" * 64, "a%00b"])
def test_the_name_of_the_server_is_that_of_a_host(wrong: str) -> None:
    with pytest.raises(AddressError, match="a host's name"):
        ChannelAddress.parse(f"amqps://broker?server_name_indication={wrong}")


def test_the_name_of_the_server_cannot_be_disabled() -> None:
    with pytest.raises(AddressError, match="server_name_indication is a host name"):
        ChannelAddress.parse("amqps://broker?server_name_indication=disable")


def test_what_may_be_a_part_of_a_password_is_no_option() -> None:
    with pytest.raises(AddressError, match="%3F") as caught:
        ChannelAddress.parse("amqp://ann:x?hush@broker")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("name", ["channel_max", "connection_timeout", "frame_max"])
def test_a_number_that_python_does_not_read_is_refused(name: str) -> None:
    with pytest.raises(AddressError):
        ChannelAddress.parse(f"amqp://broker?{name}={'9' * 5000}")


@pytest.mark.parametrize(
    ("option", "found"),
    [
        ("channel_max=0", 65535),
        ("channel_max=1", 1),
        ("channel_max=65535", 65535),
        ("frame_max=0", (1 << 32) - 1),
        ("frame_max=4096", 4096),
        ("frame_max=131072", 131072),
        ("frame_max=4294967295", (1 << 32) - 1),
    ],
)
def test_both_ends_of_a_number_and_0_for_no_bound(option: str, found: int) -> None:
    config = ChannelAddress.parse(f"amqp://broker?{option}").config()
    assert (config.channel_max if option.startswith("channel") else config.max_frame_size) == found


def test_several_hosts_are_kept_in_order() -> None:
    address = ChannelAddress.parse("amqp://one:1,two:2,three/")
    assert [(each.host, each.port) for each in address.endpoints] == [("one", 1), ("two", 2), ("three", 5672)]


@pytest.mark.parametrize("url", ["amqp://joe:my?secret@h", "amqp://joe:my?secret=1@h", "amqp://h?password=secret"])
def test_a_password_is_no_option(url: str) -> None:
    with pytest.raises(AddressError) as caught:
        ChannelAddress.parse(url)
    assert "secret" not in str(caught.value)


def test_an_address_of_sessions_is_none_of_channels() -> None:
    with pytest.raises(AddressError, match="ChannelAddress"):
        ChannelAddress.of(Address.parse("amqp://h"))  # type: ignore[arg-type]


def test_an_option_of_channels_tells_that_the_address_is_one() -> None:
    assert is_of_channels("amqp://h?heartbeat=5&verify=wrong")
    assert not is_of_channels("amqp://h?heartbeat=5&nope=1")
    assert not is_of_channels("amqp://h/verify=1")
