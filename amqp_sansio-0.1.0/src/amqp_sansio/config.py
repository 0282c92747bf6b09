"""Frozen settings: what a caller decides before a conversation begins.

Everything is keyword-only and has a default that works.  Nothing here shows a secret in its repr.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, Protocol

import attrs

from amqp_sansio.dialects import DEFAULT, Dialect
from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.build import VERSION
from amqp_sansio.limits import DEFAULT_LIMITS, MIN_MAX_FRAME_SIZE, Limits
from amqp_sansio.spec.connection import Tune
from amqp_sansio.spec.values import Map, Value
from amqp_sansio.tables.tuning import broken_by_offer
from amqp_sansio.wire.codec import Codec

CompletionPolicy = Literal["default", "on_hand_out", "manual"]
"""When a received command counts as complete.

"default": transfers with explicit accept when they settle; transfers with accept-mode none, and all other commands to a client,
when handed out; commands to a server when the application says so.  "on_hand_out": all of them when handed out.
"manual": only when the application says so.
"""

HeaderReading = Literal["lazy", "eager"]
"""When header structs are decoded: when asked for (a bad field raises HeaderError there), or on receipt (it is a violation)."""

OctetAccounting = Literal["frames", "body"]
"""What a transfer costs in octets of credit: its header and body frame payloads (the letter), or its body alone (Broker-J)."""

ErrorCodes = Literal["qpid", "rabbitmq", "spec"]
"""Which error code a broker answers where deployed brokers differ from the letter.

"spec": the letter.  Otherwise qpidd's in 0-10 and RabbitMQ's in 0-8, 0-9 and 0-9-1, whichever of the two is named.
"""


# --- SASL: the small protocol that a mechanism obeys ------------------------------------------------------------------


class SaslError(Exception):
    """A mechanism cannot go on with what the other side said.  Its text is shown: it must not contain a secret."""


@attrs.frozen
class Challenge:
    """A mechanism's verdict on the server's side: not yet.  `octets` go out in connection.secure."""

    octets: bytes = attrs.field(repr=False)


@attrs.frozen
class Accepted:
    """A mechanism's verdict on the server's side: yes.  `identity` is who the client proved to be, "" for anonymous."""

    identity: str


@attrs.frozen
class Rejected:
    """A mechanism's verdict on the server's side: no.  `reason` is for our own log: it must not contain a secret."""

    reason: str


@attrs.frozen
class Deferred:
    """A mechanism's verdict on the server's side: not known yet, because finding out is slow on purpose.

    The program takes `decide` with `ServerConnection.take_deferred`, runs it where it holds up nobody else, in a thread
    perhaps, and hands its verdict to `ServerConnection.decided`.  The connection reads nothing before that.
    """

    decide: Callable[[], Accepted | Rejected] = attrs.field(repr=False)


class ClientExchange(Protocol):
    """One authentication, the client's half."""

    security_layer: bool = False
    """True when the octets after open are wrapped by a layer that this exchange negotiated."""

    @property
    def done(self) -> bool:
        """True when the mechanism needs nothing more from the server; a tune before that is a violation."""
        raise NotImplementedError

    def initial(self) -> bytes | None:
        """The initial response (start-ok.response).  None when there is none, which differs from an empty one."""
        raise NotImplementedError

    def step(self, challenge: bytes) -> bytes:
        """Answer one challenge (secure-ok.response).  Raises SaslError when the server cannot be believed."""
        raise NotImplementedError


class ServerExchange(Protocol):
    """One authentication, the server's half."""

    security_layer: bool = False
    """True when the octets after open are wrapped by a layer that this exchange negotiated."""

    def step(self, response: bytes | None) -> Challenge | Accepted | Rejected | Deferred:
        """Judge one response; the first is start-ok's, None when it carried none.  May raise SaslError, which rejects."""
        raise NotImplementedError


class ClientMechanism(Protocol):
    """What a client can authenticate with: a name and a way to begin."""

    @property
    def name(self) -> str:
        """The registered name, such as "PLAIN"."""
        raise NotImplementedError

    def start(self) -> ClientExchange:
        """A new exchange; called once per connection."""
        raise NotImplementedError


class ServerMechanism(Protocol):
    """What a server accepts: a name and a way to begin."""

    @property
    def name(self) -> str:
        """The registered name, such as "PLAIN"."""
        raise NotImplementedError

    def start(self) -> ServerExchange:
        """A new exchange; called once per connection."""
        raise NotImplementedError


