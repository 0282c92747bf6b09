"""What `sync` waits for: an answer, and whatever becomes of the messages in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.spec.base import Method


class Barrier(Ticket[None]):
    """Settled when a method is answered and all messages are settled or have failed; fails when the method does.

    It waits for one after the other, and for nothing once nobody waits for it any more.
    """

    __slots__ = ("_answered", "_at", "_left", "_messages")

    def __init__(self, answered: Ticket[Method], messages: Iterable[Ticket[None]]) -> None:
        super().__init__()
        self._answered: Final = answered
        self._messages: Final[Iterator[Ticket[None]]] = iter(messages)
        self._at: Ticket[Method] | Ticket[None] = answered
        self._left = False  # nobody waits any more
        self._go_on()

    def on_done(self, callback: Callable[[], None]) -> None:
        if self._left:
            self._left = False
            self._go_on()
        super().on_done(callback)

    def forget(self, callback: Callable[[], None]) -> None:
        super().forget(callback)
        if not self._callbacks:
            self._left = True
            self._at.forget(self._go_on)

    def _go_on(self) -> None:
        while self._at.done:
            if self._answered.error is not None:
                self.fail(self._answered.error)
                return
            following = next(self._messages, None)
            if following is None:
                self.settle(None)
                return
            self._at = following
        self._at.on_done(self._go_on)
