"""A connection to RabbitMQ, driven by hand: our client on a socket, and an observer that hears all of it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeVar

from tests.interop.overhearing import UNSHOWN, Ear

from amqp_sansio.config import ClientConfig
from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9_1, AMQP_0_9_RABBITMQ, ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.events import ChannelOpened, ConnectionOpened, Event, MethodAnswered
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import queue

DIALECTS: Final = (AMQP_0_9_1, AMQP_0_9_RABBITMQ, AMQP_0_8_UNBIND)
EXTENDED: Final = (AMQP_0_9_1, AMQP_0_9_RABBITMQ)
"""Those in which RabbitMQ has its extensions."""
SECONDS: Final = 60.0
"""How long anything may take that is waited for."""
E = TypeVar("E", bound=Event)
M = TypeVar("M", bound=Method)


def at_once(*each: Callable[[], object]) -> None:
    """Does all of them at the same time, in a thread each: what takes its time takes it once."""
    with ThreadPoolExecutor(len(each)) as pool:
        for done in [pool.submit(one) for one in each]:
            done.result()


class Talk:
    """One connection, open when it is entered.

    What our side said wrong must be `wrong`, the rules that the observer names, in their order; the server says nothing wrong.
    """

    def __init__(
        self,
        port: int,
        dialect: ChannelDialect = AMQP_0_9_1,
        *,
        wrong: tuple[str, ...] = (),
        shown: bool = True,
        wrap: Callable[[socket.socket], socket.socket] | None = None,
        **settings: object,
    ) -> None:
        said: dict[str, object] = {"username": "guest", "password": "guest", **settings}
        self.client: Final = ChannelClientConnection(ClientConfig(dialect=dialect, **said))  # type: ignore[arg-type]
        self.events: Final[list[Event]] = []
        self.wrong: Final = wrong
        self.cut = False  # the other end is gone
        self.mute = False  # what our client has to say stays with it
        self._ear: Final = Ear(self.client.limits, shown and UNSHOWN not in wrong)
        plain = socket.create_connection(("127.0.0.1", port), SECONDS)
        self._line: Final = plain if wrap is None else wrap(plain)
        self._line.settimeout(0.05)
        self._taken = 0
        self._answers: Final[dict[tuple[int, int], Method]] = {}

    def __enter__(self) -> Self:
        self.wait(ConnectionOpened)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None and not self.client.finished and self.client.is_open:
                self.client.close()
                self.until(lambda: self.client.finished)
        finally:
            self._line.close()
        if kind is None:
            assert self._ear.found == [("C", rule) for rule in self.wrong]

    def over(self) -> list[Event]:
        """Goes on until the connection has ended, open or not: all events there were."""
        self.until(lambda: self.client.finished)
        self.__exit__(None, None, None)
        return self.events

    # --- octets ---------------------------------------------------------------------------------------------------------------

    def say(self, octets: bytes = b"") -> None:
        """Sends what the client has to say, and behind it octets that it would not say."""
        octets = b"" if self.mute else self.client.data_to_send() + octets
        if octets:
            self._ear.hear("C", octets)
            with suppress(OSError):  # the end of the connection is heard below
                self._line.settimeout(SECONDS)
                self._line.sendall(octets)
            self._line.settimeout(0.05)

    def step(self) -> None:
        """Says what there is to say, and hears what comes within a moment."""
        self.client.tick(time.monotonic())
        self._hear()
        self.say()
        if self.cut:
            return
        try:
            heard = self._line.recv(1 << 20)
        except TimeoutError:
            return
        except OSError:  # a reset is its usual end
            heard = b""
        if heard:
            self._ear.hear("S", heard)
            self.client.receive_data(heard)
        else:
            self.cut = True
            self.client.receive_eof()
        self._hear()

    def _hear(self) -> None:
        for event in self.client.events():
            self.events.append(event)
            if isinstance(event, MethodAnswered):
                self._answers[event.channel, event.id] = event.method

    # --- events ---------------------------------------------------------------------------------------------------------------

    def until(self, happened: Callable[[], object]) -> None:
        """Goes on until that is so."""
        end = time.monotonic() + SECONDS
        while not happened():
            assert time.monotonic() < end, self.events[-10:]
            assert not (self.cut and self.client.finished) or happened(), self.events[-10:]
            self.step()

    def wait(self, kind: type[E], count: int = 1) -> list[E]:
        """So many new events of a kind, in their order; those before count as seen."""
        found: list[E] = []

        def enough() -> bool:
            while self._taken < len(self.events) and len(found) < count:
                event = self.events[self._taken]
                self._taken += 1
                if isinstance(event, kind):
                    found.append(event)
            return len(found) >= count

        self.until(enough)
        return found

    def all(self, kind: type[E]) -> list[E]:
        """All events of a kind that there were."""
        return [event for event in self.events if isinstance(event, kind)]

    # --- channels -------------------------------------------------------------------------------------------------------------

    def open(self, number: int | None = None) -> Channel:
        """A channel, open."""
        channel = self.client.channel(number)
        self.until(lambda: ChannelOpened(channel.number) in self.events)
        return channel

    def answer(self, channel: Channel, id: int, kind: type[M]) -> M:
        """The answer to one of our methods."""
        self.until(lambda: (channel.number, id) in self._answers)
        method = self._answers[channel.number, id]
        assert isinstance(method, kind)
        return method

    def declare(self, channel: Channel, name: str = "", **how: object) -> queue.DeclareOk:
        """Declares a queue that goes with the connection, or as said."""
        options = {"exclusive": True, **how}
        return self.answer(channel, channel.declare_queue(name, **options), queue.DeclareOk)  # type: ignore[arg-type]

    def count(self, channel: Channel, name: str) -> int:
        """How many messages wait in a queue."""
        return self.answer(channel, channel.declare_queue(name, passive=True), queue.DeclareOk).message_count
