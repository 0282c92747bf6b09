"""`amqp-sansio serve`, in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

SOURCES: Final = Path(__file__).resolve().parents[2] / "src"


class Served:
    """Our broker on a free loopback port."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "amqp_sansio", "serve", "--port", "0"],
            stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SOURCES)}, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self._out = self._process.stdout
        self.url: Final = self._out.readline().rpartition(" ")[2].strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._out.close()
