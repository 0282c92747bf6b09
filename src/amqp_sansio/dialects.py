"""One value per version: the parts of which it is put together.

The only place, besides generated layouts, where a version number stands.  Layouts and machines are imported when a dialect of
theirs is used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from amqp_sansio.tables.handshake import SESSIONS, Handshake
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import Framing
from amqp_sansio.wire.segmentation import SEGMENTATION

if TYPE_CHECKING:
    from amqp_sansio.config import ClientConfig, ServerConfig
    from amqp_sansio.engine.checker import Checker
    from amqp_sansio.engine.client_handshake import ClientHandshake
    from amqp_sansio.engine.ear import Ear
    from amqp_sansio.engine.observed import Observed, Speaker
    from amqp_sansio.engine.server_handshake import ServerHandshake
    from amqp_sansio.limits import Limits
    from amqp_sansio.wire.layouts.layout import Layout

HEADERS: Final[dict[str, bytes]] = {
    "0-8": b"AMQP\x01\x01\x08\x00",
    "0-9": b"AMQP\x01\x01\x00\x09",
    "0-9-1": b"AMQP\x00\x00\x09\x01",
    "0-10": b"AMQP\x01\x01\x00\x0a",
    "99-0": b"AMQP\x01\x01\x63\x00",
    "1.0": b"AMQP\x00\x01\x00\x00",
}
"""What a client of each version sends first."""

VERSIONS: Final[dict[bytes, str]] = {
    **{octets: version for version, octets in HEADERS.items()},
    b"AMQP\x01\x01\x09\x01": "0-8",  # as the 0-8 document prints it
    b"AMQP\x01\x01\x00\x5b": "0-9-1",  # as qpid's own XML numbers it: minor 91
    b"AMQP\x02\x01\x00\x00": "1.0",  # its TLS layer
    b"AMQP\x03\x01\x00\x00": "1.0",  # its SASL layer
}
"""The version that each protocol header names, also by its other spellings."""


C_co = TypeVar("C_co", bound=Codec, covariant=True)


class Dialect(Generic[C_co]):
    """A version of AMQP as it is spoken, put together from parts that do not know one another.

    `header` is the protocol header, 8 octets, with which a client of it begins; a server takes the `spellings`, too.
    `codec` says how words become octets, `framing` how these lie in frames, `handshake` how connections begin and end.
    `client` and `server` make connections with the endpoints of this dialect on their channels, of which `first_channel` is
    the lowest; `virtual_host` is opened where none is named.  `checker` is what an observer plugs in.

    What settles a message, which properties it has and which codes end a channel is for the endpoints.
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
        """Its words; imported when they are asked for first."""
        loaded = self._loaded
        if loaded is None:
            loaded = self._loaded = self._codec()
        return loaded

    def checker(self, strict: bool, limits: Limits, ears: Mapping[Speaker, Ear], said: deque[Observed]) -> Checker:
        """Who judges for an observer what is said; see `engine.checker`."""
        return self._checker(self.codec, strict, limits, ears, said)

    def __repr__(self) -> str:
        return f"<Dialect {self.name}>"


SessionDialect: TypeAlias = "Dialect[Layout]"
"""One in which there are sessions."""


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
"""AMQP 0-10 to the letter of its first edition; it differs in dtx.xid only and has the same protocol header."""

DEFAULT: Final = AMQP_0_10
"""The dialect of a config that names none."""

DIALECTS: Final = (AMQP_0_10, AMQP_0_10_FINAL)
"""All that there are; of two with the same header the first is meant."""
