"""The public names are frozen: one more or one less is a decision, and is written down here."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("public_names.txt")
MODULES = (
    "amqp_sansio",
    "amqp_sansio.broker",
    "amqp_sansio.events",
    "amqp_sansio.errors",
    "amqp_sansio.config",
    "amqp_sansio.limits",
)


def names(module: str) -> list[str]:
    """What `__all__` says or, without one, what the module itself defines at its top."""
    loaded = importlib.import_module(module)
    listed: list[str] | None = getattr(loaded, "__all__", None)
    if listed is not None:
        return sorted(listed)
    own: list[str] = []
    for node in ast.parse(inspect.getsource(loaded)).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            own.append(node.name)
        elif isinstance(node, ast.Assign):
            own += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            own.append(node.target.id)
    return sorted(name for name in own if not name.startswith("_"))


@pytest.mark.parametrize("module", MODULES)
def test_the_public_names_are_those_of_the_list(module: str) -> None:
    listed = [line.removeprefix(f"{module}.") for line in LIST.read_text().split() if line.rpartition(".")[0] == module]
    assert names(module) == sorted(listed)


@pytest.mark.parametrize("module", MODULES)
def test_what_is_listed_exists(module: str) -> None:
    loaded = importlib.import_module(module)
    assert [name for name in names(module) if not hasattr(loaded, name)] == []
