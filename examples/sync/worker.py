"""A worker with credit, which releases tasks that fail: `python worker.py amqp://guest:guest@127.0.0.1:5672/ 1000`."""

import sys

from amqp_sansio.adapters.sync import Message, connect


def work(message: Message) -> None:
    """Fails at the first attempt of every seventh task."""
    number = int(message.body.split()[1])
    if number % 7 == 0 and not message.redelivered:
        raise RuntimeError(f"task {number} is hard")


def main(url: str, count: int) -> None:
    """Never holds more than ten messages: the broker sends the next one when one is settled."""
    done = failed = 0
    with connect(url) as connection, connection.session() as session:
        session.declare_queue("work")
        with session.subscribe("work", prefetch=10) as subscription:
            for message in subscription:
                try:
                    work(message)
                except RuntimeError:
                    failed += 1
                    message.release(redelivered=True)
                else:
                    done += 1
                    message.accept()
                if done == count:
                    break
    print(f"{done} tasks done, {failed} given back once")


if __name__ == "__main__":
    url, count = (sys.argv[1:] + ["amqp://localhost:5672/", "1000"][len(sys.argv) - 1 :])[:2]
    main(url, int(count))
