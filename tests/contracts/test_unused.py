"""Nothing by hand in `src` is there that nobody uses: not the library, its tools, examples and benchmarks, nor the manual."""

from __future__ import annotations

import re

import pytest

from tools.size import FOLDER, ROOT, generated

USERS = ("src", "tools", "bench", "fuzz", "examples")
"""Tests are none: what only they use lives with them."""
TEXTS = (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "tests" / "contracts" / "test_public_members.py")
"""What a program may use has a name in one of these."""
BY_REASON = {
    "asyncio calls it, of a BufferedProtocol": {
        "adapters/asyncio/server.py": "buffer_updated get_buffer sizehint",
        "adapters/asyncio/wire.py": "buffer_updated get_buffer sizehint",
    },
    "Python calls it, of sys": {
        "__main__.py": "unraisablehook",
    },
    "part of what tells two versions of a file apart: compared with the whole tuple": {
        "captures/columns/bundles.py": "changed_ns",
    },
    "public: a word or a fact of a channel, as the specification has it": {
        "engine/channels/base.py": "body_left",
        "engine/channels/client.py": "bind_exchange purge_queue recover_async request_access unbind_exchange unbind_queue",
    },
    "public: a key of the JSON lines of decode, which its help names": {
        "captures/rows.py": "body_hex",
    },
    "public: a property of an event": {
        "events/message.py": "fragment_properties",
    },
    "public: a type of value, which its native stands for elsewhere": {
        "spec/values.py": "Dec64 Int64 Str16 Vbin16",
    },
    "Spark calls it, of a StatefulProcessor": {
        "spark/follower.py": "expiredTimerInfo handleExpiredTimer handleInputRows init",
    },
    "Spark calls it, of a data source or its reader": {
        "spark/live/source.py": "getDefaultReadLimit initialOffset prepareForTriggerAvailableNow "
        "reportLatestOffset streamReader streamWriter",
        "spark/source.py": "getDefaultReadLimit initialOffset prepareForTriggerAvailableNow pushFilters streamReader",
    },
    "the server of pyspark's counters calls it, when the JVM is killed": {
        "spark/session.py": "handle_error",
    },
    "the steps at which a test kills the process, beside the code that goes through them": {
        "spark/live/coordinator.py": "RECOVERY",
        "spark/live/spooler.py": "RECOVERY STEPS_AT_LEAST_ONCE",
    },
    "Hypothesis calls it, of a state machine": {
        "testing/machines.py": "breaks_a_rule teardown",
    },
    "public: a strategy for tests of users": {
        "testing/strategies/conversations.py": "wrong_channel_conversations",
    },
    "reads what the function beside it in the room writes": {
        "wire/types.py": "decode_value",
    },
}
"""Why names stand that nobody uses: by reason and file."""


def unused() -> set[str]:
    """The names in `src` that no user's code and no text names, with the file of each."""
    vulture = pytest.importorskip("vulture", reason="vulture is not installed")
    found = vulture.Vulture()
    found.scavenge([str(ROOT / user) for user in USERS])
    words = set(re.findall(r"\w+", " ".join(text.read_text(encoding="utf-8") for text in TEXTS)))
    top = ROOT / FOLDER
    return {
        f"{item.filename.relative_to(top).as_posix()} {item.name}"
        for item in found.get_unused_code()
        if item.filename.is_relative_to(top)
        and item.name not in words
        and not (item.name.startswith("__") and item.name.endswith("__"))
        and (item.filename.parent == top / "events" or not generated(item.filename.read_text(encoding="utf-8")))
    }


def test_what_nobody_uses_has_a_reason() -> None:
    excused = {f"{file} {name}" for files in BY_REASON.values() for file, names in files.items() for name in names.split()}
    found = unused()
    assert sorted(found - excused) == []
    assert sorted(excused - found) == []
