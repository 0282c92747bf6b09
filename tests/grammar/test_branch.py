"""The grammar of dtx-coordination."""

from __future__ import annotations

import pytest

from amqp_sansio.grammar import branch

ALONE = branch.branch().prefixes()
TWO = branch.branch(("one", "two")).prefixes()


def said(text: str) -> list[str]:
    return [word if ":" in word else f"session:{word}" for word in text.split()]


@pytest.mark.parametrize(
    "text",
    [
        "start end commit(one-phase)", "start end rollback", "start end prepare commit", "start end prepare rollback",
        "start end prepare(read-only) start", "start end(suspend) start(resume) end(suspend) end prepare commit",
        "start end prepare administrator:complete commit rollback forget", "start end(fail) prepare rollback",
        "start ended commit", "start clock:timeout end commit",
        "start get-timeout end set-timeout prepare get-timeout commit", "start end(fail) start(join) end(suspend) rollback",
    ],
)  # fmt: skip
def test_lives(text: str) -> None:
    assert branch.branch().prefixes().accepts(said(text))


@pytest.mark.parametrize(
    "text",
    [
        "start commit(one-phase)", "start end commit", "start end prepare commit(one-phase)", "get-timeout", "start start",
        "start end end", "start end(suspend) prepare", "start end forget", "start end prepare administrator:complete prepare",
        "start end(fail) start(resume)", "start end rollback get-timeout", "start end prepare clock:timeout",
    ],
)  # fmt: skip
def test_what_the_rules_forbid(text: str) -> None:
    *before, last = said(text)
    assert ALONE.accepts(before)
    assert not ALONE.accepts([*before, last])


def test_an_outcome_waits_for_all_sessions_and_anybody_may_say_it() -> None:
    begun = ["one:start", "two:start(join)", "one:end"]
    assert not TWO.accepts([*begun, "one:prepare"])
    assert TWO.accepts([*begun, "two:end", "one:prepare", "two:commit"])


def test_one_spoils_it_for_all() -> None:
    begun = ["one:start", "two:start(join)", "two:end(suspend)", "one:end(fail)", "two:start(resume)", "two:end(suspend)"]
    assert not TWO.accepts([*begun, "two:end"])  # told, and associated no more
    assert TWO.accepts([*begun, "two:prepare", "one:rollback"])
