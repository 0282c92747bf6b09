"""What the manual's pages define for channels does what they show, at a small broker on loopback."""

from __future__ import annotations

import socket
import ssl
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme
from tests.adapters.served_channels import ServedChannels
from tests.docs.test_snippets import ROOT, snippets

from amqp_sansio.adapters.sync import channels
from amqp_sansio.events import Confirmed, ConnectionClosed, DeliveriesSettled, Event


def defined(page: str) -> tuple[dict[str, Any], list[str]]:
    """What the snippets of a page define, and what it shows as printed behind its last one."""
    path = ROOT / "docs" / "how-to" / page
    names: dict[str, Any] = {"__name__": "snippet"}
    found = snippets(path)
    for snippet in found:
        if snippet.language == "python":
            exec(compile(snippet.text, str(path), "exec"), names)
    return names, [snippet.text for snippet in found if snippet.language == "text"]


@pytest.mark.parametrize(
    ("page", "name"), [("request-reply.md", "ask_on_a_channel"), ("client-transactions.md", "move_on_a_channel")]
)
def test_a_program_prints_what_its_page_shows(page: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    names, shown = defined(page)
    capsys.readouterr()
    with ServedChannels() as served:
        names[name](served.url)
    assert [capsys.readouterr().out] == shown


def test_a_worker_settles_in_each_of_the_three_ways() -> None:
    names, _ = defined("workers.md")
    with ServedChannels() as served, channels.connect(served.url) as connection, connection.channel() as channel:
        names["declare_for_channels"](channel)
        for body in (b"1", b"busy", b"nonsense", b"2"):
            channel.publish("", "tasks", body, persistent=True)
        names["run_on_a_channel"](channel)
        assert channel.declare_queue("tasks", passive=True).message_count == 0
        settled = [each for each in served.broker.heard if isinstance(each, DeliveriesSettled)]
    counts = {(verb == "basic.ack", requeue): 0 for verb in ("basic.ack", "basic.nack") for requeue in (False, True)}
    for each in settled:
        counts[each.verb == "basic.ack", each.requeue] += len(each.ids)
    assert counts == {(True, False): 3, (False, True): 1, (False, False): 1, (True, True): 0}


@pytest.mark.parametrize("tls", [False, True])
def test_an_embedded_worker_moves_each_message_once_and_stops_when_the_program_asks(
    tls: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    names, _ = defined("embed.md")
    authority = trustme.CA()
    of_server, of_client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.issue_cert("127.0.0.1").configure_cert(of_server)
    authority.configure_trust(of_client)
    with ServedChannels(tls=of_server if tls else None) as served, connected(served, of_client if tls else None) as sock:
        with channels.connect(served.url, tls=of_client) as connection, connection.channel() as channel:
            for queue in ("orders", "bills"):
                channel.declare_queue(queue, durable=True)
            for number in range(50):
                channel.publish("", "orders", b"%d" % number + bytes(20_000))
        worker, told = names["Worker"](), list[Event]()

        def heard(event: Event) -> None:
            worker.on_event(event)
            if worker.done >= 25 and isinstance(event, Confirmed) and not told:
                told.append(event)
                worker.stop()

        names["run_without_blocking"](worker.conn, sock, heard)
        with channels.connect(served.url, tls=of_client) as connection, connection.channel() as channel:
            left = [channel.declare_queue(queue, passive=True).message_count for queue in ("orders", "bills")]
    assert worker.done >= 25
    assert left == [50 - worker.done, worker.done]
    assert "in doubt: 0 come again: 0" in capsys.readouterr().out


def connected(served: ServedChannels, tls: ssl.SSLContext | None) -> socket.socket:
    parts = urlsplit(served.url)
    sock = socket.create_connection(("127.0.0.1", parts.port or 0))
    return sock if tls is None else tls.wrap_socket(sock, server_hostname="127.0.0.1")


def test_an_embedded_worker_learns_what_is_in_doubt_when_its_socket_fails() -> None:
    class Failing(socket.socket):
        def recv(self, *given: Any) -> bytes:
            raise ConnectionResetError

    names, _ = defined("embed.md")
    one, other = socket.socketpair()
    conn, heard = names["Worker"]().conn, list[Event]()
    with other, Failing(fileno=one.detach()) as failing:
        names["run_without_blocking"](conn, failing, heard.append)
    assert [type(each) for each in heard] == [ConnectionClosed]
