"""Checks of what a caller gives: each raises EncodeError, which says what is wrong, where, and what would be legal."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors.core import EncodeError

SECONDS: Final = (float, int)
"""The classes of a timeout."""


def check_timeout(timeout: object) -> None:
    """Raises EncodeError for a timeout of a call that is neither a number of seconds nor None."""
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, SECONDS) or timeout != timeout):
        raise EncodeError("timeout", f"seconds, or None for no limit, not {timeout!r}")
