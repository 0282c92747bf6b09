"""Tests of amqp_sansio.spec.reply_codes."""

from __future__ import annotations

import pytest

from amqp_sansio.spec.reply_codes import ReplyCode


def test_what_each_code_ends() -> None:
    """Soft errors end a channel, hard ones the connection; as all documents say it."""
    ends = {what: [int(code) for code in ReplyCode if code.closes == what] for what in ("", "channel", "connection")}
    assert ends == {
        "": [200],
        "channel": [310, 311, 312, 313, 403, 404, 405, 406],
        "connection": [320, 402, 501, 502, 503, 504, 505, 506, 530, 540, 541],
    }


@pytest.mark.parametrize("name", ["not found", "not-found", "NOT_FOUND", "Not-Found"])
def test_a_name_is_understood_however_it_is_spelled(name: str) -> None:
    """0-8 writes blanks, the others hyphens, RabbitMQ's texts underscores."""
    assert ReplyCode.named(name) is ReplyCode.NOT_FOUND


def test_a_name_of_no_code() -> None:
    with pytest.raises(KeyError):
        ReplyCode.named("not here")
