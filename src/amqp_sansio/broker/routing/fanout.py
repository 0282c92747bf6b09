"""Exchanges that look at nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from amqp_sansio.broker.routing.exchange import STEPS, Binding, Exchange

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.queue import Queue


class Fanout(Exchange):
    """Every queue that is bound gets every message, whatever the keys."""

    __slots__ = ()
    TYPE: ClassVar[str] = "fanout"

    def route(self, message: Message, most: int = STEPS) -> Sequence[Queue]:
        return tuple(self._by_queue)

    def added(self, binding: Binding) -> None:
        pass

    def removed(self, binding: Binding) -> None:
        pass
