"""`make interop` says in one line what it cannot have, and passes on what was found."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.interop import __main__ as interop
from tools.interop import broker_j


def test_without_java_it_is_not_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shutil, "which", lambda command: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert interop.main([]) == 75
    assert capsys.readouterr().err == "interop: NOT RUN: Broker-J needs Java 17 or later: there is no java here\n"


def test_an_archive_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shutil, "which", lambda command: "/usr/bin/apt-get" if command == "apt-get" else None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    failed = subprocess.CompletedProcess(["apt-get"], 100, "", "E: no network")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **named: failed)
    assert interop.main([]) == 75
    told = capsys.readouterr()
    assert "interop: installing openjdk-17-jre-headless maven" in told.out
    assert "the package archive does not answer: E: no network" in told.err


@pytest.mark.parametrize(("told", "text"), [('openjdk version "11.0.2"', "not openjdk"), ("", "not this one")])
def test_an_old_java_is_not_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: str, text: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    done = subprocess.CompletedProcess(["java"], 0, "", told)
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **named: done)
    with pytest.raises(broker_j.NotAvailable, match=text):
        broker_j.java()


def test_a_maven_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failed = subprocess.CompletedProcess(["mvn"], 1, "", "no network")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **named: failed)
    monkeypatch.setattr(shutil, "which", lambda command: command)
    with pytest.raises(broker_j.NotAvailable, match="no network"):
        broker_j.fetch(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda command: None)
    with pytest.raises(broker_j.NotAvailable, match="no mvn"):
        broker_j.fetch(tmp_path)
    (tmp_path / "fetched").write_text(broker_j.POM.read_text())
    assert broker_j.fetch(tmp_path) == tmp_path / "lib"


def test_ports_are_free_and_different() -> None:
    assert len(set(broker_j.free_ports(3))) == 3
