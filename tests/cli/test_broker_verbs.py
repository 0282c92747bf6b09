"""What the verbs that talk are given: what is wrong is told before anything is done."""

from __future__ import annotations

import pytest

from amqp_sansio.cli import broker_verbs
from amqp_sansio.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["serve", "--port", "65536"], "is not a TCP port"),
        (["serve", "--port", "x"], "is not a TCP port"),
        (["serve", "--log", "everything"], "invalid choice"),
        (["passwd", "file"], "USER"),
        (["send", "x"], "say where to send"),
        (["send", "--queue", "q", "--key", "k"], "leave out --exchange and --key"),
        (["send", "--key", "k", "--create"], "--create needs --queue"),
        (["send", "--queue", "q", "--priority", "10"], "must be an integer from 0 to 9"),
        (["send", "--queue", "q", "--ttl", "-1"], "must be an integer from 0 to"),
        (["send", "--queue", "q", "--header", "x"], "is not NAME=TEXT"),
        (["send", "--queue", "q", "--nothing"], "unrecognized arguments"),
        (["receive"], "QUEUE"),
        (["receive", "amqp://here"], "name the queue"),
        (["receive", "a", "b"], "name one queue, not 2"),
        (["receive", "q", "--count", "0"], "must be an integer from 1 to"),
        (["receive", "q", "--timeout", "soon"], "is not a number of seconds"),
        (["receive", "q", "--timeout", "nan"], "is not a number of seconds"),
    ],
)
def test_misuse_ends_with_status_2(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert "usage: amqp-sansio" in err
    assert complaint in err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in broker_verbs.VERBS:
        with pytest.raises(SystemExit) as caught:
            main([verb, "--help"])
        assert caught.value.code == 0
        assert f"usage: amqp-sansio {verb}" in capsys.readouterr().out


def test_words_and_options_in_any_order() -> None:
    for arguments in (
        ["send", "amqp://x", "a", "b", "--queue", "q", "--json"],
        ["send", "amqp://x", "--queue", "q", "a", "--json", "b"],
        ["send", "--queue", "q", "amqp://x", "--json", "a", "b"],
    ):
        given = broker_verbs.intermixed(arguments)
        assert given is not None
        assert (given.words, given.queue, given.as_json) == (["amqp://x", "a", "b"], "q", True)
    given = broker_verbs.intermixed(["send", "--queue", "q", "--", "-x"])
    assert given is not None
    assert (given.words, given.behind) == ([], ["-x"])
    assert broker_verbs.intermixed(["serve"]) is None
    assert broker_verbs.intermixed([]) is None
