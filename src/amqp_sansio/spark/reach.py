"""Checks that Spark answers at a master's address, before Spark itself tries, which it does silently for minutes.

It greets a Spark Connect server in HTTP/2, and asks a standalone master for a file that does not exist.  It sends nothing
secret and leaves nothing behind.  Masters that it cannot check, such as those behind a proxy, are left to Spark.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import time
from collections.abc import Callable
from typing import Final

from amqp_sansio.spark.errors import PipelineError

CONNECT_PORT: Final = 15002
"""The default port of a Spark Connect server."""
MASTER_PORT: Final = 7077
"""The default port of a standalone master."""
SECONDS: Final = 10.0
"""Seconds to connect, and again to answer."""

_HOST: Final = r"(\[[^\]]+\]|[^:/;,\[\]]+)(?::([0-9]{1,5}))?"
_CONNECT: Final = re.compile(rf"sc://{_HOST}(?=[/;]|$)")
_MASTERS: Final = re.compile(rf"spark://({_HOST}(?:,{_HOST})*)")
_EACH: Final = re.compile(_HOST)
_PROXIES: Final = ("grpc_proxy", "https_proxy", "http_proxy", "GRPC_PROXY", "HTTPS_PROXY", "HTTP_PROXY")

_GREETING: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client begins in HTTP/2 (RFC 9113, 3.4): the preface, and empty settings."""
_NO_FILE: Final = b"/files/amqp-sansio"
_REQUEST: Final = (8 + 1 + 4 + len(_NO_FILE)).to_bytes(8, "big") + b"\x06" + len(_NO_FILE).to_bytes(4, "big") + _NO_FILE
"""A frame between Spark's processes: its length, its type (a request for a stream), the name of the stream."""
_FRAME: Final = 9
"""Octets that identify the first frame of an answer, in either protocol."""
_SETTINGS: Final = 4
"""The type of an HTTP/2 peer's first frame."""
_KINDS: Final = 16
"""More than Spark has types of frames."""
_LONGEST_FRAME: Final = 1 << 31
_TLS_ALERT: Final = 0x15


def shown(master: str) -> str:
    """Returns a master for display, without the parameters of Spark Connect, one of which may be a token."""
    return master.partition(";")[0].rstrip("/") if master.startswith("sc://") else master


def see_that_it_answers(master: str) -> None:
    """Raises PipelineError when no Spark answers at sc://..., or at any host of spark://...; does not check other masters."""
    if found := _CONNECT.match(master):
        if not any(os.environ.get(name) for name in _PROXIES):
            _ask(master, [found.groups()], CONNECT_PORT, lambda host, there: _greet(master, host, there))
    elif found := _MASTERS.fullmatch(master):
        _ask(master, _EACH.findall(found.group(1)), MASTER_PORT, lambda _, there: _request(there))


def _ask(master: str, places: list[tuple[str, ...]], usual: int, talk: Callable[[str, socket.socket], str | None]) -> None:
    """Succeeds with the first that answers.  `talk` returns what is wrong with an answer."""
    wrong: str | None = None
    for host, port in places:
        try:
            with socket.create_connection((host.strip("[]"), int(port or usual)), SECONDS) as there:
                said = talk(host, there)
        except (OSError, OverflowError) as error:
            said = str(getattr(error, "strerror", None) or error)
        if said is None:
            return
        wrong = wrong or said
    raise PipelineError(f"no Spark session on {shown(master)}: {wrong}")


def _greet(master: str, host: str, there: socket.socket) -> str | None:
    """Returns what is wrong with a presumed Spark Connect server; None when it answers the greeting."""
    name = "Spark Connect server"
    words = master.partition(";")[2].split(";")
    by_tls = any(word.lower() == "use_ssl=true" for word in words)
    if by_tls or (host != "localhost" and any(word.startswith("token=") for word in words)):  # as Spark's client decides
        context = ssl.create_default_context()
        # Spark's client verifies the certificate; nothing confidential is sent here.
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        there.settimeout(SECONDS)
        try:
            with context.wrap_socket(there, server_hostname=host.strip("[]")) as inside:
                answer = _answer(inside, _GREETING)
        except TimeoutError:
            return _silent(name, "TLS")
        except ssl.SSLError as error:
            return f"no {name} answers there: TLS failed ({(error.reason or 'no reason given').lower().replace('_', ' ')})"
    else:
        answer = _answer(there, _GREETING)
    if answer is None:
        return _silent(name, "HTTP/2")
    return None if len(answer) >= _FRAME and answer[3] == _SETTINGS and answer[5:9] == bytes(4) else _other(name, answer)


def _request(there: socket.socket) -> str | None:
    """Returns what is wrong with a presumed standalone master; None when it answers, or may (one that wants TLS hangs up)."""
    name = "Spark master"
    answer = _answer(there, _REQUEST)
    if answer is None:
        return _silent(name, "a request")
    if not answer or answer[0] == _TLS_ALERT:
        return None
    if len(answer) >= _FRAME and _FRAME <= int.from_bytes(answer[:8], "big") < _LONGEST_FRAME and answer[8] < _KINDS:
        return None
    return _other(name, answer)


def _answer(there: socket.socket, said: bytes) -> bytes | None:
    """Returns the beginning of the answer; empty when the connection ends first, None when nothing comes in time."""
    heard = b""
    until = time.monotonic() + SECONDS
    try:
        there.settimeout(SECONDS)
        there.sendall(said)
        while len(heard) < _FRAME:
            there.settimeout(max(until - time.monotonic(), 0.001))
            octets = there.recv(4096)
            if not octets:
                break
            heard += octets
    except TimeoutError:
        return heard or None
    except OSError:  # it hung up without closing cleanly
        pass
    return heard


def _silent(name: str, what: str) -> str:
    return f"no {name} answers there: the connection is taken, and {what} is not answered within {SECONDS:g} s"


def _other(name: str, answer: bytes) -> str:
    """Describes what answers instead."""
    if not answer:
        return f"no {name} answers there: the connection is taken, and ended without a word"
    if answer.startswith(b"HTTP/1"):
        line = ascii(answer.splitlines()[0].decode("latin-1"))[1:-1]
        return f"no {name} answers there, but a web server: {line[:80]}"
    if answer.startswith(b"AMQP"):
        return f"no {name} answers there, but an AMQP broker"
    return f"no {name} answers there, but something else: {answer[:_FRAME].hex(' ')}"
