"""Broker-J under the probe: it is led through conversations, and what it breaks is known."""

from __future__ import annotations

from amqp_sansio.cli.probe import SocketTransport
from amqp_sansio.testing.probe import Prober
from tools.interop.broker_j import BrokerJ


def test_broker_j_keeps_the_rules_of_its_model(broker_j: BrokerJ) -> None:
    """Short, and without section assembly: a frame at the wrong place ends the whole broker."""
    prober = Prober(
        lambda: SocketTransport("127.0.0.1", broker_j.anonymous_port, 1.0),
        section="tx", conversations=12, virtual_host="default",
    )  # fmt: skip
    report = prober.run()
    assert report.conversations == 12
    assert "legal: tx.commit is taken" in {tally.rule for tally in report.kept}
    assert not report.unexplained
