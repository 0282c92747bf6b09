"""Measures the codecs that every message passes, in microseconds per call: `python bench/codec.py` (with src on the path).

Rich: 8 properties, 4 application headers, exchange and routing key.  Medians of the best of several rounds.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from uuid import UUID

from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, ReplyTo, Transfer
from amqp_sansio.wire.layouts.layout import decode_headers, walk_headers
from amqp_sansio.wire.layouts.v0_10 import LAYOUT

TRANSFER = Transfer("amq.topic", 0, 1)
DELIVERY = DeliveryProperties(priority=4, delivery_mode=2, timestamp=1700000000, exchange="amq.topic", routing_key="a.b.c")
MESSAGE = MessageProperties(
    content_length=100,
    message_id=UUID("12345678-1234-5678-1234-567812345678"),
    correlation_id=b"correlation-1",
    reply_to=ReplyTo("amq.direct", "reply-queue"),
    content_type="text/plain",
    content_encoding="utf-8",
    user_id=b"guest",
    application_headers={"trace": "0123456789abcdef", "attempt": 3, "tenant": "acme", "size": 100},
)
MINIMAL = DeliveryProperties(routing_key="a.b.c")


def cases() -> dict[str, Callable[[], object]]:
    """Returns what is measured, by name."""
    encode, struct32, decode = LAYOUT.encode_command, LAYOUT.encode_struct32, LAYOUT.decode_command
    command = encode(TRANSFER, False)
    rich = struct32(DELIVERY) + struct32(MESSAGE)
    minimal = struct32(MINIMAL)
    return {
        "encode transfer": lambda: encode(TRANSFER, False),
        "encode transfer and rich header": lambda: encode(TRANSFER, False) + struct32(DELIVERY) + struct32(MESSAGE),
        "decode transfer": lambda: decode(command, 0, len(command)),
        "decode rich header": lambda: decode_headers(rich, 0, len(rich)),
        "walk minimal header": lambda: walk_headers(minimal, 0, len(minimal), DEFAULT_LIMITS),
        "walk rich header": lambda: walk_headers(rich, 0, len(rich), DEFAULT_LIMITS),
        "nothing (the cost of measuring)": lambda: None,
    }


def main() -> None:
    """Prints one line for each case."""
    for name, call in cases().items():
        number = 20000
        best = min(timeit.repeat(call, number=number, repeat=15)) / number * 1e6
        print(f"{best:7.3f} us  {name}")


if __name__ == "__main__":
    main()
