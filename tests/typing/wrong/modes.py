"""A program that gives numbers where the specification has names."""

from amqp_sansio import Channel, ClientConnection, ServedChannel, ServerConnection, Session
from amqp_sansio.adapters import sync
from amqp_sansio.broker import Peer


def on_a_session(session: Session) -> None:
    session.subscribe("q", "d", accept_mode=1)  # wrong: arg-type
    session.subscribe("q", "d", acquire_mode=1)  # wrong: arg-type
    session.subscriptions["d"].set_mode(0)  # wrong: arg-type
    session.publish("", accept_mode=0)  # wrong: arg-type
    session.publish("", acquire_mode=0)  # wrong: arg-type
    session.publish("", delivery_mode=2)  # wrong: arg-type
    session.reject(7, 1)  # wrong: arg-type
    session.fail(None, 404)  # wrong: arg-type


def on_a_channel(channel: Channel, served: ServedChannel) -> None:
    channel.publish("", "q", b"x", delivery_mode=2)  # wrong: arg-type
    channel.close(200)  # wrong: arg-type
    served.fail(404, "no such queue")  # wrong: arg-type
    served.return_(312, "NO_ROUTE", "", "q")  # wrong: arg-type


def on_a_connection(client: ClientConnection, server: ServerConnection, peer: Peer) -> None:
    client.close(320)  # wrong: arg-type
    server.refuse(b"name", 1)  # wrong: arg-type
    peer.close(320)  # wrong: arg-type


def in_a_client(message: sync.Message) -> None:
    message.reject(1)  # wrong: arg-type
