"""The client's side of a connection with sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from amqp_sansio.config import ClientConfig
from amqp_sansio.engine.channel import Channels, check_role, layout_of
from amqp_sansio.engine.client_handshake import ClientHandshake
from amqp_sansio.engine.session import Session, name_of
from amqp_sansio.errors import AmqpError, LimitError, LocalProtocolError


class ClientConnection(ClientHandshake):
    """A connection as its client: it says the protocol header at once.

    `confidential` tells whether nobody else can read what it says, because of TLS or because it stays on this machine.  Where
    it is False, PLAIN is not used unless the config asks for that (`insecure_plain`).

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
        """The session of that name on this connection, None when there is none."""
        return self._channels.session_named(name)

    def session(self, name: bytes | str, timeout: int | None = 0, *, force: bool = False) -> Session:
        """A new session, and session.attach for it on a free channel.

        `timeout`: seconds that the other side is asked to keep it while it is detached (None: for ever, 0: not at all).
        `force` takes it from wherever it is attached.  Raises LocalProtocolError before ConnectionOpened, LimitError when no
        channel is free, ConnectionClosedError.
        """
        octets = name_of(name)
        self._may_attach(octets)
        session = Session(octets, self.role, timeout=timeout, max_timeout=timeout, profile=self.profile, limits=self.limits)
        return self._attach(session, force)

    def resume(self, session: Session | Mapping[str, object], *, force: bool = False) -> Session:
        """Attaches a session of an earlier connection, or one made of its snapshot, and replays what is in doubt.

        Raises LocalProtocolError unless it is detached, else as `session` does.
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
                f"session.attach of {name!r}", "attached on this connection", ("session.detach",), "one attachment per session"
            )
        if self._channels.attached >= self.limits.sessions:
            raise LimitError("sessions", self.limits.sessions, self.limits.sessions + 1)

    def _attach(self, session: Session, force: bool) -> Session:
        channel = self._channels.free(self._channel_max)
        channel.bind(session)
        try:
            session.attach(force)
        except AmqpError:  # a name too long for a frame: nothing has changed
            session._unbind()
            raise
        return session
