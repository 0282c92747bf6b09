"""How a run in several processes (`make test`, `make interop`) shares its tests out: by files, those that take longest first.

A worker that began the longest file as the last one would still run it when the others have nothing left to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

DEAR: Final = ("spark: SparkSession", "from tests.contracts.trees import tree", "rabbitmq: RabbitMq", "broker_j: BrokerJ")
"""What tests ask for that takes long to make: one process makes it, and has all files that ask for it."""
LONGEST: Final = (
    "rabbitmq: RabbitMq",
    "broker_j: BrokerJ",
    "tests/interop/test_qpid_python.py",
    "tests/interop/test_spark_cluster.py",
    "spark: SparkSession",
    "tests/cli/test_analyze.py",
    "tests/cli/test_serve.py",
    "tests/report/test_page.py",
    "tests/examples/test_examples.py",
    "tests/spark/live/test_crashes.py",
    "tests/tools/test_values.py",
    "tests/properties/test_costs.py",
)
"""What takes longest, the longest first: files, and what `DEAR` puts together."""


@cache
def share_of(file: Path, name: str) -> str:
    """What a file belongs to: something dear that its tests ask for, else itself alone."""
    text = file.read_text(encoding="utf-8")
    return next((each for each in DEAR if each in text), name)


def longest(waiting: Iterable[str]) -> str | None:
    """Of what waits, what takes longest; None when nothing of it does."""
    there = set(waiting)
    return next((each for each in LONGEST if each in there), None)


def scheduler(config: Any, log: Any) -> Any:
    """What pytest-xdist asks for files to run."""
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    class LongestFirst(LoadFileScheduling):  # type: ignore[misc]  # untyped
        def _split_scope(self, nodeid: str) -> str:
            name = str(super()._split_scope(nodeid))
            return share_of(config.rootpath / name, name)

        def _assign_work_unit(self, node: Any) -> None:
            if (first := longest(self.workqueue)) is not None:
                self.workqueue.move_to_end(first, last=False)
            super()._assign_work_unit(node)

    return LongestFirst(config, log)
