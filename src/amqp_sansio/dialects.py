"""The dialects: one value per version of AMQP, which puts the version together from its parts.

This is the only place besides generated layouts where a version number stands.  A dialect imports its layouts and machines when
it is first used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.tables.channel_connection import COUNT, HIGHEST, INTERVAL, PIPELINED
from amqp_sansio.tables.connection import SAYS_REFUSED, SESSIONS, CloseCodes, Handshake
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import Framing
from amqp_sansio.wire.layouts.reply_codes import REPLY_CODES
from amqp_sansio.wire.method_frames import METHODS, METHODS_AND_TRACES
from amqp_sansio.wire.segments import SEGMENTATION

if TYPE_CHECKING:
    from amqp_sansio.config import ClientConfig, ServerConfig
    from amqp_sansio.engine.checker import Checker, Observed, Speaker
    from amqp_sansio.engine.handshake import ClientHandshake, ServerHandshake
    from amqp_sansio.engine.observer import Ear
    from amqp_sansio.limits import Limits
    from amqp_sansio.wire.layouts.layout import Layout
    from amqp_sansio.wire.method_codec import MethodCodec

ConnectionCode: TypeAlias = CloseCode | ReplyCode
"""The codes of connection.close in any dialect; the part `handshake` says which of them a dialect has."""

HEADERS: Final[dict[str, bytes]] = {
    "0-8": b"AMQP\x01\x01\x08\x00",
    "0-9": b"AMQP\x01\x01\x00\x09",
    "0-9-1": b"AMQP\x00\x00\x09\x01",
    "0-10": b"AMQP\x01\x01\x00\x0a",
    "99-0": b"AMQP\x01\x01\x63\x00",
    "1.0": b"AMQP\x00\x01\x00\x00",
}
"""The protocol header that a client of each version sends first."""

VERSIONS: Final[dict[bytes, str]] = {
    **{octets: version for version, octets in HEADERS.items()},
    b"AMQP\x01\x01\x09\x01": "0-8",  # as the 0-8 document prints it
    b"AMQP\x01\x01\x00\x5b": "0-9-1",  # as qpid's own XML numbers it: minor 91
    b"AMQP\x02\x01\x00\x00": "1.0",  # its TLS layer
    b"AMQP\x03\x01\x00\x00": "1.0",  # its SASL layer
}
"""The version that each protocol header names; alternative spellings included."""


C_co = TypeVar("C_co", bound=Codec, covariant=True)


class Dialect(Generic[C_co]):
    """One version of AMQP as it is spoken, put together from parts that are independent of one another.

    `header` is the protocol header, 8 octets, that a client of it sends first; a server accepts the `spellings` too.  `codec`
    encodes and decodes words, `framing` puts them into frames, `handshake` describes how connections begin and end. `client`
    and `server` make connections whose channels have the endpoints of this dialect; `first_channel` is their lowest number,
    `virtual_host` the one to open where none is named.  `checker` is the family's part of an observer.

    The endpoints know what settles a message, which properties it has and which codes end a channel.
    """

    __slots__ = (
        "_checker", "_codec", "_loaded", "client", "first_channel", "framing", "handshake", "header", "name", "server",
        "spellings", "virtual_host",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        header: bytes,
        codec: Callable[[], C_co],
        framing: Framing,
        handshake: Handshake,
        client: Callable[[ClientConfig, bool], ClientHandshake],
        server: Callable[[ServerConfig], ServerHandshake],
        checker: Callable[[C_co, bool, Limits, Mapping[Speaker, Ear], deque[Observed]], Checker],
        *,
        spellings: tuple[bytes, ...] = (),
        first_channel: int = 0,
        virtual_host: str = "",
    ) -> None:
        self.name: Final = name
        self.header: Final = header
        self.spellings: Final = (header, *spellings)
        self.framing: Final = framing
        self.handshake: Final = handshake
        self.client: Final = client
        self.server: Final = server
        self.first_channel: Final = first_channel
        self.virtual_host: Final = virtual_host
        self._checker: Final = checker
        self._codec: Final = codec
        self._loaded: C_co | None = None

    @property
    def codec(self) -> C_co:
        """The codec; imported on first use."""
        loaded = self._loaded
        if loaded is None:
            loaded = self._loaded = self._codec()
        return loaded

    def checker(self, strict: bool, limits: Limits, ears: Mapping[Speaker, Ear], said: deque[Observed]) -> Checker:
        """Returns the family's part of an observer; see `engine.checker`."""
        return self._checker(self.codec, strict, limits, ears, said)

    def __repr__(self) -> str:
        return f"<Dialect {self.name}>"


