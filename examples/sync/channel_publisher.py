"""Many messages at RabbitMQ, each confirmed: `python channel_publisher.py amqp://guest:guest@127.0.0.1:5672 1000`."""

import sys

from amqp_sansio.adapters.sync.channels import MessageReturned, connect


def main(url: str, count: int) -> None:
    """Publishes without waiting for each confirm: `send` waits only while too much is in flight."""
    with connect(url) as connection, connection.channel() as channel:
        channel.declare_queue("channel-work")
        pending = [
            channel.send("", "channel-work", f"task {number}".encode(), persistent=True, mandatory=True)
            for number in range(count)
        ]  # fmt: skip
        for each in pending:
            each.result()
        print(f"{count} messages confirmed")
        try:
            channel.publish("", "no such queue", b"lost?", mandatory=True)
        except MessageReturned as returned:
            print(f"returned: {returned}")


if __name__ == "__main__":
    url, count = (sys.argv[1:] + ["amqp://127.0.0.1", "1000"][len(sys.argv) - 1 :])[:2]
    main(url, int(count))
