from __future__ import annotations

import pytest

from amqp_sansio.captures.replay.options import ReplayOptions


def test_tables_must_be_tables() -> None:
    assert "frames" not in ReplayOptions().tables
    with pytest.raises(ValueError, match="no such table: things"):
        ReplayOptions(tables=("messages", "things"))
    with pytest.raises(ValueError, match="cannot be kept"):
        ReplayOptions(body_head=-1)
