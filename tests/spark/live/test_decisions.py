"""The log of decisions."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqp_sansio.spark.live.decisions import NOTE, Decision, Decisions
from amqp_sansio.spark.live.errors import LiveSetupError


def test_a_decision_holds(tmp_path: Path) -> None:
    made = Decisions(tmp_path / "j")
    assert made.last("q") is None
    first = made.decide(Decision(query="q", epoch=0, branches=("a", "b"), rows=3, octets=30))
    second = made.decide(Decision(query="q", epoch=4, rows=2, octets=20))
    again = Decisions(tmp_path / "j")
    assert again.owner == made.owner
    assert (first.total_rows, second.total_rows, second.total_octets) == (3, 5, 50)
    assert again.last("q") == second
    again.finish(second)
    assert Decisions(tmp_path / "j").all() == [again.last("q")]
    found = again.last("q")
    assert found is not None
    assert found.finished
    with pytest.raises(LiveSetupError, match="epoch 4 was decided before"):
        again.decide(Decision(query="q", epoch=4))
    again.decide(Decision(query="another", epoch=0))
    assert len(again.all()) == 2
    again.forget("another")
    again.forget("another")
    assert len(again.all()) == 1


def test_a_journal_that_is_not_ours(tmp_path: Path) -> None:
    made = Decisions(tmp_path)
    made.decide(Decision(query="q", epoch=0))
    (path,) = tmp_path.glob("decision-*.json")
    path.write_text('{"query": "q"}')
    with pytest.raises(LiveSetupError, match="or not a file of amqp-sansio"):
        made.all()
    (tmp_path / NOTE).write_text('{"form": 7}')
    with pytest.raises(LiveSetupError, match="of form 7"):
        Decisions(tmp_path)
    (tmp_path / NOTE).write_text('{"form": 1}')
    with pytest.raises(LiveSetupError, match="or not a file of amqp-sansio"):
        Decisions(tmp_path)
    (tmp_path / NOTE).unlink()
    with pytest.raises(LiveSetupError, match="is gone"):
        Decisions(tmp_path)
