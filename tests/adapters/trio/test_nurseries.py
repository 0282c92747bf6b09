"""Nurseries that the program does not see: what it raised, and its Ctrl-C, come out of them as they were."""

from __future__ import annotations

import pytest
import trio
from tests.adapters.served import Served

from amqp_sansio.adapters.trio import connect
from amqp_sansio.adapters.trio.nurseries import hidden_nursery
from amqp_sansio.adapters.trio.server import _Socket, serve
from amqp_sansio.adapters.trio.wire import Wire
from amqp_sansio.broker.broker import Broker


async def interrupted(self: object) -> None:
    raise KeyboardInterrupt


def test_a_single_exception_leaves_as_it_was_and_several_as_a_group() -> None:
    async def main(*errors: Exception) -> None:
        async with hidden_nursery() as nursery:

            async def fail(error: Exception) -> None:
                with trio.CancelScope(shield=True):
                    await trio.lowlevel.checkpoint()
                raise error

            for error in errors:
                nursery.start_soon(fail, error)

    with pytest.raises(KeyError):
        trio.run(main, KeyError())
    with pytest.raises(ExceptionGroup) as raised:
        trio.run(main, KeyError(), ValueError())
    assert {type(error) for error in raised.value.exceptions} == {KeyError, ValueError}


def test_an_interrupt_in_a_task_of_a_server_ends_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0) as server:
            async with await trio.open_tcp_stream(*server.address):
                await trio.sleep_forever()

    monkeypatch.setattr(_Socket, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trio.run(main)


def test_an_interrupt_in_a_task_of_a_client_ends_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(url: str) -> None:
        async with connect(url):
            await trio.sleep_forever()

    monkeypatch.setattr(Wire, "_keep_time", interrupted)
    with Served() as served, pytest.raises(KeyboardInterrupt):
        trio.run(main, served.url)


def test_a_group_that_the_block_raises_stays_one() -> None:
    async def main(url: str) -> None:
        async with connect(url):
            raise ExceptionGroup("mine", [KeyError()])

    with Served() as served, pytest.raises(ExceptionGroup, match="mine") as raised:
        trio.run(main, served.url)
    assert [type(error) for error in raised.value.exceptions] == [KeyError]
