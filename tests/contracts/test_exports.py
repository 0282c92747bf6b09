"""The public names are frozen: one more or one less is a decision, and is written down here."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

LIST = Path(__file__).with_name("public_names.txt")
MODULES = (
    "amqp_sansio",
    "amqp_sansio.broker",
    "amqp_sansio.events",
    "amqp_sansio.errors",
    "amqp_sansio.config",
    "amqp_sansio.limits",
    "amqp_sansio.adapters.asyncio",
    "amqp_sansio.adapters.asyncio.channels",
    "amqp_sansio.adapters.asyncio.server",
    "amqp_sansio.adapters.otel",
    "amqp_sansio.adapters.sync",
    "amqp_sansio.adapters.sync.channels",
    "amqp_sansio.adapters.sync.served",
    "amqp_sansio.adapters.sync.server",
    "amqp_sansio.adapters.trio",
    "amqp_sansio.adapters.trio.channels",
    "amqp_sansio.adapters.trio.server",
    "amqp_sansio.captures.check",
    "amqp_sansio.conversation.happenings",
    "amqp_sansio.conversation.retry",
    "amqp_sansio.conversation.tracing",
    "amqp_sansio.testing.link",
    "amqp_sansio.testing.machines",
    "amqp_sansio.testing.memory",
    "amqp_sansio.testing.strategies",
)


def load(module: str) -> ModuleType:
    """The module, if its extra is installed."""
    if module == "amqp_sansio.adapters.otel":
        pytest.importorskip("opentelemetry")
    return importlib.import_module(module)


def names(module: str) -> list[str]:
    """What `__all__` says or, without one, what the module itself defines at its top."""
    loaded = load(module)
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
    loaded = load(module)
    assert [name for name in names(module) if not hasattr(loaded, name)] == []


@pytest.mark.parametrize("module", MODULES)
def test_what_another_module_lists_is_exported_for_pyright_too(module: str) -> None:
    """It follows `__all__ += other.__all__` only where `import package.other as other` says which module that is."""
    body = ast.parse(inspect.getsource(load(module))).body
    added = [
        ast.unparse(each.value) for each in body if isinstance(each, ast.AugAssign) and ast.unparse(each.target) == "__all__"
    ]
    named = {name.asname for each in body if isinstance(each, ast.Import) for name in each.names}
    assert [each for each in added if each.removesuffix(".__all__") not in named] == []


def test_every_name_of_the_list_belongs_to_a_module_that_the_page_names() -> None:
    assert {line.rpartition(".")[0] for line in LIST.read_text().split()} == set(MODULES)
    page = (LIST.parents[2] / "docs" / "reference" / "public.md").read_text(encoding="utf-8")
    public = page.partition("## What is private")[0]
    named: set[str] = set()
    for row in re.findall(r"^\| (`amqp_sansio[^|]*)", public, re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", row)
        packages = first.split(".")
        named |= {first, *(".".join([*packages[: len(packages) - each.count(".")], each[1:]]) for each in others)}
    assert named - {"amqp_sansio.spec"} == set(MODULES)
