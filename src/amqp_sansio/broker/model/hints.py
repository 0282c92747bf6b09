"""Arguments that the broker accepts and ignores: settings of deployed clients and brokers that are fixed here.

An argument that would change which consumer gets a message is never a hint: it is supported, or refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from amqp_sansio.spec.values import Value

HINTS: Final[dict[str, dict[str, str]]] = {
    "message.subscribe": {
        "qpid.sync_frequency": "qpidd's bridges ask for a sync after every N messages; the broker completes them anyway",
        "x-filter-no-consume": "Qpid's clients of AMQP 0-8 mark browsers with it; in 0-10 acquire-mode does",
        "x-filter-auto-close": "Qpid's clients of AMQP 0-8 mark browsers with it; in 0-10 message.flush does",
        "local-address": "Broker-J shows it to its administrator",
    },
    "queue.declare": {
        "qpid.file_count": "qpidd's older store has files of a fixed size; this broker's log grows as needed",
        "qpid.file_size": "qpidd's older store has files of a fixed size; this broker's log grows as needed",
        "qpid.paging": "qpidd keeps part of the queue on disk; this broker keeps all of it in memory",
        "qpid.max_pages_loaded": "qpidd keeps part of the queue on disk; this broker keeps all of it in memory",
        "qpid.page_factor": "qpidd keeps part of the queue on disk; this broker keeps all of it in memory",
        "x-qpid-description": "Broker-J shows it to its administrator",
        "x-qpid-capacity": "Broker-J blocks publishers above it; here BrokerLimits.throttle_messages does",
        "x-qpid-flow-resume-capacity": "here publishers continue at half of BrokerLimits.throttle_messages",
        "qpid.flow_stop_count": "qpidd blocks publishers above it; here BrokerLimits.throttle_messages does",
        "qpid.flow_stop_size": "qpidd blocks publishers above it; here BrokerLimits.throttle_messages does",
        "qpid.flow_resume_count": "here publishers continue at half of BrokerLimits.throttle_messages",
        "qpid.flow_resume_size": "here publishers continue at half of BrokerLimits.throttle_messages",
        **dict.fromkeys(
            (
                "qpid.alert_count",
                "qpid.alert_count_up",
                "qpid.alert_count_down",
                "x-qpid-maximum-message-count",
                "qpid.alert_size",
                "qpid.alert_size_up",
                "qpid.alert_size_down",
                "x-qpid-maximum-message-size",
                "qpid.alert_repeat_gap",
                "x-qpid-minimum-alert-repeat-gap",
                "x-qpid-maximum-message-age",
                "x-qpid-maximum-queue-depth",
            ),
            "qpidd and Broker-J report it to their management, which this broker does not have",
        ),
    },
}
"""The reason why a hint changes nothing, by command and argument."""


@attrs.frozen
class Hint:
    """An argument that a client gave and that changed nothing."""

    command: str
    """The command as the specification names it: "message.subscribe"."""
    argument: str
    why: str

    def __str__(self) -> str:
        return f"{self.command}: the argument {self.argument!r} changes nothing ({self.why})"


class Hints:
    """The hints that a broker received, each kept once."""

    __slots__ = ("_fresh", "_known")

    def __init__(self) -> None:
        self._known: Final[dict[Hint, None]] = {}
        self._fresh: Final[list[Hint]] = []

    def given(self, command: str, arguments: Mapping[str, Value]) -> None:
        """Records the hints among the arguments of a command."""
        for argument, why in HINTS.get(command, {}).items():
            hint = Hint(command, argument, why)
            if argument in arguments and hint not in self._known:
                self._known[hint] = None
                self._fresh.append(hint)

    def take(self) -> tuple[Hint, ...]:
        """Returns the hints received for the first time since the last call, for a log."""
        if not self._fresh:
            return ()
        fresh = tuple(self._fresh)
        self._fresh.clear()
        return fresh
