"""`send` and `receive` with a broker of channels: the version by the URL, else by the header that the broker answers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.adapters.served_channels import ServedChannels

from amqp_sansio.adapters.sync import ConnectFailed, connect
from amqp_sansio.cli.main import main
from amqp_sansio.dialects import AMQP_0_9_1, CHANNEL_PROTOCOLS

Captured = pytest.CaptureFixture[bytes]


@pytest.fixture
def served() -> Iterator[ServedChannels]:
    with ServedChannels() as served:
        yield served


def said(capfdbinary: Captured, *arguments: str) -> tuple[int, bytes, bytes]:
    """Exit status, stdout, stderr."""
    capfdbinary.readouterr()
    status = main(arguments)
    return status, *capfdbinary.readouterr()


@pytest.mark.parametrize("protocol", CHANNEL_PROTOCOLS)
def test_the_url_names_the_version(protocol: str, capfdbinary: Captured) -> None:
    with ServedChannels(CHANNEL_PROTOCOLS[protocol]) as served:
        url = f"{served.url}?protocol={protocol}"
        options = ("--priority", "7", "--content-type", "x", "--header", "a=ü")
        assert said(capfdbinary, "send", url, "--queue", "q", "--create", *options, "one", "two") == (0, b"", b"")
        kept = served.broker.queues["q"][0].properties
        assert (kept.priority, kept.delivery_mode) == (7, 2)
        assert said(capfdbinary, "receive", url, "q", "--count", "1") == (0, b"one\n", b"")
        # The second one was on its way when the first one was enough: it went back to the queue.
        status, out, err = said(capfdbinary, "receive", url, "q", "--count", "1", "--json")
        assert (status, err) == (0, b"")
        assert json.loads(out) == {
            "body": "two", "exchange": "", "routing_key": "q", "redelivered": True, "headers": {"a": "ü"},
            "properties": {"content_type": "x", "delivery_mode": 2, "priority": 7},
        }  # fmt: skip
        assert served.bodies("q") == []


def test_the_header_that_the_broker_answers_names_it(served: ServedChannels, capfdbinary: Captured) -> None:
    """Said once, on stderr; another connection is not tried when the URL says 0-10."""
    note = b"amqp-sansio: 127.0.0.1:%d speaks AMQP 0-9-1, not 0-10 (protocol=0-9-1 in the URL saves asking)\n" % served.port
    assert said(capfdbinary, "send", served.url, "--queue", "q", "--create", "one") == (0, b"", note)
    assert said(capfdbinary, "receive", served.url, "q", "--timeout", "0.2", "--count", "2") == (
        1, b"one\n", note + b"amqp-sansio: 1 of 2 messages arrived within 0.2 s\n",
    )  # fmt: skip
    status, out, err = said(capfdbinary, "receive", f"{served.url}?protocol=0-10", "q")
    assert (status, out) == (2, b"")
    assert b"speaks another protocol" in err
    status, out, err = said(capfdbinary, "receive", f"{served.url}?protocol=0-11", "q")
    assert (status, out) == (2, b"")
    assert b"0-9-1" in err


def test_an_option_that_only_such_brokers_have_names_it(served: ServedChannels, capfdbinary: Captured) -> None:
    assert said(capfdbinary, "send", f"{served.url}?connection_name=shell", "--queue", "q", "--create", "x") == (0, b"", b"")
    status, _, err = said(capfdbinary, "send", f"{served.url}?no_such=1", "--queue", "q", "x")
    assert status == 2
    assert b"no_such" in err


def test_the_outcome_of_messages_is_printed_as_in_0_10(served: ServedChannels, capfdbinary: Captured) -> None:
    url = f"{served.url}?protocol=0-9-1"
    missing = (1, b"", b"amqp-sansio: there is no queue 'missing' (--create makes it)\n")
    assert said(capfdbinary, "send", url, "--queue", "missing", "x") == missing
    assert said(capfdbinary, "receive", url, "missing", "--count", "1") == missing
    status, out, err = said(capfdbinary, "send", url, "--exchange", "amq.direct", "--key", "nobody", "--json", "x", "y")
    assert (status, json.loads(out)) == (1, {"sent": 0})
    assert err == (
        b"amqp-sansio: the other side returned the message: unroutable: NO_ROUTE: exchange 'amq.direct', routing key 'nobody'\n"
    )
    assert said(capfdbinary, "receive", url, "q", "--create", "--timeout", "0") == (0, b"", b"")
    served.broker.full.add("q")
    status, out, err = said(capfdbinary, "send", url, "--queue", "q", "--json", "x")
    assert (status, json.loads(out), len(err.splitlines())) == (1, {"sent": 0}, 1)
    status, out, err = said(capfdbinary, "receive", url, "q", "--browse", "--timeout", "0")
    assert (status, out, err) == (1, b"", b"amqp-sansio: this version of AMQP has no browsing: --browse is for 0-10\n")
    status, out, err = said(capfdbinary, "send", url.replace("//", "//guest:wrong@"), "--queue", "q", "x")
    assert (status, out, len(err.splitlines())) == (2, b"", 1)
    assert b"wrong" not in err


def test_who_could_not_connect_hears_what_is_offered(served: ServedChannels) -> None:
    with pytest.raises(ConnectFailed) as failed:
        connect(served.url)
    assert failed.value.offered == AMQP_0_9_1.name
