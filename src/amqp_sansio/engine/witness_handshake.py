"""The rules that a witness checks while a connection is opened: mechanisms, locales, tune and its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from amqp_sansio.engine.findings import Findings
from amqp_sansio.limits import MAX_CHANNELS, MAX_FRAME_SIZE, MIN_MAX_FRAME_SIZE
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Close, Open, Redirect, Start, StartOk, Tune, TuneOk
from amqp_sansio.tables.connection import RANGES

LAYERLESS: Final = ("ANONYMOUS", "PLAIN", "EXTERNAL", "CRAM-MD5", "LOGIN", "AMQPLAIN")
"""Mechanisms without a security layer; the SCRAM family has none either."""

CLOSE_CODES: Final = {200: "normal", 320: "connection-forced", 402: "invalid-path", 501: "framing-error"}

_WRONG: Final = {
    "max-frame-size.minimum": "a maximum below what everybody must accept",
    "heartbeat-max.permitted-range": "the maximum lies below the minimum",
    "heartbeat-max.no-heartbeat-min": "without a minimum there is no maximum",
    "channel-max.upper-limit": "the client asks for more than the server offered",
    "max-frame-size.upper-limit": "the client asks for more than the server offered",
    "heartbeat.permitted-range": "a heartbeat outside of what was offered",
    "heartbeat.no-heartbeat-min": "the server offered no heartbeat",
}


class HandshakeWitness:
    """Remembers the offers, and judges the answers.  Accuses no side because of something it missed."""

    __slots__ = ("_findings", "channels", "insist", "locales", "max_frame_size", "mechanism", "mechanisms", "offered")

    def __init__(self, findings: Findings) -> None:
        self._findings: Final = findings
        self.mechanisms: tuple[str, ...] | None = None
        self.locales: tuple[str, ...] | None = None
        self.mechanism = ""
        self.offered: tuple[int | None, int | None, int | None, int | None] | None = None
        """channel-max, max-frame-size, heartbeat-min and heartbeat-max as the server offered them."""
        self.channels = MAX_CHANNELS
        """The negotiated number of channels."""
        self.max_frame_size = MAX_FRAME_SIZE
        self.insist = False

    @property
    def layered(self) -> bool:
        """Whether the mechanism may have started a security layer."""
        return bool(self.mechanism) and self.mechanism not in LAYERLESS and not self.mechanism.startswith("SCRAM-")

    def hear(self, control: Control) -> None:
        """Judges a control of class connection that was legal in its state."""
        hear = _HEARS.get(type(control))
        if hear is not None:
            hear(self, control)

    def _start(self, control: Start) -> None:
        self.mechanisms = _words(control.mechanisms)
        self.locales = _words(control.locales)
        if self.locales is not None and "en_US" not in self.locales:
            text = "every server supports the locale en_US"
            self._findings.letter("connection.start.locales.required-support", "connection.start", text, ("en_US",))

    def _start_ok(self, control: StartOk) -> None:
        self.mechanism = control.mechanism or ""
        if control.mechanism is None:
            self._required("connection.start-ok", "mechanism")
        elif self.mechanisms is not None and control.mechanism not in self.mechanisms:
            self._findings.breach(
                "connection.start-ok.mechanism.validity",
                f'connection.start-ok with mechanism "{_short(control.mechanism)}"',
                "the client chose a mechanism that the server did not offer",
                self.mechanisms,
            )
        if control.locale is None:
            self._required("connection.start-ok", "locale")
        elif self.locales is not None and control.locale not in self.locales:
            said = f'connection.start-ok with locale "{_short(control.locale)}"'
            text = "the client chose a locale that the server did not offer"
            self._findings.letter("connection.start-ok.locale", said, text, self.locales)

    def _tune(self, control: Tune) -> None:
        self.offered = (control.channel_max, control.max_frame_size, control.heartbeat_min, control.heartbeat_max)
        for rule, field, value, legal in RANGES.broken_by_offer(control, MIN_MAX_FRAME_SIZE):
            said, text = f"connection.tune with {field} {value}", _WRONG[rule]
            if rule == "heartbeat-max.no-heartbeat-min":
                self._findings.letter(f"connection.tune.{rule}", f"{said} and without heartbeat-min", text, (legal,))
                continue
            if rule == "heartbeat-max.permitted-range":
                said = f"connection.tune with heartbeat-min {control.heartbeat_min}, heartbeat-max {value}"
            self._findings.breach(f"connection.tune.{rule}", said, text, (legal,), 501)

    def _tune_ok(self, control: TuneOk) -> None:
        if self.offered is None:
            return
        offer = Tune(*self.offered)
        if control.channel_max is None:
            self._required("connection.tune-ok", "channel-max")
        for rule, field, value, legal in RANGES.broken_by_answer(offer, control, MIN_MAX_FRAME_SIZE):
            judged, said, text = f"connection.tune-ok.{rule}", f"connection.tune-ok with {field} {value}", _WRONG[rule]
            if rule == "heartbeat.no-heartbeat-min":
                self._findings.divergence(judged, said, text, (legal,))
            elif rule == "max-frame-size.minimum" and not value:
                self._findings.letter(judged, said, f"{text}; peers take 0 for no answer", (legal,))
            else:
                self._findings.breach(judged, said, text, (legal,))
        self.channels = control.channel_max or offer.channel_max or MAX_CHANNELS
        self.max_frame_size = max(control.max_frame_size or offer.max_frame_size or MAX_FRAME_SIZE, FRAME_FLOOR)

    def _open(self, control: Open) -> None:
        self.insist = control.insist
        if control.virtual_host is None:
            self._required("connection.open", "virtual-host")

    def _redirect(self, control: Redirect) -> None:
        if self.insist:
            text = "the client insisted on this server"
            legal = ("connection.open-ok", "connection.close")
            self._findings.breach("connection.open.insist.behavior", "connection.redirect", text, legal)
        self._findings.note("connection.redirect", "the server redirects the client")

    def _close(self, control: Close) -> None:
        code = control.reply_code
        if code is not None and code not in CLOSE_CODES:
            said = f"connection.close with reply-code {code}"
            legal = tuple([f"{number} {name}" for number, name in CLOSE_CODES.items()])
            self._findings.letter("connection.close.reply-code", said, "nobody knows this close code", legal)
        if code != 200:
            name = CLOSE_CODES.get(code or 0, "unknown")
            who = "client" if self._findings.speaker == "C" else "server"
            reason = f": {_short(control.reply_text)}" if control.reply_text else ""
            self._findings.note("connection.close", f"the {who} closes the connection with {code} {name}{reason}")

    def _required(self, verb: str, field: str) -> None:
        self._findings.letter(f"{verb}.{field}", verb, f"the field {field} is required", (field,), about=field)


_HEARS: Final[dict[type[Control], Callable[[HandshakeWitness, Any], None]]] = {  # Any: each row takes its own control
    Start: HandshakeWitness._start,
    StartOk: HandshakeWitness._start_ok,
    Tune: HandshakeWitness._tune,
    TuneOk: HandshakeWitness._tune_ok,
    Open: HandshakeWitness._open,
    Redirect: HandshakeWitness._redirect,
    Close: HandshakeWitness._close,
}

FRAME_FLOOR: Final = 256
"""A smaller maximum counts as a mistake in the fields rather than as a limit for frames."""


def _words(values: tuple[object, ...] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple([str(value) for value in values])


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "..."
