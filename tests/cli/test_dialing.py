"""How send and receive come to a broker, and what they say when there is none."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
from tests.adapters import strangers

from amqp_sansio.adapters.sync.served import ServedBroker
from amqp_sansio.cli import dialing
from amqp_sansio.cli.dialing import NothingDone, split_url, told
from amqp_sansio.cli.main import main
from amqp_sansio.errors import ConnectFailed, SessionFailed


def test_the_url_is_the_first_word_or_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(dialing.VARIABLE, raising=False)
    assert split_url(["amqp://x", "a"]) == ("amqp://x", ["a"])
    assert split_url(["a", "amqp://x"]) == (dialing.URL, ["a", "amqp://x"])
    assert split_url([]) == (dialing.URL, [])
    assert split_url(["AMQPS://x", "a"]) == ("AMQPS://x", ["a"])
    assert split_url(["a"], ["amqp://x"]) == (dialing.URL, ["a", "amqp://x"])
    assert split_url([], ["amqp://x"]) == (dialing.URL, ["amqp://x"])
    assert split_url(["see amqp://x"]) == (dialing.URL, ["see amqp://x"])
    monkeypatch.setenv(dialing.VARIABLE, "amqps://y")
    assert split_url(["a"]) == ("amqps://y", ["a"])
    assert split_url(["amqp://x"]) == ("amqp://x", [])


@pytest.mark.parametrize("address", ["127.0.0.1:5672", "localhost:5672", "[::1]:5672", "mq.example.com:5672/host"])
def test_an_address_without_its_scheme_is_not_sent_as_a_message(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["send", address, "--queue", "q", "hi"], ["receive", address, "q"]):
        assert main(arguments) == 2
        rule = f"an address begins with amqp:// or amqps://: amqp://{address} (after -- it is not an address)"
        assert capsys.readouterr().err == f"amqp-sansio: {address}: {rule}\n"
    assert split_url(["12:30", address])[1] == ["12:30", address]
    assert split_url([], [address])[1] == [address]


def test_nobody_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for arguments in (
        ["send", f"amqp://u:secret@127.0.0.1:{port}", "--queue", "q", "x"],
        ["receive", f"amqp://127.0.0.1:{port}", "q"],
    ):
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert (out, err) == ("", f"amqp-sansio: 127.0.0.1:{port}: connection refused: nobody listens there\n")
    assert main(["send", "amqp://u:secret@here:x", "--queue", "q", "x"]) == 2
    err = capsys.readouterr().err
    assert "a port is 1 to 65535" in err
    assert "secret" not in err
    assert main(["send", "ampq://u:secret@here", "--queue", "q", "x"]) == 2  # no message whose text that is
    err = capsys.readouterr().err
    assert "amqp://" in err
    assert "secret" not in err
    junk = tmp_path / "junk"
    junk.write_text("junk")
    for authorities in (str(junk), str(tmp_path / "none")):
        assert main(["send", "amqps://here", "--ca", authorities, "--queue", "q", "x"]) == 2
        assert "no certificates can be read from it" in capsys.readouterr().err


def test_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    def job(error: Exception) -> int:
        raise error

    for error, status in (
        (ConnectFailed("x:1", "no"), 2),
        (SessionFailed(b"s", 404, "no such queue"), 1),
        (NothingDone("there is no queue"), 1),
        (TimeoutError("no answer"), 1),
        (UnicodeEncodeError("utf-8", "\udc80", 0, 1, "x"), 2),
    ):
        assert told(lambda error=error: job(error)) == status  # type: ignore[misc]
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert told(lambda: 0) == 0


@pytest.mark.parametrize(("answer", "hold", "text"), strangers.WRONG)
def test_a_server_that_is_no_broker_is_reported_as_the_adapters_do(
    answer: bytes, hold: bool, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with strangers.someone(answer, hold) as url:
        for arguments in (["send", url, "--queue", "q", "x"], ["receive", url, "q"]):
            assert main(arguments) == 2
            out, err = capsys.readouterr()
            assert (out, len(err.splitlines())) == ("", 1)
            assert re.search(text, err.rstrip("\n"))


def test_a_url_that_names_another_version_than_the_broker_speaks(capsys: pytest.CaptureFixture[str]) -> None:
    with ServedBroker() as broker:
        assert main(["send", f"{broker.url}?protocol=0-9-1", "--queue", "q", "x"]) == 2
    error = capsys.readouterr().err
    assert error.endswith(": it speaks AMQP 0-10, not 0-9-1: protocol=0-10 in the URL asks for that\n")


def test_a_version_that_does_not_exist_is_answered_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["receive", "amqp://u:secret@here?protocol=1-0", "q"]) == 2
    error = capsys.readouterr().err
    assert "protocol is 0-10, 0-9-1, 0-9, 0-9-rabbitmq, 0-8, not '1-0'" in error
    assert "secret" not in error


def test_a_wrong_value_of_an_option_of_channels_is_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["receive", "amqp://here?auth_mechanism=bogus", "q"]) == 2
    assert "auth_mechanism is plain, amqplain, external, not 'bogus'" in capsys.readouterr().err


def test_options_of_channels_at_a_broker_with_sessions(capsys: pytest.CaptureFixture[str]) -> None:
    with ServedBroker() as broker:
        assert main(["receive", f"{broker.url}?channel_max=3", "q"]) == 2
    error = capsys.readouterr().err
    assert error.endswith(
        ": it speaks AMQP 0-10, not 0-9-1: protocol=0-10 in the URL asks for that, without options of channels"
        " (--ca F trusts certificates)\n"
    )
