"""Many messages, each confirmed: `python publisher.py amqp://guest:guest@127.0.0.1:5672/ 1000`."""

import sys

from amqp_sansio.adapters.sync import connect
from amqp_sansio.conversation.errors import MessageReturned


def main(url: str, count: int) -> None:
    """Publishes without waiting for each confirm: `send` waits only while too much is in flight."""
    with connect(url) as connection, connection.session() as session:
        session.declare_queue("work")
        pending = [
            session.send("", "work", f"task {number}".encode(), persistent=True, mandatory=True)
            for number in range(count)
        ]  # fmt: skip
        for each in pending:
            each.result()
        print(f"{count} messages confirmed")
        try:
            session.publish("", "no such queue", b"lost?", mandatory=True)
        except MessageReturned as returned:
            print(f"returned: {returned}")


if __name__ == "__main__":
    url, count = (sys.argv[1:] + ["amqp://localhost:5672/", "1000"][len(sys.argv) - 1 :])[:2]
    main(url, int(count))
