"""The pages of the reference that are made from the code, so that they cannot fall behind it."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Final, NamedTuple

import amqp_sansio.tables
from amqp_sansio import limits
from amqp_sansio.broker import conditions
from amqp_sansio.broker.fronts.sessions.error_column import COLUMNS
from amqp_sansio.kernel.machine import Table
from amqp_sansio.spec import methods, rules
from amqp_sansio.spec.base import Command, Control, Method, Struct
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.tables import demarcation
from tools.codegen.compare_older import page as older_versions_page
from tools.docs import conformance
from tools.docs.capture_tables import capture_tables_page
from tools.docs.departures import departures_page
from tools.docs.diagrams import svg
from tools.docs.grammars import grammars_page
from tools.docs.verbs import verbs_page

ROOT: Final = Path(__file__).resolve().parents[2]
CLASSES: Final = ("connection", "session", "execution", "message", "tx", "dtx", "exchange", "queue", "file", "stream")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _first(text: str | None) -> str:
    """Returns the first paragraph of a docstring, on one line."""
    return _cell((text or "").strip().split("\n\n")[0])


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def tables() -> list[Table]:
    """Returns every table of the library, by module and name."""
    found: dict[str, Table] = {}
    for info in pkgutil.iter_modules(amqp_sansio.tables.__path__, "amqp_sansio.tables."):
        for thing in vars(importlib.import_module(info.name)).values():
            for table in thing.values() if isinstance(thing, dict) else (thing,):  # one for each speaker, say
                if isinstance(table, Table):
                    found.setdefault(table.name, table)
    return list(found.values())


def diagrams() -> str:
    """Returns every state machine: its diagram and its rows."""
    parts = [
        "# State diagrams\n\nDrawn from the rows in `amqp_sansio.tables` when this manual is built. A row means: in this "
        "state,\nthis speaker may say this verb, which leads to that state. Our client, server and observer run the rows.\n"
        "The initial state has a thick border, a state in which the dialogue may end a dashed one; verbs that keep the\n"
        "state are inside its box.\n"
    ]
    for table in tables():
        parts.append(f"\n## {table.name}\n\n{svg(table)}\n\n")
        rows = [(f"`{row.state}`", row.speaker, f"`{row.verb}`", f"`{row.next_state}`") for row in table.rows]
        parts.append(_table(("in state", "this speaker", "may say", "then"), rows))
        if table is demarcation.DEMARCATION:
            parts.append(_forbidden())
    return "".join(parts)


def _forbidden() -> str:
    """Returns the cells of demarcation that are not rows."""
    rows = [
        (f"`{cell.state}`", f"`{cell.verb}`", f"`{cell.rule}`", str(cell.spec), str(cell.qpid or "passes"))
        for cell in demarcation.FORBIDDEN.values()
    ]
    head = (
        "\nThe client must not use these verbs in these states. A server answers with the error code of its profile: that of\n"
        "the specification (`spec`), or that of deployed brokers (`qpid`), which accept some of them.\n\n"
    )
    return head + _table(("in state", "the client must not say", "rule", "spec", "qpid"), rows)


def conformance_page() -> str:
    """Returns the page of every named rule and exception of the specification: its test, or why it has none."""
    known = conformance.gather()
    rows: list[tuple[str, ...]] = []
    for path, rule in rules.RULES.items():
        error = "" if rule.error is None else f"{rule.error.value} {rule.error.name.lower().replace('_', '-')}"
        carriers = known.tested.get(path)
        if carriers:
            state = "tested"
            where = "; ".join([f"`{each.file}`: {each.test.removeprefix('test_').replace('_', ' ')}" for each in carriers])
        elif path in known.not_kept:
            state, where = "not kept", known.not_kept[path]
        else:
            state, where = "not ours", known.not_ours[path]
        rows.append((f"`{path}`", _cell(rule.text), error, state, _cell(where)))
    head = (
        "# Conformance\n\nThe named rules and exceptions of AMQP 0-10, in our own words, with the error for a violation, and\n"
        "the tests that name the path, or the reason why there is none.\n\n"
        f"Of {len(rows)} paths, tests cover {len(known.tested)}; our broker does not keep {len(known.not_kept)}, and\n"
        f"{len(known.not_ours)} are not ours to keep or to break.\n\n"
    )
    return head + _table(("path", "what it says", "error", "", "where, or why not"), rows) + _older_rules()


def _older_rules() -> str:
    """Returns the rules that the documents of 0-8 and 0-9 name."""
    stated, asserted = conformance.older_rules()
    rows: list[tuple[str, ...]] = []
    for rule in (*stated, *asserted):
        shown = f"{rule.answer} in `{rule.recording}`" if rule.recording else ""
        state = "open" if rule.open else "recorded"
        rows.append((f"`{rule.path}`", _cell(rule.says), state, f"RabbitMQ: {shown}" if shown else "", rule.open))
    recorded = sum(not rule.open for rule in (*stated, *asserted))
    head = (
        "\n## 0-8 and 0-9\n\nThe rules that the excerpt of 0-8 and class queue of 0-9 name, and their asserts. Nearly\n"
        f"all bind servers. {recorded} of {len(rows)} were checked in recordings of RabbitMQ, whose violations are shown\n"
        "(`tests/conformance/rules/test_older.py`). Open ones name the issue that will test them with our own server.\n\n"
    )
    return head + _table(("path", "what it says", "", "what was recorded", "open until"), rows)


def _documented_fields(cls: type) -> Iterator[tuple[str, str, str]]:
    """Yields name, default and docstring of each annotated field of a class."""
    (tree,) = ast.parse(inspect.getsource(cls)).body
    assert isinstance(tree, ast.ClassDef)
    for at, node in enumerate(tree.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            after = tree.body[at + 1] if at + 1 < len(tree.body) else None
            words = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
                words = after.value.value
            yield node.target.id, ast.unparse(node.value) if node.value else "", words


def limits_page() -> str:
    """Returns the page of every limit with its default."""
    head = ("name", "default", "what it bounds")
    return (
        "# Limits\n\nEvery limit has a name, a default and a test at the limit less one, at the limit and at the limit plus\n"
        "one. A peer that exceeds one commits a violation whose rule is `limits.` and the name; a caller\n"
        "that does gets `LimitError`. Pass your own as `limits=Limits(...)` in a config.\n\n"
        + _table(head, _limits(limits.Limits, limits.DEFAULT_LIMITS))
        + "\n## Of a server\n\nThe server closes a connection that exceeds one at once. Pass your own as\n"
        "`serve(..., limits=ServerLimits(...))`.\n\n"
        + _table(head, _limits(limits.ServerLimits, limits.DEFAULT_SERVER_LIMITS))
        + "\n## Of a broker\n\nA client that exceeds one is refused with 506, unless the limit names another answer. Pass\n"
        "your own as `BrokerConfig(limits=BrokerLimits(...))`.\n\n"
        + _table(head, _limits(limits.BrokerLimits, limits.DEFAULT_BROKER_LIMITS))
    )


def _limits(kind: type, defaults: object) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, _source, words in _documented_fields(kind):
        value = getattr(defaults, name)
        shown = f"{value:,}".replace(",", " ") if isinstance(value, int) else f"{value:g}"
        rows.append((f"`{name}`", shown, _cell(words)))
    return rows


class Api(NamedTuple):
    """A page of the reference that mkdocstrings fills from signatures and docstrings: every public name of some modules."""

    title: str
    intro: str
    modules: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()
    """Modules whose names have a page of their own."""
    values: bool = False
    """Whether they are plain values, whose signatures say everything."""

    def page(self) -> str:
        """Returns the page as Markdown."""
        documented = {each for name in self.elsewhere for each in public_names(importlib.import_module(name))}
        names = [
            f"{name}.{each}"
            for name in self.modules
            for each in public_names(importlib.import_module(name))
            if each not in documented
        ]
        entries = [f"::: {name}{_options(name) if self.values else ''}" for name in names]
        return "\n\n".join([f"# {self.title}", self.intro, *entries]) + "\n"


def _options(name: str) -> str:
    """Returns the options of a plain value: what a base of its own module has beside fields is shown, too."""
    module, _, short = name.rpartition(".")
    thing = getattr(importlib.import_module(module), short)
    bases = [base for base in getattr(thing, "__mro__", ())[1:] if base.__module__ == thing.__module__]
    members = [each for base in bases for each in vars(base).items() if isinstance(each[1], property | FunctionType)]
    shared = sorted({each for each, _ in members if not each.startswith("_") and each != "read_as"})  # that is for the engine
    inherited = f"[{', '.join(shared)}]" if shared else "false"
    said = f"inherited_members: {inherited}, show_if_no_docstring: false, filters: ['!^_', '!^FIELDS$']"
    return f"\n    options: {{ {said} }}"


def client(title: str, *modules: str) -> Api:
    """Returns the page of a client, whose errors are on a page of their own."""
    said = ", ".join([f"`{each}`" for each in modules])
    return Api(title, f"{said}. Each exports all [errors](errors.md), too.", modules, elsewhere=("amqp_sansio.errors",))


API: Final = {
    "core": Api(
        "The core",
        "Connections, sessions and the observer, from `amqp_sansio`. It also exports its [errors](errors.md),\n"
        "[settings](config.md) and [limits](../limits.md).",
        ("amqp_sansio",),
        elsewhere=("amqp_sansio.errors", "amqp_sansio.config", "amqp_sansio.limits"),
    ),
    "events": Api(
        "Events",
        "`Event` is the closed union of what `next_event` of a connection returns; `Observation` is what an `Observer`\n"
        "returns. All are plain values: equal, hashed and pickled by value.",
        ("amqp_sansio.events",),
        values=True,
    ),
    "errors": Api(
        "Errors",
        "All of them are `AmqpError`. `amqp_sansio.errors` and each of the three adapters export them. Each says what caused\n"
        "it, what to do, and what was in doubt: what may have been executed or not.",
        ("amqp_sansio.errors",),
    ),
    "config": Api("Settings", "What a connection is given when it is made.", ("amqp_sansio.config",)),
    "sync": client("Blocking client", "amqp_sansio.adapters.sync"),
    "asyncio": client("asyncio client", "amqp_sansio.adapters.asyncio"),
    "trio": client("trio client", "amqp_sansio.adapters.trio"),
    "channels": client(
        "Clients of channels",
        "amqp_sansio.adapters.sync.channels",
        "amqp_sansio.adapters.asyncio.channels",
        "amqp_sansio.adapters.trio.channels",
    ),
    "message": Api(
        "Messages and retries",
        "What the three clients share.",
        ("amqp_sansio.conversation.message", "amqp_sansio.conversation.retry"),
    ),
    "watching": Api(
        "Watching a client",
        "What `on_event` gets, and what `tracing` takes.",
        ("amqp_sansio.conversation.happenings", "amqp_sansio.conversation.tracing", "amqp_sansio.adapters.otel"),
    ),
    "captures": Api("Captures", "`amqp_sansio.captures.check`", ("amqp_sansio.captures.check",)),
    "broker": Api("Broker", "What `amqp_sansio.broker` exports.", ("amqp_sansio.broker",)),
    "servers": Api(
        "Servers",
        "A broker on sockets, by blocking code, asyncio or trio.",
        ("amqp_sansio.adapters.sync.server", "amqp_sansio.adapters.asyncio.server", "amqp_sansio.adapters.trio.server"),
    ),
    "testing": Api(
        "Testing",
        "A broker in a thread or in memory, a link with faults, and tests by the grammar.",
        (
            "amqp_sansio.adapters.sync.served",
            "amqp_sansio.testing.memory",
            "amqp_sansio.testing.link",
            "amqp_sansio.testing.machines",
            "amqp_sansio.testing.strategies",
        ),
    ),
}
"""API pages by name, below reference/api."""


def public_names(module: ModuleType) -> list[str]:
    """Returns `__all__`, or without one the names that the module itself defines, in order."""
    listed: list[str] | None = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if not inspect.ismodule(getattr(module, name))]
    found: list[str] = []
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node.name)
        elif isinstance(node, ast.Assign):
            found += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.append(node.target.id)
    return [name for name in found if not name.startswith("_")]


def _vocabulary(module: ModuleType, base: type) -> Iterator[type]:
    for thing in vars(module).values():
        if inspect.isclass(thing) and issubclass(thing, base) and thing.__module__ == module.__name__:
            yield thing


def protocol_page() -> str:
    """Returns the page of every control, command, struct and method, with its fields."""
    parts = [
        "# Vocabulary\n\nOne class for each control, command and struct of the ten classes of 0-10, whatever the "
        "layout, and one\nfor each method of [0-9-1, 0-9 and 0-8](#0-9-1-0-9-and-0-8).\n"
        "Fields are in the order of the constructor; every field may be left out.\n"
    ]
    for name in CLASSES:
        kinds = (("control", Control), ("command", Command), ("struct", Struct))
        parts.append(f"\n## {name}\n\n{_words(f'amqp_sansio.spec.{name}', kinds)}")
    parts.append(
        "\n## 0-9-1, 0-9 and 0-8\n\nThe methods on channels, in `amqp_sansio.spec.methods`: queue.declare is `queue.Declare`. "
        "All versions share\nthe classes; what a version lacks cannot be sent in it ([differences](older-versions.md)). Class "
        "connection is that\nof 0-10.\n"
    )
    for found in pkgutil.iter_modules(methods.__path__):
        module = f"{methods.__name__}.{found.name}"
        parts.append(f"\n### {found.name}\n\n{_words(module, (('method', Method), ('properties', Struct)))}")
    codes = [(str(int(code)), f"`{code.name}`", code.closes) for code in ReplyCode]
    parts.append(
        "\n### Reply codes\n\n`amqp_sansio.spec.reply_codes.ReplyCode`; `fail` of a served channel ends what the code ends.\n\n"
        + _table(("code", "name", "ends"), codes)
    )
    return "".join(parts)


def _words(module: str, kinds: Iterable[tuple[str, type]]) -> str:
    """Returns the table of the classes of a module that are of these kinds."""
    rows: list[tuple[str, ...]] = []
    for kind, base in kinds:
        for thing in _vocabulary(importlib.import_module(module), base):
            fields = ", ".join(f"`{field}`" for field in getattr(thing, "FIELDS", ()))
            rows.append((f"`{thing.__name__}`", kind, _first(thing.__doc__), fields))
    return _table(("class", "kind", "what it says", "fields"), rows)


def refusals_page() -> str:
    """Returns the page of every reason for which the broker refuses a command, with both error codes."""

    def code(value: ErrorCode | None) -> str:
        return "let pass" if value is None else f"{int(value)} {value.name.lower().replace('_', '-')}"

    rows = [
        (_cell(condition.name), code(column.spec), code(column.qpid), f"`{column.rule}`" if column.rule else "")
        for condition, column in [(each, COLUMNS[each]) for each in conditions.CONDITIONS.values()]
    ]
    return (
        '# Why a broker refuses\n\nThe codes of execution.exception: those of the specification (`error_codes="spec"`) and '
        'those of deployed\nbrokers (`"qpid"`, the default). If the specification gives no code, both are the same. «Let pass» '
        "means that the profile\naccepts the command. The rows are in `amqp_sansio.broker.conditions`,\nthe codes in "
        "`amqp_sansio.broker.fronts.sessions.error_column`; each has a test.\n\n"
    ) + _table(("command: reason", "spec", "qpid", "rule"), rows)


PAGES: Final = {
    "reference/command-line.md": verbs_page,
    "reference/states.md": diagrams,
    "reference/grammars.md": grammars_page,
    "reference/conformance.md": conformance_page,
    "reference/broker-j.md": departures_page,
    "reference/limits.md": limits_page,
    "reference/refusals.md": refusals_page,
    "reference/vocabulary.md": protocol_page,
    "reference/older-versions.md": older_versions_page,
    "reference/tables.md": capture_tables_page,
    **{f"reference/api/{name}.md": api.page for name, api in API.items()},
}
