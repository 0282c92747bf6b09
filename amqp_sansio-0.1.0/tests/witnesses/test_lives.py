"""A session's life played with our client and our server."""

from __future__ import annotations

import pytest

from amqp_sansio.testing.speech.step import Speaker
from tools.witnesses.lives import NEVER, conversations, live

LIFE: dict[Speaker, tuple[str, ...]] = {
    "client": (
        "client:session.attach", "server:session.attached", "client:any command", "server:any command", "transport:kept",
        "client:session.attach", "server:session.attached again", "server:any command", "server:session.expected",
        "client:session.detach", "transport:kept",
        "client:session.attach", "server:session.attached again", "server:execution.exception", "transport:over",
    ),
    "server": (
        "server:session.attached", "client:any command", "server:any command", "transport:kept",
        "server:session.attached again", "client:session.expected", "server:execution.exception", "transport:over",
    ),
}  # fmt: skip


@pytest.mark.parametrize("us", LIFE)
def test_a_session_lives_over_several_connections(us: Speaker) -> None:
    assert live(us, LIFE[us]) == LIFE[us]


@pytest.mark.parametrize("us", LIFE)
def test_a_word_counts_only_where_our_session_stands_where_it_leads(us: Speaker) -> None:
    """A session that was never attached is not attached again, whatever the grammar lets somebody call it."""
    asked = ("client:session.attach",) if us == "client" else ()
    again = f"{'server' if us == 'client' else us}:session.attached again"
    assert live(us, (*asked, again)) == asked
    assert live(us, ("transport:over",)) == ()


@pytest.mark.parametrize("us", LIFE)
def test_conversations_leave_out_what_an_end_never_says(us: Speaker) -> None:
    found = set(conversations(us, (20,), 1))
    assert len(found) > 40
    assert not {word for said in found for word in said} & set(NEVER[us])
