"""What the scenarios need of an event loop, asyncio's or trio's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

import pytest

from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


class Loop(Protocol):
    """An event loop's own ways."""

    connect: Any  # of either shape
    timed_out: tuple[type[BaseException], ...]

    def run(self, main: Callable[[], Awaitable[Value]]) -> Value: ...
    def within(self, seconds: float) -> AbstractAsyncContextManager[Any]: ...
    async def receive(self, subscription: Any, seconds: float) -> Any: ...
    async def turn(self) -> None: ...
    async def wait(self, ticket: Ticket[None]) -> None: ...
    async def both(self, one: Callable[[], Awaitable[object]], two: Callable[[], Awaitable[object]]) -> None: ...
    async def cancelled_after(self, steps: int, what: Callable[[], Awaitable[object]]) -> bool: ...
    def tasks(self) -> int: ...


async def until(loop: Loop, client: Client, true: Callable[[], bool]) -> None:
    """Waits until it is so; looks whenever something has happened to the client: it heard something, or time passed."""
    so: Ticket[None] = Ticket()
    hear = client._hear

    def heard() -> None:
        hear()
        if true():
            so.settle(None)

    with pytest.MonkeyPatch.context() as patch:
        with client.guard:
            patch.setattr(client, "_hear", heard)
            if true():
                so.settle(None)
        await loop.wait(so)
