"""Frozen settings of clients and servers, made before a connection begins.

Everything is keyword-only and has a default that works.  No repr shows a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, Protocol, get_args

import attrs

from amqp_sansio.dialects import DEFAULT, Dialect
from amqp_sansio.errors import EncodeError
from amqp_sansio.errors.checks import check_is, checked, integers, names, one_of, several, texts
from amqp_sansio.kernel.build import VERSION
from amqp_sansio.limits import DEFAULT_LIMITS, MIN_MAX_FRAME_SIZE, Limits
from amqp_sansio.spec.connection import Tune
from amqp_sansio.spec.values import Map, Value
from amqp_sansio.tables.connection import RANGES
from amqp_sansio.wire.codec import Codec

CompletionPolicy = Literal["default", "on_hand_out", "manual"]
"""When a received command counts as complete.

"default": transfers with explicit accept when they settle; transfers with accept-mode none, and all other commands to a client,
when handed out; commands to a server when the application says so.  "on_hand_out": all of them when handed out.
"manual": only when the application says so.
"""

HeaderReading = Literal["lazy", "eager"]
"""When header structs are decoded: on access (a bad field raises HeaderError), or on receipt (a bad field is a violation)."""

OctetAccounting = Literal["frames", "body"]
"""What a transfer costs in octets of credit: the payloads of its header and body frames, or its body alone (as in Broker-J)."""

ErrorCodes = Literal["qpid", "rabbitmq", "spec"]
"""Which error code a broker sends where deployed brokers differ from the specification.

"spec" follows the specification.  Otherwise the codes are qpidd's in 0-10 and RabbitMQ's in 0-8, 0-9 and 0-9-1, whichever of
the two is named.
"""


# --- SASL: the interface of a mechanism -------------------------------------------------------------------------------


class SaslError(Exception):
    """Raised by a mechanism that cannot go on after what the peer sent.  Its text is shown: it must not contain a secret."""


@attrs.frozen
class Challenge:
    """Server-side verdict: the exchange goes on.  The server sends `octets` in connection.secure."""

    octets: bytes = attrs.field(repr=False)


@attrs.frozen
class Accepted:
    """Server-side verdict: the client is authenticated.  `identity` is who it proved to be, "" for anonymous."""

    identity: str


@attrs.frozen
class Rejected:
    """Server-side verdict: authentication failed.  `reason` goes to our own log only; it must not contain a secret."""

    reason: str


@attrs.frozen
class Deferred:
    """Server-side verdict that is still to be computed, because the check is slow on purpose (a password hash).

    The program takes `decide` with `ServerConnection.take_deferred`, runs it where it blocks nobody else, for example in a
    thread, and passes the verdict to `ServerConnection.decided`.  Until then the connection reads nothing.
    """

    decide: Callable[[], Accepted | Rejected] = attrs.field(repr=False)


class ClientExchange(Protocol):
    """The client's half of one authentication."""

    security_layer: bool = False
    """True when a security layer that this exchange negotiated wraps the octets after open."""

    @property
    def done(self) -> bool:
        """True when the mechanism expects nothing more from the server; a tune before that is a violation."""
        raise NotImplementedError

    def initial(self) -> bytes | None:
        """Returns the initial response (start-ok.response); None when there is none, which differs from an empty one."""
        raise NotImplementedError

    def step(self, challenge: bytes) -> bytes:
        """Returns the response to one challenge (secure-ok.response).  Raises SaslError for a server that fails to prove
        itself."""
        raise NotImplementedError


class ServerExchange(Protocol):
    """The server's half of one authentication."""

    security_layer: bool = False
    """True when a security layer that this exchange negotiated wraps the octets after open."""

    def step(self, response: bytes | None) -> Challenge | Accepted | Rejected | Deferred:
        """Judges one response; the first is that of start-ok, None when it has none.  May raise SaslError, which rejects."""
        raise NotImplementedError


class ClientMechanism(Protocol):
    """A way for a client to authenticate: the name of the mechanism and a factory of exchanges."""

    @property
    def name(self) -> str:
        """The registered name, such as "PLAIN"."""
        raise NotImplementedError

    def start(self) -> ClientExchange:
        """Returns a new exchange; called once per connection."""
        raise NotImplementedError


class ServerMechanism(Protocol):
    """A way of authentication that a server accepts: the name of the mechanism and a factory of exchanges."""

    @property
    def name(self) -> str:
        """The registered name, such as "PLAIN"."""
        raise NotImplementedError

    def start(self) -> ServerExchange:
        """Returns a new exchange; called once per connection."""
        raise NotImplementedError


