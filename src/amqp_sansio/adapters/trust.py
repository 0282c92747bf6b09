"""The TLS context of a client that a URL configures: how it checks certificates, and which one it presents."""

from __future__ import annotations

import ssl

from amqp_sansio.conversation.channels.address import ChannelAddress


def trust(address: ChannelAddress) -> ssl.SSLContext | None:
    """Returns the context for a URL's files; None when it names none.  Raises OSError for files that cannot be read."""
    if address.cacertfile is None and address.certfile is None and address.verify:
        return None
    context = ssl.create_default_context(cafile=address.cacertfile)
    if not address.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if address.certfile is not None:
        context.load_cert_chain(address.certfile, address.keyfile)
    return context
