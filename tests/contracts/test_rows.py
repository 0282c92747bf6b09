"""Tables are what runs (law 3): whoever a table speaks of walks it, and nothing but a step assigns a state."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path
from types import FrameType

import pytest

import amqp_sansio
from amqp_sansio import ClientConfig, ClientConnection, ServerConfig, ServerConnection
from amqp_sansio.config import Profile
from amqp_sansio.engine import contents
from amqp_sansio.engine.connection import Connection
from amqp_sansio.engine.observer import Observer
from amqp_sansio.engine.session import Session
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.machine import Table
from amqp_sansio.ledger import ids
from amqp_sansio.spec import file, message, stream
from amqp_sansio.spec.codes import AcceptMode, AcquireMode
from amqp_sansio.spec.file import FileProperties
from amqp_sansio.spec.stream import StreamProperties
from amqp_sansio.tables.content_classes import DELIVERY
from amqp_sansio.tables.transfer import TRANSFER
from amqp_sansio.testing.link import Link
from amqp_sansio.testing.simulation import simulate
from tools.docs.pages import tables
from tools.values import of_capture, recordings

SOURCE = Path(amqp_sansio.__file__).parent
ENDS = [
    path.name
    for path in (SOURCE / "engine").glob("*.py")
    if not path.name.startswith(("witness", "observer", "session_checker", "checker"))
]  # fmt: skip
"""The files of the roles."""

ALL = {"client", "server", "observer"}
OWN = {
    "session at the client": ({"client"}, "what one end makes of the words; the observer judges them by the attachment"),
    "session at the server": ({"server"}, "what one end makes of the words; the observer judges them by the attachment"),
    "two-phase commit, one branch": ({"client"}, "a coordinator keeps it for itself"),
    "channel": (set(), "the observer of the older dialects walks it: tests/engine/test_channel_checker.py"),
    "channel mode": (set(), "the observer of the older dialects walks it: tests/engine/test_channel_checker.py"),
    "reference of the client": (set(), "the observer of the older dialects walks it: tests/engine/test_channel_witness.py"),
    "reference of the server": (set(), "the observer of the older dialects walks it: tests/engine/test_channel_witness.py"),
    "connection handshake, pipelined": (
        set(),
        "the observer of the older dialects walks it: tests/engine/test_channel_checker.py",
    ),
    "dtx branch": (set(), "the broker's coordinator walks it: tests/broker/test_transactions.py"),
    "transfer, accept-mode none": ({"client", "observer"}, "what a client publishes so is over for its server when it came"),
}
"""Tables that not all three walk: who does, and why the others do not."""


class Walked(dict[tuple[str, str, str], str]):
    """The moves of a table, which remember who asked for one."""

    def __init__(self, table: Table, by: dict[str, set[str]]) -> None:
        super().__init__(table.moves)
        self._name, self._by = table.name, by

    def get(self, key: tuple[str, str, str], default: str | None = None) -> str | None:  # type: ignore[override]
        self._by[self._name] |= _walker(sys._getframe(1))
        return super().get(key, default)

    def __getitem__(self, key: tuple[str, str, str]) -> str:
        self._by[self._name] |= _walker(sys._getframe(1))
        return super().__getitem__(key)


def _walker(frame: FrameType | None) -> set[str]:
    """Whose call it is: "client", "server" or "observer"."""
    while frame is not None:
        for name in ("self", "session"):
            held = frame.f_locals.get(name)
            if isinstance(held, Observer):
                return {"observer"}
            if isinstance(held, (Connection, Session)):
                return {held.role}
        frame = frame.f_back
    return set()


def content() -> None:
    """Files and streams between a client and a server, an observer beside them."""
    link = Link(ClientConnection(ClientConfig()), ServerConnection(ServerConfig()))
    link.run()
    client = link.client.session(b"s")
    link.run()
    (server,) = link.server.sessions
    for said in (file.Qos(1, 1), file.Consume("q", "t"), stream.Qos(1, 1, 1), stream.Consume("q", "u")):
        client.send(said)
    link.run()
    for answer in (file.QosOk(), file.ConsumeOk("t"), stream.QosOk(), stream.ConsumeOk("u")):
        server.send(answer)
    link.run()
    for sender, receiver in ((client, server), (server, client)):
        sender.send(file.Open("id", 10))
        link.run()
        receiver.send(file.OpenOk(0))
        link.run()
        sender.send(file.Stage(), FileProperties(), body=bytes(10))
        use = (
            file.Publish("x", "k", identifier="id") if sender is client else file.Deliver("t", 1, exchange="x", identifier="id")
        )
        sender.send(use)
        link.run()
    client.send(file.Ack(1))
    client.send(stream.Publish("x", "k"), StreamProperties(), body=b"s")
    server.send(stream.Deliver("u", 1, "x", "q"), StreamProperties(), body=b"s")
    link.run()
    for refusal in (file.Return(312, "no route", "x", "k"), stream.Return(312, "no route", "x", "k")):
        server.send(refusal, FileProperties() if isinstance(refusal, file.Return) else StreamProperties())
    link.run()


def messages() -> None:
    """Transfers both ways, in both accept modes."""
    link = Link(ClientConnection(ClientConfig(profile=Profile(completion="manual"))), ServerConnection(ServerConfig()))
    link.run()
    client = link.client.session(b"s")
    link.run()
    (server,) = link.server.sessions
    client.subscribe("q", "shown", accept_mode=AcceptMode.NONE, acquire_mode=AcquireMode.NOT_ACQUIRED).grant(1)
    client.subscribe("q", "kept").grant(1)
    sent = client.send(message.Transfer("x", 0, 0), body=b"m")
    link.run()
    server.accept(sent)
    shown = server.deliver("shown", body=b"m")
    kept = server.deliver("kept", body=b"m")
    link.run()
    client.complete([shown])
    client.accept(kept)
    link.run()


@pytest.mark.skipif(COMPILED, reason="compiled code does not let its tables be watched")
def test_every_table_is_walked_by_the_speakers_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    by: dict[str, set[str]] = defaultdict(set)
    for table in tables():
        monkeypatch.setattr(table, "moves", Walked(table, by))
    monkeypatch.setattr(ids, "_MOVES", {mode: table.moves for mode, table in TRANSFER.items()})
    monkeypatch.setattr(contents, "_MOVES", DELIVERY.moves)
    content()
    messages()
    for seed in range(6):
        simulate(seed)
    of_capture(recordings()["jms/tx.pcap"].read_bytes())
    expected = {table.name: OWN.get(table.name, (ALL, ""))[0] for table in tables()}
    assert {name: by[name] for name in expected} == expected


STATES = {"_state", "_hears", "_speaks", "pointed"}
"""What a step of a machine sets, and everybody reads."""


def test_nothing_but_a_step_assigns_where_a_session_stands() -> None:
    """The state of a session and its flags change in the functions that step its tables, and are what the machine says."""
    stepping = {
        ("session.py", "__init__"),
        ("session.py", "_step"),
        ("inbound.py", "__init__"),
        ("inbound.py", "begin_attachment"),
        ("inbound.py", "point"),
    }
    found: set[tuple[str, str]] = set()
    own: list[str] = []
    for path in [SOURCE / "engine" / name for name in ENDS]:
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    targets = (
                        node.targets
                        if isinstance(node, ast.Assign)
                        else [node.target]
                        if isinstance(node, ast.AnnAssign)
                        else []
                    )
                    if any(isinstance(each, ast.Attribute) and each.attr in STATES for each in targets):
                        found.add((path.name, function.name))
                        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
                        said = "" if value is None else ast.unparse(value)
                        if function.name != "__init__" and not re.search(r"\.(can\(|state\b)", said):
                            own.append(f"{path.name} {function.name}: {said}")
    assert found == stepping
    assert own == []