# --- profiles -----------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True, field_transformer=checked())
class Profile:
    """How closely we follow the specification, and how the application and the library share the work."""

    name: str = "default"
    strict: bool = False
    """True: a deviation from the specification that every deployed peer has is a violation; False: it is tolerated."""
    completion: CompletionPolicy = attrs.field(default="default", validator=one_of(*get_args(CompletionPolicy)))
    octets: OctetAccounting = attrs.field(default="frames", validator=one_of(*get_args(OctetAccounting)))
    error_codes: ErrorCodes = attrs.field(default="qpid", validator=one_of(*get_args(ErrorCodes)))
    unpointed: Literal["unknown-ids", "illegal-state"] = attrs.field(
        default="unknown-ids", validator=one_of("unknown-ids", "illegal-state")
    )
    """How we end a session that receives command data before any command-point: "unknown-ids" detaches with 4, as the
    specification demands; "illegal-state" sends exception 409, as qpidd does."""
    fragments: bool = False
    """True: message.resume and fragment-properties may be sent (qpidd ends the connection on them)."""

    def publish_is_explicit(self, accept_mode: int | None) -> bool:
        """Whether a server answers a transfer with message.accept or message.reject, besides completing it.

        Deployed clients leave accept-mode out and cannot handle either answer, so only a `strict` server reads None as
        explicit.
        """
        return self.strict if accept_mode is None else accept_mode == 0


DEFAULT_PROFILE: Final = Profile()
STRICT_PROFILE: Final = Profile(name="strict", strict=True, error_codes="spec")


