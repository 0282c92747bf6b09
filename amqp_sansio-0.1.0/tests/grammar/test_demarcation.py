"""The grammar of dtx-demarcation."""

from __future__ import annotations

from amqp_sansio.grammar import demarcation as d

LEGAL = d.demarcation(1).prefixes()


def test_start_and_end() -> None:
    assert LEGAL.accepts([d.SELECT, d.SELECT, d.START, d.SELECT, d.END, d.START, d.SUSPEND, d.RESUME, d.END])
    assert LEGAL.accepts([d.SELECT, d.START, d.SUSPEND, d.END_SUSPENDED])
    for wrong in ([d.START], [d.SELECT, d.END], [d.SELECT, d.RESUME], [d.SELECT, d.START, d.START]):
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
