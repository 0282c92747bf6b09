"""Connects a socket with a deadline, and so that it can be abandoned at any moment."""

from __future__ import annotations

import errno
import os
import selectors
import socket
import ssl
import time
from collections.abc import Callable
from typing import Final

from amqp_sansio.conversation.address import Endpoint

LOOK: Final = 0.1
"""Seconds after which a waiting caller checks whether it should go on."""


def dial(
    endpoint: Endpoint, tls: ssl.SSLContext | None, until: float, given_up: Callable[[], bool], server_name: str | None = None
) -> socket.socket:
    """Returns a non-blocking socket that is connected to an endpoint, by TLS where it asks for that.

    `server_name` is the name that the certificate must have (None: the endpoint's).  `until` is in monotonic seconds.  Raises
    OSError, of which TimeoutError is one, when no connection can be made.
    """
    addresses = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    error: OSError = OSError("the name stands for no address")
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        now = time.monotonic()
        share = now + (until - now) / (len(addresses) - number)
        connected = socket.socket(family, kind, protocol)
        try:
            connected.setblocking(False)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = connected.connect_ex(address)
            if code in (errno.EINPROGRESS, errno.EWOULDBLOCK):
                _wait(connected, True, share, given_up)
                code = connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise OSError(code, os.strerror(code))
            if not endpoint.tls:
                return connected
            return _secure(connected, server_name or endpoint.host, tls, until, given_up)
        except ssl.SSLError:
            connected.close()
            raise
        except OSError as failure:
            connected.close()
            error = failure
        except BaseException:
            connected.close()
            raise
    raise error


def _secure(
    connected: socket.socket, server_name: str, tls: ssl.SSLContext | None, until: float, given_up: Callable[[], bool]
) -> ssl.SSLSocket:
    context = tls or ssl.create_default_context()
    secured = context.wrap_socket(connected, server_hostname=server_name, do_handshake_on_connect=False)
    try:
        while True:
            try:
                secured.do_handshake()
            except ssl.SSLWantReadError:
                _wait(secured, False, until, given_up)
            except ssl.SSLWantWriteError:
                _wait(secured, True, until, given_up)
            else:
                return secured
    except BaseException:
        secured.close()
        raise


def _wait(waiting: socket.socket, writing: bool, until: float, given_up: Callable[[], bool]) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(waiting, selectors.EVENT_WRITE if writing else selectors.EVENT_READ)
        while not selector.select(LOOK):
            if given_up():
                raise OSError("given up")
            if time.monotonic() >= until:
                raise TimeoutError("no answer in time")
