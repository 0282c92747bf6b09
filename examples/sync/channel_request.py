"""A request and its answer, by direct reply-to: `python channel_request.py amqp://guest:guest@127.0.0.1:5672`."""

import sys
import threading

from amqp_sansio.adapters.sync.channels import Channel, connect


def serve(channel: Channel, requests: int) -> None:
    """Publishes each answer to `reply_to`, with the id of its request."""
    with channel.subscribe("channel-requests") as subscription:
        for _ in range(requests):
            message = subscription.receive()
            to = message.reply_to or ""
            channel.publish("", to, message.body.upper(), correlation_id=message.correlation_id)
            message.accept()


def main(url: str) -> None:
    """Both sides in one program, each with a channel of its own; one of them in a thread."""
    with connect(url) as connection, connection.channel() as server, connection.channel() as client:
        server.declare_queue("channel-requests", exclusive=True)
        thread = threading.Thread(target=serve, args=(server, 3))
        thread.start()
        for word in ("one", "two", "three"):
            answer = client.request("", "channel-requests", word.encode(), timeout=30)
            print(f"{word} -> {answer.body.decode()}")
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "amqp://127.0.0.1")
