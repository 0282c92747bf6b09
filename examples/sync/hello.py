"""One message there and back: `python hello.py amqp://guest:guest@127.0.0.1:5672/`."""

import sys

from amqp_sansio.adapters.sync import connect


def main(url: str) -> None:
    """Declares a queue, publishes a message to it, and receives it."""
    with connect(url) as connection, connection.session() as session:
        session.declare_queue("hello", auto_delete=True)
        session.publish("", "hello", b"Hello, broker!")
        with session.subscribe("hello") as subscription:
            message = subscription.receive()
            print(message.body.decode())
            message.accept()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "amqp://localhost:5672/")
