"""Refusals that last, and those that may not."""

from __future__ import annotations

import pytest

from amqp_sansio.conversation.errors import BranchFailed, SessionFailed
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.live.errors import LASTING, LiveError, LiveLossError, LiveSetupError, refused


@pytest.mark.parametrize(("code", "lasting"), [(404, True), (540, True), (409, False), (506, False)])
def test_a_refusal_names_the_place_and_a_hint(code: int, lasting: bool) -> None:
    told = refused("amqp://b", SessionFailed(b"s", code, "no", "dtx.start"), " (a hint)")
    assert isinstance(told, LiveSetupError) is lasting is (code in LASTING)
    assert "amqp://b" in str(told)
    assert str(code) in str(told)
    assert str(told).endswith("(a hint)")


def test_a_branch_may_do_better_next_time() -> None:
    assert type(refused("x", BranchFailed("dtx.prepare", None))) is LiveError
    assert issubclass(LiveLossError, LiveError)
    assert issubclass(LiveError, PipelineError)
    assert issubclass(LiveSetupError, ValueError)
