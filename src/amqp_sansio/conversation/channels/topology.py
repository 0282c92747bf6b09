"""The topology declared through one connection, to be declared again after a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import LimitError
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import exchange, queue

Declared: TypeAlias = exchange.Declare | queue.Declare | queue.Bind | exchange.Bind
"""What can be declared again."""
DECLARING: Final = exchange.Declare, queue.Declare, queue.Bind, exchange.Bind
Chosen: TypeAlias = Callable[[Declared], bool]
"""Whether something is to be declared again."""
_Key: TypeAlias = tuple[str, str, str, str, str]
"""What a binding is known by: whether to a queue or an exchange, to which one, its source, its key and its arguments."""


def everything(_: Declared) -> bool:
    """Chooses everything."""
    return True


def nothing(_: Declared) -> bool:
    """Chooses nothing: the broker keeps what is durable, and the application declares the rest."""
    return False


class Topology:
    """Exchanges, queues and bindings, by name.  A server-named queue gets another name each time."""

    def __init__(self, chosen: Chosen = everything, most: int = DEFAULT_LIMITS.declared) -> None:
        self._chosen: Final = chosen
        self._most: Final = most
        self._expected = 0  # that are not executed yet
        self._exchanges: Final[dict[str, exchange.Declare]] = {}
        self._queues: Final[dict[str, queue.Declare]] = {}
        self._bindings: Final[dict[_Key, queue.Bind | exchange.Bind]] = {}
        self._about: Final[
            dict[tuple[str, str], dict[_Key, None]]
        ] = {}  # the bindings to a queue or exchange, and from a source

    def __len__(self) -> int:
        """Exchanges, queues and bindings."""
        return len(self._exchanges) + len(self._queues) + len(self._bindings)

    def must_have_room(self, method: Method) -> bool:
        """Whether a method, when it is executed, declares something more.  LimitError where that is too much."""
        match method:
            case exchange.Declare() if not method.passive:
                more = method.exchange != "" and method.exchange not in self._exchanges
            case queue.Declare() if not method.passive:
                more = method.queue == "" or method.queue not in self._queues
            case queue.Bind() | exchange.Bind():
                more = _key(method) not in self._bindings
            case _:
                return False
        if not more or not self._chosen(method):
            return False
        if (count := len(self) + self._expected) >= self._most:
            raise LimitError("declared", self._most, count + 1)
        return True

    def expect(self, answer: Ticket[Method]) -> None:
        """Counts a declaration that takes effect when this ticket is settled."""
        self._expected += 1
        answer.on_done(self._come)

    def _come(self) -> None:
        self._expected -= 1

    def hear(self, method: Method, answer: Method | None) -> None:
        """Notes a method that was executed; `answer` is None where it required none."""
        match method:
            case exchange.Declare() if not method.passive and method.exchange and self._chosen(method):
                self._exchanges[method.exchange] = method
            case queue.Declare() if not method.passive and self._chosen(method):
                name = answer.queue if isinstance(answer, queue.DeclareOk) else method.queue
                if name:
                    self._queues[name] = method
            case queue.Bind() | exchange.Bind() if self._chosen(method):
                self._bind(method)
            case queue.Unbind() | exchange.Unbind():
                self._unbind([_key(method)])
            case exchange.Delete():
                self._exchanges.pop(method.exchange, None)
                self._unbind(
                    [*self._about.get(("exchange", method.exchange), ()), *self._about.get(("source", method.exchange), ())]
                )
            case queue.Delete():
                self.forget_queue(method.queue)
            case _:
                pass  # declares nothing

    def goes_unconsumed(self, name: str) -> bool:
        """Whether the server deletes the queue with its last consumer (auto-delete)."""
        declared = self._queues.get(name)
        return declared is not None and bool(declared.auto_delete)

    def forget_queue(self, name: str) -> None:
        """Forgets a deleted queue."""
        self._queues.pop(name, None)
        self._unbind(self._about.get(("queue", name), ()))

    def _bind(self, method: queue.Bind | exchange.Bind) -> None:
        key = _key(method)
        self._bindings[key] = method
        for end in _ends(key):
            self._about.setdefault(end, {})[key] = None

    def _unbind(self, keys: Iterable[_Key]) -> None:
        """Forgets bindings, and with the last one of an auto-delete exchange that exchange and its own bindings."""
        left = list(keys)
        while left:
            key = left.pop()
            if not self._drop(key):
                continue
            source = key[2]
            declared = self._exchanges.get(source)
            if declared is not None and declared.auto_delete and ("source", source) not in self._about:
                del self._exchanges[source]
                left += self._about.get(("exchange", source), ())

    def _drop(self, key: _Key) -> bool:
        """Forgets one binding; returns whether it was known."""
        if self._bindings.pop(key, None) is None:
            return False
        for end in _ends(key):
            about = self._about[end]
            del about[key]
            if not about:
                del self._about[end]
        return True

    def drop(self, name: str, refused: Declared) -> None:
        """Forgets a declaration that the server refuses.  `name`: that of a queue."""
        if isinstance(refused, exchange.Declare):
            self._exchanges.pop(refused.exchange, None)
        elif isinstance(refused, queue.Declare):
            self._queues.pop(name, None)
        else:
            self._drop(_key(refused))

    @property
    def exchanges(self) -> tuple[exchange.Declare, ...]:
        """In the order of their declarations."""
        return tuple(self._exchanges.values())

    @property
    def queues(self) -> dict[str, queue.Declare]:
        """By name; a server-named queue is declared with "" again."""
        return dict(self._queues)

    @property
    def bindings(self) -> tuple[queue.Bind | exchange.Bind, ...]:
        """In the order of their declarations."""
        return tuple(self._bindings.values())

    def rename(self, names: dict[str, str]) -> None:
        """Changes the names of server-named queues, also in their bindings."""
        queues = {names.get(name, name): method for name, method in self._queues.items()}
        self._queues.clear()
        self._queues.update(queues)
        bindings = [_renamed(each, names) for each in self._bindings.values()]
        self._bindings.clear()
        self._about.clear()
        for each in bindings:
            self._bind(each)


def _key(method: queue.Bind | queue.Unbind | exchange.Bind | exchange.Unbind) -> _Key:
    if isinstance(method, queue.Bind | queue.Unbind):
        return "queue", method.queue, method.exchange, method.routing_key, repr(method.arguments)
    return "exchange", method.destination, method.source, method.routing_key, repr(method.arguments)


def _ends(key: _Key) -> tuple[tuple[str, str], tuple[str, str]]:
    """Returns the two ends of a binding: where it leads, and its source."""
    return key[:2], ("source", key[2])


def _renamed(bound: queue.Bind | exchange.Bind, names: dict[str, str]) -> queue.Bind | exchange.Bind:
    if not isinstance(bound, queue.Bind) or bound.queue not in names:
        return bound
    return queue.Bind(names[bound.queue], bound.exchange, bound.routing_key, bound.no_wait, bound.arguments, bound.ticket)
