"""Fanout exchanges, which match every message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from amqp_sansio.broker.routing.exchange import Binding, Exchange, Target, less

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message


class Fanout(Exchange):
    """A fanout exchange: every bound queue gets every message, whatever the keys."""

    __slots__ = ("_targets",)
    TYPE: ClassVar[str] = "fanout"

    def _begin(self) -> None:
        self._targets: dict[Target, int] = {}  # with the number of bindings of each

    def matches(self, message: Message, most: int) -> Sequence[Target]:
        return tuple(self._targets)

    def added(self, binding: Binding) -> None:
        self._targets[binding.target] = self._targets.get(binding.target, 0) + 1

    def removed(self, binding: Binding) -> None:
        less(self._targets, binding.target)
