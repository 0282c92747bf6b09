"""`amqp-sansio doctor`: checks whether the pipeline can run here, and with what."""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

from amqp_sansio.kernel.build import COMPILED


def doctor(given: argparse.Namespace) -> int:
    """Checks everything that the pipeline needs and prints the results.  Returns 0 when all of it works, else 1."""
    from amqp_sansio.spark.examination import examine

    well = True
    print(f"Python    {platform.python_version()} ({sys.executable})", flush=True)
    print(f"Build     {'compiled' if COMPILED else 'pure'} ({Path(__file__).parents[1]})", flush=True)
    for part in examine(given.master, dict(given.conf)):
        well = well and part.well
        print(f"{part.name:<10}{'' if part.well else 'NOT THERE: '}{part.text}", flush=True)
    print("All there: `analyze` and `watch` can run." if well else "The pipeline cannot run here.")
    return 0 if well else 1
