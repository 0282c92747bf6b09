"""Generates sessions and channels for blocking code from `conversation`, and connections from those for asyncio.

Blocking code is the asynchronous code without `await`; connections for trio and blocking code are those for asyncio in other
terms.  Tasks switch at an `await`; threads are kept apart by a lock: what a method does between two waits is one turn of the
connection (`adapters/sync/turns.py`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

CONVERSATION = Path(__file__).resolve().parents[2] / "src" / "amqp_sansio" / "conversation"
FILES = {
    "adapters/sync/session.py": "session.py",
    "adapters/sync/base_session.py": "base_session.py",
    "adapters/sync/channel.py": "channels/channel.py",
}
"""Each file below src/amqp_sansio, and its source."""
WORDS = {
    "async def ": "def ",
    "async with": "with",
    "async for ": "for ",
    "await ": "",
    "asynccontextmanager": "contextmanager",
    "AsyncIterator": "Iterator",
    "StopAsyncIteration": "StopIteration",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "amqp_sansio.conversation.awaited": "amqp_sansio.adapters.sync.base_connection",
    "AwaitedConnection": "BaseConnection",
    "amqp_sansio.conversation.line": "amqp_sansio.adapters.sync.line",
    "amqp_sansio.conversation.base_session": "amqp_sansio.adapters.sync.base_session",
}
TEXTS = {
    "for asynchronous code on any event loop; the adapter supplies the waiting.": "for blocking code.",
    "for asynchronous code": "for blocking code",
    "When it is cancelled, or raises TimeoutError, it has published nothing.": "When it raises TimeoutError, it has published"
    " nothing.",
    "as long as the connection lives: cancel\n    them to wait no longer.": "as long as the connection lives, but no\n"
    "    longer than their `timeout` (seconds; None: no limit): then they raise TimeoutError, and what was sent stays sent.",
    "the connection and its other channels stay open.\n": "the connection and its other channels stay open.\n\n"
    "    Any number of threads may use it.  Calls wait no longer than their `timeout` (seconds; None: no limit): then they\n"
    "    raise TimeoutError, and what was sent stays sent.\n",
}
"""Texts about tasks, and their counterparts about threads."""
ASYNCIO = CONVERSATION.parent / "adapters" / "asyncio"
CONNECTIONS = ("__init__.py", "connection.py", "channels.py")
"""The modules of asyncio that connect, for sessions and for channels."""
ADAPTERS = {
    "trio": {
        "on asyncio:": "on trio:",
        "package\nfrom amqp_sansio.adapters.asyncio.connection import Connection, connect\n": (
            'package\nfrom amqp_sansio.errors.extras import of_extra\n\nwith of_extra("trio"):\n'
            "    from amqp_sansio.adapters.trio.connection import Connection, connect\n\n"
        ),
        "amqp_sansio.adapters.asyncio.": "amqp_sansio.adapters.trio.",
        "from uuid import uuid4\n": "from uuid import uuid4\n\nimport trio\n",
        "or `connection = await connect(url)` and `close`.": "or `await connect(url, nursery)` and `close`.",
        "    A background task runs it, heartbeats included; pending calls raise the error that ends it.\n": (
            "    A background task runs it, heartbeats included, in a nursery of the block or in the given one.  Pending calls"
            " raise the\n    error that ends it.\n"
        ),
        "    *,\n    config": "    nursery: trio.Nursery | None = None,\n    *,\n    config",
        "`connection = await connect(url)` leaves that to `close`.": (
            "`connection = await connect(url, nursery)` leaves that to\n    `close`, or to the end of the nursery."
        ),
        "close_timeout)\n": "close_timeout, nursery)\n",
        "check_settings(\n": "check_settings(\n        nursery=nursery,\n",
        "import ssl\nfrom collections.abc import Callable\n": (
            "import ssl\nfrom collections.abc import Callable\nfrom contextlib import AbstractAsyncContextManager\n"
            "from typing import overload\n"
        ),
    },
    "sync": {
        "AMQP on asyncio: `async with connect(url) as connection: ...`.": (
            "AMQP for plain, blocking code: `with connect(url) as connection: ...`.\n\n"
            "Any number of threads may use one connection and all that it returns: one lock serialises them, and a background"
            " thread\nkeeps it alive while they are busy.\n"
        ),
        "on asyncio:": "for blocking code:",
        "async with": "with",
        "await ": "",
        "from amqp_sansio.adapters.asyncio.base_connection import BaseConnection\n": "",
        "amqp_sansio.adapters.asyncio.": "amqp_sansio.adapters.sync.",
        "amqp_sansio.conversation.channels.channel": "amqp_sansio.adapters.sync.channel",
        "amqp_sansio.conversation.line": "amqp_sansio.adapters.sync.line",
        "amqp_sansio.conversation.session": "amqp_sansio.adapters.sync.session",
        "BaseConnection[Client], ": "",
        "BaseConnection[ChannelClient], ": "",
        "`connection = connect(url)` and `close`.": "`connection = connect(url)` and `close`; for any threads.",
        "A background task runs it, heartbeats included; pending calls raise the error that ends it.": (
            "A background thread keeps it alive, heartbeats included, until it is closed."
        ),
        '"""Returns a connection to': '"""Opens a connection to',
        "close_timeout)\n": "close_timeout)._open()\n",
    },
}
"""The replacements for the other adapters."""
FREE = {"__init__", "__iter__", "__next__"}
"""Methods that change nothing by themselves."""
WIDTH = 128
_IMPORTS = re.compile(r"(?:from amqp_sansio[^\n]*\n)+")
_CONNECT = re.compile(r"^def connect\([^)]*trio\.Nursery.*?\) -> Connection:", re.MULTILINE | re.DOTALL)
_EXPLODED = re.compile(r"^( *[^\n]*\()\n +([^\n]*[^,\n])\n *(\)[^\n]*)$", re.MULTILINE)


def blocking_files() -> dict[str, str]:
    """Returns every file: path below src/amqp_sansio -> text."""
    return {
        **{path: blocking((CONVERSATION / source).read_text(), source) for path, source in FILES.items()},
        **{
            f"adapters/{adapter}/{name}": connecting((ASYNCIO / name).read_text(), name, words)
            for name in CONNECTIONS
            for adapter, words in ADAPTERS.items()
        },
    }


def connecting(text: str, source: str, words: dict[str, str]) -> str:
    """Returns a module that connects, in the terms of another adapter."""
    for old, new in words.items():
        text = text.replace(old, new)
    return _marked(_CONNECT.sub(_by_nursery, text), f"adapters/asyncio/{source}")


def _by_nursery(found: re.Match[str]) -> str:
    """Adds the two shapes of `connect` on trio to its definition: what no nursery was given for cannot be awaited."""
    optional, sign = "trio.Nursery | None = None", found[0]
    without = sign.replace(optional, "None = None").replace("-> Connection", "-> AbstractAsyncContextManager[Connection, None]")
    within = sign.replace(optional, "trio.Nursery")
    return "".join(f"@overload\n{each} ...\n\n\n" for each in (without, within)) + sign


def _marked(text: str, source: str) -> str:
    """Adds the mark of generated code, and sorts the imports."""
    about, _, rest = text[3:].partition('"""')
    text = f'"""{about.rstrip()}\n\nGenerated by tools/codegen from {source}.\n"""{rest}'
    return _IMPORTS.sub(lambda block: "".join(sorted(block[0].splitlines(keepends=True), key=str.split)), text)


