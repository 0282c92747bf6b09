"""The client's side of a connection with channels: 0-8, 0-9 and 0-9-1."""

from __future__ import annotations

from typing import Final

from amqp_sansio.config import ClientConfig
from amqp_sansio.dialects import Dialect
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.engine.channels.endpoint import Channels
from amqp_sansio.engine.handshake import ClientHandshake
from amqp_sansio.errors import EncodeError, LocalProtocolError
from amqp_sansio.events import ConnectionBlocked, ConnectionUnblocked, SecretUpdated
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Blocked, Unblocked, UpdateSecret, UpdateSecretOk
from amqp_sansio.tables import connection as words
from amqp_sansio.tables.channel import OPEN
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import Assembly
from amqp_sansio.wire.method_codec import MethodCodec


def codec_of(setting: str, dialect: Dialect[Codec]) -> MethodCodec:
    """Returns the method codec of a dialect with channels.  Raises EncodeError for a dialect without."""
    codec = dialect.codec
    if not isinstance(codec, MethodCodec):
        raise EncodeError(setting, f"a dialect with channels, such as 0-9-1, not {dialect.name}")
    return codec


class ChannelClientConnection(ClientHandshake):
    """The client's side of a connection; it sends the protocol header at once.

    `confidential` states that nobody else can read what it sends, because of TLS or because it stays on this machine.  Where it
    is False, PLAIN and AMQPLAIN are not used unless the config permits them (`insecure_plain`).

    Raises what `ClientMechanism.start` raises, and EncodeError for settings that no frame can carry, such as a dialect with
    sessions.
    """

    def __init__(self, config: ClientConfig, *, confidential: bool = True) -> None:
        codec = codec_of("ClientConfig.dialect", config.dialect)
        counted = config.dialect.handshake.numbering.counted
        self._channels: Final = Channels(self, codec, counted, config.blocked == "raise")
        super().__init__(config, self._channels, confidential)
        self._updating: str | None = None  # the reason, while an update-secret awaits its answer

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels that are open or await channel.open-ok, by number."""
        return tuple([channel for channel in self._channels.all if isinstance(channel, Channel)])

    def channel(self, number: int | None = None) -> Channel:
        """Opens a channel (channel.open), on the lowest free number unless `number` is given.

        Raises LocalProtocolError before ConnectionOpened, for a number in use, and for one above channel-max (0-9-1);
        LimitError when as many channels are open as were negotiated; ConnectionClosedError.
        """
        self._must_be_alive(OPEN)
        if not self._open:
            raise LocalProtocolError(OPEN, self.state, self._may_say(), "channels open after ConnectionOpened")
        return self._channels.open(number)

    def update_secret(self, secret: bytes, reason: str = "") -> None:
        """Gives the server new credentials before the old ones expire; `SecretUpdated` follows when it accepts them (0-9-1).

        `reason`, for logs, has at most 255 octets.  Raises LocalProtocolError before ConnectionOpened and while another update
        awaits its answer, EncodeError in dialects without update-secret, and ConnectionClosedError.
        """
        self._must_be_alive(words.UPDATE_SECRET)
        if not self._open or self._updating is not None:
            rule = "one at a time" if self._open else "only after ConnectionOpened"
            raise LocalProtocolError(words.UPDATE_SECRET, self.state, self._may_say(), rule)
        self._say(UpdateSecret(secret, reason))
        self._updating = reason or ""

    def _negotiate(self, control: Control, assembly: Assembly) -> None:
        match control:
            case Blocked():
                self._blocked = True
                self._emit(ConnectionBlocked(control.reason or ""))
            case Unblocked():
                self._blocked = False
                self._emit(ConnectionUnblocked())
            case UpdateSecretOk():
                reason, self._updating = self._updating, None
                if reason is None:
                    code = self._codes.direction
                    self._blame(assembly, "reply.unasked", words.UPDATE_SECRET_OK, (), "nobody asked for it", code)
                else:
                    self._emit(SecretUpdated(reason))
            case _:
                super()._negotiate(control, assembly)
