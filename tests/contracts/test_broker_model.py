"""The model of the broker knows no family: it imports no wire, no machine, and of `spec` only what values are made of."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

BROKER = Path(__file__).parents[2] / "src" / "amqp_sansio" / "broker"
FILES = sorted(
    [
        *(BROKER / "model").glob("*.py"),
        *(BROKER / "selectors").glob("*.py"),
        BROKER / "conditions.py",
    ]
)
NEUTRAL = ("amqp_sansio.spec.values",)
FAMILIES = ("amqp_sansio.wire", "amqp_sansio.spec", "amqp_sansio.engine", "amqp_sansio.tables", "amqp_sansio.broker.fronts")
OWED = {
    "arguments.py": {"amqp_sansio.wire.encoding"},  # arguments are measured by the octets of a map, whoever gave them
    "exchange.py": {"amqp_sansio.wire.encoding"},  # and compared by them: any one encoding of neutral values will do
}
"""What names one encoding of values, and why."""


def of_families(path: Path) -> set[str]:
    found = {node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)}
    return {name for name in found if name.startswith(FAMILIES) and name not in NEUTRAL}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_module_of_the_model_imports_no_family(path: Path) -> None:
    assert of_families(path) == OWED.get(path.name, set())
