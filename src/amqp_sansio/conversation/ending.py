"""How long the clean ends of subscriptions, sessions and their connection are waited for."""

from __future__ import annotations

from typing import Final

from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.talk import Talk
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import SessionLost
from amqp_sansio.events import ConnectionOpened
from amqp_sansio.kernel.serials import EMPTY


class Ending:
    """`seconds` for the other side to answer; but who let them pass at one end, and has said nothing since on that connection,
    is not waited for at the next ones."""

    def __init__(self, client: BaseClient, seconds: float) -> None:
        self.seconds: Final = seconds
        """What was asked for."""
        self._client: Final = client
        self._missed: tuple[int, int] | None = None  # on which connection, and how often octets had come then

    @property
    def timeout(self) -> float:
        """Seconds to wait now for an end."""
        return 0.0 if self._missed == (self._client.connections, self._client.heard) else self.seconds

    @property
    def opened(self) -> Ticket[ConnectionOpened]:
        """Settled while there is an open connection: `seconds` run only then; before, the policy says how long is waited."""
        return self._client.opened

    def come(self, talk: Talk) -> tuple[int, bool, int]:
        """How far the other side has come with the commands of a session: while that changes, it makes progress."""
        session = talk._session
        done = 0 if session is None else session._outbound.next_id - len(session.in_doubt)
        return self._client.connections, talk.attached.done, done & 0xFFFFFFFF

    def missed(self) -> None:
        """There was no answer in time."""
        self._missed = self._client.connections, self._client.heard

    def silent(self, talk: Talk, awaited: str) -> None:
        """There was no answer to `awaited` in time: the session is over, and its error names what is in doubt."""
        self.missed()
        in_doubt = EMPTY if talk._session is None else talk._session.in_doubt
        talk._over(SessionLost(talk.name, f"no answer to {awaited} within {self.seconds} seconds", in_doubt))
