"""A connection for code that awaits comes back, and ends, without a socket."""

from __future__ import annotations

import asyncio
from typing import Self

import pytest

from amqp_sansio.adapters.asyncio.wire import Line
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.awaited import AwaitedConnection
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.errors import ConnectFailed, ConnectionLost


class Unplugged(AwaitedConnection[Client]):
    """A connection whose sockets lead nowhere."""

    def __init__(self, url: str) -> None:
        client = Client(ClientConfig(), prefix="p", retry=RetryPolicy(attempts=2, first=1.0, jitter=0.0))
        super().__init__(Address.parse(url), client, Line(), 1.0)
        self.tried: list[Endpoint] = []
        self.slept: list[float] = []
        self.stopped = 0

    async def _open(self) -> Self:
        await self._run(self._sleep, lambda: 0.0)
        return self

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def _connection(self, endpoint: Endpoint) -> None:
        self.tried.append(endpoint)
        raise ConnectionRefusedError("nobody")

    async def _stop(self) -> None:
        self.stopped += 1


def test_each_endpoint_is_tried_and_the_end_tells_why_none_answered() -> None:
    async def scenario() -> None:
        connection = await Unplugged("amqp://a,b:1")
        assert [str(each) for each in connection.tried] == ["a:5672", "b:1"]
        assert connection.slept == []
        assert (connection.is_open, connection.remade, connection.closed.done) == (False, 0, True)
        with pytest.raises(ConnectFailed, match="b:1"):
            await connection.closed

    asyncio.run(scenario())


def test_a_fault_of_an_adapter_ends_the_connection_too() -> None:
    class Broken(Unplugged):
        async def _connection(self, endpoint: Endpoint) -> None:
            raise RuntimeError("a fault")

    async def scenario() -> None:
        connection = await Broken("amqp://a")
        with pytest.raises(ConnectionLost, match="a fault"):
            await connection.closed

    asyncio.run(scenario())


def test_closing_twice_does_no_harm_and_stops_the_task_each_time() -> None:
    async def scenario() -> None:
        connection = Unplugged("amqp://a")
        await connection.close()
        await connection.close()
        assert connection.stopped == 2
        await connection.closed  # which raises nothing

    asyncio.run(scenario())
