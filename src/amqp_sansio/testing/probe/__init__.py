"""The probe: tests with conversations from the grammar which rules a server follows and which it breaks.  No sockets here."""

from amqp_sansio.testing.probe.dialogue import ProbeError, Transport
from amqp_sansio.testing.probe.prober import Prober
from amqp_sansio.testing.probe.report import Report

__all__ = ["ProbeError", "Prober", "Report", "Transport"]