# --- profiles -----------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Profile:
    """How closely the letter is followed, and how the application and the protocol share the work."""

    name: str = "default"
    strict: bool = False
    """True: what deployed peers do everywhere against the letter is a violation; False: it is tolerated."""
    completion: CompletionPolicy = "default"
    octets: OctetAccounting = "frames"
    error_codes: ErrorCodes = "qpid"
    unpointed: Literal["unknown-ids", "illegal-state"] = "unknown-ids"
    """What a session that gets command data before any command-point is ended with: detached 4, which the letter demands,
    or exception 409, which qpidd says."""
    fragments: bool = False
    """True: message.resume and fragment-properties may be sent (qpidd ends the connection on them)."""

    def publish_is_explicit(self, accept_mode: int | None) -> bool:
        """Whether a server answers a transfer with message.accept or message.reject, besides its completion.

        Deployed clients leave accept-mode out and cannot handle either, so that only a `strict` server takes None for explicit.
        """
        return self.strict if accept_mode is None else accept_mode == 0


DEFAULT_PROFILE: Final = Profile()
STRICT_PROFILE: Final = Profile(name="strict", strict=True, error_codes="spec")


# --- validators: a mistake in a setting is told when the setting is made ----------------------------------------------------

_Check = Callable[[object, "attrs.Attribute[Any]", object], None]  # Any: attrs' own signature of a validator


def _integers(low: int, high: int, none: bool = False) -> _Check:
    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if none and value is None:
            return
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise EncodeError(f"{type(instance).__name__}.{attribute.name}", f"an integer of {low}..{high}, not {value!r}")

    return check


