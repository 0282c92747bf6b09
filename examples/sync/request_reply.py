"""A request and its answer: `python request_reply.py amqp://guest:guest@127.0.0.1:5672/`."""

import sys
import threading
from uuid import uuid4

from amqp_sansio.adapters.sync import Session, connect


def serve(session: Session, requests: int) -> None:
    """Publishes each answer to `reply_to`, with the id of its request."""
    with session.subscribe("requests") as subscription:
        for message in subscription:
            to = message.reply_to
            if to is not None:
                answer = message.body.upper()
                session.publish(to.exchange or "", to.routing_key, answer, correlation_id=message.correlation_id)
            message.accept()
            requests -= 1
            if not requests:
                return


def main(url: str) -> None:
    """Both sides in one program, each with a session of its own; one of them in a thread."""
    answers = f"answers-{uuid4()}"
    with connect(url) as connection, connection.session() as server, connection.session() as client:
        server.declare_queue("requests", auto_delete=True)
        client.declare_queue(answers, exclusive=True, auto_delete=True)
        thread = threading.Thread(target=serve, args=(server, 3))
        thread.start()
        with client.subscribe(answers) as subscription:
            for word in ("one", "two", "three"):
                client.publish("", "requests", word.encode(), reply_to=answers, correlation_id=word)
                message = subscription.receive()
                message.accept()
                print(f"{message.correlation_id} -> {message.body.decode()}")
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "amqp://localhost:5672/")
