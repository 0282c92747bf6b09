"""State machines of hypothesis that test a server or a client: subclass one and give it a transport (extra `[testing]`)."""

from amqp_sansio.errors.extras import of_extra

with of_extra("testing"):
    from amqp_sansio.testing.machines.client import ClientMachine
    from amqp_sansio.testing.machines.server import ServerMachine

__all__ = ["ClientMachine", "ServerMachine"]
