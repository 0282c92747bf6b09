"""Direct exchanges, which match the whole key, and the default exchange, which needs no bindings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from amqp_sansio.broker.routing.exchange import STEPS, Binding, Exchange, Target
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.queue import Queue


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


class Default(Exchange):
    """The default exchange, without a name: every queue is bound to it by its own name, irrevocably."""

    __slots__ = ("_named",)
    TYPE: ClassVar[str] = "direct"

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        super().__init__("", durable=True)
        self._named: Final = queues

    def route(self, message: Message, most: int = STEPS) -> Sequence[Queue]:
        queue = self._named.get(message.envelope.routing_key)
        return (queue,) if queue is not None else ()

    def has(self, queue: Queue | None, key: str | None, arguments: Map | None) -> bool:
        if arguments:
            return False
        if queue is None:
            return bool(self._named) if key is None else key in self._named
        return key in (None, queue.name)

    def __contains__(self, queue: object) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._named)
