"""Every limit has a name and a default that is at work; each has its own test beside the code that keeps it."""

from __future__ import annotations

import attrs
import pytest

from amqp_sansio.limits import DEFAULT_LIMITS, MAX_FRAME_SIZE, MIN_MAX_FRAME_SIZE, Limits


@pytest.mark.parametrize("name", [field.name for field in attrs.fields(Limits)])
def test_a_default_is_positive_and_can_be_replaced(name: str) -> None:
    default = getattr(DEFAULT_LIMITS, name)
    assert default > 0
    assert getattr(attrs.evolve(DEFAULT_LIMITS, **{name: 1}), name) == 1


def test_limits_are_frozen() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        DEFAULT_LIMITS.nesting = 1  # type: ignore[misc]  # that is the point


def test_the_frame_sizes_of_the_specification() -> None:
    assert (MIN_MAX_FRAME_SIZE, MAX_FRAME_SIZE) == (4096, 65535)
