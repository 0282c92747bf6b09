"""The client's side of a connection with sessions (0-10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from amqp_sansio.config import ClientConfig
from amqp_sansio.engine.channel import Channels, check_role, layout_of
from amqp_sansio.engine.handshake import ClientHandshake
from amqp_sansio.engine.session import Session, name_of
from amqp_sansio.errors import AmqpError, LimitError, LocalProtocolError
from amqp_sansio.errors.core import session_name


class ClientConnection(ClientHandshake):
    """The client's side of a connection; it sends the protocol header at once.

    `confidential` states that nobody else can read what it sends, because of TLS or because it stays on this machine.  Where it
    is False, PLAIN is not used unless the config permits it (`insecure_plain`).

    Raises what `ClientMechanism.start` raises, and EncodeError for settings that no frame can carry.
    """

    def __init__(self, config: ClientConfig | None = None, *, confidential: bool = True) -> None:
        config = ClientConfig() if config is None else config
        self._channels: Final = Channels(self, layout_of("ClientConfig.dialect", config.dialect))
        super().__init__(config, self._channels, confidential)

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions on this connection, by channel."""
        return self._channels.sessions

    def session_named(self, name: bytes) -> Session | None:
        """Returns the session of that name on this connection, or None."""
        return self._channels.session_named(name)

    def session(self, name: bytes | str, timeout: int | None = 0, *, force: bool = False) -> Session:
        """Creates a session and requests its attachment to a free channel (session.attach).

        `timeout` is how many seconds the other side should keep it while detached (None: for ever, 0: not at all).  `force`
        takes it from wherever it is attached.

        Raises LocalProtocolError before ConnectionOpened and when a session of that name is on this connection, LimitError when
        no channel is free, and ConnectionClosedError.
        """
        octets = name_of(name)
        self._may_attach(octets)
        session = Session(octets, self.role, timeout=timeout, max_timeout=timeout, profile=self.profile, limits=self.limits)
        return self._attach(session, force)

    def resume(self, session: Session | Mapping[str, object], *, force: bool = False) -> Session:
        """Attaches a session of an earlier connection, or one made of its snapshot, and replays the commands in doubt.

        Raises LocalProtocolError unless it is detached, and whatever `session` raises.
        """
        if not isinstance(session, Session):
            session = Session.restore(session, profile=self.profile, limits=self.limits)
        check_role("session.attach", session, self.role)
        self._may_attach(session.name)
        return self._attach(session, force)

    def _may_attach(self, name: bytes) -> None:
        self._must_be_alive("session.attach")
        if not self._open:
            raise LocalProtocolError("session.attach", self.state, self._may_say(), "sessions attach after ConnectionOpened")
        if self.session_named(name) is not None:
            raise LocalProtocolError(
                f"session.attach of {session_name(name)}",
                "attached on this connection",
                ("session.detach",),
                "one attachment per session",
            )
        if self._channels.attached >= self.limits.sessions:
            raise LimitError("sessions", self.limits.sessions)

    def _attach(self, session: Session, force: bool) -> Session:
        channel = self._channels.free(self._channel_max)
        channel.bind(session)
        try:
            session.attach(force)
        except AmqpError:  # a name too long for a frame: nothing has changed
            session._unbind()
            raise
        return session
