"""The log of conversations: one line each, never more than it can bear, and it harms nobody."""

from __future__ import annotations

import io

import pytest

from amqp_sansio import ClientConfig, ClientConnection
from amqp_sansio.cli.conversation import LONGEST, Conversations


def test_lines_are_numbered_timed_plain_and_cut() -> None:
    out, now = io.StringIO(), [10.0]
    log = Conversations(out, lambda: now[0])
    first, second = log.connection(), log.connection()
    now[0] = 11.5
    first.hear("client", ClientConnection().data_to_send())
    second.note("connected from «there»\n")
    second.note("x" * 1000)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("    1.500 [1] client: protocol header")
    assert lines[1] == "    1.500 [2] connected from \\xabthere\\xbb\\n"
    assert lines[2] == "    1.500 [2] " + "x" * LONGEST + "..."
    assert out.getvalue().isascii()


def test_secrets_are_shown_as_their_length() -> None:
    out = io.StringIO()
    log = Conversations(out, lambda: 0.0).connection()
    from amqp_sansio import ServerConfig, ServerConnection
    from amqp_sansio.engine.sasl import PlainServer

    client = ClientConnection(ClientConfig(username="alice", password="verysecret"))
    server = ServerConnection(ServerConfig(mechanisms=(PlainServer(lambda username, password: True),)))
    for _ in range(4):
        said = client.data_to_send()
        log.hear("client", said)
        server.receive_data(said)
        list(server.events())
        answer = server.data_to_send()
        log.hear("server", answer)
        client.receive_data(answer)
        list(client.events())
    assert "connection.open-ok" in out.getvalue()
    assert "response=<17 octets>" in out.getvalue()
    assert "verysecret" not in out.getvalue()


def test_octets_that_are_no_conversation_are_survived() -> None:
    out = io.StringIO()
    log = Conversations(out, lambda: 0.0).connection()
    for octets in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100, b"\xff" * 100, bytes(range(256)) * 4):
        log.hear("client", octets)
        log.hear("server", octets)
    assert len(out.getvalue()) < 20_000


def test_a_log_that_nobody_reads_ends_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    class Shut(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    log = Conversations(Shut(), lambda: 0.0)
    log.connection().note("one")
    log.connection().note("two")
    assert capsys.readouterr().err == "amqp-sansio: nobody reads the log any more\n"


def test_a_transcript_that_fails_takes_nothing_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    log = Conversations(out, lambda: 0.0).connection()
    monkeypatch.setattr(log._transcript, "hear", lambda moment, speaker, octets: 1 / 0)
    log.hear("client", b"x")
    log.hear("client", b"x")
    assert out.getvalue() == "    0.000 [1] cannot follow the conversation any more (ZeroDivisionError)\n"
