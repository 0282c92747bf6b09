"""A session on which transfers have come."""

from __future__ import annotations

from tests.carriers import BareCarrier, attached_session

from amqp_sansio.engine.session import Session
from amqp_sansio.spec import message
from amqp_sansio.spec.codes import AcceptMode, AcquireMode


def with_transfers(accept_mode: int = 0, acquire_mode: int = 0, count: int = 3) -> tuple[BareCarrier, Session]:
    """A client with a subscription and some transfers on it."""
    carrier, session = attached_session("client", timeout=60)
    session.subscribe("q", "d", accept_mode=AcceptMode(accept_mode), acquire_mode=AcquireMode(acquire_mode)).grant(100)
    for _ in range(count):
        carrier.hear(message.Transfer("d", accept_mode, acquire_mode), body=b"body")
    carrier.happened()
    carrier.take()
    return carrier, session
