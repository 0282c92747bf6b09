"""When to try again."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.errors import EncodeError


def test_delays_grow_and_end() -> None:
    policy = RetryPolicy(attempts=6, first=1, factor=2, longest=10, jitter=0, give_up=None)
    assert list(policy.delays(lambda: 0.5)) == [1, 2, 4, 8, 10, 10]


def test_jitter_takes_a_share_away() -> None:
    policy = RetryPolicy(attempts=2, first=1, factor=2, jitter=0.5)
    assert list(policy.delays(lambda: 0.0)) == [1, 2]
    assert list(policy.delays(lambda: 0.5)) == [0.75, 1.5]


def test_gives_up_after_a_time() -> None:
    policy = RetryPolicy(attempts=None, first=10, factor=1, jitter=0, give_up=35)
    assert list(policy.delays(lambda: 0.0)) == [10, 10, 10]
    assert len(list(islice(RetryPolicy(attempts=None, give_up=None).delays(lambda: 0.0), 1000))) == 1000
    assert list(NEVER.delays(lambda: 0.0)) == []


# No delay is negative or longer than the longest, whatever chance says.
@given(st.floats(0, 1, exclude_max=True), st.floats(0, 1), st.floats(0, 100), st.floats(0, 10))
def test_delays_are_bounded(chance: float, jitter: float, first: float, factor: float) -> None:
    policy = RetryPolicy(attempts=20, first=first, factor=factor, longest=7, jitter=jitter, give_up=None)
    assert all(0 <= delay <= 7 for delay in policy.delays(lambda: chance))


def test_settings_are_checked() -> None:
    with pytest.raises(EncodeError, match=r"RetryPolicy\.first"):
        RetryPolicy(first=-1)
    with pytest.raises(EncodeError, match=r"RetryPolicy\.longest"):
        RetryPolicy(longest=float("nan"))
    with pytest.raises(EncodeError, match=r"RetryPolicy\.jitter"):
        RetryPolicy(jitter=1.5)
    with pytest.raises(EncodeError, match=r"RetryPolicy\.attempts: an integer of 0 or more, not -3"):
        RetryPolicy(attempts=-3)
    with pytest.raises(EncodeError, match=r"RetryPolicy\.give_up"):
        RetryPolicy(give_up="60")  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match=r"RetryPolicy\.first"):
        RetryPolicy(first="1")  # type: ignore[arg-type]
