"""Open connections of either role, and the peer that says what it is told."""

from __future__ import annotations

from tests.scripted import ScriptedPeer

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import AttachRequested
from amqp_sansio.spec.connection import Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.session import Attach

HEADER = b"AMQP\x01\x01\x00\x0a"


def served(config: ServerConfig | None = None, tune_ok: TuneOk | None = None) -> ScriptedPeer:
    """The client, told what to say, of an open server."""
    peer = ScriptedPeer(ServerConnection(config))
    peer.say(HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), tune_ok or TuneOk(0, 0, 0), Open(""))
    peer.hear()
    assert peer.connection.is_open
    return peer


def serving(config: ClientConfig | None = None, tune: Tune | None = None) -> ScriptedPeer:
    """The server, told what to say, of an open client."""
    peer = ScriptedPeer(ClientConnection(config))
    peer.say(HEADER, Start({}, ("ANONYMOUS",), ("en_US",)), tune or Tune(65535, 65535, 0, 120), OpenOk(()))
    peer.hear()
    assert peer.connection.is_open
    return peer


def asked(config: ServerConfig | None = None, *, force: bool = False) -> ScriptedPeer:
    """A server that was asked for session s and has not answered."""
    peer = served(config)
    peer.connection.receive_data(peer.octets_of(Attach(b"s", force), 1))
    assert peer.connection.next_event() == AttachRequested(b"s", 1, force)
    return peer
