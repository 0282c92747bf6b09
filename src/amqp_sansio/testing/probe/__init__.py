"""The probe: tests which rules a server follows, with conversations from the grammars.  It opens no sockets."""

from amqp_sansio.testing.probe.dialogue import ProbeError, Transport
from amqp_sansio.testing.probe.prober import Prober
from amqp_sansio.testing.probe.report import Report

__all__ = ["ProbeError", "Prober", "Report", "Transport"]
