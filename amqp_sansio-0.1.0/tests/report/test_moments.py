"""Times for people."""

from __future__ import annotations

from amqp_sansio.report.moments import moment


def test_a_moment_is_utc_to_the_microsecond() -> None:
    assert moment(1_700_000_000_123_456_789) == "2023-11-14\N{NO-BREAK SPACE}22:13:20.123456"
    assert moment(None) == ""


def test_a_time_beyond_the_calendar_is_its_number() -> None:
    assert moment(2**63 - 1).startswith("2262-")
    assert moment(2**90) == f"{2**90} ns"
