"""Judges the opening of a connection in the older dialects (mechanism, tune, capabilities), and its end."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.capabilities import capabilities_of
from amqp_sansio.engine.findings import Findings
from amqp_sansio.limits import MAX_CHANNELS, MIN_MAX_FRAME_SIZE
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Redirect, Start, StartOk, Tune, TuneOk
from amqp_sansio.tables.channel_tuning import MINIMUM, broken_by_answer, broken_by_offer
from amqp_sansio.tables.tuning import Broken

_SMALL: Final = f"everybody must accept frames of {MIN_MAX_FRAME_SIZE} octets"


class OpeningWitness:
    """Remembers what was offered, and judges the answers. Accuses no side because of something it missed."""

    __slots__ = (
        "_answer", "_answered", "_capabilities", "_chosen", "_findings", "_mechanism", "_mechanisms", "_offer", "agreed",
        "channels", "frame_max",
    )  # fmt: skip

    def __init__(self, findings: Findings) -> None:
        self._findings: Final = findings
        self._mechanisms: tuple[str, ...] | None = None
        self._mechanism: str | None = None
        self._chosen = 0
        """The verb and offset at which the client chose its mechanism."""
        self._capabilities: dict[str, tuple[str, ...]] = {}
        self._offer: tuple[int, int] | None = None
        self._answer: tuple[int, int] | None = None
        self._answered = 0
        self.agreed = False
        """Whether tune-ok has arrived."""
        self.channels = MAX_CHANNELS
        """The negotiated channel-max; `MAX_CHANNELS` for unlimited."""
        self.frame_max = 0
        """The largest negotiated frame in octets; 0 for unlimited."""

    def able(self, speaker: str, capability: str) -> bool | None:
        """Returns whether this side announced a capability; None when we missed its properties."""
        told = self._capabilities.get(speaker)
        return None if told is None else capability in told

    def hear(self, control: Control) -> None:
        """Judges a control of class connection that was legal in its state."""
        if isinstance(control, Start):
            self._capabilities["server"] = tuple(sorted(capabilities_of(control.server_properties)))
            self._mechanisms = None if control.mechanisms is None else tuple([str(each) for each in control.mechanisms])
            if self._mechanism is not None:
                self._judge_mechanism(self._mechanism)
        elif isinstance(control, StartOk):
            self._capabilities["client"] = tuple(sorted(capabilities_of(control.client_properties)))
            self._mechanism, self._chosen = control.mechanism or "", self._findings.offset
            if self._mechanisms is not None:
                self._judge_mechanism(self._mechanism)
        elif isinstance(control, Tune):
            self._offer = control.channel_max or 0, control.max_frame_size or 0
            self._judge("connection.tune", broken_by_offer(control, MIN_MAX_FRAME_SIZE))
            if self._answer is not None:  # the client did not wait for start
                late = broken_by_answer(control, TuneOk(*self._answer), MIN_MAX_FRAME_SIZE)
                self._judge("connection.tune-ok", [each for each in late if each.rule != MINIMUM], ("C", self._answered))
        elif isinstance(control, TuneOk):
            self._answer = control.channel_max or 0, control.max_frame_size or 0
            self._answered = self._findings.offset
            offer = Tune(*self._offer) if self._offer is not None else Tune()
            self._judge("connection.tune-ok", broken_by_answer(offer, control, MIN_MAX_FRAME_SIZE))
            self.agreed = True
            self.channels = control.channel_max or MAX_CHANNELS
            self.frame_max = control.max_frame_size or 0
        elif isinstance(control, Redirect):
            self._findings.note("connection.redirect", "the server sends the client elsewhere")

    def _judge_mechanism(self, mechanism: str) -> None:
        offered = self._mechanisms or ()
        if mechanism not in offered:
            said = f'connection.start-ok with mechanism "{mechanism[:200]}"'
            text = "the client chose a mechanism that the server did not offer"
            before = "C", self._chosen
            self._findings.breach("connection.start-ok.mechanism.validity", said, text, offered, before=before)

    def _judge(self, verb: str, broken: list[Broken], before: tuple[str, int] | None = None) -> None:
        for rule, field, said, legal in broken:
            text = _SMALL if rule == MINIMUM else "the client asks for more than the server offered"
            self._findings.breach(f"{verb}.{rule}", f"{verb} with {field} {said}", text, (legal,), before=before)
