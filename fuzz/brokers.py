"""Two clients that send anything to a broker: it never raises, stays within its limits, and can be stored and restored."""

from __future__ import annotations

from typing import Final

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.config import ServerConfig
from amqp_sansio.limits import BrokerLimits
from fuzz import spoken
from fuzz.corpus import Said
from fuzz.subjects import LIMITS, MOST, EndlessError

BROKER_LIMITS: Final = BrokerLimits(
    virtual_hosts=2, exchanges=12, queues=4, bindings=6, binding_words=20, subscribers=4, queue_messages=8, queue_octets=2000,
    throttle_messages=4, branches=3, transaction_messages=4, transaction_octets=500, held_messages=7, held_octets=700,
    outbox_octets=3000, unaccepted_transfers=5, kept_sessions=2,
)  # fmt: skip
BEFORE: Final = (
    *spoken.OPENING, "client:queue.declare", "client:exchange.bind", "client:message.subscribe", "client:message.flow",
    "client:message.flow byte",
)  # fmt: skip
"""What both clients have sent before: a bound queue exists, to which both subscribe with credit."""


def broker(said: Said) -> list[str]:
    """Sends the octets of "client" and "server" as two clients; reports nothing, since the order of service may differ."""
    subject = Broker(BrokerConfig(limits=BROKER_LIMITS, journal=True))
    subject.tick(0.0)
    peers = {who: subject.connect(ServerConfig(limits=LIMITS)) for who in ("client", "server")}
    before = b"".join([octets for _, octets in spoken.spoken(BEFORE, "client")])
    things = 0
    for who, octets in (("client", before), ("server", before), *said):
        peers[who].receive_data(octets)
        for _ in subject.events():
            things += 1
            if things > MOST:
                raise EndlessError(f"{MOST} events")
        for entry in subject.journal():
            subject.journalled(entry.number)
        for peer in subject.ready():
            peer.data_to_send()
    subject.tick(5.0)
    _stored(subject)
    peers["client"].receive_eof()
    for _ in subject.events():
        pass
    subject.tick(500.0)
    for entry in subject.journal():
        subject.journalled(entry.number)
    _stored(subject)
    return []


def _stored(subject: Broker) -> None:
    stored = subject.snapshot()
    again = Broker.restore(stored, config=subject.config)
    assert len(again._hosts) <= BROKER_LIMITS.virtual_hosts
