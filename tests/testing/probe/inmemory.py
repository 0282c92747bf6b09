"""Our broker, in memory, as somebody who is probed."""

from __future__ import annotations

from amqp_sansio.broker import Broker
from amqp_sansio.broker.broker import Peer


class InMemory:
    """One connection to a broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.peer: Peer = broker.connect()

    def exchange(self, octets: bytes) -> bytes | None:
        self.peer.receive_data(octets)
        for _ in self.broker.events():
            pass
        answer = self.peer.data_to_send()
        return answer if answer or not self.peer.finished else None

    def close(self) -> None:
        self.peer.receive_eof()
        for _ in self.broker.events():
            pass
