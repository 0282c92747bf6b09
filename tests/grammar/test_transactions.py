"""The grammars of classes tx and dtx."""

from __future__ import annotations

import pytest

from amqp_sansio.grammar import transactions
from amqp_sansio.grammar import transactions as d


def test_select_exactly_once_before_all_else() -> None:
    assert transactions.tx().accepts(["client:tx.select", "client:tx.commit", "client:tx.rollback"])
    assert not transactions.tx().prefixes().accepts(["client:tx.commit"])
    assert not transactions.tx().prefixes().accepts(["client:tx.select", "client:tx.select"])


def test_no_subscriber_that_accepts_nothing() -> None:
    legal = transactions.subscribed().prefixes()
    assert legal.accepts([transactions.SUBSCRIBE, transactions.CANCEL, "client:tx.select"])
    assert not legal.accepts([transactions.SUBSCRIBE, "client:tx.select"])
    assert not legal.accepts(["client:tx.select", transactions.SUBSCRIBE])


LEGAL = d.demarcation(1).prefixes()


def test_start_and_end() -> None:
    assert LEGAL.accepts(
        [
            d.SELECT,
            d.SELECT,
            d.START,
            d.SELECT,
            d.END,
            d.START,
            d.SUSPEND,
            d.RESUME,
            d.END,
        ]
    )
    assert LEGAL.accepts([d.SELECT, d.START, d.SUSPEND, d.END_SUSPENDED])
    for wrong in (
        [d.START],
        [d.SELECT, d.END],
        [d.SELECT, d.RESUME],
        [d.SELECT, d.START, d.START],
    ):
        assert not LEGAL.accepts(wrong)


def test_one_kind_of_transactions() -> None:
    assert not LEGAL.accepts([d.SELECT, "client:tx.select"])
    assert not LEGAL.accepts(["client:tx.select", d.SELECT])


def test_two_branches_one_of_which_is_active() -> None:
    two = d.demarcation(2).prefixes()
    begun = [d.SELECT, d.START, d.SUSPEND, d.START]
    assert not LEGAL.accepts(begun)
    assert two.accepts([*begun, d.END_SUSPENDED, d.END])
    assert two.accepts([*begun, d.SUSPEND, d.RESUME, d.END, d.RESUME, d.END])
    assert not two.accepts([*begun, d.RESUME])
    assert not two.accepts([*begun, d.SUSPEND, d.START])


ALONE = transactions.branch().prefixes()
TWO = transactions.branch(("one", "two")).prefixes()


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
    assert transactions.branch().prefixes().accepts(said(text))


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
