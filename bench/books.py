"""Measures the credit of one message: in the ledger that client and server keep, and in an observer's subscriptions.

The latter finds the subscription by name and remembers each delivery until it is completed, which client and server do anyway
with their deliveries.  This is why they do not use it (tests/contracts/test_books.py).

python -m bench.books
"""

from __future__ import annotations

import time
from typing import Final

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE, MESSAGE, OCTET, CreditBook, Subscriptions

MESSAGES: Final = 100_000
TURNS: Final = 5


def in_a_role(messages: int) -> float:
    """Returns the CPU seconds for this number of messages, sent by one side and completed by the other."""
    book = CreditBook()
    book.grant(MESSAGE, messages)
    book.grant(OCTET, INFINITE)
    began = time.process_time()
    for _ in range(messages):
        book.spend(100, 100)
        book.complete(1, 100, 100)
    book.reported()
    return time.process_time() - began


def of_a_third_person(messages: int) -> float:
    """Returns the same for `Subscriptions`."""
    book = Subscriptions(1, messages)
    book.subscribe("d")
    book.grant("d", MESSAGE, messages)
    book.grant("d", OCTET, INFINITE)
    began = time.process_time()
    for id in range(messages):
        book.delivered(id, "d", 100, 100)
    book.completed(RangeSet.span(0, messages - 1))
    return time.process_time() - began


def main(messages: int = MESSAGES) -> str:
    """Returns one line: the fastest of several turns each."""
    turns = [(in_a_role(messages), of_a_third_person(messages)) for _ in range(TURNS)]
    role, third = min(each[0] for each in turns), min(each[1] for each in turns)
    each = [f"{seconds / messages * 1e6:.2f} us" for seconds in (role, third)]
    return f"a role {each[0]}, a third person {each[1]} a message: x{third / role:.2f}"


if __name__ == "__main__":
    print(main())
