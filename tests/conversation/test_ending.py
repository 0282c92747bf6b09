"""How long the ends of a connection's parts are waited for."""

from __future__ import annotations

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.ending import Ending


def test_who_let_an_end_pass_is_not_waited_for_again_on_that_connection() -> None:
    client = Client(ClientConfig(), prefix="p")
    ending = Ending(client, 10.0)
    assert (ending.timeout, ending.seconds) == (10.0, 10.0)
    ending.missed()
    assert (ending.timeout, ending.seconds) == (0.0, 10.0)
    client.connections += 1  # it came back
    assert ending.timeout == 10.0
