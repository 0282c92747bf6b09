"""`make interop` says in one line what it cannot have, goes on with the rest, and passes on what was found."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from amqp_sansio.captures.transcript import transcript
from amqp_sansio.captures.witnesses import observers
from tools.interop import __main__ as interop
from tools.interop import broker_j, jms, maven, peers
from tools.interop.pcap import PcapWriter
from tools.interop.recording import Recording

JAVA = "it needs Java 17 or later: there is no {} here"


def nothing(monkeypatch: pytest.MonkeyPatch, *there: str) -> None:
    """A machine with those programs, and nobody who may install others."""
    monkeypatch.setattr(shutil, "which", lambda command: command if command in there else None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_without_anything_it_is_not_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    nothing(monkeypatch)
    assert interop.main([]) == 75
    assert capsys.readouterr().err.splitlines() == [
        f"interop: NOT RUN with Apache Qpid Broker-J: {JAVA.format('java')}",
        f"interop: NOT RUN with the Qpid JMS client: {JAVA.format('javac')}",
        "interop: NOT RUN with tshark: there is no tshark here",
        "interop: NOT RUN with chromium, that shows the report: there is no chromium here",
        "interop: NOT RUN: none of the peers can be had here",
    ]


def test_what_is_there_is_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    nothing(monkeypatch, "tshark")
    ran: list[str] = []

    def run(command: list[str], **named: object) -> subprocess.CompletedProcess[str]:
        environment = named["env"]
        assert isinstance(environment, dict)
        ran.append(environment["AMQP_INTEROP"])
        assert "-q" in command
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", run)
    assert interop.main(["-q"]) == 1
    assert ran == ["tshark"]
    assert len(capsys.readouterr().err.splitlines()) == 3
    assert interop.main(["--only", "tshark", "-q", "--as-it-is"]) == 1
    assert interop.main(["--only", "jms"]) == 75
    assert ran == ["tshark", "tshark"]
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_an_archive_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    nothing(monkeypatch, "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    failed = subprocess.CompletedProcess(["apt-get"], 100, "", "E: no network")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **named: failed)
    assert interop.main([]) == 75
    told = capsys.readouterr()
    assert told.out == "interop: installing default-jdk-headless maven tshark chromium\n"
    assert "the package archive does not answer: E: no network" in told.err


@pytest.mark.parametrize(("told", "text"), [('openjdk version "11.0.2"', "not openjdk"), ("", "not this one")])
def test_an_old_java_is_not_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: str, text: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    done = subprocess.CompletedProcess(["java"], 0, "", told)
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **named: done)
    with pytest.raises(maven.NotAvailable, match=text):
        maven.java()


def test_a_maven_that_fails_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failed = subprocess.CompletedProcess(["mvn"], 1, "\n[ERROR] no network\n[ERROR] and more\n", "")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **named: failed)
    monkeypatch.setattr(shutil, "which", lambda command: command)
    with pytest.raises(maven.NotAvailable, match=r"no network$"):
        maven.fetch(jms.POM, tmp_path)
    monkeypatch.setattr(shutil, "which", lambda command: None)
    with pytest.raises(maven.NotAvailable, match="no mvn"):
        maven.fetch(jms.POM, tmp_path)
    (tmp_path / "fetched").write_text(jms.POM.read_text())
    assert maven.fetch(jms.POM, tmp_path) == tmp_path / "lib"
    with pytest.raises(maven.NotAvailable, match="no mvn"):
        maven.fetch(broker_j.POM, tmp_path)


def test_a_peer_is_used_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, expected in (("1", True), ("tshark,jms", True), ("tshark", False), ("", False)):
        monkeypatch.setenv(peers.VARIABLE, said)
        assert peers.wanted("jms") is expected


def test_the_url_of_the_jms_client() -> None:
    assert jms.url(7) == "amqp://guest:guest@client/?brokerlist='tcp://127.0.0.1:7'"
    assert jms.url(7, "me", "x", "vh", "nofailover", heartbeat="1", retries="2") == (
        "amqp://me:x@client/vh?brokerlist='tcp://127.0.0.1:7?heartbeat='1'&retries='2''&failover='nofailover'"
    )


def test_ports_are_free_and_different() -> None:
    assert len(set(broker_j.free_ports(3))) == 3


def verbs(path: Path) -> list[str]:
    rows = [row for _, row in transcript(str(path), observers(), (), lambda text: None)]
    return [str(row["verb"]) for row in rows if row["verb"]]


def test_a_capture_that_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    header, close = b"AMQP\1\1\0\x0a", bytes.fromhex("0f0000100000000000000000010c0000")
    with PcapWriter(path, lambda: 1.5) as writer:
        for reset in (False, True):
            talk = writer.connection()
            talk.say(True, header)
            talk.say(False, header)
            talk.say(True, close * 5000)  # more than a packet holds
            talk.close(reset=reset)
    assert verbs(path) == ["connection.close-ok"] * 10_000


def test_a_recording_carries_both_ways_and_can_cut(tmp_path: Path) -> None:
    path = tmp_path / "recorded.pcap"
    header = b"AMQP\1\1\0\x0a"
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Recording(listener.getsockname()[1], path) as recording,
        socket.create_connection(("127.0.0.1", recording.port)) as client,
    ):
        server, _ = listener.accept()
        with server:
            client.sendall(header)
            assert server.recv(8, socket.MSG_WAITALL) == header
            server.sendall(header)
            assert client.recv(8, socket.MSG_WAITALL) == header
            recording.cut()
            assert client.recv(1) == b""
            assert server.recv(1) == b""
    rows = [row for _, row in transcript(str(path), observers(), (), lambda text: None)]
    assert [row["kind"] for row in rows[:2]] == ["header", "header"]
