"""Options: what is right is read, what is wrong is one sentence, and no password is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqp_sansio.spark.errors import LiveSetupError
from amqp_sansio.spark.live.options import ROWS, sink_options, source_options

URL = "amqps://me:geheim@one,two:5673/vh"


def test_the_options_of_a_source() -> None:
    options = source_options({"url": URL, "QUEUE": "a, b", "spool": "/s", "maxrows": "5", "maxSeconds": "0.5", "prefetch": "9"})
    assert (options.queues, options.spool, options.rows, options.seconds, options.prefetch) == (
        ("a", "b"),
        Path("/s"),
        5,
        0.5,
        9,
    )
    assert options.access.mode == "auto"
    assert options.access.branch_timeout is None
    assert source_options({"url": URL, "queue": "a", "branchTimeout": "0"}).access.branch_timeout == 0
    assert source_options({"url": URL, "queue": "a"}).rows == ROWS
    assert source_options({"url": URL, "queue": "a", "prefetch": "5"}).rows == 5


def test_without_a_place_each_broker_and_queue_has_one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    spools = {source_options({"url": url, "queue": queue}).spool for url in (URL, "amqp://other") for queue in ("a", "b")}
    assert len(spools) == 4
    assert {each.parent for each in spools} == {Path("/state/amqp-sansio")}
    assert source_options({"url": URL.replace("geheim", "x"), "queue": "a"}).spool in spools


def test_the_options_of_a_sink() -> None:
    options = sink_options({"url": URL, "routingKey": "q", "checkpointLocation": "/c", "queryName": "x", "persistent": "false"})
    assert (options.rows.routing_key, options.journal, options.rows.persistent, options.rows.mandatory) == (
        "q",
        Path("/c/amqp"),
        False,
        True,
    )
    assert sink_options({"url": URL, "journal": "file:///j", "checkpointLocation": "s3://c"}).journal == Path("/j")
    with pytest.raises(LiveSetupError, match="give option journal"):
        sink_options({"url": URL, "checkpointLocation": "s3://c"})
    for name in ("exchange", "routingKey"):
        with pytest.raises(LiveSetupError, match=f"option {name} has names of at most 255 octets, not of 300"):
            sink_options({"url": URL, name: "x" * 300, "journal": "/j"})
    assert sink_options({"url": URL, "journal": "file://localhost/j"}).journal == Path("/j")
    assert sink_options({"url": URL, "journal": "~/j"}).journal == Path.home() / "j"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "option url is missing"),
        ({"url": "http://x"}, "begins with amqp:// or amqps://"),
        ({"url": "amqp://me:geheim@:x"}, "names no host"),
        ({"url": URL}, "option queue is missing"),
        ({"url": URL, "queue": "a,,b"}, "names queues"),
        ({"url": URL, "queue": "a,a"}, "names queues"),
        ({"url": URL, "queue": "a", "mode": "twice"}, "mode is auto or exactly-once or at-least-once"),
        ({"url": URL, "queue": "a", "maxRows": "0"}, "maxRows is a number from 1 on"),
        ({"url": URL, "queue": "a", "maxSeconds": "nan"}, "maxSeconds is a number"),
        ({"url": URL, "queue": "a", "maxRows": "9", "prefetch": "5"}, "prefetch is maxRows"),
        ({"url": URL, "queue": "a", "que": "b"}, "there is no option que"),
        ({"url": URL, "queue": "a", "mechanism": "NTLM"}, "mechanism is ANONYMOUS"),
        ({"url": URL, "queue": "a", "tlsCert": "x"}, "both or not at all"),
        ({"url": URL, "queue": "a", "spool": "hdfs://x/y"}, "is a folder of a file system"),
        ({"url": URL, "queue": "a", "spool": "s3://me:geheim@b/y"}, "is a folder of a file system, not 's3://me:"),
        ({"url": URL, "queue": "a", "spool": "file://elsewhere/y"}, "is a folder of a file system"),
        ({"url": URL, "queue": "a", "spool": "~nobody-of-that-name/x"}, "option spool: ~nobody"),
        ({"url": URL, "queue": "a," + "b" * 256}, "option queue has names of at most 255 octets, not of 256"),
        ({"url": URL, "queue": "\udc80"}, "option queue has a character"),
        ({"url": "amqp://host", "queue": "a", "tlsCa": "ca.pem"}, "option tlsCa is for TLS"),
        ({"url": "amqp://host", "queue": "a", "password": "geheim"}, "option password is of no use without a name"),
        ({"url": URL, "queue": "a", "password": "geheim", "passwordFile": "f"}, "one of them"),
    ],
)
def test_what_is_wrong_is_one_sentence(given: dict[str, str], told: str) -> None:
    with pytest.raises(LiveSetupError, match=told) as raised:
        source_options(given)
    assert "geheim" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_no_password_is_shown(tmp_path: Path) -> None:
    options = source_options({"url": URL, "queue": "a", "password": "noch-geheimer"})
    assert "geheim" not in repr(options)
    assert options.access.password() == "noch-geheimer"
    assert options.access.shown == "amqps://me:***@one,two:5673/vh"
    file = tmp_path / "secret"
    file.write_text("aus der Datei\n")
    assert source_options({"url": URL, "queue": "a", "passwordFile": str(file)}).access.password() == "aus der Datei"
    with pytest.raises(LiveSetupError, match="No such file"):
        source_options({"url": URL, "queue": "a", "passwordFile": str(tmp_path / "none")}).access.password()
