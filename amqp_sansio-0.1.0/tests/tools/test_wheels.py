"""Packages as far as they can be tried without a package index and a C compiler: `make wheels` installs and uses them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools import wheels
from tools.compiled.sources import ROOT


def test_the_python_that_runs_this_is_among_those_found() -> None:
    found = wheels.pythons()
    assert found["{}.{}".format(*sys.version_info)] == Path(sys.executable)
    assert list(found) == sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def test_a_tag_names_interpreter_and_platform() -> None:
    assert wheels.tag(Path(sys.executable)).startswith("cp{0}{1}-cp{0}{1}-".format(*sys.version_info))


def test_a_compiled_wheel_is_the_pure_one_with_machine_code_and_says_so(tmp_path: Path) -> None:
    info = tmp_path / "wheel" / "amqp_sansio-0.1.0.dist-info"
    build = tmp_path / "build" / "amqp_sansio"
    for folder in (info, tmp_path / "wheel" / "amqp_sansio", build):
        folder.mkdir(parents=True)
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n")
    (info / "METADATA").write_text("Name: amqp-sansio\nRequires-Dist: attrs>=23.1\n\nRequires-Dist: is also a word\n")
    (tmp_path / "wheel" / "amqp_sansio" / "gone.py").touch()
    (tmp_path / "wheel" / "amqp_sansio_pytest.py").touch()
    (build / "kernel.so").touch()
    (tmp_path / "build" / "group__mypyc.so").touch()
    wheels.overlay(tmp_path / "wheel", tmp_path / "build", "cp311-cp311-linux_x86_64")
    files = {path.relative_to(tmp_path / "wheel").as_posix() for path in (tmp_path / "wheel").rglob("*") if path.is_file()}
    assert files == {
        "amqp_sansio/kernel.so", "amqp_sansio_pytest.py", "group__mypyc.so",
        "amqp_sansio-0.1.0.dist-info/WHEEL", "amqp_sansio-0.1.0.dist-info/METADATA",
    }  # fmt: skip
    assert (info / "WHEEL").read_text() == "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n\n"
    assert (info / "METADATA").read_text() == (
        "Name: amqp-sansio\nRequires-Dist: mypy-extensions>=1\nRequires-Dist: attrs>=23.1\n\nRequires-Dist: is also a word\n"
    )


def test_what_is_done_with_an_installed_package_notices_the_wrong_build() -> None:
    for kind, ends in (("pure", 0), ("compiled", 1)):
        words = [sys.executable, "-c", wheels.TRIAL, kind]
        done = subprocess.run(words, cwd=ROOT / "src", capture_output=True, text=True, check=False)
        assert done.returncode == ends, done.stderr
        assert ("pure" in done.stdout) is (kind == "pure")


def test_a_command_that_fails_ends_it_with_what_it_printed() -> None:
    with pytest.raises(wheels.WheelError, match="no such thing"):
        wheels.run(sys.executable, "-c", "raise SystemExit('no such thing')")


def test_a_python_that_is_not_there_is_not_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert wheels.main(["--no-compiled", "--out", str(tmp_path), "--only", "3.99"]) == 75
    assert "NOT RUN: Python 3.99" in capsys.readouterr().out
