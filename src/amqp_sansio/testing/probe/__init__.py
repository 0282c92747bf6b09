"""A server probed with conversations from the grammar: which rules it keeps, and which it breaks.  No socket in here."""

from amqp_sansio.testing.probe.dialogue import ProbeError, Transport
from amqp_sansio.testing.probe.prober import Prober
from amqp_sansio.testing.probe.report import Report

__all__ = ["ProbeError", "Prober", "Report", "Transport"]
