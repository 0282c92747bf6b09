"""The loop of the README, as written there, moves a message between two sockets; the first screen is one screen."""

from __future__ import annotations

import re
import runpy
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TypeAlias

import pytest

from amqp_sansio import ClientConfig, ClientConnection, ServerConfig, ServerConnection
from amqp_sansio.events import ConnectionClosed, ConnectionOpened, Event, Origin, SessionAttached, TransferReceived

README = Path(__file__).resolve().parents[2] / "README.md"
Run: TypeAlias = Callable[[object, socket.socket, Callable[[Event], None]], None]


def snippet() -> str:
    found = re.search(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def loop() -> Run:
    names: dict[str, Run] = {}
    exec(snippet(), names)
    return names["run"]


def connected() -> tuple[socket.socket, socket.socket]:
    """Two TCP sockets that talk to each other."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        here = socket.create_connection(listening.getsockname())
        there, _ = listening.accept()
    return here, there


def test_the_loop_has_twelve_lines() -> None:
    body = snippet().partition("def run")[2]
    assert len([line for line in ("def run" + body).splitlines() if line.strip()]) == 12


def test_the_loop_moves_a_message_and_ends() -> None:
    run = loop()
    here, there = connected()
    client, server = ClientConnection(ClientConfig()), ServerConnection(ServerConfig())
    seen: list[Event] = []

    def on_client(event: Event) -> None:
        match event:
            case ConnectionOpened():
                client.session(b"readme")
            case SessionAttached():
                client.sessions[0].publish("", body=b"hello")
            case _:
                seen.append(event)

    def on_server(event: Event) -> None:
        if isinstance(event, TransferReceived):
            seen.append(event)
            server.close()

    def serve() -> None:
        with there:
            run(server, there, on_server)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with here:
        run(client, here, on_client)
    thread.join(10)
    assert not thread.is_alive()
    assert [event.body for event in seen if isinstance(event, TransferReceived)] == [b"hello"]
    (closed,) = [event for event in seen if isinstance(event, ConnectionClosed)]
    assert closed.origin is Origin.PEER


def test_the_loop_ends_when_the_other_side_goes_away() -> None:
    run = loop()
    here, there = connected()
    there.close()
    seen: list[Event] = []
    with here:
        # A write into a closed socket is an error of the socket, not of the loop: let the client have nothing to write.
        client = ClientConnection(ClientConfig())
        client.data_to_send()
        run(client, here, seen.append)
    (closed,) = [event for event in seen if isinstance(event, ConnectionClosed)]
    assert closed.origin is Origin.EOF


def test_the_first_screen_has_the_purpose_the_loop_and_the_two_commands() -> None:
    screen = "\n".join(README.read_text(encoding="utf-8").splitlines()[:50])
    for word in ("pure state machines", "conn.receive_data(data)", "make run", "make test"):
        assert word in screen


def test_readme_and_manual_lead_to_every_page_that_somebody_wrote() -> None:
    root = README.parent
    for start, under in ((README, "docs/"), (root / "docs" / "index.md", "")):
        text = start.read_text(encoding="utf-8")
        pages = [
            each.relative_to(root / "docs")
            for folder in ("tutorial", "how-to", "topics")
            for each in (root / "docs" / folder).glob("*.md")
        ]
        assert pages
        assert [str(page) for page in pages if f"({under}{page})" not in text] == []


def test_a_package_index_shows_the_readme_without_links_into_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, str] = {}
    monkeypatch.setitem(sys.modules, "setuptools", SimpleNamespace(setup=given.update))
    runpy.run_path(str(README.with_name("setup.py")))
    shown = given["long_description"]
    assert all(target.startswith("https://") for target in re.findall(r"\]\(([^)]*)\)", shown))
    assert "* **connect** to a broker from asyncio, trio or" in shown
