"""The other side of a connection of the older dialects, which says what it is told."""

from __future__ import annotations

from typing import Final

from tests.scripted import ChannelPeer

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9_1, AMQP_0_9_RABBITMQ, ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.wire.framing import Assembly

DIALECTS: Final = (AMQP_0_9_1, AMQP_0_9_RABBITMQ, AMQP_0_8_UNBIND)
CAPABLE: Final[dict[str, object]] = {"capabilities": {"authentication_failure_close": True, "connection.blocked": True}}


def frames(dialect: ChannelDialect, *words: Control | bytes) -> bytes:
    """The frames of controls on channel 0; octets stay as they are."""
    return b"".join(
        [word if isinstance(word, bytes) else dialect.framing.own(dialect.codec.write_control(word), 1 << 20) for word in words]
    )


def controls(dialect: ChannelDialect, octets: bytes) -> list[Control]:
    """What such frames say."""
    reader = dialect.framing.overhearing(DEFAULT_LIMITS, lambda *_: False, 0)
    reader.receive(octets)
    said: list[Control] = []
    while (unit := reader.next()) is not None:
        assert isinstance(unit, Assembly)
        said.append(dialect.codec.read_control(unit))
    return said


def start(dialect: ChannelDialect, *mechanisms: str, **capabilities: bool) -> Start:
    """A start of this version."""
    version = dialect.handshake.version
    assert version is not None
    return Start({"capabilities": capabilities}, mechanisms or ("ANONYMOUS",), ("en_US",), *version)  # type: ignore[dict-item]


def client_of(dialect: ChannelDialect, config: ClientConfig | None = None) -> tuple[ChannelClientConnection, ChannelPeer]:
    """A client, and its server."""
    client = ChannelClientConnection(config or ClientConfig(dialect=dialect))
    return client, ChannelPeer(client, dialect=dialect)


def open_client(
    dialect: ChannelDialect, config: ClientConfig | None = None, tune: Tune = Tune(2047, 131072, None, 0)
) -> tuple[ChannelClientConnection, ChannelPeer]:
    """One that is open; what it said so far is taken."""
    client, server = client_of(dialect, config)
    server.say(start(dialect), tune, OpenOk())
    assert client.is_open
    server.hear()
    return client, server


def server_of(dialect: ChannelDialect, config: ServerConfig | None = None) -> tuple[ChannelServerConnection, ChannelPeer]:
    """A server, and its client."""
    server = ChannelServerConnection(config or ServerConfig(dialects=(dialect,)))
    return server, ChannelPeer(server, dialect=dialect)


def login(
    dialect: ChannelDialect, mechanism: str = "ANONYMOUS", response: bytes = b"", told: dict[str, object] | None = None
) -> bytes:
    """The protocol header and start-ok."""
    properties = CAPABLE if told is None else told
    return dialect.header + frames(dialect, StartOk(properties, mechanism, response, "en_US"))  # type: ignore[arg-type]


def open_server(
    dialect: ChannelDialect, config: ServerConfig | None = None, told: dict[str, object] | None = None
) -> tuple[ChannelServerConnection, ChannelPeer]:
    """One that is open; what it said so far is taken."""
    server, client = server_of(dialect, config)
    client.say(login(dialect, told=told), TuneOk(2047, 65536, 0), Open("/"))
    assert server.is_open
    client.hear()
    return server, client