def _frame_sizes(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accepts sizes up to the largest frame of any configured dialect."""
    high = max([each.framing.largest for each in _spoken(instance)])
    integers(MIN_MAX_FRAME_SIZE, high)(instance, attribute, value)


def _usual_frame(instance: object) -> int:
    return min([each.framing.usual for each in _spoken(instance)])


def _spoken(instance: object) -> tuple[Dialect[Codec], ...]:
    if isinstance(instance, ServerConfig):
        return instance.dialects
    assert isinstance(instance, ClientConfig)
    return (instance.dialect,)


def _mechanisms(instance: object, attribute: attrs.Attribute[Any], values: object) -> None:
    for value in values if isinstance(values, tuple) else (values,):
        if isinstance(value, type):  # its name is that of its instances
            text = f"objects, not classes: {value.__name__}(...), not {value.__name__}"
            raise EncodeError(f"{type(instance).__name__}.{attribute.name}", text)
        if not isinstance(getattr(value, "name", None), str) or not callable(getattr(value, "start", None)):
            text = f"objects with a name and a `start`, such as those of engine.sasl, not {type(value).__name__}"
            raise EncodeError(f"{type(instance).__name__}.{attribute.name}", text)


def _client_mechanisms(values: Iterable[ClientMechanism]) -> tuple[ClientMechanism, ...]:
    return several(values)


def _server_mechanisms(values: Iterable[ServerMechanism]) -> tuple[ServerMechanism, ...]:
    return several(values)


def _map(entries: Mapping[str, Value]) -> Map:
    given: object = entries
    return Map(entries) if isinstance(given, Mapping) and not isinstance(given, Map) else given  # type: ignore[return-value]


def _product() -> Map:
    """The properties by which both sides introduce this library; a server adds "host", which only its socket layer knows.

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
    dialects: object = (value,) if isinstance(value, Dialect) else several(value)
    if not isinstance(dialects, tuple) or not dialects or not all(isinstance(each, Dialect) for each in dialects):
        raise EncodeError("ServerConfig.dialects", f"takes one Dialect or more, not {value!r}")
    return dialects


def _dialect(value: Dialect[Codec]) -> Dialect[Codec]:
    check_is("ClientConfig.dialect", value, Dialect)  # here, because a default is made from it before validators run
    return value


@attrs.frozen(kw_only=True, field_transformer=checked())
class ClientConfig:
    """How a client opens and runs a connection.

    Without `mechanisms` the client offers PLAIN when there is a `username`, and ANONYMOUS otherwise.  `mechanisms` are in order
    of preference; the client uses the first one that the server offers.
    """

    mechanisms: tuple[ClientMechanism, ...] = attrs.field(default=(), converter=_client_mechanisms, validator=_mechanisms)
    username: str | None = None
    password: str = attrs.field(default="", repr=False)
    insecure_plain: bool = False
    """True: PLAIN may send the password where others can read it, on a connection that is not `confidential`: for the adapters,
    one without TLS to an address that is not loopback."""
    trust_redirects: bool = False
    """True: a broker may redirect the client, with its name and password, to hosts that the address does not name."""
    virtual_host: str = attrs.field(default="", validator=texts(255))
    """The virtual host to open (str8, at most 255 octets).  "" is the dialect's default: "" in 0-10 and "/" in 0-8 to 0-9-1."""
    capabilities: tuple[str, ...] = attrs.field(default=(), converter=names, validator=texts(65535))
    insist: bool = False
    """True: asks the server not to redirect us (connection.open.insist)."""
    locale: str = attrs.field(default="en_US", validator=texts(255))
    properties: Map = attrs.field(factory=_product, converter=_map)
    """client-properties of start-ok."""
    channel_max: int = attrs.field(default=65535, validator=integers(1, 65535))
    """The most channels that we want; the server may offer fewer."""
    dialect: Dialect[Codec] = attrs.field(default=DEFAULT, converter=_dialect)
    max_frame_size: int = attrs.field(default=attrs.Factory(_usual_frame, takes_self=True), validator=_frame_sizes)
    """The largest frame that we want, in octets; the server may offer less.  Default and maximum are 65535 in 0-10.  In 0-8 to
    0-9-1 the default is 131072, and no more than `limits.inbox_octets` is agreed on."""
    blocked: Literal["publish", "raise"] = attrs.field(default="publish", validator=one_of("publish", "raise"))
    """What `publish` does on a channel while the server reports the connection as blocked: "publish" sends the message, which
    the server reads once it is unblocked; "raise" raises FlowStopped."""
    heartbeat: int = attrs.field(default=0, validator=integers(0, 65535))
    """The heartbeat interval that we want, in seconds.  0-10: moved into the server's range; 0 for none.  0-8 to 0-9-1: the
    lower of ours and the server's applies, and 0 leaves it to the server.  Needs `tick`."""
    headers: HeaderReading = attrs.field(default="lazy", validator=one_of(*get_args(HeaderReading)))
    profile: Profile = DEFAULT_PROFILE
    limits: Limits = DEFAULT_LIMITS


@attrs.frozen(kw_only=True, field_transformer=checked())
class ServerConfig:
    """How a server opens and runs a connection.

    Without `mechanisms` it offers ANONYMOUS alone.  Requests that the application does not answer itself (with `open_ok`,
    `redirect`, `close`, `accept` or `refuse`) are answered according to `virtual_hosts` and `attach`.
    """

    mechanisms: tuple[ServerMechanism, ...] = attrs.field(default=(), converter=_server_mechanisms, validator=_mechanisms)
    virtual_hosts: tuple[str, ...] | None = attrs.field(default=None, converter=attrs.converters.optional(names))
    """The virtual hosts that exist; None: any.  The server closes the connection for any other one with 402; in 0-8 to 0-9-1
    with 530, as RabbitMQ does, unless the profile's error codes are "spec"."""
    known_hosts: tuple[str, ...] = attrs.field(default=(), converter=names, validator=texts(65535))
    """The other hosts that open-ok lists."""
    locales: tuple[str, ...] = attrs.field(default=("en_US",), converter=names, validator=texts(65535))
    """Must contain en_US (connection.start.locales.required-support)."""
    properties: Map = attrs.field(factory=_product, converter=_map)
    """server-properties of start."""
    channel_max: int = attrs.field(default=65535, validator=integers(1, 65535))
    """The most channels that we offer: numbers 0 to channel_max - 1.  Always sent, because clients read its absence as 0."""
    dialects: tuple[Dialect[Codec], ...] = attrs.field(default=(DEFAULT,), converter=_dialects)
    """The dialects that clients may speak.  A header of any other one is answered with the header of the first."""
    max_frame_size: int = attrs.field(default=attrs.Factory(_usual_frame, takes_self=True), validator=_frame_sizes)
    """The largest frame that we offer, in octets; defaults as for a client.  Always sent: clients read its absence as 0."""
    heartbeat_min: int | None = attrs.field(default=0, validator=integers(0, 65535))
    """The shortest heartbeat interval that we support, in seconds.  None: no heartbeats at all."""
    heartbeat_max: int | None = attrs.field(default=120, validator=integers(0, 65535))
    """The longest heartbeat interval that we support, in seconds; the one that we offer in 0-8 to 0-9-1."""
    attach: Literal["accept", "refuse"] = attrs.field(default="accept", validator=one_of("accept", "refuse"))
    """What happens to an attach that the application does not answer."""
    session_timeout: int | None = attrs.field(default=0, validator=integers(0, 2**32 - 1))
    """The longest time that we keep a detached session, in seconds.  None: for ever.  0: the session ends when it is detached,
    as old clients need that attach again by force and begin at command 0."""
    headers: HeaderReading = attrs.field(default="eager", validator=one_of(*get_args(HeaderReading)))
    profile: Profile = DEFAULT_PROFILE
    limits: Limits = DEFAULT_LIMITS

    @property
    def dialect(self) -> Dialect[Codec]:
        """The preferred dialect: the first."""
        return self.dialects[0]

    def __attrs_post_init__(self) -> None:
        if "en_US" not in self.locales:
            raise EncodeError("ServerConfig.locales", "must contain en_US (connection.start.locales.required-support)")
        for broken in RANGES.broken_by_offer(Tune(None, None, self.heartbeat_min, self.heartbeat_max), 0):
            raise EncodeError(
                "ServerConfig.heartbeat_max", f"takes {broken.legal}, not {broken.said} (connection.tune.{broken.rule})"
            )
