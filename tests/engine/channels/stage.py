"""A client and a server of the older dialects, joined in memory, with their connections open."""

from __future__ import annotations

from typing import Final

from amqp_sansio.config import ClientConfig, Profile, ServerConfig
from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9_1, AMQP_0_9_RABBITMQ, ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.engine.channels.server import ServedChannel
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Event, Violation
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Method

DIALECTS: Final = (AMQP_0_9_1, AMQP_0_9_RABBITMQ, AMQP_0_8_UNBIND)


class Stage:
    """Both; what each hears is in `client_events` and `server_events`, and an observer hears all."""

    def __init__(
        self,
        dialect: ChannelDialect = AMQP_0_9_1,
        *,
        limits: Limits = Limits(),
        client_limits: Limits | None = None,
        profile: Profile = Profile(),
        channel_max: int = 2047,
        max_frame_size: int = 4096,
        blocked: str = "publish",
        attach: str = "accept",
        piece: int | None = None,
        headers: str = "lazy",
    ) -> None:
        self.piece: Final = piece
        self.client: Final = ChannelClientConnection(
            ClientConfig(
                dialect=dialect,
                limits=client_limits or limits,
                max_frame_size=max_frame_size,
                profile=profile,
                blocked=blocked,  # type: ignore[arg-type]
                headers=headers,  # type: ignore[arg-type]
            )
        )
        self.server: Final = ChannelServerConnection(
            ServerConfig(
                dialects=(dialect,), limits=limits, channel_max=channel_max, max_frame_size=max_frame_size, profile=profile,
                attach=attach,  # type: ignore[arg-type]
            )
        )  # fmt: skip
        self.observer: Final = Observer(dialects=DIALECTS, limits=Limits())
        self.violations: list[Violation] = []
        self.client_events: list[Event] = []
        self.server_events: list[Event] = []
        self.run()
        assert self.client.is_open, self.client_events
        assert self.server.is_open, self.server_events
        self.take()

    def run(self) -> None:
        """Both hear what the other one says, until nobody says anything."""
        while self.say_client() | self.say_server():
            pass

    def say_client(self) -> bool:
        """The server hears what the client has said; whether that was something."""
        octets = self.client.data_to_send()
        self._overhear("C", octets)
        self.server_events += self._feed(self.server, octets)
        return bool(octets)

    def say_server(self) -> bool:
        """The client hears what the server has said."""
        octets = self.server.data_to_send()
        self._overhear("S", octets)
        self.client_events += self._feed(self.client, octets)
        return bool(octets)

    def _feed(self, side: ChannelClientConnection | ChannelServerConnection, octets: bytes) -> list[Event]:
        """One side hears octets, so many at once as `piece` says: its events."""
        events: list[Event] = []
        for at in range(0, len(octets), self.piece or len(octets) or 1):
            side.receive_data(octets[at : at + (self.piece or len(octets))])
            events += side.events()
        return events + list(side.events())

    def _overhear(self, speaker: str, octets: bytes) -> None:
        self.observer.receive_data("C" if speaker == "C" else "S", octets)
        self.violations += [each.event for each in self.observer.events() if isinstance(each.event, Violation)]

    def take(self) -> tuple[list[Event], list[Event]]:
        """What was heard since: by the client, by the server."""
        found = self.client_events[:], self.server_events[:]
        self.client_events.clear()
        self.server_events.clear()
        return found

    def open(self, number: int | None = None) -> tuple[Channel, ServedChannel]:
        """A channel, open: both halves."""
        channel = self.client.channel(number)
        self.run()
        self.take()
        served = self.server._channels.used[channel.number]
        assert isinstance(served, ServedChannel)
        return channel, served


def answer(served: ServedChannel, *replies: Method) -> None:
    """The server answers what waits, the oldest first."""
    for reply in replies:
        served.reply(served._heard.kept[0].id, reply)
