"""The grammar of class tx."""

from __future__ import annotations

from amqp_sansio.grammar import tx


def test_select_exactly_once_before_all_else() -> None:
    assert tx.tx().accepts(["client:tx.select", "client:tx.commit", "client:tx.rollback"])
    assert not tx.tx().prefixes().accepts(["client:tx.commit"])
    assert not tx.tx().prefixes().accepts(["client:tx.select", "client:tx.select"])


def test_no_subscriber_that_accepts_nothing() -> None:
    legal = tx.subscribed().prefixes()
    assert legal.accepts([tx.SUBSCRIBE, tx.CANCEL, "client:tx.select"])
    assert not legal.accepts([tx.SUBSCRIBE, "client:tx.select"])
    assert not legal.accepts(["client:tx.select", tx.SUBSCRIBE])
