"""The topology declared through one connection, and its declaration after a loss."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.errors import CapabilityMissing, EncodeError, LimitError
from amqp_sansio.events import Origin
from amqp_sansio.events.channel import ChannelClosed, ChannelOpened, MethodAnswered
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import exchange, queue
from amqp_sansio.spec.reply_codes import ReplyCode

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.client import ChannelClient

AnyMethod = TypeVar("AnyMethod", bound=Method)
Declared: TypeAlias = exchange.Declare | queue.Declare | queue.Bind | exchange.Bind
"""What can be declared again."""
DECLARING: Final = exchange.Declare, queue.Declare, queue.Bind, exchange.Bind
Chosen: TypeAlias = Callable[[Declared], bool]
"""Whether something is to be declared again."""
_Key: TypeAlias = tuple[str, str, str, str, str]
"""What a binding is known by: whether to a queue or an exchange, to which one, its source, its key and its arguments."""


WINDOW: Final = 64
"""Methods sent before the first of them is answered."""
TRIES: Final = 16
"""How often what is locked is declared again: for more than four minutes, with the delays of a RetryPolicy's defaults."""


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
        # The bindings to a queue or exchange, and from a source.
        self._about: Final[dict[tuple[str, str], dict[_Key, None]]] = {}

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
    return changed(bound, queue=names[bound.queue]) if isinstance(bound, queue.Bind) and bound.queue in names else bound


def changed(method: AnyMethod, **fields: object) -> AnyMethod:
    """Returns the method with other values of some fields."""
    return type(method)(**{name: getattr(method, name) for name in method.FIELDS} | fields)


class Restoring:
    """One declaration of a client's topology on its new connection: `hear` takes the events of its channel.

    The client gets the new names, by the old ones, of the queues that the server named, before the bindings are declared, and
    hears of the end, after which it is not called any more.

    A refusal closes the channel; the refused declaration is dropped from the topology, and the rest follows on another channel.
    What is locked (405) is tried again after each delay of the client: the broker may not have noticed the loss of the
    connection whose exclusive queue it was.
    """

    def __init__(self, client: ChannelClient) -> None:
        self._client: Final = client
        topology = self._topology = client.topology
        self._queued: deque[tuple[str, Declared]] = deque(
            [*[("", each) for each in topology.exchanges], *list(topology.queues.items())]
        )
        self._said: Final[dict[int, tuple[str, Declared]]] = {}  # by the ids of the methods, the oldest first
        self._locked: Final[list[tuple[str, Declared]]] = []
        self._delays: Final = client._delays()
        self._resting = False
        self.due: float | None = None
        """When what is locked is tried again."""
        self._bound = False
        self._closing = False
        self._names: Final[dict[str, str]] = {}
        self.channel: Channel = client.machine.channel()

    def hear(self, event: object) -> None:
        """Handles an event of the channel."""
        match event:
            case ChannelOpened():
                self._send()
            case MethodAnswered(id=id, method=method):
                old, said = self._said.pop(id)
                # Only a server-named queue may have another name now.
                if isinstance(said, queue.Declare) and not said.queue and isinstance(method, queue.DeclareOk):
                    self._names[old] = method.queue
                self._send()
            case ChannelClosed(code=code) if code is not None and self._said:
                (name, refused), *others = self._said.values()
                if code == ReplyCode.RESOURCE_LOCKED:
                    self._locked.append((name, refused))
                else:
                    self._topology.drop(name, refused)
                self._queued.extendleft(reversed(others))
                self._said.clear()
                try:
                    self.channel = self._client.machine.channel()
                except LimitError:  # the server has not answered our close, and allows no other channel
                    self._end()
            case ChannelClosed(code=code) if code is not None:
                self._end()  # nothing can be declared: the program's own channels will report why
            case ChannelClosed(origin=Origin.LOCAL) if self._closing:
                self._end()  # not earlier: the server may allow only one channel
            case _:
                pass  # its connection is gone

    def tick(self, now: float) -> None:
        """Declares locked queues again when that is due; drops them when the retry policy gives up."""
        if not self._resting:
            return
        if self.due is None:
            delay = next(self._delays, None)
            if delay is not None:
                self.due = now + delay
                return
            for name, refused in self._locked:
                self._topology.drop(name, refused)
        elif now < self.due:
            return
        else:
            self.due = None
            self._queued.extend(self._locked)
        self._locked.clear()
        self._send()

    def _send(self) -> None:
        window = min(WINDOW, self.channel._carrier.limits.calls)
        while self._queued and len(self._said) < window:
            name, method = self._queued.popleft()
            try:  # with an answer required, so that a refusal can be attributed to it
                id = self.channel.send(changed(method, no_wait=False) if method.no_wait else method)
            except (CapabilityMissing, EncodeError):  # this broker lacks the method, which counts as a refusal
                self._topology.drop(name, method)
            else:
                self._said[id] = name, method
        self._resting = not (self._queued or self._said) and bool(self._locked)
        if self._queued or self._said or self._locked:
            return
        if not self._bound:
            self._rename()
            self._queued = deque([("", each) for each in self._topology.bindings])
            self._send()
            return
        self._closing = True
        self.channel.close()

    def _rename(self) -> None:
        """Renames queues before the bindings, so that after a loss among those the new names are declared."""
        if not self._bound:
            self._bound = True
            self._topology.rename(self._names)
            self._client._renamed(self._names)

    def _end(self) -> None:
        self._rename()
        self._client._declared()
