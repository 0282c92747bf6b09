"""A server of one's own: its handler names the connections of its dialects, or those of both families."""

from amqp_sansio import ChannelServerConnection, ServerConfig, ServerConnection
from amqp_sansio.conversation.hosting import OwnServer
from amqp_sansio.events import Event


def of_sessions(connection: ServerConnection, event: Event) -> None: ...


def of_channels(connection: ChannelServerConnection, event: Event) -> None: ...


def of_both(connection: ServerConnection | ChannelServerConnection, event: Event) -> None: ...


OwnServer(ServerConfig(), of_sessions)
OwnServer(ServerConfig(), of_channels)
OwnServer(ServerConfig(), of_both, lambda connection, error: connection.close())
