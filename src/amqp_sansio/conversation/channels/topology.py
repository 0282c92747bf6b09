"""What was declared through one connection, to be declared again when it was lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import exchange, queue

Declared: TypeAlias = exchange.Declare | queue.Declare | queue.Bind | exchange.Bind
"""What can be declared again."""
Chosen: TypeAlias = Callable[[Declared], bool]
"""Whether something is to be declared again."""


def everything(_: Declared) -> bool:
    """All of it."""
    return True


def nothing(_: Declared) -> bool:
    """None of it: the broker keeps what is durable, and the application sees to the rest."""
    return False


class Topology:
    """Exchanges, queues and bindings by what names them.  A queue that the server named gets another name each time."""

    def __init__(self, chosen: Chosen = everything) -> None:
        self._chosen: Final = chosen
        self._exchanges: Final[dict[str, exchange.Declare]] = {}
        self._queues: Final[dict[str, queue.Declare]] = {}
        self._bindings: Final[dict[tuple[str, str, str, str, str], queue.Bind | exchange.Bind]] = {}

    def hear(self, method: Method, answer: Method | None) -> None:
        """A method was executed; `answer` is None for one that wanted none."""
        match method:
            case exchange.Declare(passive=False) if method.exchange and self._chosen(method):
                self._exchanges[method.exchange] = method
            case queue.Declare(passive=False) if self._chosen(method):
                name = answer.queue if isinstance(answer, queue.DeclareOk) else method.queue
                if name:
                    self._queues[name] = method
            case queue.Bind() | exchange.Bind() if self._chosen(method):
                self._bindings[_key(method)] = method
            case queue.Unbind() | exchange.Unbind():
                self._bindings.pop(_key(method), None)
            case exchange.Delete():
                self._exchanges.pop(method.exchange, None)
                self._forget("exchange", method.exchange)
            case queue.Delete():
                self.forget_queue(method.queue)
            case _:
                pass  # declares nothing

    def goes_unconsumed(self, name: str) -> bool:
        """Whether the queue is one that the server deletes with its last consumer (auto-delete)."""
        declared = self._queues.get(name)
        return declared is not None and bool(declared.auto_delete)

    def forget_queue(self, name: str) -> None:
        """A queue is gone."""
        self._queues.pop(name, None)
        self._forget("queue", name)

    def _forget(self, kind: str, name: str) -> None:
        """Bindings of what is deleted go with it."""
        for key in list(self._bindings):
            if key[:2] == (kind, name) or (kind == "exchange" and key[2] == name):
                del self._bindings[key]

    def drop(self, name: str, refused: Declared) -> None:
        """The server refuses it: it is not declared again.  `name`: that of a queue."""
        if isinstance(refused, exchange.Declare):
            self._exchanges.pop(refused.exchange, None)
        elif isinstance(refused, queue.Declare):
            self._queues.pop(name, None)
        else:
            self._bindings.pop(_key(refused), None)

    @property
    def exchanges(self) -> tuple[exchange.Declare, ...]:
        """In the order of their declarations."""
        return tuple(self._exchanges.values())

    @property
    def queues(self) -> dict[str, queue.Declare]:
        """By name; one that the server named is declared with "" again."""
        return dict(self._queues)

    @property
    def bindings(self) -> tuple[queue.Bind | exchange.Bind, ...]:
        """In the order of their declarations."""
        return tuple(self._bindings.values())

    def rename(self, names: dict[str, str]) -> None:
        """Queues that the server named have other names now: so have their bindings."""
        queues = {names.get(name, name): method for name, method in self._queues.items()}
        self._queues.clear()
        self._queues.update(queues)
        bindings = [_renamed(each, names) for each in self._bindings.values()]
        self._bindings.clear()
        self._bindings.update([(_key(each), each) for each in bindings])


def _key(method: queue.Bind | queue.Unbind | exchange.Bind | exchange.Unbind) -> tuple[str, str, str, str, str]:
    """What a binding is known by."""
    if isinstance(method, queue.Bind | queue.Unbind):
        return "queue", method.queue, method.exchange, method.routing_key, repr(method.arguments)
    return "exchange", method.destination, method.source, method.routing_key, repr(method.arguments)


def _renamed(bound: queue.Bind | exchange.Bind, names: dict[str, str]) -> queue.Bind | exchange.Bind:
    if not isinstance(bound, queue.Bind) or bound.queue not in names:
        return bound
    return queue.Bind(names[bound.queue], bound.exchange, bound.routing_key, bound.no_wait, bound.arguments, bound.ticket)