def blocking(text: str, source: str) -> str:
    """Returns the blocking form of a file."""
    for old, new in {**TEXTS, **WORDS}.items():
        text = text.replace(old, new)
    text = _marked(text, f"conversation/{source}")
    lines = text.splitlines()
    faces = [each for each in ast.parse(text).body if isinstance(each, ast.ClassDef)]
    for start, end in reversed([turn for face in faces for turn in _turns(face)]):
        blanks = " " * (len(lines[start]) - len(lines[start].lstrip()))
        lines[start:end] = [f"{blanks}with self._line.turn:", *(line and f"    {line}" for line in lines[start:end])]
    return _EXPLODED.sub(_joined, "\n".join(lines) + "\n")


def _turns(face: ast.ClassDef) -> Iterator[tuple[int, int]]:
    """Yields the lines of a class that are one turn each.

    These are whole methods, except for a `yield`, where the block of a caller runs, and for a `raise` of what that block
    raised.
    """
    if any(isinstance(node, ast.Attribute) and node.attr == "_line" for node in ast.walk(face)):
        for method in face.body:
            if (
                isinstance(method, ast.FunctionDef)
                and method.name not in FREE
                and "property" not in map(ast.unparse, method.decorator_list)
            ):
                yield from _runs(method.body[ast.get_docstring(method) is not None :])


def _runs(body: list[ast.stmt]) -> Iterator[tuple[int, int]]:
    for outside, run in groupby(body, _outside):
        statements = list(run)
        if not outside:
            yield statements[0].lineno - 1, statements[-1].end_lineno or 0
        for each in statements:
            if outside and isinstance(each, ast.Try):
                yield from _runs(each.body)
                for handler in each.handlers:
                    yield from _runs(handler.body)


def _outside(statement: ast.stmt) -> bool:
    again = isinstance(statement, ast.Raise) and statement.exc is None
    return again or any(isinstance(node, ast.Yield) for node in ast.walk(statement))


def _joined(found: re.Match[str]) -> str:
    """Joins a call into one line, if it fits."""
    flat = "".join(found.groups())
    return flat if len(flat) <= WIDTH else found[0]
