"""`amqp-sansio report`: one page made of tables, or straight of captures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from glob import has_magic
from os.path import basename, isdir, isfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from amqp_sansio.captures import remote
from amqp_sansio.captures.files import is_remote, resolved
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.cli.progress import Progress
from amqp_sansio.errors import AmqpError

_Write: TypeAlias = Callable[[str, str | None, Callable[[str, int, int], None]], Path]

_EXTRA: Final = frozenset(("matplotlib", "numpy", "pyarrow"))


class MissingReport(AmqpError):
    """The libraries of the extra `[report]` are not installed, or not all of them."""


def report(given: argparse.Namespace) -> int:
    """Writes the page and prints where it is: 0, or 2 when a capture could not be read to its end.  An error of the library
    when it cannot be made."""
    try:
        from amqp_sansio.report.page import write
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise MissingReport(f"report needs {error.name}: pip install 'amqp-sansio[report]'") from error
    places: Final[list[str]] = given.places
    if len(places) == 1 and not _is_capture(places[0]):
        return _page(write, places[0], given.out)
    from amqp_sansio.cli.pipeline import named_brokers, run_here, warn

    with TemporaryDirectory(prefix="amqp-sansio-") as folder:
        plan: Final = ReplayOptions(ports=tuple(given.ports), **named_brokers(given.broker))
        status: Final = warn(run_here(places, folder, plan))
        _page(write, folder, given.out or f"{basename(places[0])}.html")
    return status


def _is_capture(place: str) -> bool:
    """Whether it is one file or a pattern, and no folder."""
    path: Final = resolved(place)
    if is_remote(path):
        try:
            return remote.has_magic(path) or remote.is_file(path)
        except OSError:  # whoever opens the folder tells
            return False
    return isfile(path) or (has_magic(path) and not isdir(path))


def _page(write: _Write, folder: str, out: str | None) -> int:
    progress: Final = Progress()
    try:
        place: Final = write(folder, out, progress.files)
    finally:
        progress.clear()
    sys.stdout.write(f"{place}\n")
    return 0
