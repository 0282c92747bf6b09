"""Events of a connection."""

from __future__ import annotations

from typing import ClassVar, Final

from amqp_sansio.events.violation import Origin, Violation
from amqp_sansio.kernel.value import Value
from amqp_sansio.spec.values import Map


class StartReceived(Value):
    """The server introduced itself and its offers (client role; connection.start).

    `mechanisms` and `locales` are in the server's order.  The answer is sent automatically, by the config's mechanisms.
    """

    __slots__ = ("locales", "mechanisms", "server_properties")
    FIELDS: ClassVar[tuple[str, ...]] = ("server_properties", "mechanisms", "locales")
    __match_args__ = ("server_properties", "mechanisms", "locales")

    def __init__(
        self,
        server_properties: Map,
        mechanisms: tuple[str, ...],
        locales: tuple[str, ...],
    ) -> None:
        self.server_properties: Final = server_properties
        self.mechanisms: Final = mechanisms
        self.locales: Final = locales


class Authenticated(Value):
    """The SASL exchange succeeded (server role).  `identity` is who the client proved to be; "" for ANONYMOUS."""

    __slots__ = ("client_properties", "identity", "mechanism")
    FIELDS: ClassVar[tuple[str, ...]] = ("mechanism", "identity", "client_properties")
    __match_args__ = ("mechanism", "identity", "client_properties")

    def __init__(
        self,
        mechanism: str,
        identity: str,
        client_properties: Map,
    ) -> None:
        self.mechanism: Final = mechanism
        self.identity: Final = identity
        self.client_properties: Final = client_properties


class OpenRequested(Value):
    """The client requests a virtual host (server role; connection.open).

    Answer with `open_ok`, `redirect` or `close` before the next `next_event`, else the config's policy answers.  `insist`
    forbids a redirect.
    """

    __slots__ = ("capabilities", "insist", "virtual_host")
    FIELDS: ClassVar[tuple[str, ...]] = ("virtual_host", "capabilities", "insist")
    __match_args__ = ("virtual_host", "capabilities", "insist")

    def __init__(
        self,
        virtual_host: str,
        capabilities: tuple[str, ...],
        insist: bool,
    ) -> None:
        self.virtual_host: Final = virtual_host
        self.capabilities: Final = capabilities
        self.insist: Final = insist


class ConnectionOpened(Value):
    """The connection is open: sessions may attach.

    `max_frame_size` is in octets, frame header included; `heartbeat` is in seconds, 0 when there is none; `channel_max`
    is the number of channels agreed on.
    """

    __slots__ = ("channel_max", "heartbeat", "known_hosts", "max_frame_size", "virtual_host")
    FIELDS: ClassVar[tuple[str, ...]] = ("virtual_host", "channel_max", "max_frame_size", "heartbeat", "known_hosts")
    __match_args__ = ("virtual_host", "channel_max", "max_frame_size", "heartbeat", "known_hosts")

    def __init__(
        self,
        virtual_host: str,
        channel_max: int,
        max_frame_size: int,
        heartbeat: int,
        known_hosts: tuple[str, ...] = (),
    ) -> None:
        self.virtual_host: Final = virtual_host
        self.channel_max: Final = channel_max
        self.max_frame_size: Final = max_frame_size
        self.heartbeat: Final = heartbeat
        self.known_hosts: Final = known_hosts


class ConnectionRedirected(Value):
    """The server redirects us to another host (client role; connection.redirect).  `ConnectionClosed` follows."""

    __slots__ = ("host", "known_hosts")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "known_hosts")
    __match_args__ = ("host", "known_hosts")

    def __init__(
        self,
        host: str,
        known_hosts: tuple[str, ...],
    ) -> None:
        self.host: Final = host
        self.known_hosts: Final = known_hosts


class VersionRefused(Value):
    """The server speaks another version than we asked for (client role): it answered with its own protocol header, or its
    start names another version.  `ours` and `theirs` are names such as "AMQP 0-9-1".  `ConnectionClosed` follows.
    """

    __slots__ = ("ours", "theirs")
    FIELDS: ClassVar[tuple[str, ...]] = ("ours", "theirs")
    __match_args__ = ("ours", "theirs")

    def __init__(self, ours: str, theirs: str) -> None:
        self.ours: Final = ours
        self.theirs: Final = theirs


class LoginRefused(Value):
    """The server refused the login (client role; 0-8 to 0-9-1).  `ConnectionClosed` follows.

    `code` is that of connection.close.  It is None where the server just dropped the connection after start-ok, as some servers
    do for clients without the capability authentication_failure_close, and some for all.
    """

    __slots__ = ("code", "mechanism", "text")
    FIELDS: ClassVar[tuple[str, ...]] = ("mechanism", "code", "text")
    __match_args__ = ("mechanism", "code", "text")

    def __init__(self, mechanism: str, code: int | None, text: str) -> None:
        self.mechanism: Final = mechanism
        self.code: Final = code
        self.text: Final = text


class ConnectionBlocked(Value):
    """The server will not read published messages until `ConnectionUnblocked` (client role; connection.blocked, 0-9-1)."""

    __slots__ = ("reason",)
    FIELDS: ClassVar[tuple[str, ...]] = ("reason",)
    __match_args__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason: Final = reason


class ConnectionUnblocked(Value):
    """The server reads again (client role; connection.unblocked, 0-9-1)."""

    __slots__ = ()


class SecretUpdated(Value):
    """New credentials came into force (connection.update-secret, 0-9-1); the event does not contain them.

    Client role: the server accepted ours.  Server role: the client sent them; `take_secret` returns them, and we answer with
    update-secret-ok before the next event unless the connection is closed.  `reason` is the client's reason.
    """

    __slots__ = ("reason",)
    FIELDS: ClassVar[tuple[str, ...]] = ("reason",)
    __match_args__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason: Final = reason


class SecurityLayerStarted(Value):
    """The SASL security layer applies from `offset` of one direction's octets on.

    `direction` is "inbound" or "outbound"; wrapping the octets is up to the embedding program.
    """

    __slots__ = ("direction", "offset")
    FIELDS: ClassVar[tuple[str, ...]] = ("direction", "offset")
    __match_args__ = ("direction", "offset")

    def __init__(
        self,
        direction: str,
        offset: int,
    ) -> None:
        self.direction: Final = direction
        self.offset: Final = offset


class ConnectionClosed(Value):
    """The connection is over; always its last event.

    `code` and `text` are those of connection.close from either side (None when neither sent one); `violation` is set when
    `origin` is VIOLATION.  `method` is the method that the peer names as the cause, such as "queue.declare" (0-8 to 0-9-1).
    """

    __slots__ = ("code", "method", "origin", "text", "violation")
    FIELDS: ClassVar[tuple[str, ...]] = ("origin", "code", "text", "violation", "method")
    ELSEWHERE: ClassVar[frozenset[str]] = frozenset({"method"})
    __match_args__ = ("origin", "code", "text", "violation", "method")

    def __init__(
        self,
        origin: Origin,
        code: int | None = None,
        text: str = "",
        violation: Violation | None = None,
        method: str | None = None,
    ) -> None:
        self.origin: Final = origin
        self.code: Final = code
        self.text: Final = text
        self.violation: Final = violation
        self.method: Final = method
