"""URLs of brokers with channels: RabbitMQ's URI syntax and option names, and a few options of our own."""

from __future__ import annotations

from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl

import attrs

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.address import (
    DIGITS,
    HEARTBEAT,
    OPTIONS,
    Address,
    host_name,
)
from amqp_sansio.dialects import CHANNEL_PROTOCOLS, Dialect
from amqp_sansio.engine.sasl import AmqPlain, External, Plain
from amqp_sansio.errors import AddressError
from amqp_sansio.errors.checks import checked
from amqp_sansio.limits import MIN_MAX_FRAME_SIZE
from amqp_sansio.wire.codec import Codec

GUEST: Final = "guest"
"""Default user and password: those of a freshly installed broker, which accepts them only on loopback."""
_TLS: Final = ("cacertfile", "certfile", "keyfile", "verify", "server_name_indication")
_OWN: Final = (*_TLS, "auth_mechanism", "connection_timeout", "channel_max", "connection_name", "protocol")
_MECHANISMS: Final = ("plain", "amqplain", "external")
_VERIFY: Final = {"verify_peer": True, "verify_none": False}
_MILLISECONDS: Final = 1000
_CHANNELS: Final = 65535
_FRAME: Final = (1 << 32) - 1
_NUMBERS: Final = {
    "channel_max": (0, _CHANNELS),
    "connection_timeout": (0, _CHANNELS * _MILLISECONDS),
    "frame_max": (MIN_MAX_FRAME_SIZE, _FRAME),
}


@attrs.frozen(kw_only=True, field_transformer=checked())
class ChannelAddress(Address):
    """The contents of such a URL.

    Options, besides those of `Address`: cacertfile, certfile, keyfile, verify, server_name_indication, auth_mechanism (may be
    repeated), connection_timeout (milliseconds), channel_max, connection_name, protocol.

    `amqp://host` and `amqp://host/` both mean the virtual host "/", as they do for pika and aio-pika; in RabbitMQ's
    specification the second one means "", which no broker has.  `/%2F` is "/" too; `/name` is "name".
    """

    KNOWN: ClassVar[tuple[str, ...]] = (*OPTIONS, *_OWN)

    cacertfile: str | None = None
    """A file of the certificate authorities that are trusted; None: the system's."""
    certfile: str | None = None
    """A file with the client's certificate."""
    keyfile: str | None = None
    """A file with the client's private key; None: it is in `certfile`."""
    verify: bool = True
    """Whether the server's certificate is checked (verify_peer), or not (verify_none)."""
    auth_mechanisms: tuple[str, ...] = ()
    """"plain", "amqplain" or "external", in order of preference; (): the config's."""
    channel_max: int | None = None
    """The highest channel number wanted; None: the config's."""
    connection_name: str | None = None
    """The name of the connection, which RabbitMQ shows to its operators."""
    dialect: Dialect[Codec] | None = None
    """The dialect (`protocol=0-9`, see `CHANNEL_PROTOCOLS`); None: the config's, or 0-9-1 without a config."""

    @classmethod
    def _take(cls, name: str, value: str, said: dict[str, Any], shown: str) -> None:
        def one_of(known: object) -> AddressError:
            return AddressError(shown, f"{name} is {known}, not {value!r}")

        match name:
            case "verify":
                if value not in _VERIFY:
                    raise one_of(" or ".join(_VERIFY))
                said[name] = _VERIFY[value]
            case "auth_mechanism":
                if value.lower() not in _MECHANISMS:
                    raise one_of(", ".join(_MECHANISMS))
                said["auth_mechanisms"] = (*said.get("auth_mechanisms", ()), value.lower())
            case "channel_max" | "connection_timeout" | "frame_max":
                least, most = _NUMBERS[name]
                number = int(value) if value.isascii() and value.isdecimal() and len(value) <= DIGITS else -1
                if number and not least <= number <= most:
                    raise one_of(f"{'0 or ' if least else ''}{least} to {most}")
                if name == "connection_timeout":
                    said["connect_timeout"] = number / _MILLISECONDS
                else:
                    said[name] = number or most  # RabbitMQ: 0 means no bound
            case "protocol":
                if value not in CHANNEL_PROTOCOLS:
                    raise one_of(", ".join(CHANNEL_PROTOCOLS))
                said["dialect"] = CHANNEL_PROTOCOLS[value]
            case "server_name_indication":
                if value == "disable":  # what Erlang's client takes for none; Python's ssl checks the name that it sends
                    raise AddressError(shown, f"{name} is a host name; it cannot be disabled here")
                said["server_name"] = host_name(value, shown)
            case _ if name in OPTIONS:
                super()._take(name, value, said, shown)
            case _:
                said[name] = value
        if name in _TLS and not said["endpoints"][0].tls:  # one scheme for all hosts
            raise AddressError(shown, f"{name} is an option of TLS: with it, the URL begins with amqps://")

    def config(self, base: ClientConfig | None = None) -> ClientConfig:
        """Returns the settings of a connection to it: those of `base`, overridden by the address."""
        config = super().config(
            base or ClientConfig(dialect=self.dialect or next(iter(CHANNEL_PROTOCOLS.values())), heartbeat=HEARTBEAT)
        )
        changes: dict[str, object] = {}
        if self.dialect is not None:
            changes["dialect"] = self.dialect
        if config.username is None and not config.mechanisms:
            changes |= {"username": GUEST, "password": GUEST}
        if self.channel_max is not None:
            changes["channel_max"] = self.channel_max
        if self.connection_name is not None:
            changes["properties"] = {**(config.properties or {}), "connection_name": self.connection_name}
        if self.auth_mechanisms:
            username, password = (GUEST, GUEST) if config.username is None else (config.username, config.password)
            made = {"plain": Plain(username, password), "amqplain": AmqPlain(username, password), "external": External()}
            changes["mechanisms"] = tuple([made[name] for name in self.auth_mechanisms])
        return attrs.evolve(config, **changes)  # type: ignore[arg-type]  # as above


def is_of_channels(url: str) -> bool:
    """Whether a URL has an option that only addresses of brokers with channels have."""
    return any(name in _OWN for name, _ in parse_qsl(url.partition("?")[2], keep_blank_values=True))
