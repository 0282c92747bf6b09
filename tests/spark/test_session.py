"""The session: settings in one place, workers with our Python, one sentence when something is missing."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from amqp_sansio.spark import session
from amqp_sansio.spark.errors import MissingExtra
from amqp_sansio.spark.session import (
    OF_THE_WORK,
    archive_of_package,
    ask_worker,
    cores_of,
    end,
    is_connect,
    open_session,
    prepare,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_session_has_the_settings_of_the_work(spark: SparkSession) -> None:
    assert {name: spark.conf.get(name) for name in OF_THE_WORK} == OF_THE_WORK
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert not is_connect(spark)
    assert cores_of(spark) == 2


def test_a_session_of_the_users_gets_the_settings_of_the_work(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    prepare(spark)
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_a_session_ends_even_where_its_jvm_was_killed(extra: None) -> None:
    from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

    for error in (ConnectionRefusedError, Py4JNetworkError, None):
        killed = Mock()
        killed.stop.side_effect = error
        end(killed)
        killed.stop.assert_called_once_with()


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "EXTRA", ("json", "no_such_library", "no_such.package"))
    with pytest.raises(MissingExtra, match=r"needs no_such_library, no_such.package: pip install 'amqp-sansio\[spark\]'"):
        open_session()


def test_one_line_reports_an_unknown_master(spark: SparkSession) -> None:
    # In another process: this one has its session.
    import subprocess

    code = "from amqp_sansio.spark.session import open_session; open_session('nowhere')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("amqp_sansio.captures.errors.PipelineError: 'nowhere' is not a master: local[N], "), done.stderr
    assert "Exception in thread" not in done.stderr


def test_the_archive_holds_what_executors_need(tmp_path: Path) -> None:
    with zipfile.ZipFile(archive_of_package(tmp_path)) as packed:
        names = packed.namelist()
    assert {"amqp_sansio/__init__.py", "amqp_sansio/engine/observer.py", "attr/__init__.py", "typing_extensions.py"} <= set(
        names
    )


def test_a_worker_answers(spark: SparkSession) -> None:
    python, ours = ask_worker(spark)
    assert python.startswith("3.")
    assert ours.endswith("amqp_sansio/__init__.py")
