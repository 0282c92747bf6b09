"""What a witness holds the two sides to while they open a connection: mechanisms, locales, tune and its answer."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.findings import Findings
from amqp_sansio.limits import MAX_CHANNELS, MAX_FRAME_SIZE, MIN_MAX_FRAME_SIZE
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Close, Open, Redirect, Start, StartOk, Tune, TuneOk

LAYERLESS: Final = ("ANONYMOUS", "PLAIN", "EXTERNAL", "CRAM-MD5", "LOGIN", "AMQPLAIN")
"""Mechanisms without a security layer; neither have those of the SCRAM family."""

CLOSE_CODES: Final = {200: "normal", 320: "connection-forced", 402: "invalid-path", 501: "framing-error"}


class HandshakeWitness:
    """Remembers what was offered; judges the answers.  What was not heard is not held against anybody."""

    __slots__ = ("_findings", "channels", "insist", "locales", "max_frame_size", "mechanism", "mechanisms", "offered")

    def __init__(self, findings: Findings) -> None:
        self._findings: Final = findings
        self.mechanisms: tuple[str, ...] | None = None
        self.locales: tuple[str, ...] | None = None
        self.mechanism = ""
        self.offered: tuple[int | None, int | None, int | None, int | None] | None = None
        """channel-max, max-frame-size, heartbeat-min, heartbeat-max as the server said them."""
        self.channels = MAX_CHANNELS
        """How many channels were agreed on."""
        self.max_frame_size = MAX_FRAME_SIZE
        self.insist = False

    @property
    def layered(self) -> bool:
        """Whether the mechanism may have brought a security layer."""
        return bool(self.mechanism) and self.mechanism not in LAYERLESS and not self.mechanism.startswith("SCRAM-")

    def hear(self, control: Control) -> None:
        """A control of class connection that was legal when it was said."""
        if isinstance(control, Start):
            self._start(control)
        elif isinstance(control, StartOk):
            self._start_ok(control)
        elif isinstance(control, Tune):
            self._tune(control)
        elif isinstance(control, TuneOk):
            self._tune_ok(control)
        elif isinstance(control, Open):
            self.insist = control.insist
            if control.virtual_host is None:
                self._required("connection.open", "virtual-host")
        elif isinstance(control, Redirect):
            self._redirect()
        elif isinstance(control, Close):
            self._close(control)

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
        least, most = control.heartbeat_min, control.heartbeat_max
        self.offered = (control.channel_max, control.max_frame_size, least, most)
        size = control.max_frame_size
        if size is not None and size < MIN_MAX_FRAME_SIZE:
            said = f"connection.tune with max-frame-size {size}"
            text = "a maximum below what everybody must accept"
            self._findings.breach(
                "connection.tune.max-frame-size.minimum", said, text, (f"at least {MIN_MAX_FRAME_SIZE}",), 501
            )
        if least is not None and most is not None and most < least:
            said = f"connection.tune with heartbeat-min {least}, heartbeat-max {most}"
            text = "the maximum lies below the minimum"
            self._findings.breach("connection.tune.heartbeat-max.permitted-range", said, text, (f"at least {least}",), 501)
        if least is None and most is not None:
            said = f"connection.tune with heartbeat-max {most} and without heartbeat-min"
            text = "without a minimum there is no maximum"
            self._findings.letter("connection.tune.heartbeat-max.no-heartbeat-min", said, text, ("no heartbeat-max",))

    def _tune_ok(self, control: TuneOk) -> None:
        if self.offered is None:
            return
        channels, size, least, most = self.offered
        if control.channel_max is None:
            self._required("connection.tune-ok", "channel-max")
        self._upper("connection.tune-ok.channel-max.upper-limit", "channel-max", control.channel_max, channels)
        self._upper("connection.tune-ok.max-frame-size.upper-limit", "max-frame-size", control.max_frame_size, size)
        asked = control.max_frame_size
        if asked is not None and asked < MIN_MAX_FRAME_SIZE:
            said = f"connection.tune-ok with max-frame-size {asked}"
            rule, text = "connection.tune-ok.max-frame-size.minimum", "a maximum below what everybody must accept"
            legal = (f"at least {MIN_MAX_FRAME_SIZE}",)
            if asked:
                self._findings.breach(rule, said, text, legal)
            else:
                self._findings.letter(rule, said, text + "; peers take 0 for no answer", legal)
        beat = control.heartbeat
        if beat:
            said = f"connection.tune-ok with heartbeat {beat}"
            if (least is not None and beat < least) or (most is not None and beat > most):
                text = "a heartbeat outside of what was offered"
                legal = (f"{least or 0} to {'any' if most is None else most}",)
                self._findings.breach("connection.tune-ok.heartbeat.permitted-range", said, text, legal)
            elif least is None:
                text = "the server offered no heartbeat"
                self._findings.divergence("connection.tune-ok.heartbeat.no-heartbeat-min", said, text, ("no heartbeat",))
        self.channels = control.channel_max or channels or MAX_CHANNELS
        self.max_frame_size = max(asked or size or MAX_FRAME_SIZE, FRAME_FLOOR)

    def _upper(self, rule: str, field: str, said: int | None, offered: int | None) -> None:
        if said is not None and offered is not None and said > offered:
            text = "the client asks for more than the server offered"
            self._findings.breach(rule, f"connection.tune-ok with {field} {said}", text, (f"at most {offered}",))

    def _redirect(self) -> None:
        if self.insist:
            text = "the client insisted on this server"
            legal = ("connection.open-ok", "connection.close")
            self._findings.breach("connection.open.insist.behavior", "connection.redirect", text, legal)
        self._findings.note("connection.redirect", "the server sends the client elsewhere")

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


FRAME_FLOOR: Final = 256
"""A maximum below this is taken for a mistake of the fields, not for a limit to hold frames to."""


def _words(values: tuple[object, ...] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple([str(value) for value in values])


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "..."
