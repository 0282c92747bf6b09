"""The calls for queues, exchanges and bindings say what they are named for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conversation.staged_line import run
from tests.conversation.test_session import World

from amqp_sansio.conversation.topology import Topology
from amqp_sansio.errors import SessionFailed
from amqp_sansio.spec import exchange, queue
from amqp_sansio.spec.base import Command


class Written(Topology):
    """What would be said."""

    def __init__(self) -> None:
        self.said: list[tuple[Command, float | None]] = []

    async def execute(self, command: Command[Any], *, timeout: float | None = None) -> Any:
        self.said.append((command, timeout))


def test_each_says_its_command() -> None:
    session = Written()

    async def main() -> None:
        await session.declare_queue("q", durable=True, exclusive=True, auto_delete=True, arguments={"a": [1]}, timeout=1)
        await session.declare_queue("q", passive=True, alternate_exchange="e")
        await session.delete_queue("q", if_unused=True, timeout=2)
        await session.delete_queue("q", if_empty=True)
        await session.purge("q", timeout=3)
        await session.query_queue("q", timeout=4)
        await session.declare_exchange("e", "topic", durable=True, auto_delete=True, arguments={"a": 1}, timeout=5)
        await session.declare_exchange("e", passive=True, alternate_exchange="f")
        await session.delete_exchange("e", if_unused=True, timeout=6)
        await session.bind("q", "e", "a.#", arguments={"x-match": "all"}, timeout=7)
        await session.unbind("q", "e", "a.#", timeout=8)
        await session.bound("e", "q", "a.#", arguments={"a": 1}, timeout=9)

    run(main())
    assert session.said == [
        (queue.Declare("q", None, False, True, True, True, {"a": [1]}), 1),  # type: ignore[dict-item]
        (queue.Declare("q", "e", True), None),
        (queue.Delete("q", True), 2),
        (queue.Delete("q", False, True), None),
        (queue.Purge("q"), 3),
        (queue.Query("q"), 4),
        (exchange.Declare("e", "topic", None, False, True, True, {"a": 1}), 5),
        (exchange.Declare("e", "direct", "f", True), None),
        (exchange.Delete("e", True), 6),
        (exchange.Bind("q", "e", "a.#", {"x-match": "all"}), 7),
        (exchange.Unbind("q", "e", "a.#"), 8),
        (exchange.Bound("e", "q", "a.#", {"a": 1}), 9),
    ]


def test_a_broker_does_what_they_say() -> None:
    world = World()

    async def main() -> None:
        async with world.session() as session:
            await session.declare_exchange("e", "topic")
            await session.declare_queue("q", timeout=1)
            await session.bind("q", "e", "a.#")
            assert not (await session.bound("e", "q", "a.#")).key_not_matched
            await session.publish("e", "a.b", b"x")
            assert (await session.query_queue("q")).message_count == 1
            await session.purge("q")
            await session.unbind("q", "e", "a.#")
            assert (await session.bound("e", "q", "a.#")).key_not_matched
            await session.delete_exchange("e")
            await session.delete_queue("q")
            assert (await session.query_queue("q")).queue is None
            with pytest.raises(SessionFailed, match="404"):
                await session.declare_queue("q", passive=True)

    run(main())


def test_the_calls_are_those_of_a_session() -> None:
    with pytest.raises(NotImplementedError):
        Topology().execute(queue.Purge("q")).send(None)
