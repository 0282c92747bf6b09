"""The server's side of a connection with sessions (0-10)."""

from __future__ import annotations

from typing import Final, Literal

from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.channel import Channel, Channels, check_role, layout_of
from amqp_sansio.engine.handshake import ServerHandshake
from amqp_sansio.engine.session import Session, name_of
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.errors.core import session_name
from amqp_sansio.spec.codes import DetachCode


class ServerConnection(ServerHandshake):
    """The server's side of a connection; it waits for the client's protocol header.

    Raises what `ServerMechanism.start` raises, and EncodeError for settings that no frame can carry.
    """

    def __init__(self, config: ServerConfig | None = None) -> None:
        config = ServerConfig() if config is None else config
        self._channels: Final = Channels(self, layout_of("ServerConfig.dialects", config.dialect))
        super().__init__(config, self._channels)

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions on this connection, by channel."""
        return self._channels.sessions

    def session_named(self, name: bytes) -> Session | None:
        """Returns the session of that name on this connection, or None."""
        return self._channels.session_named(name)

    def accept(
        self, name: bytes | str, resume: Session | None = None, timeout: int | Literal["config"] | None = "config"
    ) -> Session:
        """Attaches the session that AttachRequested named.

        `resume` is the session of that name from an earlier connection; without it a new one begins.  `timeout` is how many
        seconds the new one is kept while detached (None: for ever), both until the client asks for a timeout and as the most
        that it gets; by default the config decides.

        Raises LocalProtocolError when no such request is pending.
        """
        name = name_of(name)
        channel = self._must_be_requested("session.attached", name)
        if resume is not None:
            check_role("session.attached", resume, self.role)
            if resume.name != name:
                raise LocalProtocolError(
                    f"session.attached with session {session_name(resume.name)}",
                    self.state,
                    (f"session {session_name(name)}",),
                    "one name, one session",
                )
        most = self._settings.session_timeout if timeout == "config" else timeout
        session = resume
        if session is None:
            session = Session(name, "server", timeout=most, max_timeout=most, profile=self.profile, limits=self.limits)
            earlier = self.session_named(name)
            if earlier is not None and earlier._channel is not None:
                earlier._channel.force_off()  # force: the new one takes the name
        channel.accept(session)
        del self._channels.requests[name]
        return session

    def refuse(self, name: bytes | str, code: DetachCode = DetachCode.SESSION_BUSY) -> None:
        """Answers AttachRequested with detached and `code`.  Raises LocalProtocolError when no such request is pending."""
        name = name_of(name)
        self._must_be_requested("session.detached", name).refuse(code)
        del self._channels.requests[name]

    def _must_be_requested(self, said: str, name: bytes) -> Channel:
        self._must_be_alive(said)
        channel = self._channels.requests.get(name)
        if channel is None:
            legal = tuple([f"an answer to {session_name(each)}" for each in self._channels.requests])
            raise LocalProtocolError(
                f"{said} for {session_name(name)}", self.state, legal, "no AttachRequested of that name waits"
            )
        return channel

    def _answer_by_policy(self) -> bool:
        answered = super()._answer_by_policy()
        if self._closed_cause is None:
            for name in list(self._channels.requests):
                if self._settings.attach == "accept":
                    self.accept(name)
                else:
                    self.refuse(name)
        return answered
