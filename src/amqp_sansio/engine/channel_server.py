"""The server's side of a connection with channels: 0-8, 0-9 and 0-9-1."""

from __future__ import annotations

from typing import Final

from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.channel_client import codec_of
from amqp_sansio.engine.channels.endpoint import Channels
from amqp_sansio.engine.channels.server import ServedChannel
from amqp_sansio.engine.handshake import ServerHandshake
from amqp_sansio.errors import CapabilityMissing, LocalProtocolError
from amqp_sansio.events import SecretUpdated
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Blocked, Unblocked, UpdateSecret, UpdateSecretOk
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.tables.channel import CAPABILITIES, CLOSE, OPEN_OK
from amqp_sansio.wire.framing import Assembly


class ChannelServerConnection(ServerHandshake):
    """The server's side of a connection; it waits for the client's protocol header.

    Raises what `ServerMechanism.start` raises, and EncodeError for settings that no frame can carry, such as a dialect with
    sessions.
    """

    def __init__(self, config: ServerConfig) -> None:
        codec = codec_of("ServerConfig.dialects", config.dialect)
        self._channels: Final = Channels(self, codec, config.dialect.handshake.numbering.counted)
        super().__init__(config, self._channels)
        self._secret: bytes | None = None
        self._updated = False  # an update-secret awaits its answer

    @property
    def channels(self) -> tuple[ServedChannel, ...]:
        """The channels that are open or requested, by number."""
        return tuple([channel for channel in self._channels.all if isinstance(channel, ServedChannel)])

    def accept(self, number: int) -> ServedChannel:
        """Opens the channel that ChannelRequested named.  Raises LocalProtocolError when no such request is pending."""
        self._must_be_alive(OPEN_OK)
        return self._channels.accept(number)

    def refuse(self, number: int, code: ReplyCode = ReplyCode.RESOURCE_ERROR, text: str = "") -> None:
        """Answers ChannelRequested with channel.close.  Raises LocalProtocolError when no such request is pending."""
        self._must_be_alive(CLOSE)
        self._channels.refuse(number, code, text)

    def block(self, reason: str = "") -> None:
        """Announces that the server stops reading published messages until `unblock` (connection.blocked, 0-9-1).

        The application must stop reading itself.  `reason`, for logs, has at most 255 octets.  Raises LocalProtocolError unless
        the connection is open and not blocked, CapabilityMissing where the client lacks connection.blocked, EncodeError in
        dialects without the method, and ConnectionClosedError.
        """
        self._tell_blocked(Blocked(reason), True)

    def unblock(self) -> None:
        """Announces that the server reads again (connection.unblocked, 0-9-1).  Raises as `block` does, and when it is not
        blocked."""
        self._tell_blocked(Unblocked(), False)

    def _tell_blocked(self, said: Blocked | Unblocked, blocked: bool) -> None:
        verb = said.VERB
        self._must_be_alive(verb)
        if self.blocked is blocked:
            raise LocalProtocolError(verb, self.state, self._may_say(), f"it is {'' if blocked else 'not '}blocked")
        capability = CAPABILITIES["server", verb]
        if self._open and not self.capable(capability):
            raise CapabilityMissing(verb, capability)
        self._say(said)
        self._blocked = blocked

    def fail(self, code: ReplyCode, text: str = "", method: str = "") -> None:
        """Closes as `close` does, because of a method of the client, named by `method` ("queue.declare")."""
        self._close_for(code, text, method)

    def take_secret(self) -> bytes | None:
        """Returns the secret of the last `SecretUpdated` once; None afterwards or without one."""
        secret, self._secret = self._secret, None
        return secret

    def _negotiate(self, control: Control, assembly: Assembly) -> None:
        if isinstance(control, UpdateSecret):
            self._secret = control.new_secret or b""
            self._updated = True
            self._ask()
            self._emit(SecretUpdated(control.reason or ""))
        else:
            super()._negotiate(control, assembly)

    def _answer_by_policy(self) -> bool:
        answered = super()._answer_by_policy()
        if answered and self._closed_cause is None:
            if self._updated:
                self._updated = False
                self._say(UpdateSecretOk())
            self._channels.answer_by_policy(self._settings.attach == "accept")
        return answered
