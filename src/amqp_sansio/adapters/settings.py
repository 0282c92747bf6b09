"""The settings of clients and servers: what `connect` and `serve` take, the TLS context that a URL configures, and SCRAM."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Callable
from typing import Any, Final

import attrs

from amqp_sansio.config import ClientConfig, SaslError
from amqp_sansio.conversation.channels.address import ChannelAddress
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.engine.sasl import Plain, Scram
from amqp_sansio.errors import AddressError, EncodeError
from amqp_sansio.errors.checks import is_number
from amqp_sansio.kernel.serials import whole
from amqp_sansio.limits import ServerLimits

CLOSE_TIMEOUT: Final = 10.0
"""Default time for a clean end in seconds, after which the socket is just closed."""
_SETTINGS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {  # Any: whatever the caller gives
    "config": (lambda given: isinstance(given, ClientConfig | None), "a ClientConfig"),
    "tls": (lambda given: isinstance(given, ssl.SSLContext | None), "an ssl.SSLContext"),
    "retry": (lambda given: isinstance(given, RetryPolicy), "a RetryPolicy"),
    "close_timeout": (lambda given: is_number(given) and given >= 0, "seconds, 0 or more"),
    "on_event": (lambda given: given is None or callable(given), "a callable"),
    "topology": (callable, "a callable, such as everything or nothing"),
    "log_octets": (lambda given: isinstance(given, bool), "True or False"),
    "tracing": (lambda given: given is None or hasattr(given, "publishing"), "an adapters.otel.Tracing()"),
    "nursery": (lambda given: given is None or hasattr(given, "start_soon"), "a trio.Nursery"),
    "address": (lambda given: isinstance(given, str), "the text of a host or an IP address"),
    "port": (lambda given: whole(given, 65535) and not isinstance(given, bool), "0 to 65535"),
    "limits": (lambda given: isinstance(given, ServerLimits), "a ServerLimits"),
}
"""What `connect` and `serve` take besides what they connect: whether it is right, and what would be."""


NONCE_OCTETS: Final = 24
"""Random octets of a nonce, which is their base64 form."""


def check_settings(call: str = "connect", /, **settings: object) -> None:
    """Raises EncodeError for an argument of `connect` or `serve` that is not what it takes, before anything is tried."""
    for name, given in settings.items():
        is_right, legal = _SETTINGS[name]
        if not is_right(given):
            raise EncodeError(f"{call}: {name}", f"takes {legal}, not {given!r}")


def reason(error: OSError) -> str:
    """Returns why files cannot be used: what the system says, or the words of TLS, whose errors are OSErrors."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "no certificate, or no key").replace("_", " ").lower()
    return error.strerror or str(error)


def trust(address: ChannelAddress) -> ssl.SSLContext | None:
    """Returns the context for a URL's files; None when it names none.  Raises AddressError for files that TLS cannot use."""
    if address.cacertfile is None and address.certfile is None and address.verify:
        return None
    file = address.cacertfile or ""
    try:
        context = ssl.create_default_context(cafile=address.cacertfile)
        if address.certfile is not None:
            file = " and ".join([each for each in (address.certfile, address.keyfile) if each])
            context.load_cert_chain(address.certfile, address.keyfile)
    except OSError as error:
        raise AddressError(file, f"TLS cannot use it: {reason(error)}") from error
    if not address.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def proving(config: ClientConfig) -> ClientConfig:
    """Returns the settings with SCRAM-SHA-256 before PLAIN when they name a user and no mechanisms.

    Returns them unchanged without the extra `scram`, and for names and passwords that SCRAM cannot encode.
    """
    username = config.username
    if config.mechanisms or username is None:
        return config
    scram = Scram(username, config.password, nonce=lambda: secrets.token_urlsafe(NONCE_OCTETS))
    try:
        scram.start()
    except (ImportError, SaslError):
        return config
    return attrs.evolve(config, mechanisms=(scram, Plain(username, config.password)))
