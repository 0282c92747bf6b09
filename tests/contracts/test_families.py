"""The rules of the house about families of dialects: what is common knows none of them, and they do not know one another."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.contracts.trees import tree

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "amqp_sansio"

FAMILIES: dict[str, tuple[str, ...]] = {
    "sessions": (
        "spec.session", "spec.execution", "spec.message", "spec.tx", "spec.dtx", "spec.exchange", "spec.queue", "spec.file",
        "spec.stream", "wire.segments",
        "wire.layouts.fields", "wire.layouts.layout", "wire.layouts.properties",
        "wire.layouts.structs", "wire.layouts.v0_10", "wire.layouts.v0_10_final", "engine.channel",
        "engine.session",
        "engine.inbound", "engine.outbound", "engine.client", "engine.server",
        "tables.session", "tables.transfer", "engine.session_checker", "engine.witness",
        "broker.fronts.sessions",
    ),
    "channels": (
        "spec.fields", "spec.methods", "spec.reply_codes", "wire.field_tables",
        "wire.layouts.profiles",
        "wire.layouts.reply_codes", "wire.layouts.v0_8", "wire.layouts.v0_9", "wire.method_codec",
        "wire.method_frames", "wire.method_reader", "engine.channel_checker", "engine.channel_witness",
        "engine.channels", "engine.channel_client", "engine.channel_server", "events.channel",
        "ledger.consumer_tags", "ledger.pending_replies", "ledger.tags", "tables.channel",
        "tables.channel_connection", "engine.sasl.amqplain",
        "conversation.channels",
    ),
}  # fmt: skip
"""What belongs to one family, by the beginnings of module names."""

COMMON = (
    "broker.broker", "broker.config", "broker.encoding", "broker.fronts.front",
    "broker.journal", "broker.durable_fold", "broker.snapshot",
    "config", "conversation.attempts", "conversation.base_client",
    "engine.connection", "engine.handshake",
    "engine.findings", "engine.guess", "protocol", "tables.connection",
    "wire.codec", "wire.framing",
)  # fmt: skip
"""What every family uses, and what therefore knows none."""

MAY_NAME = ("dialects.py", "__init__.py", "testing/speech/channel_parts.py")
"""Who may name a dialect: where they are put together, the public face, and what puts the text of a grammar beside each."""


def module(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts)


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, those of which it imports only types included."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("amqp_sansio"):
            inside = node.module.removeprefix("amqp_sansio").removeprefix(".")
            found |= {f"{inside}.{alias.name}".removeprefix(".") for alias in node.names} | {inside}
    return found


def of_family(name: str, families: dict[str, tuple[str, ...]] = FAMILIES) -> set[str]:
    return {
        family for family, modules in families.items() if any(name == each or name.startswith(f"{each}.") for each in modules)
    }


def sources() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


@pytest.mark.parametrize("name", COMMON)
def test_what_is_common_imports_no_family(name: str) -> None:
    path = SRC / (name.replace(".", "/") + ".py")
    assert {each for each in imported(path) if of_family(each)} == set()


def test_every_module_of_a_family_is_there() -> None:
    known = {module(path) for path in sources()} | {module(path.parent) for path in sources() if path.parent != SRC}
    assert [each for modules in FAMILIES.values() for each in modules if each not in known] == []


def test_no_module_imports_two_families() -> None:
    """But for where dialects are put together, and the public face; and what belongs to one imports no other."""
    asked = [path for path in sources() if path.name != "dialects.py" and module(path) != "__init__"]
    found = {
        module(path): of_family(module(path)) | {family for each in imported(path) for family in of_family(each)}
        for path in asked
    }
    assert {each: families for each, families in found.items() if len(families) > 1} == {}


def test_a_dialect_is_named_where_it_is_put_together_and_in_the_public_face_only() -> None:
    found = {
        path.relative_to(SRC).as_posix(): {node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name)}
        for path in sources()
    }
    named = {each: {name for name in names if name.startswith("AMQP_")} for each, names in found.items()}
    assert {each for each, dialects in named.items() if dialects} <= set(MAY_NAME)


def test_nobody_compares_the_name_of_a_dialect() -> None:
    """What depends on a dialect is one of its parts."""
    asked = [path for path in sources() if path.name != "dialects.py"]
    compared = [
        f"{module(path)}:{node.lineno}"
        for path in asked
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Compare) and any("dialect.name" in ast.unparse(side) for side in (node.left, *node.comparators))
    ]
    assert compared == []


def test_the_judge_knows_a_family_by_its_modules() -> None:
    assert of_family("spec.session") == {"sessions"} == of_family("wire.layouts.v0_10.LAYOUT")
    assert of_family("spec.connection") == set() == of_family("engine.sessions")
