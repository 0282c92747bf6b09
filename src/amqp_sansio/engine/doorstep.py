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
"""How many controls and commands without an event (such as heartbeats) one connection may process before others get a turn."""


class Doorstep:
    """Buffers a client's first octets until they identify its dialect.

    Until then `connection` speaks the preferred dialect and has received no octets.  It keeps the handshake timeout, and
    answers a header of an unsupported dialect.
    """

    def __init__(self, config: ServerConfig, wake: Callable[[], object] | None = None) -> None:
        self._config: Final = config
        self._wake: Final = wake  # called when the connection has output or has ended, and before was neither
        self._early = bytearray()
        self.connection = self._speaking(0)
        """The connection; replaced once the dialect is known."""
        self.passed = len(config.dialects) == 1
        """Whether the dialect is known: from then on, octets may go to `connection` directly."""

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Stores octets from the client, like `Connection.receive_data`."""
        if self.passed:
            self.connection.receive_data(data)
            return
        self._early += octets_of(data, "receive_data")
        if len(self._early) >= SIZE:
            self._pass()

    def receive_eof(self) -> None:
        """Records that the client sends nothing more."""
        self._pass()
        self.connection.receive_eof()

    def _speaking(self, dialect: int) -> ServerHandshake:
        """Returns a connection in one of the config's dialects: the preferred one, or the one at this index."""
        config = self._config
        chosen = config.dialects[dialect]
        if len(config.dialects) > 1:
            size = min(config.max_frame_size, chosen.framing.largest)
            config = attrs.evolve(config, dialects=(chosen,), max_frame_size=size)
        connection = chosen.server(config)
        connection._patience = PATIENCE
        connection._wake = self._wake
        return connection

    def _pass(self) -> None:
        if self.passed:
            return
        self.passed = True
        header, waited, dialects = bytes(self._early[:SIZE]), self.connection, self._config.dialects
        chosen = next((at for at, dialect in enumerate(dialects) if header in dialect.spellings), 0)
        if chosen and waited.closed_cause is None:  # otherwise the connection is over, and no new one begins
            self.connection = self._speaking(chosen)
            if waited.now is not None:
                self.connection.tick(waited.now)
                self.connection._handshake_until = waited._handshake_until
        self.connection.receive_data(self._early)
        self._early.clear()
