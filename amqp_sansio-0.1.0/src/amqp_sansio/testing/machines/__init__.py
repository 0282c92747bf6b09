"""State machines of hypothesis that test your server or your client: subclass one, give it a transport (extra `[testing]`)."""

from amqp_sansio.testing.machines.client import ClientMachine
from amqp_sansio.testing.machines.server import ServerMachine

__all__ = ["ClientMachine", "ServerMachine"]
