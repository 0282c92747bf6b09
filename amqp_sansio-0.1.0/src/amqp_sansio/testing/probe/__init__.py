"""A server probed with conversations from the grammar: which rules it keeps, and which it breaks.  No socket in here."""

from amqp_sansio.testing.probe.prober import Prober
from amqp_sansio.testing.probe.report import Report
from amqp_sansio.testing.probe.talk import ProbeError, Transport

__all__ = ["ProbeError", "Prober", "Report", "Transport"]
