"""Each part of a session owns what it changes: nobody else assigns to its fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.trees import tree

import amqp_sansio

SOURCE = Path(amqp_sansio.__file__).parent
PARTS = {
    "session": ("engine/session.py",),
    "inbound": ("engine/inbound.py", "ledger/ids.py"),
    "outbound": ("engine/outbound.py", "ledger/ids.py"),
    "transfers": ("ledger/ids.py",),
    "demarcation": ("engine/demarcation.py",),
    "subscription": ("engine/subscription.py",),
    "subscriptions": ("engine/subscription.py",),
    "subscriber": ("engine/subscription.py",),
    "subscribers": ("engine/subscription.py",),
    "contents": ("engine/contents.py",),
}
"""The files of each part, by the word that variables and fields with one are called by."""
INLINE = "once a message, without the call"
OTHERS: dict[str, str] = {
    "engine/inbound.py: session._touched": INLINE,
    "engine/outbound.py: subscribers.windows": INLINE,
    "engine/outbound.py: session._replaying": "what is left to say again begins there, and ends with the session's attachment",
}
"""Who assigns to fields of parts that are not theirs, and why.  This list may only become shorter."""


def targets(tree: ast.Module) -> Iterator[ast.expr]:
    """What is assigned to or deleted; of an item the container."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=found) | ast.Delete(targets=found):
                pass
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                found = [target]
            case _:
                continue
        for each in found:
            for one in each.elts if isinstance(each, ast.Tuple | ast.List) else [each]:
                yield one.value if isinstance(one, ast.Subscript) else one


def foreign(name: str, tree: ast.Module) -> set[str]:
    """The assignments in a file to fields of parts that are another file's: `part.field`."""
    found = set()
    for target in targets(tree):
        if isinstance(target, ast.Attribute):
            part = ast.unparse(target.value).rpartition(".")[2].lstrip("_")
            if name not in PARTS.get(part, (name,)):
                found.add(f"{part}.{target.attr}")
    return found


def found() -> set[str]:
    every = {}
    for room in ("engine", "broker", "conversation", "adapters", "testing", "cli"):
        for path in sorted((SOURCE / room).rglob("*.py")):
            every[path.relative_to(SOURCE).as_posix()] = tree(path)
    return {f"{name}: {each}" for name, made in every.items() for each in foreign(name, made)}


def test_nobody_else_assigns_to_the_fields_of_a_part() -> None:
    assert sorted(found()) == sorted(OTHERS)


@pytest.mark.parametrize(
    "line",
    [
        "session._cause = ''", "self.session._timeout = 0", "inbound.due |= x", "a, session._inbound.due = b",
        "del session._outbound.asked[1]", "session._subscribers.current['d'] = s",
    ],
)  # fmt: skip
def test_an_assignment_is_found(line: str) -> None:
    assert len(foreign("engine/channel.py", ast.parse(line))) == 1


def test_a_part_may_assign_to_its_own() -> None:
    assert foreign("engine/inbound.py", ast.parse("inbound.due = x; self.cursor = 0; a = session.state")) == set()
