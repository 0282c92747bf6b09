"""`make interop` says in one line what it cannot have, goes on with the rest, and passes on what was found."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from amqp_sansio.captures.conversation import observers
from amqp_sansio.captures.rows import transcript
from amqp_sansio.spark.errors import MissingExtra
from tools.interop import __main__ as interop
from tools.interop import broker_j, jms, maven, packages, peers, qpid_python
from tools.interop.pcap import PcapWriter
from tools.interop.recording import Recording

JAVA = "it needs Java 17 or later: there is no {} here"


def nothing(monkeypatch: pytest.MonkeyPatch, *there: str) -> None:
    """A machine with those programs, and nobody who may install others."""
    monkeypatch.setattr(shutil, "which", lambda command: command if command in there else None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PYENV_ROOT", "/nowhere")
    monkeypatch.setattr(packages, "install", no_index)
    monkeypatch.setattr(peers, "require_extra", no_spark)


def no_index(program: str, requirements: Path, folder: Path) -> Path:
    raise maven.NotAvailable("pip could not install it: no network")


def no_spark() -> None:
    raise MissingExtra("the pipeline needs pyspark")


def test_without_anything_it_is_not_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    nothing(monkeypatch)
    assert interop.main([]) == 75
    assert capsys.readouterr().err.splitlines() == [
        f"interop: NOT RUN with Apache Qpid Broker-J: {JAVA.format('java')}",
        f"interop: NOT RUN with the Qpid JMS client: {JAVA.format('javac')}",
        "interop: NOT RUN with Apache's Python client and its suites:"
        " it needs Python 2.7: there is none here, also not below ~/.pyenv/versions",
        "interop: NOT RUN with pamqp and pika, codecs of 0-9-1: pip could not install it: no network",
        "interop: NOT RUN with tshark: there is no tshark here",
        "interop: NOT RUN with RabbitMQ: RabbitMQ is not here: apt install rabbitmq-server",
        "interop: NOT RUN with Spark in processes that are killed: the pipeline needs pyspark",
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
    assert len(capsys.readouterr().err.splitlines()) == 7
    assert interop.main(["--only", "tshark", "-q", "--as-it-is"]) == 1
    assert interop.main(["--only", "jms"]) == 75
    assert ran == ["tshark", "tshark"]
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_what_is_fetched_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing(monkeypatch, "tshark")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **named: pytest.fail("something was run"))
    assert interop.main(["--fetch", "--as-it-is"]) == 0
    nothing(monkeypatch)
    assert interop.main(["--fetch", "--as-it-is"]) == 75


def test_packages_are_installed_before_anything_of_ours_is_there() -> None:
    """By a Python that has its own library alone."""
    root = Path(__file__).resolve().parents[2]
    words = [sys.executable, "-S", "-E", "-c", "import tools.interop.debian"]
    assert subprocess.run(words, cwd=root, capture_output=True, text=True, check=False).stderr == ""


def test_an_archive_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    nothing(monkeypatch, "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    failed = subprocess.CompletedProcess(["apt-get"], 100, "", "E: no network")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **named: failed)
    assert interop.main([]) == 75
    told = capsys.readouterr()
    assert told.out == "interop: installing default-jdk-headless maven tshark chromium rabbitmq-server\n"
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


def test_a_maven_that_fails_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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


PRINTED_BY_A_SUITE = """\
qpid_tests.broker_0_10.tx.TxTests.test_commit ........ pass
qpid_tests.broker_0_10.tx.TxTests.test_noisy ......... start
  fail
  a line
qpid_tests.broker_0_10.tx.TxTests.test_noisy ......... fail
Error during test:  Traceback (most recent call last):
    AssertionError
qpid_tests.broker_0_10.tx.TxTests.test_forks .........
  a line of the child
 pass
qpid_tests.broker_0_10.tx.TxTests.test_absent ........ skip
  Skipped
