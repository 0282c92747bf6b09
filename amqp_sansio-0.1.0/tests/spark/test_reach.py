"""Whether Spark answers where a master is said to be."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import trustme

from amqp_sansio.spark import reach
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.reach import see_that_it_answers, shown
from amqp_sansio.spark.session import open_session

SETTINGS = bytes([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100])
"""What begins the answer of a gRPC server."""
NO_SUCH_STREAM = (8 + 1 + 4 + 4).to_bytes(8, "big") + b"\x08" + bytes(8)
"""What a master answers that is asked for a file that it does not have."""
HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
Answer = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in reach._PROXIES:
        monkeypatch.delenv(name, raising=False)


@contextmanager
def listening(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Somebody on loopback who answers one connection so; its port."""

    def serve() -> None:
        there, _ = listener.accept()
        with there:
            try:
                if tls is not None:
                    with tls.wrap_socket(there, server_side=True) as inside:
                        answer(inside)
                else:
                    answer(there)
            except OSError:  # the other side went away: that is its affair
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
    thread.join(10)
    assert not thread.is_alive()


def says(octets: bytes) -> Answer:
    """Hears something, answers and hangs up."""

    def answer(there: socket.socket) -> None:
        there.recv(4096)
        there.sendall(octets)

    return answer


def piecemeal(octets: bytes) -> Answer:
    """Answers octet for octet."""

    def answer(there: socket.socket) -> None:
        there.recv(4096)
        for each in octets:
            there.sendall(bytes([each]))

    return answer


def silent(there: socket.socket) -> None:
    """Takes everything and says nothing, until the other side has had enough."""
    while there.recv(4096):
        pass


def told(master: str) -> str:
    """The one sentence about a master that is none."""
    with pytest.raises(PipelineError) as raised:
        open_session(master)
    said = str(raised.value)
    assert "\n" not in said
    assert said.startswith(f"no Spark session on {shown(master)}: ")
    return said.partition(": ")[2]


@pytest.mark.parametrize(
    ("master", "seen"),
    [
        ("sc://host:15002/;token=secret;user_id=x", "sc://host:15002"), ("sc://host/;token=secret", "sc://host"),
        ("sc://host;token=secret", "sc://host"), ("spark://host:7077", "spark://host:7077"), ("local[*]", "local[*]"),
    ],
)  # fmt: skip
def test_a_token_is_never_shown(master: str, seen: str) -> None:
    assert shown(master) == seen


@pytest.mark.parametrize(
    ("scheme", "name"), [("sc", "no Spark Connect server answers there"), ("spark", "no Spark master answers there")]
)
def test_one_sentence_reports_a_server_that_is_no_spark(scheme: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark itself tries for one minute (a master) or for ten (Connect), in silence."""
    for answer, what in (
        (says(HTTP), f"{name}, but a web server: HTTP/1.1 400 Bad Request"),
        (says(b"AMQP\x01\x01\x00\x0a"), f"{name}, but an AMQP broker"),
        (says(b"SSH-2.0-x\r\n"), f"{name}, but something else: 53 53 48 2d 32 2e 30 2d 78"),
    ):
        with listening(answer) as port:
            assert told(f"{scheme}://127.0.0.1:{port}") == what
    monkeypatch.setattr(reach, "SECONDS", 0.1)
    with listening(silent) as port:
        heard = told(f"{scheme}://127.0.0.1:{port}")
    assert re.fullmatch(rf"{name}: the connection is taken, and (HTTP/2|a request) is not answered within 0.1 s", heard)


def test_each_protocol_is_none_of_the_other() -> None:
    with listening(says(SETTINGS)) as port:
        assert told(f"spark://127.0.0.1:{port}").startswith("no Spark master answers there, but something else: 00 00 06 04")
    with listening(says(NO_SUCH_STREAM)) as port:
        assert told(f"sc://127.0.0.1:{port}").startswith("no Spark Connect server answers there, but something else: 00 00")
    with listening(says(b"")) as port:  # a master hangs up on who greets it in HTTP/2
        assert told(f"sc://127.0.0.1:{port}").endswith("the connection is taken, and ended without a word")


@pytest.mark.parametrize(
    ("scheme", "answer"),
    [
        ("sc", says(SETTINGS)), ("sc", piecemeal(SETTINGS)),
        ("spark", says(NO_SUCH_STREAM)), ("spark", piecemeal(NO_SUCH_STREAM)),
        # One that wants TLS says so, or hangs up: Spark may be told of it by its settings.
        ("spark", says(b"")), ("spark", says(b"\x15\x03\x03\x00\x02\x02\x46")),
    ],
)  # fmt: skip
def test_spark_is_taken_for_spark(scheme: str, answer: Answer) -> None:
    with listening(answer) as port:
        see_that_it_answers(f"{scheme}://127.0.0.1:{port}")


def test_by_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Spark's client would speak TLS, it is spoken here."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    for words in ("use_ssl=true", "token=secret"):
        with listening(says(SETTINGS), tls) as port:
            see_that_it_answers(f"sc://127.0.0.1:{port}/;{words}")
    with listening(says(HTTP)) as port:
        assert told(f"sc://127.0.0.1:{port}/;use_ssl=true").startswith("no Spark Connect server answers there: TLS failed (")
    with listening(says(SETTINGS)) as port:
        see_that_it_answers(f"sc://localhost:{port}/;token=secret")
    monkeypatch.setattr(reach, "SECONDS", 0.1)
    with listening(silent) as port:
        assert told(f"sc://127.0.0.1:{port}/;use_ssl=true").endswith("and TLS is not answered within 0.1 s")


def test_where_nobody_listens_it_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for master in (f"sc://127.0.0.1:{port}/;token=secret", f"spark://127.0.0.1:{port}"):
        said = told(master)
        assert said == "Connection refused"
    assert told("sc://[::1]:99999")
    # What stands behind a proxy cannot be seen from here.
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    see_that_it_answers(f"sc://127.0.0.1:{port}")


def test_one_master_of_several_will_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()[1]
    with listening(says(NO_SUCH_STREAM)) as port:
        see_that_it_answers(f"spark://127.0.0.1:{closed},127.0.0.1:{port}")
    assert told(f"spark://127.0.0.1:{closed},127.0.0.1:{closed}") == "Connection refused"


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[1,1,1024]", "yarn", "k8s://https://host", "sc://", "spark://"])
def test_nobody_else_is_asked(master: str) -> None:
    see_that_it_answers(master)
