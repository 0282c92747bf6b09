"""A server of one's own: what is wrong in it."""

from amqp_sansio import ClientConnection, ServerConfig
from amqp_sansio.conversation.hosting import OwnServer
from amqp_sansio.events import Event


def of_a_client(connection: ClientConnection, event: Event) -> None: ...


OwnServer(ServerConfig(), of_a_client)  # wrong: arg-type
