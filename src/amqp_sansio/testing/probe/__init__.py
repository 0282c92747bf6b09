"""The probe: tests by conversations from the grammars which rules a server follows and which it breaks.  It opens no
sockets."""

from amqp_sansio.testing.probe.dialogue import ProbeError, Transport
from amqp_sansio.testing.probe.prober import Prober
from amqp_sansio.testing.probe.report import Report

__all__ = ["ProbeError", "Prober", "Report", "Transport"]
