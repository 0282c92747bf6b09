"""`amqp-sansio compact`: merges small files of tables into larger ones."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from amqp_sansio.cli.given import argument, whole
from amqp_sansio.cli.output import json_line, printed
from amqp_sansio.cli.pipeline import installed, size
from amqp_sansio.errors.core import many

MEBI: Final = 1024 * 1024


def file_size(text: str) -> int:
    """Parses a number of MiB from 1 to 4096; returns octets.  Raises ArgumentTypeError for anything else."""
    return MEBI * whole(1, 4096, "is not a number of MiB from 1 to 4096")(text)


def add_file_size(verb: argparse.ArgumentParser) -> None:
    """Adds the argument for the size of the tables' files."""
    argument(
        verb,
        "--file-size",
        "MIB",
        "merge small files of one table, day and broker into files of at most this many MiB (64)",
        type=file_size,
        default=64 * MEBI,
    )


def compact(given: argparse.Namespace) -> int:
    """Merges the files and prints how many there were and are.  Returns 0."""
    with installed("compact needs", "tables"):
        from amqp_sansio.captures.columns.compact import compact as merge

    found = merge(given.folder, given.file_size)
    if given.json:
        before = {"files": found.files_before, "octets": found.octets_before}
        sys.stdout.write(json_line({"out": found.out, "files": found.files, "octets": found.octets, "before": before}) + "\n")
    else:
        before_ = f"{many(found.files_before, 'file')}, {size(found.octets_before)}"
        sys.stdout.write(f"{printed(found.out)}: {many(found.files, 'file')}, {size(found.octets)} (before: {before_})\n")
    return 0