qpid_tests.broker_0_10.tx.TxTests.test_cut ........... start
"""


RACED = "  2026-11-24 14:35:38,700 ERROR qpid.messaging thread died: 'NoneType' object has no attribute 'fileno'\n"
DIED_OTHERWISE = "  2026-11-24 14:35:38,700 ERROR qpid.messaging thread died: unknown type 0x99\n"


def test_a_run_that_the_race_of_apaches_client_ended_is_known_by_its_words() -> None:
    for died in (
        "qpid.selector.SelectorStopped: 'NoneType' object has no attribute 'fileno'",
        "  2026-11-24 14:35:38,700 ERROR qpid.messaging thread died: [Errno 9] Bad file descriptor",
        *[RACED.replace("fileno", name) for name in ("fileno", "recv", "send", "peek")],
    ):
        assert qpid_python.Report({}, died).raced
    for other in (
        PRINTED_BY_A_SUITE,
        DIED_OTHERWISE,
        "qpid.selector.SelectorStopped: forked child using parent qpid.messaging",
    ):
        assert not qpid_python.Report({}, other).raced


@pytest.mark.parametrize("died", [RACED, DIED_OTHERWISE])
def test_a_run_whose_client_died_is_ended_at_once(died: str) -> None:
    """What it prints afterwards is not heard: a test whose client is dead judges nobody."""
    program = f"import time; print('before'); print({died!r} + 'after', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert qpid_python._printed(process) == f"before\n{died}"
    assert process.returncode != 0


def suite(*runs: str) -> tuple[qpid_python.Report, list[set[str]]]:
    """A suite of the tests a, b and c of which each run gives letters their outcome (an upper-case one failed) and ends: `!` by
    the race, `?` by something else; and what each run was told to leave out."""
    told: list[set[str]] = []

    def run(without: Collection[str]) -> qpid_python.Report:
        text = runs[len(told)]
        told.append(set(without))
        outcomes = dict.fromkeys(set("abc") - set(without), qpid_python.NOT_RUN)
        outcomes |= {each.lower(): "fail" if each.isupper() else "pass" for each in text if each.isalpha()}
        return qpid_python.Report(outcomes, RACED if "!" in text else DIED_OTHERWISE if "?" in text else "")

    return qpid_python.run_all(run), told


def test_tests_that_have_no_outcome_after_the_race_are_run_again_and_no_others() -> None:
    report, told = suite("aB!", "!", "!", "c!")
    assert report.outcomes == {"a": "pass", "b": "fail", "c": "pass"}
    assert (told, report.runs) == ([set(), {"a", "b"}, {"a", "b"}, {"a", "b"}], 4)


def test_a_suite_that_the_race_ends_again_and_again_without_an_outcome_has_not_passed() -> None:
    report, _ = suite("a!", "b!", "!", "!", "!")
    assert report.outcomes == {"a": "pass", "b": "pass", "c": qpid_python.NOT_RUN}
    assert report.runs == 5


def test_a_client_that_dies_of_anything_else_is_not_run_again() -> None:
    assert suite("ab?")[0] == qpid_python.Report({"a": "pass", "b": "pass", "c": qpid_python.NOT_RUN}, DIED_OTHERWISE)
    assert suite("a!", "b?")[0].outcomes == {"a": "pass", "b": "pass", "c": qpid_python.NOT_RUN}


def test_the_outcome_of_each_test_of_a_suite_is_read() -> None:
    found = qpid_python.outcomes(PRINTED_BY_A_SUITE)
    assert {name.rpartition(".")[2]: outcome for name, outcome in found.items()} == {
        "test_commit": "pass",
        "test_noisy": "fail",
        "test_forks": "pass",
        "test_absent": "skip",
    }
    report = qpid_python.Report({**found, "cut": qpid_python.NOT_RUN}, "")
    assert report.passed == 2
    assert {name.rpartition(".")[2] for name in report.others} == {"test_noisy", "test_absent", "cut"}


def answer(path: Path, text: str) -> str:
    """A program that prints a text, whatever it is asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)
    return str(path)


def test_a_python_2_7_is_found_on_the_path_or_below_pyenv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    shim = answer(tmp_path / "shims" / "python2.7", "pyenv: python2.7: command not found")
    monkeypatch.setattr(shutil, "which", lambda command: shim)
    with pytest.raises(maven.NotAvailable, match=r"it needs Python 2\.7"):
        qpid_python.python()
    built = answer(tmp_path / "versions" / "2.7.18" / "bin" / "python2.7", "True")
    assert qpid_python.python() == built
    on_the_path = answer(tmp_path / "bin" / "python2.7", "True")
    monkeypatch.setattr(shutil, "which", lambda command: on_the_path)
    assert qpid_python.python() == on_the_path


def test_a_pip_that_fails_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failed = subprocess.CompletedProcess(["pip"], 1, "", "DEPRECATION: old\nERROR: no network\n\n")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **named: failed)
    with pytest.raises(maven.NotAvailable, match=r"pip could not install it: ERROR: no network$"):
        packages.install("python2.7", qpid_python.REQUIREMENTS, tmp_path)
    (tmp_path / "installed").write_text("python2.7\n" + qpid_python.REQUIREMENTS.read_text())
    assert packages.install("python2.7", qpid_python.REQUIREMENTS, tmp_path) == tmp_path / "lib"
    with pytest.raises(maven.NotAvailable, match="no network"):
        packages.install("another", qpid_python.REQUIREMENTS, tmp_path)
