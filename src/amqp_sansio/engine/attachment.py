"""How a session gets onto a transport and off it again, and how it lives in between."""

from __future__ import annotations

from amqp_sansio.engine import outcomes
from amqp_sansio.engine.carrier import Role
from amqp_sansio.engine.standing import Standing
from amqp_sansio.errors import LocalProtocolError, SessionDetachedError
from amqp_sansio.events import Origin, SessionAttached, SessionDetached, Violation
from amqp_sansio.kernel.deadlines import AT_ONCE
from amqp_sansio.spec import session as controls
from amqp_sansio.tables.endpoint import ATTACHED_AGAIN, KEPT, OVER, TRANSPORT
from amqp_sansio.tables.session import ATTACH, ATTACHED, DETACH, EXPECTED


class Attachment(Standing):
    """What a session does about its transport.  See `Session`."""

    def attach(self, force: bool = False) -> None:
        """Asks for the attachment; `SessionAttached` or `SessionDetached` follows.  Said again it does no harm.

        `force` takes the session away from another transport.
        """
        if self.state in ("resuming", "attached"):
            return
        if not self._may(ATTACH):
            raise SessionDetachedError("session.attach", self.name, self._cause)
        if self._channel is None:
            raise SessionDetachedError("session.attach", self.name, f"{self._cause}; resume it on a connection")
        self.check_open("session.attach")
        if self.state == "attaching" and not force:
            return
        if not self._channel.can_say(ATTACH):
            raise LocalProtocolError("session.attach", "detaching", ("after session.detached",))
        self._channel.say(controls.Attach(self.name, force))
        first = self.state == "detached"
        self._step(self.role, ATTACH)
        if first:
            self._cause = "waiting for attached"
            self._begin()

    def detach(self) -> None:
        """Ends the attachment; `SessionDetached` follows.  With a timeout of 0 it ends the session as well."""
        if not self._may(DETACH):
            raise SessionDetachedError("session.detach", self.name, self._cause)
        self.check_open("session.detach")
        assert self._channel is not None
        self._flush_pending()
        self._channel.say(controls.Detach(self.name))
        self._step(self.role, DETACH)
        self._cause = "detached by us"

    def tick(self, now: float) -> float | None:
        """For a detached session: says what time it is (monotonic seconds), and ends it when its time is over.

        Its time begins with the first tick after it was detached.  Answers `due`.
        """
        moment = self.due
        if moment is None:
            return None
        if self._detached_at is None:
            self._detached_at = now
            moment = self.due
        if moment is not None and now >= moment:
            self._step(TRANSPORT, OVER)
            self._cause = f"detached for {self._timeout} s"
            return None
        return moment

    @property
    def due(self) -> float | None:
        """The moment at which a detached session ends unless it is resumed (monotonic seconds).

        At most any clock's moment when its time begins with the next tick; None when it is not detached or has no end.
        """
        if self.state != "detached" or self._channel is not None or self._timeout is None or not self._established:
            return None
        return AT_ONCE if self._detached_at is None else self._detached_at + self._timeout

    def _attached(self, speaker: Role) -> None:
        """`speaker` sent attached: commands may follow, or first we find out what the other side has."""
        if self._established:
            self._step(speaker, ATTACHED_AGAIN)
            self._subscriptions.resumed_at = self._outbound.next_id
            self._cause = "waiting for what the other side expects"
            assert self._channel is not None
            self._channel.say(controls.Flush(True, True, True))
            self._outbound.ask_expected()
        else:
            self._step(speaker, ATTACHED)
            self._ready(False)

    def _accepted(self) -> None:
        """As `_attached`, on the side that was asked."""
        self._begin()
        self._attached(self.role)

    def _resumed(self, resumed: bool = True) -> None:
        """The other side has told what it expects.  `resumed`: it has state of the session, which goes on."""
        self._step(self.peer, EXPECTED)
        self._ready(resumed)

    def _ready(self, resumed: bool) -> None:
        """Commands may be sent."""
        assert self._channel is not None
        self._cause = ""
        self._established = True
        self._emit(SessionAttached(self.name, self._channel.number, resumed))
        self._emit_held()
        if self.role == "client" and self._timeout != 0 and not self._timeout_known:
            self._channel.say(controls.RequestTimeout(self._timeout))

    def _granted(self, seconds: int | None) -> None:
        """Somebody granted a detached lifetime: it is ours from now on."""
        self._timeout = seconds
        self._timeout_known = True
        if seconds == 0:
            self._outbound.stop_retaining()
        else:
            self._outbound.begin_retaining()

    def _leave(
        self,
        origin: Origin,
        code: int | None,
        text: str,
        *,
        ended: bool = False,
        keep: bool = False,
        violation: Violation | None = None,
    ) -> None:
        """The attachment is over: says so in an event and gives the channel free.

        The session ends with it when `ended`, or when nobody wants it to live detached and it is not to be kept.
        """
        channel = self._channel
        assert channel is not None
        code = None if code is None else int(code)
        ended = ended or (self._timeout == 0 and not keep and self.state != "attaching")
        self._step(TRANSPORT, OVER if ended else KEPT)
        self._emit_held()
        self._cause = text or f"{origin} detached it" + (f" (code {code})" if code else "")
        if violation is not None:
            self._cause = f"{violation.rule}: {violation.text or violation.said}"
        if ended and self.role == "client":
            outcomes.ended(self)
        self._emit(
            SessionDetached(self.name, channel.number, origin, code, text, violation, self.in_doubt, ended)
        )  # fmt: skip
        self._detached_at = None  # its time begins at its next tick: the last one of the connection may be long ago
        self._touched = False
        self._replaying = None
        self._channel = None
        channel.session = None
        channel.channels.forget(channel.number)

    def _begin(self) -> None:
        """Both halves begin an attachment: nothing is known of the new channel yet."""
        self._attachments += 1
        self._outbound.begin_attachment()
        self._inbound.begin_attachment()
