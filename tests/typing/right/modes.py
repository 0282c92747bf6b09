"""A program that says modes and codes by their names."""

from amqp_sansio import Channel, ClientConnection, ServedChannel, ServerConnection, Session
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, CloseCode, DeliveryMode, DetachCode, ErrorCode, FlowMode, RejectCode
from amqp_sansio.spec.reply_codes import ReplyCode


def on_a_session(session: Session) -> None:
    subscription = session.subscribe("q", "d", accept_mode=AcceptMode.EXPLICIT, acquire_mode=AcquireMode.NOT_ACQUIRED)
    subscription.set_mode(FlowMode.CREDIT)
    session.publish("", accept_mode=AcceptMode.NONE, delivery_mode=DeliveryMode.PERSISTENT)
    session.reject(7, RejectCode.UNROUTABLE)
    session.fail(None, ErrorCode.NOT_FOUND)


def on_a_channel(channel: Channel, served: ServedChannel) -> None:
    channel.publish("", "q", b"x", delivery_mode=DeliveryMode.PERSISTENT)
    channel.close(ReplyCode.REPLY_SUCCESS)
    served.fail(ReplyCode.NOT_FOUND, "no such queue")


def on_a_connection(client: ClientConnection, server: ServerConnection) -> None:
    client.close(CloseCode.CONNECTION_FORCED)
    client.close(ReplyCode.CONNECTION_FORCED)
    server.refuse(b"name", DetachCode.SESSION_BUSY)
