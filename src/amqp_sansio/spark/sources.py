"""Packets of captures as frames, through the data source `amqp_capture`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.spark.standin import packets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_packets(spark: SparkSession, captures: Sequence[str], options: Mapping[str, str] | None = None) -> DataFrame:
    """The packets of these files."""
    for each in captures:
        if not Path(each).is_file():
            raise CaptureError(each, 0, 0, "no such file")
    return packets(spark, captures)


def stream_packets(spark: SparkSession, folder: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """The packets of the files that come into this folder."""
    return packets(spark, folder)


def octets_of(captures: Sequence[str]) -> int:
    """How large these files are together, as far as this machine sees them."""
    total = 0
    for each in captures:
        try:
            total += Path(each).stat().st_size
        except OSError:
            continue
    return total


def require_captures(captures):
    pass


def require_folder(folder):
    pass
