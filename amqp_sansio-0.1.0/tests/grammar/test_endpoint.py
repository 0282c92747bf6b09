"""The grammar of a session at one of its ends."""

from __future__ import annotations

import pytest

from amqp_sansio.grammar.endpoint import endpoint

WORDS = {
    "attach": "session.attach",
    "attached": "session.attached",
    "again": "session.attached again",
    "detach": "session.detach",
    "expected": "session.expected",
    "exception": "execution.exception",
    "command": "any command",
    "kept": "kept",
    "over": "over",
}


def said(text: str) -> list[str]:
    """ "c attach, s attached": a word each."""
    speakers = {"c": "client", "s": "server", "t": "transport"}
    return [f"{speakers[who]}:{WORDS[verb]}" for who, verb in (each.split() for each in text.split(", "))]


@pytest.mark.parametrize(
    "text",
    [
        "c attach, s attached, c command, s command, c detach, t over",
        "c attach, t kept, c attach, s attached, t kept, c attach, s again, s command, s expected, c command, t over",
        "c attach, s attached, s exception, s command, t over",
        "c attached, c exception, t kept, t over",
        "c attach, c attach, c detach, t over",
    ],
)
def test_whole_lives(text: str) -> None:
    assert endpoint("client", "server").accepts(said(text))


@pytest.mark.parametrize(
    "text",
    [
        "c command",
        "c attach, c command",
        "c attach, s again, c command",
        "c attach, s attached, s exception, c command",
        "c attach, s attached, c detach, c command",
        "c attach, s attached, t over, c attach",
    ],
)
def test_what_an_end_may_not_say(text: str) -> None:
    assert not endpoint("client", "server").prefixes().accepts(said(text))
