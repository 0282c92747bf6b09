"""The TLS context of a client that a URL configures: how it checks certificates, and which one it presents."""

from __future__ import annotations

import ssl

from amqp_sansio.conversation.channels.address import ChannelAddress
from amqp_sansio.errors import AddressError


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