SessionDialect: TypeAlias = "Dialect[Layout]"
"""A dialect with sessions."""
ChannelDialect: TypeAlias = "Dialect[MethodCodec]"
"""A dialect with channels."""


def _errata() -> Layout:
    from amqp_sansio.wire.layouts.v0_10 import LAYOUT

    return LAYOUT


def _first_edition() -> Layout:
    from amqp_sansio.wire.layouts.v0_10_final import LAYOUT

    return LAYOUT


def _client(config: ClientConfig, confidential: bool) -> ClientHandshake:
    from amqp_sansio.engine.client import ClientConnection

    return ClientConnection(config, confidential=confidential)


def _server(config: ServerConfig) -> ServerHandshake:
    from amqp_sansio.engine.server import ServerConnection

    return ServerConnection(config)


def _checker(codec: Layout, strict: bool, limits: Limits, ears: Mapping[Speaker, Ear], said: deque[Observed]) -> Checker:
    from amqp_sansio.engine.session_checker import SessionChecker

    return SessionChecker(codec, strict, limits, ears, said)


AMQP_0_10: Final = Dialect("0-10", HEADERS["0-10"], _errata, SEGMENTATION, SESSIONS, _client, _server, _checker)
"""AMQP 0-10 with the errata, as all known peers speak it."""

AMQP_0_10_FINAL: Final = Dialect(
    "0-10 final", HEADERS["0-10"], _first_edition, SEGMENTATION, SESSIONS, _client, _server, _checker
)
"""AMQP 0-10 as in its first edition; it differs in dtx.xid only and has the same protocol header."""

DEFAULT: Final[SessionDialect] = AMQP_0_10
"""The dialect of a config that names none."""

DIALECTS: Final = (AMQP_0_10, AMQP_0_10_FINAL)
"""The dialects with sessions; of two with the same header, the first is used."""


def _methods(module: str) -> Callable[[], MethodCodec]:
    def load() -> MethodCodec:
        codec: MethodCodec = import_module(f"amqp_sansio.wire.layouts.{module}").CODEC
        return codec

    return load


def _channel_client(config: ClientConfig, confidential: bool) -> ClientHandshake:
    from amqp_sansio.engine.channel_client import ChannelClientConnection

    return ChannelClientConnection(config, confidential=confidential)


def _channel_server(config: ServerConfig) -> ServerHandshake:
    from amqp_sansio.engine.channel_server import ChannelServerConnection

    return ChannelServerConnection(config)


_EDITIONS: Final = {
    "0-8": ("v0_8", "v0_8_unbind", "v0_8_qpid"),
    "0-9": ("v0_9", "v0_9_rabbitmq", "v0_9_unbind", "v0_9_qpid"),
    "0-9-1": ("v0_9_1", "v0_9_1_qpid"),
}
"""The layouts of each version.  What one cannot decode may be in another."""


def _judge(
    counted: bool, variants: tuple[str, ...]
) -> Callable[[MethodCodec, bool, Limits, Mapping[Speaker, Ear], deque[Observed]], Checker]:
    def checker(
        codec: MethodCodec, strict: bool, limits: Limits, ears: Mapping[Speaker, Ear], said: deque[Observed]
    ) -> Checker:
        from amqp_sansio.engine.channel_checker import ChannelChecker

        def others() -> tuple[MethodCodec, ...]:
            return tuple([_methods(each)() for each in variants])

        return ChannelChecker(codec, strict, limits, ears, said, counted, others)

    return checker


def _codes(legal: Iterable[int], host: ReplyCode) -> CloseCodes:
    return CloseCodes(
        frozenset(map(int, legal)), host=host, login=ReplyCode.ACCESS_REFUSED, order=ReplyCode.CHANNEL_ERROR,
        direction=ReplyCode.COMMAND_INVALID, channel=ReplyCode.CHANNEL_ERROR, limit=ReplyCode.RESOURCE_ERROR,
    )  # fmt: skip


_DEPLOYED: Final = _codes(ReplyCode, ReplyCode.NOT_ALLOWED)
_STARTS: Final = {"0-8": (8, 0), "0-9": (0, 9), "0-9-1": (0, 9)}
"""The version numbers in connection.start of each version."""
STARTED: Final = {(8, 0): "0-8", (0, 9): "0-9"}
"""The version that the numbers of a connection.start name; 0-9-1 and 0-9 have the same ones."""
_EXTENSIONS: Final = (SAYS_REFUSED, "basic.nack", "consumer_cancel_notify", "exchange_exchange_bindings", "publisher_confirms")
_CAPABILITIES: Final = {"v0_9_1": (*_EXTENSIONS, "connection.blocked"), "v0_9_rabbitmq": _EXTENSIONS}
"""The capabilities for which a layout has the methods; `SAYS_REFUSED` needs none."""


