"""tshark as an independent witness: its names and fields agree with ours, but for gaps of its own that are written down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.adapters import scenarios
from tests.adapters.asyncio.test_connection import AsyncioLoop
from tests.adapters.blocking import BlockingLoop
from tests.adapters.loops import Loop
from tests.adapters.trio.test_connection import TrioLoop
from tests.examples.test_examples import ADAPTERS, PRINTED, run

from amqp_sansio.cli.served import Process
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.events import ConnectionClosed, SessionDetached
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.wire.layouts.fields import FIELDS
from tools.interop.agreement import Comparison, compare
from tools.interop.broker_j import BrokerJ
from tools.interop.everything import conversation
from tools.interop.jms import Jms, url
from tools.interop.pcap import PcapWriter
from tools.interop.recording import Recording
from tools.interop.samples import MAPPED, NOT_SAID, UNCODED, frames
from tools.interop.tshark import Tshark
from tools.interop.tshark_gaps import GAPS, MAP_GAPS, WORDS

KNOWN = {*GAPS, *[("map", code) for code in MAP_GAPS]}
VERBS = {kind.VERB for kind in FIELDS if issubclass(kind, Control | Command)}


def surprises(comparison: Comparison) -> list[str]:
    """Every difference that is no known gap."""
    return [str(each) for each in comparison.differences if (each.verb, each.field) not in KNOWN]


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory, tshark: Tshark) -> Comparison:
    """Everything that can be said, with all its fields and with each alone."""
    path = tmp_path_factory.mktemp("tshark") / "samples.pcap"
    times = iter(range(1_700_000_000, 1_800_000_000))
    with PcapWriter(path, lambda: next(times)) as writer:
        talk = writer.connection()
        for client in (True, False):
            talk.say(client, AMQP_0_10.header)
        for frame in frames():
            talk.say(True, frame)
        talk.close()
    return compare(path, tshark, WORDS)


def test_every_field_of_everything(sampled: Comparison) -> None:
    assert surprises(sampled) == []
    assert sampled.verbs == VERBS
    fields = {
        (getattr(kind, "VERB", None) or getattr(kind, "NAME", ""), name.rstrip("_"))
        for kind, named in FIELDS.items()
        if kind not in UNCODED
        for name, wire_type in named
        if wire_type not in NOT_SAID
    }
    unread = {each for each in fields if (each[0], "") in GAPS}
    assert fields - unread <= sampled.fields
    assert len({code for verb, code in sampled.fields if verb == "map"}) >= len(MAPPED) - 5  # some are of one type


def test_every_gap_is_still_one(sampled: Comparison, tshark: Tshark) -> None:
    """What a newer tshark reads is to be taken out of tools/interop/tshark_gaps.py."""
    closed = KNOWN - sampled.differing()
    assert closed == set(), f"tshark {tshark.version} reads these now"


def test_a_conversation_that_says_everything(tmp_path: Path, tshark: Tshark) -> None:
    path = tmp_path / "everything.pcap"
    times = iter(range(1_700_000_000, 1_800_000_000))
    with PcapWriter(path, lambda: next(times)) as writer:
        heard = conversation(lambda: writer.connection().say)
    ends = [event for event in heard if isinstance(event, ConnectionClosed | SessionDetached)]
    assert ends
    assert [each for each in ends if each.violation is not None] == []
    comparison = compare(path, tshark, WORDS)
    assert surprises(comparison) == []
    assert comparison.verbs == VERBS


@pytest.fixture
def served() -> Iterator[int]:
    """The port of a `serve`."""
    process = Process()
    try:
        yield urlsplit(process.url).port or 0
    finally:
        process.kill()


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_examples_with_serve(adapter: str, served: int, tmp_path: Path, tshark: Tshark) -> None:
    path = tmp_path / "examples.pcap"
    with Recording(served, path) as recording:
        where = f"amqp://127.0.0.1:{recording.port}"
        for example in PRINTED:
            run(adapter, example, where, *(["20"] if example in ("publisher", "worker") else []))
        run(adapter, "distributed", where, where, str(tmp_path / "decisions.json"))
    comparison = compare(path, tshark, WORDS)
    assert surprises(comparison) == []
    assert {"message.transfer", "message.accept", "tx.commit", "dtx.prepare", "dtx.recover"} <= comparison.verbs


@pytest.mark.parametrize("loop", [BlockingLoop, AsyncioLoop, TrioLoop], ids=ADAPTERS)
def test_our_clients_with_broker_j(loop: type[Loop], broker_j: BrokerJ, tmp_path: Path, tshark: Tshark) -> None:
    path = tmp_path / "broker-j.pcap"
    made = loop()
    with Recording(broker_j.port, path) as recording:
        where = broker_j.url.replace(str(broker_j.port), str(recording.port))
        assert len(made.run(lambda: scenarios.there_and_back(made, where, 200))) == 200
    comparison = compare(path, tshark, WORDS)
    assert surprises(comparison) == []
    assert comparison.frames > 600


def test_java_with_serve(served: int, jms: Jms, tmp_path: Path, tshark: Tshark) -> None:
    path = tmp_path / "jms.pcap"
    with Recording(served, path) as recording:
        jms.run_all(["queue", "topic", "transacted", "browse", "selector", "xa"], url(recording.port))
    comparison = compare(path, tshark, WORDS)
    assert surprises(comparison) == []
    assert {"message.release", "tx.rollback", "dtx.end"} <= comparison.verbs
    assert "message.acquire" not in comparison.verbs, "with qpid.jms-selector the broker selects"
