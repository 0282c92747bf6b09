"""The messages: the same for every contender, independent of protocol versions.

«minimal» has an exchange and a routing key; «rich» also has eight typical properties and four application headers.  «repeated»
is the same message again and again; «varied» changes everything that a real stream of messages changes, so that no cache hides
a cost.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

import attrs

EXCHANGE: Final = "market.quotes"
BODY_OCTETS: Final = 100
NO_ID: Final = UUID(int=0)


@attrs.frozen
class Message:
    """One message.  The fields below `routing_key` are empty in a minimal one."""

    body: bytes
    routing_key: str
    rich: bool = False
    content_type: str = ""
    content_encoding: str = ""
    delivery_mode: int = 0
    priority: int = 0
    correlation_id: str = ""
    reply_to: str = ""
    message_id: UUID = NO_ID
    timestamp: int = 0
    application_headers: dict[str, str | int] = attrs.Factory(dict)


def _body(number: int) -> bytes:
    text = b"%08d " % number + b"quote of the hour; " * 6
    return text[:BODY_OCTETS]


def _rich(number: int) -> Message:
    return Message(
        body=_body(number),
        routing_key=f"quotes.{number % 97}",
        rich=True,
        content_type="application/json",
        content_encoding="utf-8",
        delivery_mode=2,
        priority=number % 10,
        correlation_id=f"order-{number:08d}",
        reply_to=f"answers.{number % 13}",
        message_id=UUID(int=0x1234_0000_0000 + number),
        timestamp=1_700_000_000 + number,
        application_headers={
            "trace": f"{number:016x}",
            "attempt": number % 5,
            "region": ("north", "south", "east", "west")[number % 4],
            "sequence": number,
        },
    )


def messages(count: int, *, rich: bool, varied: bool) -> list[Message]:
    """Returns `count` messages; all the same object when they are not varied."""
    if not varied:
        one = _rich(7) if rich else Message(_body(7), "quotes.7")
        return [one] * count
    if rich:
        return [_rich(number) for number in range(count)]
    return [Message(_body(number), f"quotes.{number % 97}") for number in range(count)]
