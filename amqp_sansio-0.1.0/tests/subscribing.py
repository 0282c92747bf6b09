"""Subscriptions that may get anything, for tests in which messages come and credit does not matter."""

from __future__ import annotations

from amqp_sansio.engine.session import Session
from amqp_sansio.engine.subscription import Subscription
from amqp_sansio.ledger.credit import INFINITE


def subscribed(session: Session, *destinations: str) -> list[Subscription]:
    """Subscribes with each destination and grants credit without limit: three commands each."""
    made: list[Subscription] = []
    for destination in destinations:
        subscription = session.subscribe("q", destination)
        subscription.grant(INFINITE)
        made.append(subscription)
    return made
