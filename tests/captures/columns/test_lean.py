"""pyarrow does its work without pandas, and with it for whoever asks for it: in processes of their own, for both remember."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "data" / "captures"
PROLOGUE = "import sys; import pyarrow as pa; from amqp_sansio.captures.columns.lean import without_pandas; "


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
