"""How a connection lives, whatever is spoken on it, written once for whoever awaits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.adapters.loops import Loop, until
from tests.adapters.scenarios import QUICK
from tests.adapters.served import Served
from tests.adapters.served_channels import ServedChannels

from amqp_sansio.errors import ConnectionLost, LocalProtocolError


@contextmanager
def served(loop: Loop) -> Iterator[Served | ServedChannels]:
    """The broker that the loop's `connect` speaks to."""
    with ServedChannels() if loop.connect.__module__.endswith("channels") else Served() as broker:
        yield broker


def test_a_connection_is_opened_once_and_closed_as_often_as_one_likes(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection:
            assert connection.is_open
            with pytest.raises(LocalProtocolError, match="opened before"):
                connection._client.enter()
            await connection.close()
            await connection.close()
        assert not connection.is_open
        await connection.closed

    with served(loop) as broker:
        loop.run(lambda: main(broker.url))


def test_a_connection_that_was_lost_is_made_again_and_counted(loop: Loop) -> None:
    async def main(broker: Served | ServedChannels) -> None:
        async with loop.connect(broker.url, retry=QUICK) as connection:
            broker.cut()
            await until(loop, connection._client, lambda: connection.remade == 1)

    with served(loop) as broker:
        loop.run(lambda: main(broker))


def test_without_a_policy_the_loss_is_the_end_and_says_why(loop: Loop) -> None:
    async def main(broker: Served | ServedChannels) -> None:
        async with loop.connect(broker.url) as connection:
            broker.cut()
            with pytest.raises(ConnectionLost):
                await connection.closed
            assert connection.remade == 0

    with served(loop) as broker:
        loop.run(lambda: main(broker))


def test_a_connection_whose_end_may_take_no_time_is_over_at_once(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection:
            await connection.close(timeout=0)
            assert connection.closed.done

    with served(loop) as broker:
        loop.run(lambda: main(broker.url))
