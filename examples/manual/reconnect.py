"""Publishes a number for each line that it reads, whatever happens to the broker: `python reconnect.py URL`."""

import logging
import sys

from amqp_sansio.adapters.sync import AmqpError, RetryPolicy, connect

PATIENT = RetryPolicy(attempts=1000, first=0.1, longest=1.0, jitter=0.0, give_up=60.0)


def main(url: str) -> None:
    """A message in doubt is published again; consumers recognise a duplicate by its number."""
    with connect(url, retry=PATIENT) as connection:
        with connection.session() as session:
            session.declare_queue("numbers", durable=True)
            for number, _ in enumerate(sys.stdin):
                while True:
                    try:
                        session.publish("", "numbers", b"%d" % number, persistent=True, timeout=30.0)
                    except AmqpError as error:
                        logging.warning("again, because of %s", type(error).__name__)
                    else:
                        break
                print(f"published {number}", flush=True)
        print(f"connections after the first: {connection.remade}")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    main(sys.argv[1])
