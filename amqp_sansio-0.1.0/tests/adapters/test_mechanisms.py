"""SCRAM before PLAIN, where nobody said otherwise and both sides can."""

from __future__ import annotations

import sys

import pytest
from tests.adapters import scenarios
from tests.adapters.asyncio.test_connection import AsyncioLoop
from tests.adapters.blocking import BlockingLoop
from tests.adapters.loops import Loop
from tests.adapters.served import Served
from tests.adapters.trio.test_connection import TrioLoop

from amqp_sansio import ClientConfig, ServerConfig
from amqp_sansio.adapters.mechanisms import proving
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.sasl import Plain, PlainServer, ScramServer, scram_secret
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import Authenticated
from amqp_sansio.testing.link import Link

GUEST = ClientConfig(username="guest", password="secret")
SECRET = scram_secret("secret", salt=b"0123456789ab")


def names(config: ClientConfig) -> list[str]:
    return [each.name for each in config.mechanisms]


def test_scram_comes_first() -> None:
    assert names(proving(GUEST)) == ["SCRAM-SHA-256", "PLAIN"]
    assert "secret" not in repr(proving(GUEST))


def test_what_was_said_stays() -> None:
    said = ClientConfig(mechanisms=(Plain("guest", "secret"),))
    assert proving(said) is said
    anonymous = ClientConfig()
    assert proving(anonymous) is anonymous


def test_what_scram_cannot_say_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
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
