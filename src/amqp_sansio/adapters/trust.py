"""The settings of a client: what `connect` takes, and the TLS context that a URL configures: how certificates are checked."""

from __future__ import annotations

import ssl

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.channels.address import ChannelAddress
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.errors import AddressError, EncodeError


def check_settings(config: object, tls: object, retry: object) -> None:
    """Raises EncodeError for an argument of `connect` that has another type, before anything is tried."""
    if not isinstance(config, ClientConfig | None):
        raise EncodeError("connect: config", f"takes a ClientConfig, not {type(config).__name__}")
    if not isinstance(tls, ssl.SSLContext | None):
        raise EncodeError("connect: tls", f"takes an ssl.SSLContext, not {type(tls).__name__}")
    if not isinstance(retry, RetryPolicy):
        raise EncodeError("connect: retry", f"takes a RetryPolicy, not {type(retry).__name__}")


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
