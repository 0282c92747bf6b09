from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from tests.captures import build

import amqp_sansio
from amqp_sansio.cli.main import main

DATA = Path(__file__).parents[1] / "data" / "captures"
HELLO = str(DATA / "hello.pcap")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    out = capsys.readouterr().out
    assert out.isascii()
    return [json.loads(line) for line in out.splitlines()]


def test_help_says_what_the_verbs_do(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (["--help"], ("decode", "check")),
        (["decode", "--help"], ("--secrets", "exit status", "body_octets")),
        (["check", "--help"], ("--strict", "exit status", "findings")),
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 0
        out = capsys.readouterr().out
        assert all(word in out for word in words)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"amqp-sansio {amqp_sansio.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["decode"], ["decode", "--port", "0", "x"], ["decode", "--port", "http", "x"], ["nothing"], ["--nothing"]]
)
def test_misuse_ends_with_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_an_option_that_does_not_exist_is_refused_with_the_usage_of_its_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["decode", "--nothing", "x"])
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("usage: amqp-sansio decode ")
    assert error.endswith("amqp-sansio decode: error: unrecognized arguments: --nothing\n")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["recieve", "q"], "receive"),
        (["--verson"], "--version"),
        (["send", "--quue", "q", "hi"], "--queue"),
        (["receive", "--cuont=1", "q"], "--count"),
        (["check", "--strct", "x"], "--strict"),
        (["store", "chek", "x"], "check"),
        (["decode", "--bodies", "txt", "x"], "text"),
        (["analyze", "--engine", "lokal", "--out", "o", "x"], "local"),
    ],
)
def test_what_may_have_been_meant(arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert capsys.readouterr().err.endswith(f" (did you mean {meant}?)\n")


def test_an_option_before_its_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--json", "decode", "x"])
    assert capsys.readouterr().err.endswith("error: unrecognized arguments: --json (put --json after the verb)\n")


def test_what_is_missing_has_the_names_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for verb, names in (("rules", "check, FILE"), ("store", "{check,backup,compact}, DIR")):
        with pytest.raises(SystemExit):
            main([verb])
        assert capsys.readouterr().err.endswith(f"the following arguments are required: {names}\n")


def test_without_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "verbs" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["decode", "check"])
def test_a_bad_file_does_not_stop_the_next(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = build.write(tmp_path / "bad", b"no capture at all")
    assert main([verb, "--json", HELLO, bad, str(tmp_path / "missing"), HELLO]) == 2
    out, err = capsys.readouterr()
    assert {json.loads(line)["file"] for line in out.splitlines()} == {HELLO}
    assert len(err.splitlines()) == 2
    assert all(line.startswith("amqp-sansio: ") for line in err.splitlines())
    assert bad in err
    first = [json.loads(line) for line in out.splitlines()]
    half = len(first) // 2
    assert first[:half] == first[half:]  # packets and connections are counted for each file


def test_a_cut_file_is_a_warning_and_a_damaged_one_is_read_up_to_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Path(HELLO).read_bytes()
    main(["decode", "--json", HELLO])
    good = lines(capsys)
    assert main(["decode", "--json", build.write(tmp_path / "x", whole[:-1])]) == 0
    out, err = capsys.readouterr()
    assert "warning" in err
    assert len(err.splitlines()) == 1
    assert len(out.splitlines()) == len(good)
    damaged = whole[:3000] + b"\xff" * 100 + whole[3100:]
    path = build.write(tmp_path / "y", damaged)
    assert main(["decode", "--json", path]) == 2
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 1
    assert f"{path}: packet " in err
    found = [json.loads(line) for line in out.splitlines()]
    number = int(err.split("packet ")[1].split(",")[0])
    before = [{**row, "file": path} for row in good if int(str(row["packet"])) < number - 1]
    assert found[: len(before)] == before
    assert len(before) > 10


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **more}


def run(
    *arguments: str, stdout: IO[bytes] | int = subprocess.PIPE, stderr: IO[bytes] | int = subprocess.PIPE, **more: str
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "amqp_sansio", *arguments], stdout=stdout, stderr=stderr, env=environment(**more)
    )


def test_as_a_module_in_any_locale() -> None:
    with run("decode", HELLO, LC_ALL="C", PYTHONIOENCODING="ascii") as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert b"message.transfer" in out


def test_a_broken_pipe_is_quiet(tmp_path: Path) -> None:
    path = build.write(tmp_path / "x", build.pcap(build.records(build.conversation([b"x"] * 2000).segments)))
    for verb in ("decode", "check"):
        with run(verb, "--json", path, path) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 141


@pytest.mark.parametrize("verb", ["decode", "check"])
def test_a_full_disk_behind_stdout_is_reported_in_one_sentence_and_is_no_verdict(verb: str) -> None:
    with open("/dev/full", "wb") as full, run(verb, HELLO, stdout=full) as process:
        assert process.communicate()[1] == b"amqp-sansio: cannot write to stdout: No space left on device\n"
    assert process.returncode == 2


def test_a_full_disk_behind_stderr_changes_neither_the_lines_nor_the_exit_status(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full, run("check", "--json", HELLO, str(tmp_path / "none"), stderr=full) as process:
        lines = process.communicate()[0].splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["clean"]
    assert process.returncode == 2


def test_what_else_the_system_refuses_is_no_matter_of_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> int:
        raise PermissionError("no")

    monkeypatch.setattr("amqp_sansio.cli.main._run", refused)
    monkeypatch.setattr(os, "write", lambda number, octets: len(octets))
    with pytest.raises(PermissionError):
        main([])


def test_stdin_and_stdout_may_be_closed() -> None:
    """What a shell does by `<&- >&-`."""
    code = "import sys; from amqp_sansio.cli.main import main; sys.stdin = sys.stdout = None; sys.exit(main(sys.argv[1:]))"
    for arguments, status, error in (
        (("decode", HELLO), 0, b""),
        (("passwd", "users", "alice"), 2, b"amqp-sansio: the password is empty, or has a NUL in it\n"),
        (("receive", "orders"), 1, b"amqp-sansio: stdout is closed: messages would be lost\n"),
    ):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, env=environment())
        assert (done.returncode, done.stdout, done.stderr) == (status, b"", error)


def test_with_stderr_closed_a_complaint_goes_nowhere() -> None:
    """What a shell does by `2>&-`: not to stdout, where a program reads lines."""
    code = "import sys; from amqp_sansio.cli.main import main; sys.stderr = None; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, "check", "--json", "/nowhere"], capture_output=True, env=environment())
    assert (done.returncode, done.stdout) == (2, b"")


def test_lines_appear_while_the_file_is_still_being_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    records = build.records(build.conversation([b"x" * 100] * 60).segments)
    octets = build.pcap(records)
    with run("decode", "--json", str(pipe), PYTHONUNBUFFERED="1") as process:
        assert process.stdout is not None
        stream = os.fdopen(os.open(pipe, os.O_RDWR), "wb")
        with stream:
            stream.write(octets[: len(octets) // 2])
            stream.flush()
            assert b'"header"' in process.stdout.readline()
            stream.write(octets[len(octets) // 2 :])
        assert len(process.stdout.read().splitlines()) > 120


def test_only_what_is_needed_is_imported() -> None:
    code = "import sys; import amqp_sansio.cli.main; print(any(m.startswith('amqp_sansio.captures') for m in sys.modules))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    assert subprocess.check_output([sys.executable, "-c", code], env=environment).strip() == b"False"
