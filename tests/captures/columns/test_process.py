"""The collector of cycles leaves alone what was there, and is as it was afterwards."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from amqp_sansio.captures.columns.process import THRESHOLD, rarely, seldom

pytestmark = pytest.mark.usefixtures("thawed")


def test_it_is_spared_what_was_there_and_runs_seldom_meanwhile() -> None:
    before = gc.get_threshold()
    assert gc.get_freeze_count() == 0
    with seldom():
        assert gc.get_threshold() == (THRESHOLD, *before[1:])
        assert gc.get_freeze_count() > 10_000
        assert gc.isenabled()
    assert gc.get_threshold() == before


def test_a_process_of_others_is_left_as_it_was() -> None:
    """What was there stays the collector's, whatever goes wrong; one that is switched off stays so."""
    before = gc.get_threshold()
    found: list[object] = []

    @rarely()
    def work() -> None:
        found.extend((gc.get_threshold(), gc.get_freeze_count()))
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        work()
    assert found == [(THRESHOLD, *before[1:]), 0]
    assert gc.get_threshold() == before
    for other in (0, 10 * THRESHOLD):
        gc.set_threshold(other)
        try:
            with rarely():
                assert gc.get_threshold()[0] == other
        finally:
            gc.set_threshold(*before)


DATA = Path(__file__).parents[2] / "data" / "captures"
PROLOGUE = "import sys; import pyarrow as pa; from amqp_sansio.captures.columns.process import without_pandas; "


def said(code: str, *words: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_pandas_stays_out_until_somebody_asks_for_it() -> None:
    pytest.importorskip("pandas")
    code = (
        "without_pandas(); pa.array([1]); print('pandas' in sys.modules); "
        "print(pa.table({'a': [1, None]}).to_pandas().a.tolist(), [each.__module__ for each in sys.meta_path[:1]])"
    )
    first, second = said(PROLOGUE + code).splitlines()
    assert first == "False"
    assert second.startswith("[1.0, nan] ")
    assert "lean" not in second


def test_pandas_that_is_there_is_left_alone() -> None:
    pytest.importorskip("pandas")
    assert (
        said(PROLOGUE + "import pandas; without_pandas(); print(pa.array(pandas.Series([1.0, float('nan')])).null_count)")
        == "1"
    )


def test_analyze_imports_no_pandas(tmp_path: Path) -> None:
    words = "analyze", str(DATA / "hello.pcap"), "--engine", "local", "--out", str(tmp_path / "out")
    code = "import sys; from amqp_sansio.cli.main import main\ntry: main()\nfinally: print('pandas' in sys.modules)"
    assert said(code, *words).splitlines()[-1] == "False"
    assert (tmp_path / "out" / "_MANIFEST.json").exists()
