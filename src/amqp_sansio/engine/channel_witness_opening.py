"""Judges what the older dialects agree on in their opening: mechanism, tune, capabilities; and what ends a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from amqp_sansio.engine.findings import Findings
from amqp_sansio.limits import MAX_CHANNELS, MIN_MAX_FRAME_SIZE
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Redirect, Start, StartOk, Tune, TuneOk

_NO_BOUND: Final = 1 << 32


class OpeningWitness:
    """Remembers what was offered; judges the answers.  What was not heard is not held against anybody."""

    __slots__ = (
        "_answer", "_capabilities", "_findings", "_mechanism", "_mechanisms", "_offer", "agreed", "channels", "frame_max",
    )  # fmt: skip

    def __init__(self, findings: Findings) -> None:
        self._findings: Final = findings
        self._mechanisms: tuple[str, ...] | None = None
        self._mechanism: str | None = None
        self._capabilities: dict[str, tuple[str, ...]] = {}
        self._offer: tuple[int, int] | None = None
        self._answer: tuple[int, int] | None = None
        self.agreed = False
        """Whether tune-ok was heard."""
        self.channels = MAX_CHANNELS
        """channel-max as it was agreed on; `MAX_CHANNELS` for no bound."""
        self.frame_max = 0
        """Octets of the largest frame agreed on; 0 for no bound."""

    def able(self, speaker: str, capability: str) -> bool | None:
        """Whether this side said that it has a capability; None where its properties were not heard."""
        told = self._capabilities.get(speaker)
        return None if told is None else capability in told

    def hear(self, control: Control) -> None:
        """A word of class connection that was legal when it was said."""
        if isinstance(control, Start):
            self._capabilities["server"] = _capabilities(control.server_properties)
            self._mechanisms = None if control.mechanisms is None else tuple([str(each) for each in control.mechanisms])
            if self._mechanism is not None:
                self._judge_mechanism(self._mechanism)
        elif isinstance(control, StartOk):
            self._capabilities["client"] = _capabilities(control.client_properties)
            self._mechanism = control.mechanism or ""
            if self._mechanisms is not None:
                self._judge_mechanism(self._mechanism)
        elif isinstance(control, Tune):
            self._offer = control.channel_max or 0, control.max_frame_size or 0
            self._judge_size("connection.tune", self._offer[1])
            if self._answer is not None:
                self._judge_answer(self._offer, self._answer)
        elif isinstance(control, TuneOk):
            self._answer = control.channel_max or 0, control.max_frame_size or 0
            self._judge_size("connection.tune-ok", self._answer[1])
            if self._offer is not None:
                self._judge_answer(self._offer, self._answer)
            self.agreed = True
            self.channels = self._answer[0] or MAX_CHANNELS
            self.frame_max = self._answer[1]
        elif isinstance(control, Redirect):
            self._findings.note("connection.redirect", "the server sends the client elsewhere")

    def _judge_mechanism(self, mechanism: str) -> None:
        offered = self._mechanisms or ()
        if mechanism not in offered:
            said = f'connection.start-ok with mechanism "{mechanism[:200]}"'
            text = "the client chose a mechanism that the server did not offer"
            self._findings.breach("connection.start-ok.mechanism.validity", said, text, offered)

    def _judge_size(self, verb: str, size: int) -> None:
        if 0 < size < MIN_MAX_FRAME_SIZE:
            text = "everybody must accept frames of 4096 octets"
            legal = (f"0 or at least {MIN_MAX_FRAME_SIZE}",)
            self._findings.breach(f"{verb}.frame-max.minimum", f"{verb} with frame-max {size}", text, legal)

    def _judge_answer(self, offer: tuple[int, int], answer: tuple[int, int]) -> None:
        """0 is no bound: it asks for more than any other number."""
        for field, offered, said in (("channel-max", offer[0], answer[0]), ("frame-max", offer[1], answer[1])):
            if offered and (said or _NO_BOUND) > offered:
                self._findings.breach(
                    f"connection.tune-ok.{field}.upper-limit",
                    f"connection.tune-ok with {field} {said}",
                    "the client asks for more than the server offered",
                    (f"1 to {offered}",),
                )


def _capabilities(properties: Mapping[str, object] | None) -> tuple[str, ...]:
    """What a side says that it can do."""
    told = (properties or {}).get("capabilities")
    if not isinstance(told, Mapping):
        return ()
    return tuple([str(name) for name, value in told.items() if value])