def _frame_sizes(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Up to the largest frame of any of the dialects."""
    high = max([each.framing.largest for each in _spoken(instance)])
    _integers(MIN_MAX_FRAME_SIZE, high)(instance, attribute, value)


def _usual_frame(instance: object) -> int:
    return min([each.framing.usual for each in _spoken(instance)])


def _spoken(instance: object) -> tuple[Dialect[Codec], ...]:
    if isinstance(instance, ServerConfig):
        return instance.dialects
    assert isinstance(instance, ClientConfig)
    return (instance.dialect,)


def _texts(high: int) -> _Check:
    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        for text in (value,) if isinstance(value, str) else value if isinstance(value, tuple) else (None,):
            if not isinstance(text, str) or len(text.encode("utf-8", "surrogatepass")) > high:
                raise EncodeError(f"{type(instance).__name__}.{attribute.name}", f"text of at most {high} octets, not {text!r}")

    return check


def _names(values: Iterable[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values)


def _mechanisms(instance: object, attribute: attrs.Attribute[Any], values: tuple[object, ...]) -> None:
    for value in values:
        if not isinstance(getattr(value, "name", None), str) or not callable(getattr(value, "start", None)):
            text = f"objects with a name and a `start`, such as those of engine.sasl, not {type(value).__name__}"
            raise EncodeError(f"{type(instance).__name__}.{attribute.name}", text)


def _client_mechanisms(values: Iterable[ClientMechanism]) -> tuple[ClientMechanism, ...]:
    return tuple(values)


def _server_mechanisms(values: Iterable[ServerMechanism]) -> tuple[ServerMechanism, ...]:
    return tuple(values)


def _map(entries: Mapping[str, Value]) -> Map:
    return entries if isinstance(entries, Map) else Map(entries)


def _product() -> Map:
    """Who we are, as both sides should say it; a server adds its "host", which nobody knows below the sockets.

    connection.start.server-properties.required-fields, connection.start-ok.client-properties.required-fields
    """
    return Map({
        "product": "amqp-sansio",
        "version": VERSION,
        "platform": "Python",
        "copyright": "the amqp-sansio authors",
        "information": "Apache License 2.0",
    })  # fmt: skip


def _dialects(value: Dialect[Codec] | Iterable[Dialect[Codec]]) -> tuple[Dialect[Codec], ...]:
    dialects = (value,) if isinstance(value, Dialect) else tuple(value)
    if not dialects:
        raise EncodeError("ServerConfig.dialects", "takes one Dialect or more")
    return dialects


@attrs.frozen(kw_only=True)
class ClientConfig:
    """How a client opens and runs a connection.

    Without `mechanisms` the client offers PLAIN when there is a `username`, and ANONYMOUS otherwise.  `mechanisms` stand
    in the client's order of preference; the first that the server offers is used.
    """

    mechanisms: tuple[ClientMechanism, ...] = attrs.field(default=(), converter=_client_mechanisms, validator=_mechanisms)
    username: str | None = None
    password: str = attrs.field(default="", repr=False)
    insecure_plain: bool = False
    """True: PLAIN may say the password where others can read it, on a connection that is not `confidential`: by the adapters,
    one that has no TLS and does not go to a loopback address."""
    trust_redirects: bool = False
    """True: a broker may send the client, with its name and password, to hosts that its address does not name."""
    virtual_host: str = attrs.field(default="", validator=_texts(255))
    """The virtual host to open (str8, at most 255 octets); "" for that of the dialect, "" in 0-10 and "/" in 0-8 to 0-9-1."""
    capabilities: tuple[str, ...] = attrs.field(default=(), converter=_names, validator=_texts(65535))
    insist: bool = False
    """True: the server may not redirect us (connection.open.insist)."""
    locale: str = attrs.field(default="en_US", validator=_texts(255))
    properties: Map = attrs.field(factory=_product, converter=_map)
    """client-properties of start-ok."""
    channel_max: int = attrs.field(default=65535, validator=_integers(1, 65535))
    """The most channels we want; the server may offer fewer."""
    dialect: Dialect[Codec] = DEFAULT
    max_frame_size: int = attrs.field(default=attrs.Factory(_usual_frame, takes_self=True), validator=_frame_sizes)
    """The largest frame we want, in octets; the server may offer less.  65535 unless said otherwise, and at most, in 0-10;
    131072 in 0-8 to 0-9-1, where more than `limits.inbox_octets` is not agreed on."""
    blocked: Literal["publish", "raise"] = "publish"
    """What `publish` does on a channel while the server says that the connection is blocked: it says the message, which the
    server does not read before it goes on, or it raises FlowStopped."""
    heartbeat: int = attrs.field(default=0, validator=_integers(0, 65535))
    """The interval we want, in seconds.  0-10: moved into the server's range; 0 for none.  0-8 to 0-9-1: the lower one of
    ours and the server's counts, and 0 leaves it to the server.  Needs `tick`."""
    headers: HeaderReading = "lazy"
    profile: Profile = DEFAULT_PROFILE
    limits: Limits = DEFAULT_LIMITS


@attrs.frozen(kw_only=True)
class ServerConfig:
    """How a server opens and runs a connection.

    Without `mechanisms` it offers ANONYMOUS alone.  What the application does not answer itself (`open_ok`, `redirect`,
    `close`, `accept`, `refuse`) is answered by `virtual_hosts` and `attach`.
    """

    mechanisms: tuple[ServerMechanism, ...] = attrs.field(default=(), converter=_server_mechanisms, validator=_mechanisms)
    virtual_hosts: tuple[str, ...] | None = attrs.field(default=None, converter=attrs.converters.optional(_names))
    """The virtual hosts that exist; another one is answered with close 402 (530, as RabbitMQ does, in 0-8 to 0-9-1 unless the
    profile's codes are the letter's).  None: any."""
    known_hosts: tuple[str, ...] = attrs.field(default=(), converter=_names, validator=_texts(65535))
    """What open-ok tells about other hosts."""
    locales: tuple[str, ...] = attrs.field(default=("en_US",), converter=_names, validator=_texts(65535))
    """Must contain en_US (connection.start.locales.required-support)."""
    properties: Map = attrs.field(factory=_product, converter=_map)
    """server-properties of start."""
    channel_max: int = attrs.field(default=65535, validator=_integers(1, 65535))
    """The most channels we offer: numbers 0 to channel_max - 1.  Always said, because clients take silence for 0."""
    dialects: tuple[Dialect[Codec], ...] = attrs.field(default=(DEFAULT,), converter=_dialects)
    """What clients may speak.  A header that is none of theirs is answered with the first one's."""
    max_frame_size: int = attrs.field(default=attrs.Factory(_usual_frame, takes_self=True), validator=_frame_sizes)
    """The largest frame we offer, in octets; its defaults are a client's.  Always said, because clients take silence for 0."""
    heartbeat_min: int | None = attrs.field(default=0, validator=_integers(0, 65535, none=True))
    """The shortest interval we can keep, in seconds.  None: no heartbeats at all."""
    heartbeat_max: int | None = attrs.field(default=120, validator=_integers(0, 65535, none=True))
    """The longest interval we can keep, in seconds; the one that we offer in 0-8 to 0-9-1."""
    attach: Literal["accept", "refuse"] = "accept"
    """What happens to an attach that the application does not answer."""
    session_timeout: int | None = attrs.field(default=0, validator=_integers(0, 2**32 - 1, none=True))
    """The most seconds that we keep a detached session.  None: for ever.  0: the session ends with its attachment, which
    old clients that attach again by force and begin at command 0 need."""
    headers: HeaderReading = "eager"
    profile: Profile = DEFAULT_PROFILE
    limits: Limits = DEFAULT_LIMITS

    @property
    def dialect(self) -> Dialect[Codec]:
        """The preferred one, the first."""
        return self.dialects[0]

    def __attrs_post_init__(self) -> None:
        if "en_US" not in self.locales:
            raise EncodeError("ServerConfig.locales", "must contain en_US (connection.start.locales.required-support)")
        for broken in broken_by_offer(Tune(None, None, self.heartbeat_min, self.heartbeat_max), 0):
            raise EncodeError(
                "ServerConfig.heartbeat_max", f"takes {broken.legal}, not {broken.said} (connection.tune.{broken.rule})"
            )
