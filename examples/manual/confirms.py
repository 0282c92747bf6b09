"""Publishes readings and prints which of them the broker has confirmed: `python confirms.py URL COUNT`."""

import sys
from uuid import UUID, uuid4

from amqp_sansio.adapters.sync import AmqpError, MessageReturned, Pending, connect


def main(url: str, count: int) -> None:
    """Sends without waiting, then waits for each confirm; the broker returns what no queue takes."""
    with connect(url) as connection, connection.session() as session:
        session.declare_queue("readings", durable=True)
        sent: dict[UUID, Pending[None]] = {}
        for number in range(count):
            name = uuid4()
            sent[name] = session.send(
                "", "readings" if number % 5 else "nowhere", b"%d" % number,
                message_id=name, persistent=True, mandatory=True, priority=4, headers={"sensor": number % 3},
            )  # fmt: skip
        confirmed = returned = 0
        for name, pending in sent.items():
            try:
                pending.result(30.0)
            except MessageReturned:
                returned += 1
            except AmqpError as error:
                print(f"{name}: {error}")
            else:
                confirmed += 1
        print(f"{confirmed} confirmed, {returned} returned")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
