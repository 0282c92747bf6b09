"""`amqp-sansio passwd`: the password comes from stdin or a terminal, and goes nowhere but into a verifier."""

from __future__ import annotations

import getpass
import io
import sys
from pathlib import Path

import pytest
from tests.cli.serving import run

from amqp_sansio.adapters.access_files import VerifierError, Verifiers
from amqp_sansio.cli import passwd as verb
from amqp_sansio.cli.main import main


def test_from_stdin(tmp_path: Path) -> None:
    path = str(tmp_path / "users")
    done = run("passwd", path, "alice", given=b"secret\nmore\n")
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, f"{path}: added user alice\n", b"")
    assert Verifiers(path).verify("alice", "secret")
    done = run("passwd", "--delete", path, "alice")
    assert (done.returncode, Verifiers(path).users) == (0, {})
    for user, given in (("bob", b"\n"), ("bob", b""), ("bob", b"x" * 2000), ("bob", b"\xff\n"), ("", b"secret\n")):
        done = run("passwd", path, user, given=given)
        assert (done.returncode, done.stdout) == (2, b"")
        assert len(done.stderr.splitlines()) == 1
        assert b"x" * 100 not in done.stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_at_a_terminal_it_is_asked_for_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "users")
    monkeypatch.setattr(sys, "stdin", Terminal())
    said = ["one", "two", "three", "three"]
    monkeypatch.setattr(getpass, "getpass", lambda prompt: said.pop(0))
    with pytest.raises(VerifierError, match="passwords do not match"):
        verb.passwd(path, "alice")
    assert main(["passwd", path, "alice"]) == 0
    assert Verifiers(path).verify("alice", "three")


def test_ending_the_terminal_instead_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", ended)
    with pytest.raises(VerifierError, match="no password was given"):
        verb.passwd(str(tmp_path / "users"), "alice")


def test_it_is_never_an_argument(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["passwd", str(tmp_path / "users"), "alice", "secret"])
    assert "unrecognized arguments" in capsys.readouterr().err


def test_groups_without_a_password(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "users")
    assert run("passwd", path, "alice", given=b"secret\n").returncode == 0
    assert main(["passwd", path, "alice", "--groups", "staff, ops"]) == 0
    assert capsys.readouterr().out == f"{path}: groups of alice: staff, ops\n"
    assert Verifiers(path).users["alice"].groups == ("staff", "ops")
    assert Verifiers(path).verify("alice", "secret")
    assert main(["passwd", path, "alice", "--groups", ""]) == 0
    assert capsys.readouterr().out == f"{path}: groups of alice: none\n"
    assert main(["passwd", path, "bob", "--groups", "staff"]) == 2
