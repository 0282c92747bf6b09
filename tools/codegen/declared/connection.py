"""Events of a connection."""

from __future__ import annotations

from typing import ClassVar

from amqp_sansio.events.violation import Origin, Violation
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.values import Map


class StartReceived(ValueObject):
    """The server introduced itself and its offers (client role; connection.start).

    `mechanisms` and `locales` are in the server's order.  The answer is sent automatically, by the config's mechanisms.
    """

    server_properties: Map
    mechanisms: tuple[str, ...]
    locales: tuple[str, ...]


class Authenticated(ValueObject):
    """The SASL exchange succeeded (server role).  `identity` is who the client proved to be; "" for ANONYMOUS."""

    mechanism: str
    identity: str
    client_properties: Map


class OpenRequested(ValueObject):
    """The client requests a virtual host (server role; connection.open).

    Answer with `open_ok`, `redirect` or `close` before the next `next_event`, else the config's policy answers.  `insist`
    forbids a redirect.
    """

    virtual_host: str
    capabilities: tuple[str, ...]
    insist: bool


class ConnectionOpened(ValueObject):
    """The connection is open: sessions may attach.

    `max_frame_size` is in octets, frame header included; `heartbeat` is in seconds, 0 when there is none; `channel_max`
    is the number of channels agreed on.
    """

    virtual_host: str
    channel_max: int
    max_frame_size: int
    heartbeat: int
    known_hosts: tuple[str, ...] = ()


class ConnectionRedirected(ValueObject):
    """The server redirects us to another host (client role; connection.redirect).  `ConnectionClosed` follows."""

    host: str
    known_hosts: tuple[str, ...]


class VersionRefused(ValueObject):
    """The server speaks another version than we asked for (client role): it answered with its own protocol header, or its
    start names another version.  `ours` and `theirs` are names such as "AMQP 0-9-1".  `ConnectionClosed` follows.
    """

    ours: str
    theirs: str


class LoginRefused(ValueObject):
    """The server refused the login (client role; 0-8 to 0-9-1).  `ConnectionClosed` follows.

    `code` is that of connection.close.  It is None where the server just dropped the connection after start-ok, as some servers
    do for clients without the capability authentication_failure_close, and some for all.
    """

    mechanism: str
    code: int | None
    text: str


class ConnectionBlocked(ValueObject):
    """The server will not read published messages until `ConnectionUnblocked` (client role; connection.blocked, 0-9-1)."""

    reason: str


class ConnectionUnblocked(ValueObject):
    """The server reads again (client role; connection.unblocked, 0-9-1)."""

    __slots__ = ()


class SecretUpdated(ValueObject):
    """New credentials came into force (connection.update-secret, 0-9-1); the event does not contain them.

    Client role: the server accepted ours.  Server role: the client sent them; `take_secret` returns them, and we answer with
    update-secret-ok before the next event unless the connection is closed.  `reason` is the client's reason.
    """

    reason: str


class SecurityLayerStarted(ValueObject):
    """The SASL security layer applies from `offset` of one direction's octets on.

    `direction` is "inbound" or "outbound"; wrapping the octets is up to the embedding program.
    """

    direction: str
    offset: int


class ConnectionClosed(ValueObject):
    """The connection is over; always its last event.

    `code` and `text` are those of connection.close from either side (None when neither sent one); `violation` is set when
    `origin` is VIOLATION.  `method` is the method that the peer names as the cause, such as "queue.declare" (0-8 to 0-9-1).
    """

    ELSEWHERE: ClassVar[frozenset[str]] = frozenset({"method"})
    origin: Origin
    code: int | None = None
    text: str = ""
    violation: Violation | None = None
    method: str | None = None
