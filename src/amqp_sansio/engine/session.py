"""A session.  (Signatures first; the bodies follow.)"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqp_sansio.config import DEFAULT_PROFILE, Profile
from amqp_sansio.engine.carrier import Role
from amqp_sansio.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from amqp_sansio.engine.channel import Channel


class Session:
    """Both halves of a session; it outlives the connections that it is attached to."""

    def __init__(
        self,
        name: bytes,
        role: Role,
        *,
        timeout: int | None = 0,
        max_timeout: int | None = 0,
        profile: Profile = DEFAULT_PROFILE,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """`timeout`: how long we want it kept while detached (asked for on attach when not 0); `max_timeout`: the most that
        we grant the peer.  Seconds; None for ever, 0 not at all."""
        raise NotImplementedError

    def bind(self, channel: Channel) -> None:
        """Puts a detached session on a free channel; `attach()` then says so."""
        raise NotImplementedError

    def attach(self, force: bool = False) -> None:
        """Says attach.  Idempotent: said again it does no harm."""
        raise NotImplementedError

    def flush_pending(self) -> None:
        """Writes what was gathered (completed, known-completed) once; called before octets are taken."""
        raise NotImplementedError

    def tick(self, now: float) -> float | None:
        """For a detached session: ends it when its lifetime is over; answers when to ask again."""
        raise NotImplementedError
