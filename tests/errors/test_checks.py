"""What callers give is checked, and the error says what would be legal."""

from __future__ import annotations

import math

import pytest

from amqp_sansio.errors import EncodeError
from amqp_sansio.errors.checks import check_timeout


@pytest.mark.parametrize("timeout", [None, 0, -1, 2.5, math.inf])
def test_seconds_are_a_timeout(timeout: object) -> None:
    check_timeout(timeout)


@pytest.mark.parametrize("timeout", ["5", True, math.nan, b"1", [1]])
def test_what_is_no_number_is_no_timeout(timeout: object) -> None:
    with pytest.raises(EncodeError, match=r"timeout: seconds, or None for no limit, not .+"):
        check_timeout(timeout)
