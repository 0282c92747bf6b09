"""A channel: the transport of at most one session.  (Signatures first; the bodies follow.)"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.engine.carrier import Assembly, Carrier
from amqp_sansio.events import Origin, TransferReceived
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.message import Transfer

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session


class Channel:
    """The transport of at most one session: attach, detach and who may speak."""

    def __init__(self, number: int, carrier: Carrier) -> None:
        self.number: Final = number
        self.carrier: Final = carrier
        self.session: Session | None = None
        self.requested: bytes | None = None
        """Server role: the name of an AttachRequested that waits for `accept` or `refuse`."""

    @property
    def free(self) -> bool:
        """True when no session is on it and nothing is awaited: its number may be used again."""
        raise NotImplementedError

    def receive_control(self, control: Control, offset: int) -> None:
        """A control of class session arrived; `offset` is that of its frame in the peer's octets."""
        raise NotImplementedError

    def receive_command(self, assembly: Assembly) -> None:
        """An assembly of track 1 arrived: decodes the command, walks the header, steps the session."""
        raise NotImplementedError

    def receive_transfer(
        self, transfer: Transfer, header: bytes, body: bytes, sync: bool, offset: int = 0
    ) -> TransferReceived | None:
        """The fast path for a transfer that is already decoded and whose header was walked.

        Returns the event, which is NOT emitted; None when there is none to hand out (a replayed command, a channel without
        a session): whatever happened instead was emitted.
        """
        raise NotImplementedError

    def accept(self, session: Session) -> None:
        """Answers `requested` with attached.  With force, a session attached elsewhere is taken from there."""
        raise NotImplementedError

    def refuse(self, code: int = 1) -> None:
        """Answers `requested` with detached and this detach code."""
        raise NotImplementedError

    def lost(self, origin: Origin, text: str) -> None:
        """The connection ended: the session, if any, is detached (event SessionDetached) and may live on by itself."""
        raise NotImplementedError
