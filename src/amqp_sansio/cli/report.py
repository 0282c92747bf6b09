"""`amqp-sansio report`: one page made of the tables."""

from __future__ import annotations

import sys
from typing import Final

from amqp_sansio.cli.progress import Progress
from amqp_sansio.errors import AmqpError

_EXTRA: Final = frozenset(("matplotlib", "numpy", "pyarrow"))


class MissingReport(AmqpError):
    """The libraries of the extra `[report]` are not installed, or not all of them."""


def report(folder: str, out: str | None) -> int:
    """Writes the page and prints where it is: 0.  An error of the library when it cannot be made."""
    try:
        from amqp_sansio.report.page import write
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise MissingReport(f"report needs {error.name}: pip install 'amqp-sansio[report]'") from error
    progress: Final = Progress()
    try:
        place: Final = write(folder, out, progress.files)
    finally:
        progress.clear()
    sys.stdout.write(f"{place}\n")
    return 0
