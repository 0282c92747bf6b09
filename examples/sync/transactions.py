"""Moves messages from one queue to another, all or none: `python transactions.py amqp://guest:guest@127.0.0.1:5672/`."""

import sys

from amqp_sansio.adapters.sync import Session, connect


def count(session: Session, name: str) -> int:
    """Returns the number of messages on a queue."""
    return session.query_queue(name).message_count or 0


def move(session: Session, many: int, *, fail: bool) -> None:
    """Moves messages to the other queue in one transaction; with `fail`, raises in the middle of it."""
    with session.subscribe("from", prefetch=many) as subscription, session.transaction():
        for _ in range(many):
            message = subscription.receive()
            session.send("", "to", message.body)
            message.accept()
        if fail:
            raise RuntimeError("not today")


def main(url: str) -> None:
    """One session works in transactions, another one counts messages."""
    with connect(url) as connection, connection.session() as looking:
        for name in ("from", "to"):
            looking.declare_queue(name)
            looking.purge(name)
        for number in range(5):
            looking.publish("", "from", f"message {number}".encode())
        for fail in (True, False):
            try:
                with connection.session() as session:
                    move(session, 5, fail=fail)
            except RuntimeError as error:
                print(f"rolled back: {error}")
            print(f"from: {count(looking, 'from')}, to: {count(looking, 'to')}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "amqp://localhost:5672/")