def _channels(name: str, module: str, spellings: tuple[bytes, ...] = ()) -> ChannelDialect:
    """Returns a dialect of 0-8, 0-9 or 0-9-1; in the first two channel-max is a count, and not all frames are methods."""
    version = name.split()[0]
    latest = version == "0-9-1"
    others = tuple([each for each in _EDITIONS[version] if each != module])
    handshake = Handshake(
        PIPELINED, _DEPLOYED, letter=_codes(REPLY_CODES[version], ReplyCode.INVALID_PATH), greets=False,
        version=_STARTS[version], tuning=INTERVAL, numbering=HIGHEST if latest else COUNT,
        capabilities=_CAPABILITIES.get(module, (SAYS_REFUSED,)), silent_refusal=True,
    )  # fmt: skip
    return Dialect(
        name, HEADERS[version], _methods(module), METHODS if latest else METHODS_AND_TRACES, handshake, _channel_client,
        _channel_server, _judge(not latest, others), spellings=spellings, first_channel=1, virtual_host="/",
    )  # fmt: skip


_EIGHT: Final = (b"AMQP\x01\x01\x09\x01",)
_NINETY_ONE: Final = (b"AMQP\x01\x01\x00\x5b",)

AMQP_0_8: Final = _channels("0-8", "v0_8", _EIGHT)
"""AMQP 0-8 as in its published XML."""
AMQP_0_8_UNBIND: Final = _channels("0-8 unbind", "v0_8_unbind", _EIGHT)
"""0-8 with queue.unbind, which a corrected edition of the document has and RabbitMQ supports."""
AMQP_0_8_QPID: Final = _channels("0-8 Qpid", "v0_8_qpid", _EIGHT)
"""0-8 in Qpid's own edition: with a table at the end of basic.consume, exchange.bound and basic.recover-ok."""
AMQP_0_9: Final = _channels("0-9", "v0_9")
"""AMQP 0-9 as in its published XML."""
AMQP_0_9_RABBITMQ: Final = _channels("0-9 RabbitMQ", "v0_9_rabbitmq")
"""0-9 with the extensions that RabbitMQ supports in it too."""
AMQP_0_9_UNBIND: Final = _channels("0-9 unbind", "v0_9_unbind")
"""0-9 with a nowait bit in queue.unbind, as the chapter on class queue prints it."""
AMQP_0_9_QPID: Final = _channels("0-9 Qpid", "v0_9_qpid")
"""0-9 in Qpid's own edition: with exchange.bound and basic.recover-sync."""
AMQP_0_9_1: Final = _channels("0-9-1", "v0_9_1", _NINETY_ONE)
"""AMQP 0-9-1 with RabbitMQ's extensions, most of which require a capability of the peer."""
AMQP_0_9_1_QPID: Final = _channels("0-9-1 Qpid", "v0_9_1_qpid", _NINETY_ONE)
"""0-9-1 in Qpid's own edition: with exchange.bound, basic.recover without an answer and basic.recover-sync."""

CHANNEL_PROTOCOLS: Final = {"0-9-1": AMQP_0_9_1, "0-9": AMQP_0_9, "0-9-rabbitmq": AMQP_0_9_RABBITMQ, "0-8": AMQP_0_8}
"""The dialects for clients of channels, by their name in URLs; the first is the default."""

NAMED: Final = {
    each.name: each
    for each in (
        AMQP_0_10, AMQP_0_10_FINAL, AMQP_0_9_1, AMQP_0_9_1_QPID, AMQP_0_9, AMQP_0_9_RABBITMQ, AMQP_0_9_UNBIND, AMQP_0_9_QPID,
        AMQP_0_8, AMQP_0_8_UNBIND, AMQP_0_8_QPID,
    )
}  # fmt: skip
"""Every dialect by its name."""
READABLE: Final[tuple[Dialect[Codec], ...]] = (AMQP_0_10, AMQP_0_9_1, AMQP_0_9_RABBITMQ, AMQP_0_8_UNBIND)
"""The dialects that captures are read as: one for each header, 0-8 and 0-9 as RabbitMQ speaks them."""


def readable(names: Sequence[str] = ()) -> tuple[Dialect[Codec], ...]:
    """Returns `READABLE` with each of the named dialects in place of the one with the same header.

    Raises KeyError for a name that no dialect has.
    """
    instead = {each.header: each for each in [NAMED[name] for name in names]}
    return tuple([instead.get(each.header, each) for each in READABLE])
