"""Determines a client's dialect by its protocol header, the first eight octets, for a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.server_handshake import ServerHandshake
from amqp_sansio.kernel.octets import octets_of
from amqp_sansio.protocol import SIZE

PATIENCE: Final = 256
"""Controls and commands of one connection that bring no event, heartbeats say, before others have their turn."""


def speaking(config: ServerConfig, dialect: int = 0) -> ServerHandshake:
    """A connection in one of the config's dialects: the preferred one, unless another place among them is named."""
    chosen = config.dialects[dialect]
    if len(config.dialects) == 1:
        return chosen.server(config)
    size = min(config.max_frame_size, chosen.framing.largest)
    return chosen.server(attrs.evolve(config, dialects=(chosen,), max_frame_size=size))


class Doorstep:
    """Keeps the first octets of a client until they tell which of several dialects it speaks.

    `connection` is one of the preferred dialect until then, without an octet.  It keeps the time of the handshake, and it
    answers a header that is none of theirs.
    """

    def __init__(self, config: ServerConfig, wake: Callable[[], object] | None = None) -> None:
        self._config: Final = config
        self._wake: Final = wake  # called when the connection has something to send, or has ended, and had not before
        self._early = bytearray()
        self.connection = self._speaking(0)
        """Whom to ask and to tell from now on."""
        self.passed = len(config.dialects) == 1
        """Whether it is known who hears the octets: they go to `connection` directly."""

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Stores octets that came from the client, as `Connection.receive_data` does."""
        if self.passed:
            self.connection.receive_data(data)
            return
        self._early += octets_of(data, "receive_data")
        if len(self._early) >= SIZE:
            self._pass()

    def receive_eof(self) -> None:
        """The client sends nothing more."""
        self._pass()
        self.connection.receive_eof()

    def _speaking(self, dialect: int) -> ServerHandshake:
        connection = speaking(self._config, dialect)
        connection._patience = PATIENCE
        connection._wake = self._wake
        return connection

    def _pass(self) -> None:
        if self.passed:
            return
        self.passed = True
        header, waited, dialects = bytes(self._early[:SIZE]), self.connection, self._config.dialects
        chosen = next((at for at, dialect in enumerate(dialects) if header in dialect.spellings), 0)
        if chosen and waited.closed_cause is None:  # else it is over, and nothing begins behind that
            self.connection = self._speaking(chosen)
            if waited.now is not None:
                self.connection.tick(waited.now)
                self.connection._handshake_until = waited._handshake_until
        self.connection.receive_data(self._early)
        self._early.clear()
