"""How a client that a URL configures checks certificates."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.adapters import scenarios
from tests.adapters.asyncio.test_connection import AsyncioLoop
from tests.adapters.blocking import BlockingLoop
from tests.adapters.loops import Loop
from tests.adapters.served import Served
from tests.adapters.trio.test_connection import TrioLoop

from amqp_sansio import ClientConfig, ServerConfig
from amqp_sansio.adapters import asyncio, sync, trio
from amqp_sansio.adapters.asyncio import channels as asyncio_channels
from amqp_sansio.adapters.asyncio.server import serve as asyncio_serve
from amqp_sansio.adapters.settings import proving, trust
from amqp_sansio.adapters.sync import channels
from amqp_sansio.adapters.sync.server import serve as sync_serve
from amqp_sansio.adapters.trio import channels as trio_channels
from amqp_sansio.broker.broker import Broker
from amqp_sansio.conversation.channels.address import ChannelAddress
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.sasl import Plain, PlainServer, ScramServer, scram_secret
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import AddressError, EncodeError
from amqp_sansio.events import Authenticated
from amqp_sansio.testing.link import Link


def test_a_url_without_files_leaves_it_to_the_adapter() -> None:
    assert trust(ChannelAddress.parse("amqps://broker")) is None
    assert trust(ChannelAddress.parse("amqps://broker?verify=verify_peer")) is None


def test_a_url_may_take_every_certificate() -> None:
    context = trust(ChannelAddress.parse("amqps://broker?verify=verify_none"))
    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


def test_a_url_names_authorities_and_the_own_certificate(tmp_path: Path) -> None:
    authority = trustme.CA()
    mine = authority.issue_cert("me")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    mine.private_key_pem.write_to_path(tmp_path / "key.pem")
    mine.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    url = f"amqps://broker?cacertfile={tmp_path}/ca.pem&certfile={tmp_path}/cert.pem&keyfile={tmp_path}/key.pem"
    context = trust(ChannelAddress.parse(url))
    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert len(context.get_ca_certs()) == 1


@pytest.mark.parametrize("option", ["cacertfile", "certfile"])
@pytest.mark.parametrize(("name", "why"), [("none.pem", "No such file or directory"), ("empty.pem", "no [a-z ,]+$")])
def test_a_file_that_tls_cannot_use_is_named_at_once(option: str, name: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    with pytest.raises(AddressError, match=f"{tmp_path / name}: TLS cannot use it: {why}"):
        trust(ChannelAddress.parse(f"amqps://broker?{option}={tmp_path / name}"))


@pytest.mark.parametrize("connect", [asyncio.connect, sync.connect, trio.connect, channels.connect])
@pytest.mark.parametrize(
    ("setting", "given", "rule"),
    [
        ("tls", True, "an ssl.SSLContext"), ("retry", 3, "a RetryPolicy"), ("config", "c", "a ClientConfig"),
        ("close_timeout", "5", "seconds, 0 or more"), ("close_timeout", -1, "seconds, 0 or more"),
        ("on_event", 5, "a callable"), ("log_octets", "yes", "True or False"),
        ("tracing", 5, r"an adapters.otel.Tracing\(\)"),
    ],
)  # fmt: skip
def test_a_setting_of_another_type_is_refused_before_anything_is_tried(
    connect: Any, setting: str, given: object, rule: str
) -> None:
    with pytest.raises(EncodeError, match=f"connect: {setting}: takes {rule}, not {given!r}"):
        connect("amqps://127.0.0.1:1", **{setting: given})


@pytest.mark.parametrize("module", [asyncio_channels, channels, trio_channels])
def test_what_chooses_the_topology_can_be_called(module: Any) -> None:
    with pytest.raises(EncodeError, match=r"connect: topology: takes a callable, such as .+, not 5"):
        module.connect("amqp://127.0.0.1:1", topology=5)


@pytest.mark.parametrize("module", [trio, trio_channels])
def test_a_nursery_is_one(module: Any) -> None:
    with pytest.raises(EncodeError, match=r"connect: nursery: takes a trio.Nursery, not 5"):
        module.connect("amqp://127.0.0.1:1", 5)


@pytest.mark.parametrize("serve", [asyncio_serve, sync_serve])
@pytest.mark.parametrize(
    ("setting", "given", "rule"),
    [
        ("address", 5, "the text of a host or an IP address"), ("port", "5672", "0 to 65535"), ("port", 65536, "0 to 65535"),
        ("port", True, "0 to 65535"), ("tls", True, "an ssl.SSLContext"), ("limits", 5, "a ServerLimits"),
    ],
)  # fmt: skip
def test_a_wrong_setting_of_a_server_is_refused_at_once(serve: Any, setting: str, given: object, rule: str) -> None:
    broker = Broker()
    with pytest.raises(EncodeError, match=f"serve: {setting}: takes {rule}, not {given!r}"):
        serve(broker, broker.connect, **{setting: given})


GUEST = ClientConfig(username="guest", password="secret")
SECRET = scram_secret("secret", salt=b"0123456789ab")


def names(config: ClientConfig) -> list[str]:
    return [each.name for each in config.mechanisms]


def test_scram_comes_first() -> None:
    assert names(proving(GUEST)) == ["SCRAM-SHA-256", "PLAIN"]
    assert "secret" not in repr(proving(GUEST))


def test_words_stay() -> None:
    said = ClientConfig(mechanisms=(Plain("guest", "secret"),))
    assert proving(said) is said
    anonymous = ClientConfig()
    assert proving(anonymous) is anonymous


def test_what_scram_cannot_encode_has_a_plain_error(monkeypatch: pytest.MonkeyPatch) -> None:
    control = ClientConfig(username="guest", password="bell\x07")
    assert proving(control) is control
    monkeypatch.setitem(sys.modules, "scramp", None)
    assert proving(GUEST) is GUEST


@pytest.mark.parametrize("scram", [True, False])
def test_it_lets_us_in(scram: bool) -> None:
    plain = PlainServer(lambda user, password: (user, password) == ("guest", "secret"))
    offered = (ScramServer(lambda user: SECRET), plain) if scram else (plain,)
    link = Link(ClientConnection(proving(GUEST)), ServerConnection(ServerConfig(mechanisms=offered)))
    (proven,) = [event for _, event in link.run() if isinstance(event, Authenticated)]
    assert (proven.identity, proven.mechanism) == ("guest", "SCRAM-SHA-256" if scram else "PLAIN")


@pytest.mark.parametrize("loop", [BlockingLoop, AsyncioLoop, TrioLoop])
def test_every_adapter_does_it(loop: type[Loop]) -> None:
    """The server knows no other mechanism."""
    made = loop()
    with Served(ServerConfig(mechanisms=(ScramServer(lambda user: SECRET),))) as served:
        url = served.url.replace("amqp://", "amqp://guest:secret@")
        assert len(made.run(lambda: scenarios.there_and_back(made, url, 3))) == 3
