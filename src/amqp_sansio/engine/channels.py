"""The channels of one connection, by number and by the name of the session on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.engine.channel import Channel
from amqp_sansio.errors import LimitError

if TYPE_CHECKING:
    from amqp_sansio.engine.carrier import Carrier
    from amqp_sansio.engine.session import Session


class Channels:
    """Remembers those on which something was said: the other side may name 65536 of them, and any number of sessions."""

    __slots__ = ("_carrier", "_lowest", "_named", "_names", "used")

    def __init__(self, carrier: Carrier) -> None:
        self._carrier: Final = carrier
        self.used: Final[dict[int, Channel]] = {}
        """By number, those of which something is remembered."""
        self._named: Final[dict[bytes, Channel]] = {}
        self._names: Final[dict[int, bytes]] = {}
        self._lowest = 1  # from channel 1 up to here none is free

    def at(self, number: int) -> Channel:
        """The channel of this number."""
        channel = self.used.get(number)
        if channel is None:
            channel = self.used[number] = Channel(number, self._carrier)
        return channel

    def free(self, channel_max: int) -> Channel:
        """The lowest one, of so many, on which a session can be attached; LimitError when there is none.

        From 1 on, as C++ clients do: channel 0 stays readable for the connection's own controls as long as it can.
        """
        for number in range(self._lowest, channel_max):
            if number not in self.used or self.used[number].free:
                self._lowest = number
                return self.at(number)
        self._lowest = max(1, channel_max)
        if 0 not in self.used or self.used[0].free:
            return self.at(0)
        raise LimitError("channels", channel_max, channel_max + 1)

    def all(self) -> list[Channel]:
        """Those that are remembered, by number."""
        return [channel for _, channel in sorted(self.used.items())]

    def session(self, name: bytes) -> Session | None:
        """The session of that name, None when there is none."""
        channel = self._named.get(name)
        if channel is None or channel.session is None or channel.session.name != name:
            return None
        return channel.session

    @property
    def sessions(self) -> int:
        """On how many channels there is a session."""
        return len(self._names)

    def name(self, channel: Channel) -> None:
        """The session on the channel, if any, can be asked for by its name."""
        if channel.session is not None:
            self._named[channel.session.name] = channel
            self._names[channel.number] = channel.session.name

    def unname(self, number: int) -> None:
        """No session is on the channel any more."""
        self._lowest = max(1, min(self._lowest, number))
        name = self._names.pop(number, None)
        if name is None:
            return
        channel = self._named.get(name)
        if channel is not None and channel.number == number:
            del self._named[name]

    def sweep(self, channel: Channel) -> None:
        """Forgets the channel when there is nothing to remember of it."""
        if channel.free:
            self._lowest = max(1, min(self._lowest, channel.number))
        if channel.pristine:
            self.used.pop(channel.number, None)
