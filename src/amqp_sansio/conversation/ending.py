"""How long the clean ends of subscriptions, sessions and their connection are waited for."""

from __future__ import annotations

from typing import Final

from amqp_sansio.conversation.client import Client


class Ending:
    """`seconds` for the other side to answer; but whoever let one of them pass is not waited for again on that connection."""

    def __init__(self, client: Client, seconds: float) -> None:
        self.seconds: Final = seconds
        """What was asked for."""
        self._client: Final = client
        self._missed: int | None = None  # the connection on which there was no answer

    @property
    def timeout(self) -> float:
        """Seconds to wait now."""
        return 0.0 if self._missed == self._client.connections else self.seconds

    def missed(self) -> None:
        """There was no answer in time."""
        self._missed = self._client.connections
