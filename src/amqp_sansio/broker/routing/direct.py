"""Direct exchanges, which match the whole key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from amqp_sansio.broker.routing.exchange import Binding, Exchange, Target

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message


class Direct(Exchange):
    """A direct exchange: the key of the binding equals that of the message."""

    __slots__ = ("_targets",)
    TYPE: ClassVar[str] = "direct"

    def _begin(self) -> None:
        self._targets: dict[str, dict[Target, None]] = {}

    def matches(self, message: Message, most: int) -> Sequence[Target]:
        found = self._targets.get(message.envelope.routing_key)
        return tuple(found) if found is not None else ()

    def added(self, binding: Binding) -> None:
        self._targets.setdefault(binding.key, {})[binding.target] = None

    def removed(self, binding: Binding) -> None:
        targets = self._targets[binding.key]
        del targets[binding.target]
        if not targets:
            del self._targets[binding.key]
