"""A socket that can be given up at any moment."""

from __future__ import annotations

import socket
import ssl
import time

import pytest

from amqp_sansio.adapters.sync.dialing import dial
from amqp_sansio.conversation.address import Endpoint


def test_a_connected_socket_does_not_block() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with dial(Endpoint("127.0.0.1", port), None, time.monotonic() + 5, lambda: False) as connected:
            assert not connected.getblocking()
            assert connected.getpeername() == ("127.0.0.1", port)


def test_nobody_listens() -> None:
    with pytest.raises(ConnectionRefusedError):
        dial(Endpoint("localhost", 1), None, time.monotonic() + 5, lambda: False)


def test_who_does_not_answer_to_tls_is_not_awaited_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = Endpoint("127.0.0.1", listener.getsockname()[1], tls=True)
        context = ssl.create_default_context()
        with pytest.raises(TimeoutError):
            dial(endpoint, context, time.monotonic() + 0.2, lambda: False)
        with pytest.raises(OSError, match="given up"):
            dial(endpoint, context, time.monotonic() + 60, lambda: True)


def test_a_name_that_stands_for_nothing() -> None:
    with pytest.raises(OSError):  # noqa: PT011  # the words are the system's
        dial(Endpoint("no.such.name.invalid"), None, time.monotonic() + 5, lambda: False)
