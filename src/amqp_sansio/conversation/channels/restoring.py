"""Declares the topology again after a loss, on a channel of its own, before the program's channels are opened again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from amqp_sansio.conversation.channels.topology import Declared, Topology
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.errors import CapabilityMissing, EncodeError, LimitError
from amqp_sansio.events import Origin
from amqp_sansio.events.channel import ChannelClosed, ChannelOpened, MethodAnswered
from amqp_sansio.spec.methods import queue
from amqp_sansio.spec.reply_codes import ReplyCode

WINDOW: Final = 64
"""Methods sent before the first of them is answered."""
TRIES: Final = 16
"""How often what is locked is declared again: for more than four minutes, with the delays of a RetryPolicy's defaults."""


class Restoring:
    """One declaration of a topology: `hear` takes the events of its channel; `renamed` is called with the new names, by the
    old ones, of the queues that the server named, before the bindings are declared, and `done` at the end, after which it is
    called no more.

    A refusal closes the channel; the refused declaration is dropped from the topology, and the rest follows on another channel.
    What is locked (405) is tried again after each of `delays`: the broker may not have noticed the loss of the connection whose
    exclusive queue it was.
    """

    def __init__(
        self,
        topology: Topology,
        open_channel: Callable[[], Channel],
        renamed: Callable[[dict[str, str]], None],
        done: Callable[[], None],
        delays: Iterator[float],
    ) -> None:
        self._topology: Final = topology
        self._open: Final = open_channel
        self._renamed: Final = renamed
        self._done: Final = done
        self._queued: deque[tuple[str, Declared]] = deque(
            [*[("", each) for each in topology.exchanges], *list(topology.queues.items())]
        )
        self._said: Final[dict[int, tuple[str, Declared]]] = {}  # by the ids of the methods, the oldest first
        self._locked: Final[list[tuple[str, Declared]]] = []
        self._delays: Final = delays
        self._resting = False
        self.due: float | None = None
        """When what is locked is tried again."""
        self._bound = False
        self._closing = False
        self._names: Final[dict[str, str]] = {}
        self.channel: Channel = open_channel()

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
                    self.channel = self._open()
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
        window = min(WINDOW, self.channel._channels.carrier.limits.calls)
        while self._queued and len(self._said) < window:
            name, method = self._queued.popleft()
            try:
                id = self.channel.send(_waiting(method))
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
            self._renamed(self._names)

    def _end(self) -> None:
        self._rename()
        self._done()


def _waiting(method: Declared) -> Declared:
    """Returns the method with an answer required, so that a refusal can be attributed to it."""
    if not method.no_wait:
        return method
    said = {name: getattr(method, name) for name in method.FIELDS} | {"no_wait": False}
    return type(method)(**said)
