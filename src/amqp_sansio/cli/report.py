"""`amqp-sansio report`: makes one page from tables, or directly from captures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from glob import has_magic
from os.path import basename, isdir, isfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from amqp_sansio.captures import locations
from amqp_sansio.captures.files import is_remote, resolved
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.cli.output import Progress, printed
from amqp_sansio.cli.pipeline import installed, named_brokers, run_here, warn

_Write: TypeAlias = Callable[[str, str | None, Callable[[str, int, int], None]], Path]


def report(given: argparse.Namespace) -> int:
    """Writes the page and prints its path.  Returns 0, or 2 when a capture could not be read to its end; raises when the page
    cannot be made."""
    with installed("report needs", "report"):
        from amqp_sansio.report.page import write
    places: Final[list[str]] = given.places
    if len(places) == 1 and not _is_capture(places[0]):
        return _page(write, places[0], given.out)
    with TemporaryDirectory(prefix="amqp-sansio-") as folder:
        plan: Final = ReplayOptions(ports=tuple(given.ports), **named_brokers(given.broker))
        status: Final = warn(run_here(places, folder, plan))
        _page(write, folder, given.out or f"{basename(places[0])}.html")
    return status


def _is_capture(place: str) -> bool:
    """Whether it is one file or a pattern, not a folder."""
    path: Final = resolved(place)
    if is_remote(path):
        try:
            return locations.has_magic(path) or locations.is_file(path)
        except OSError:  # the error appears again when the folder is opened
            return False
    return isfile(path) or (has_magic(path) and not isdir(path))


def _page(write: _Write, folder: str, out: str | None) -> int:
    with Progress() as progress:
        place: Final = write(folder, out, progress.files)
    sys.stdout.write(f"{printed(str(place))}\n")
    return 0
