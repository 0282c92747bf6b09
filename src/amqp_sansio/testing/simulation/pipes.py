"""One connection between a client and a broker: octets are in flight until the simulation delivers some of them."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.testing.simulation.served import ServedPeer


class Pipe:
    """One direction: what was sent and has not arrived."""

    __slots__ = ("ended", "flying", "heard", "until")

    def __init__(self) -> None:
        self.flying: Final = bytearray()
        self.ended = False
        """Whether nothing more is written: the end flies behind what flies."""
        self.heard = False
        """Whether the end has arrived."""
        self.until = 0
        """The number of the step before which nothing arrives."""

    def put(self, octets: bytes) -> None:
        """Octets begin to fly; behind the end they are lost."""
        if not self.ended:
            self.flying.extend(octets)

    def take(self, most: int) -> bytes:
        """The next octets to arrive."""
        octets = bytes(self.flying[:most])
        del self.flying[: len(octets)]
        return octets

    def arrive(self, hearer: ClientConnection | ServedPeer, most: int, moment: int) -> bool:
        """Up to `most` octets arrive, or the end does; whether anything did."""
        if self.until > moment or self.heard:
            return False
        if self.flying:
            hearer.receive_data(self.take(most))
        elif self.ended:
            self.heard = True
            hearer.receive_eof()
        else:
            return False
        return True

    @property
    def due(self) -> bool:
        """Whether anything is left to arrive."""
        return bool(self.flying) or (self.ended and not self.heard)


class Wire:
    """A connection of a client."""

    def __init__(self, client: ClientConnection, peer: ServedPeer) -> None:
        self.client: Final = client
        self.peer: Final = peer
        self.up: Final = Pipe()
        """From the client to the broker."""
        self.down: Final = Pipe()
        self.harmed = False
        """Whether an end of it may have taken it for lost."""

    def say(self) -> bytes:
        """What the client has to say begins to fly."""
        octets = self.client.data_to_send()
        self.up.put(octets)
        if self.client.finished:
            self.close_from_client()
        return octets

    def close_from_client(self) -> None:
        """The client has closed its socket: it reads no more, and its end flies to the broker."""
        self.harmed = True
        self.up.ended = True
        self.down.flying.clear()
        self.down.ended = self.down.heard = True

    def close_from_broker(self) -> None:
        """The broker has closed its socket."""
        self.harmed = True
        self.down.ended = True
        self.up.flying.clear()
        self.up.ended = self.up.heard = True

    def half_close(self) -> None:
        """The client writes nothing more; the broker will hear its end behind what flies."""
        self.harmed = True
        self.up.ended = True

    def cut(self) -> None:
        """What flies is lost, and both sides will hear the end."""
        self.harmed = True
        for pipe in (self.up, self.down):
            pipe.flying.clear()
            pipe.ended = True

    def arrive_up(self, most: int, moment: int) -> bool:
        """Up to `most` octets reach the broker, or the end does; whether anything did."""
        return self.up.arrive(self.peer, most, moment)

    def arrive_down(self, most: int, moment: int) -> bool:
        """The same towards the client."""
        return self.down.arrive(self.client, most, moment)
