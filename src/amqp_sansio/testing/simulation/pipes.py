"""A connection between a client and a broker: octets stay in flight until the simulation delivers them."""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.testing.simulation.served import ServedPeer


@attrs.define(eq=False)
class Pipe:
    """One direction of a connection: what was sent and has not arrived at the hearer."""

    _hearer: ClientConnection | ServedPeer
    flying: bytearray = attrs.field(factory=bytearray)
    ended: bool = False
    """Whether nothing more is written: the end of the stream follows the octets in flight."""
    heard: bool = False
    """Whether the end of the stream has arrived."""
    until: int = 0
    """The number of the step before which nothing arrives."""

    def put(self, octets: bytes) -> None:
        """Sends octets; after the end of the stream they are lost."""
        if not self.ended:
            self.flying.extend(octets)

    def take(self, most: int) -> bytes:
        """Removes and returns the next octets to arrive."""
        octets = bytes(self.flying[:most])
        del self.flying[: len(octets)]
        return octets

    def arrive(self, most: int, moment: int) -> bool:
        """Delivers up to `most` octets, or the end of the stream; returns whether anything arrived."""
        if self.until > moment or self.heard:
            return False
        if self.flying:
            self._hearer.receive_data(self.take(most))
        elif self.ended:
            self.heard = True
            self._hearer.receive_eof()
        else:
            return False
        return True

    @property
    def due(self) -> bool:
        """Whether anything is left to arrive."""
        return bool(self.flying) or (self.ended and not self.heard)


class Wire:
    """A connection of a client, in both directions."""

    def __init__(self, client: ClientConnection, peer: ServedPeer) -> None:
        self.client: Final = client
        self.up: Final = Pipe(peer)
        """From the client to the broker."""
        self.down: Final = Pipe(client)
        self.harmed = False
        """Whether one of its ends may have taken it for lost."""

    def say(self) -> bytes:
        """Sends the client's output, and returns it."""
        octets = self.client.data_to_send()
        self.up.put(octets)
        if self.client.finished:
            self.close_from_client()
        return octets

    def close_from_client(self) -> None:
        """Closes the client's socket: it reads no more, and its end of stream is sent to the broker."""
        self.harmed = True
        self.up.ended = True
        self.down.flying.clear()
        self.down.ended = self.down.heard = True

    def close_from_broker(self) -> None:
        """Closes the broker's socket."""
        self.harmed = True
        self.down.ended = True
        self.up.flying.clear()
        self.up.ended = self.up.heard = True

    def half_close(self) -> None:
        """Ends the client's output; the broker receives the end of stream after the octets in flight."""
        self.harmed = True
        self.up.ended = True

    def cut(self) -> None:
        """Cuts the connection: octets in flight are lost, and both sides receive the end of stream."""
        self.harmed = True
        for pipe in (self.up, self.down):
            pipe.flying.clear()
            pipe.ended = True
