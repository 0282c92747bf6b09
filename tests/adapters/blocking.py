"""The adapter for blocking code in the clothes of one that awaits, so that one scenario serves all three."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager
from typing import Any, Self, TypeVar

from tests.adapters.conditions import PATIENCE

from amqp_sansio.adapters.sync import Pending, connect
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import SubscriptionClosed

Result = TypeVar("Result")
CALLS = frozenset([
    "bind", "bound", "cancel", "close", "commit", "declare_exchange", "declare_queue", "delete_exchange", "delete_queue",
    "execute", "forget", "get", "open_channel", "open_session", "prepare", "publish", "purge", "query_queue", "receive",
    "recover", "request", "rollback", "send", "sync", "unbind", "update_secret",
])  # fmt: skip
BLOCKS = frozenset(["channel", "session", "subscribe", "transaction", "branch"])


class Awaited:
    """What was sent and not waited for: it is awaited, and blocks."""

    def __init__(self, pending: Pending[Any]) -> None:
        self.pending = pending

    @property
    def done(self) -> bool:
        return self.pending.done

    def __await__(self) -> Generator[Any, Any, Any]:
        yield from ()
        return self.pending.result()


class Clothed:
    """A connection, session or subscription for blocking code: its calls are awaited, and block."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __aenter__(self) -> Self:
        entered = self.inner.__enter__()
        return self if entered is self.inner else type(self)(entered)

    async def __aexit__(self, *error: Any) -> Any:
        return self.inner.__exit__(*error)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return self.inner.receive()
        except SubscriptionClosed:
            raise StopAsyncIteration from None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name in BLOCKS:
            return lambda *arguments, **named: Clothed(found(*arguments, **named))
        if name in CALLS:

            async def call(*arguments: Any, **named: Any) -> Any:
                given = found(*arguments, **named)
                return Awaited(given) if isinstance(given, Pending) else given

            return call
        return Awaited(found) if isinstance(found, Pending) else found


class BlockingLoop:
    """The ways of no loop at all."""

    timed_out: tuple[type[BaseException], ...] = (TimeoutError,)
    dial: Any = staticmethod(connect)

    def connect(
        self,
        url: str,
        *,
        config: ClientConfig | None = None,
        tls: ssl.SSLContext | None = None,
        retry: RetryPolicy = NEVER,
        close_timeout: float = 10.0,
    ) -> Clothed:
        return Clothed(self.dial(url, config=config, tls=tls, retry=retry, close_timeout=close_timeout))

    def run(self, main: Callable[[], Awaitable[Result]]) -> Result:
        async def whole() -> Result:
            return await main()

        return asyncio.run(whole())

    def within(self, seconds: float) -> AbstractAsyncContextManager[Any]:
        return asyncio.timeout(seconds)  # only seen between calls

    async def receive(self, subscription: Any, seconds: float) -> Any:
        return subscription.inner.receive(seconds)

    async def turn(self) -> None:
        await asyncio.sleep(0)

    async def wait(self, ticket: Ticket[None]) -> None:
        so = threading.Event()
        ticket.on_done(so.set)
        assert so.wait(PATIENCE), "it never came about"

    async def both(self, one: Callable[[], Awaitable[object]], two: Callable[[], Awaitable[object]]) -> None:
        await one()
        await two()

    async def cancelled_after(self, steps: int, what: Callable[[], Awaitable[object]]) -> bool:
        raise NotImplementedError("blocking code cannot be cancelled")

    def tasks(self) -> int:
        return 0
