"""How long to wait for the clean end of subscriptions, sessions and their connection."""

from __future__ import annotations

from typing import Final

from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.talk import Talk
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import SessionLost
from amqp_sansio.events import ConnectionOpened
from amqp_sansio.kernel.serials import EMPTY


class Ending:
    """Gives the peer `seconds` to answer; but once it has let them pass and has sent nothing since on that connection, further
    ends do not wait for it."""

    def __init__(self, client: BaseClient, seconds: float) -> None:
        self.seconds: Final = seconds
        """The timeout asked for."""
        self._client: Final = client
        self._missed: tuple[int, int] | None = None  # the connection, and how often octets had come by then

    @property
    def timeout(self) -> float:
        """Seconds to wait now for an end."""
        return 0.0 if self._missed == (self._client.connections, self._client.heard) else self.seconds

    @property
    def opened(self) -> Ticket[ConnectionOpened]:
        """Settled while there is an open connection.  Only then `seconds` count; before, the retry policy limits the wait."""
        return self._client.opened

    def come(self, talk: Talk) -> tuple[int, bool, int]:
        """Returns a value that changes whenever the peer makes progress with the commands of a session."""
        session = talk._session
        done = 0 if session is None else session._outbound.next_id - len(session.in_doubt)
        return self._client.connections, talk.attached.done, done & 0xFFFFFFFF

    def missed(self) -> None:
        """Notes that there was no answer in time."""
        self._missed = self._client.connections, self._client.heard

    def silent(self, talk: Talk, awaited: str) -> None:
        """Ends a session that got no answer to `awaited` in time; its error names what is in doubt."""
        self.missed()
        in_doubt = EMPTY if talk._session is None else talk._session.in_doubt
        talk._over(SessionLost(talk.name, f"no answer to {awaited} within {self.seconds} seconds", in_doubt))
