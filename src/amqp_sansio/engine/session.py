"""A session: both halves of it, and the verbs by which a caller speaks on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias
from uuid import UUID

from amqp_sansio.config import DEFAULT_PROFILE, Profile
from amqp_sansio.engine.carrier import CommandId
from amqp_sansio.engine.contents import Contents
from amqp_sansio.engine.standing import Standing, check_seconds
from amqp_sansio.engine.subscription import Subscription
from amqp_sansio.engine.transactions import Dtx, Tx
from amqp_sansio.engine.transmit import ALONE, prepare, say, say_exception, transfer
from amqp_sansio.errors import DecodeError, EncodeError, LocalProtocolError, SessionDetachedError
from amqp_sansio.kernel.deadlines import AT_ONCE, moment_of
from amqp_sansio.kernel.octets import octets_of
from amqp_sansio.kernel.serials import RangeSet, whole
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.ledger.demarcation import Demarcation
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import dtx, execution, message, tx
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, DeliveryMode, ErrorCode, RejectCode
from amqp_sansio.spec.values import Value
from amqp_sansio.tables.endpoint import OVER, TRANSPORT
from amqp_sansio.tables.session import ATTACH, DETACH
from amqp_sansio.wire.layouts.properties import write_properties

_VERSION: Final = 3
"""Of the shape of a snapshot."""
_SECONDS: Final = (int, type(None))
_FIELDS: Final = {
    "timeout": _SECONDS, "timeout_known": (bool,), "max_timeout": _SECONDS, "wanted": _SECONDS, "attachments": (int,),
    "established": (bool,),
}  # fmt: skip
"""Attributes of a session that are plain values, with their types."""

Ids: TypeAlias = RangeSet | int | Iterable[int]


def as_ids(ids: Ids) -> RangeSet:
    """A set of ids given as a set, as one id or as any ids.  EncodeError for a number that is no id."""
    if isinstance(ids, RangeSet):
        return ids
    try:
        return RangeSet.of(ids) if isinstance(ids, int) else RangeSet.of(*ids)
    except (ValueError, TypeError) as error:
        raise EncodeError("session.commands", str(error)) from None


class Session(Standing):
    """A named conversation of two halves, which outlives the transports that it is attached to.

    Get one from a connection (`session`, `resume`, `accept`).  Every verb either raises and changes nothing, or has said its
    command: then the id of the command is returned.  SessionDetachedError while it is not attached, ConnectionClosedError
    while the connection closes, EncodeError for values that the wire cannot carry, LimitError where one of our limits stands.

    `subscriptions` are ours, `subscribers` the other side's.
    """

    def request_timeout(self, seconds: int | None) -> None:
        """Asks the other side to keep the session so long while detached; `TimeoutGranted` tells what it grants.

        None: for ever.  0: not at all; then nothing is kept for replay any more once that is granted.
        """
        self.check_speak("session.request-timeout")
        check_seconds(seconds)
        assert self._channel is not None
        self._channel.say(controls.RequestTimeout(seconds))
        self._wanted = seconds
        if seconds != 0:
            self._outbound.begin_retaining()

    def snapshot(self) -> dict[str, object]:
        """All of it as a plain value: builtins and values of spec, which can be stored, pickled and compared.  See `restore`.

        What belongs to one attachment (the channel, its command-points) is not in it.
        """
        return {
            "version": _VERSION, "name": self.name, "role": self.role,
            **{name: getattr(self, f"_{name}") for name in _FIELDS}, "ended": self.state == "ended", "cause": self._cause,
            **self._outbound.snapshot(), **self._inbound.snapshot(),
            "demarcation": self._demarcation.snapshot(), **self._subscriptions.snapshot(self._transfers),
            **self._subscribers.snapshot(), "contents": self._contents and self._contents.snapshot(),
        }  # fmt: skip

    @classmethod
    def restore(
        cls, snapshot: Mapping[str, object], *, profile: Profile = DEFAULT_PROFILE, limits: Limits = DEFAULT_LIMITS
    ) -> Session:
        """A detached session in the state of a snapshot.  DecodeError for what `snapshot` has not made."""
        given: Mapping[str, Any] = snapshot
        try:
            if given.get("version") != _VERSION:
                raise ValueError(f"version {given.get('version')!r}: this library reads version {_VERSION}")
            name, role = typed(given["name"], bytes), given["role"]
            if role not in ("client", "server"):
                raise ValueError(f"role {role!r}")
            timeout, most = given["timeout"], given["max_timeout"]
            session = cls(name, role, timeout=timeout, max_timeout=most, profile=profile, limits=limits)
            check_seconds(given["wanted"])
            for field, kinds in _FIELDS.items():
                setattr(session, f"_{field}", typed(given[field], *kinds))
            if typed(given["ended"], bool):
                session._step(TRANSPORT, OVER)
            cause = typed(given["cause"], str)
            session._cause = cause if given["ended"] else "restored, and not attached yet"
            session._outbound.restore(given)
            session._inbound.restore(given)
            session._demarcation = Demarcation.restore(given["demarcation"])
            session._subscriptions.restore(given, session)
            session._subscribers.restore(given)
            if given["contents"] is not None:
                session._contents = Contents(limits, role)
                session._contents.restore(given["contents"])
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as why:
            raise DecodeError("snapshot", 0, f"not a snapshot of a session: {type(why).__name__} {why}") from None
        return session

    # --- its transport --------------------------------------------------------------------------------------------------------

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
        now, moment = moment_of(now), self.due
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

    # --- saying commands --------------------------------------------------------------------------------------------------

    def send(self, command: Command, *headers: Struct | bytes, body: bytes = b"", sync: bool = False) -> CommandId:
        """Says any command; `headers` are header structs, or octets of encoded ones, for commands that carry content.

        `sync` asks for its completion promptly.  LocalProtocolError for what is illegal now; NoCredit for a transfer without
        credit.
        """
        if isinstance(command, message.Transfer):  # which checks all that `_check_command` does
            return transfer(
                self, command.destination or "", command.accept_mode or 0, command.acquire_mode or 0, headers, body, sync
            )
        self._check_command(command)
        if isinstance(command, execution.Exception_) and not headers and not octets_of(body):
            return self._refuse(command)
        return say(self, [prepare(self, command, headers, body, sync)])[0]

    def _check_command(self, command: object) -> None:
        """EncodeError for what is no command; SessionDetachedError or ConnectionClosedError while the session cannot send."""
        if not isinstance(command, Command):
            raise EncodeError("command", f"a command of spec, not {type(command).__name__}")
        self.check_speak(command.VERB)

    def send_all(self, commands: Sequence[Command]) -> list[CommandId]:
        """Says several commands without content, all of them or none: those that do not decide about one another."""
        for command in commands:
            self._check_command(command)
            if command.VERB in ALONE:
                raise LocalProtocolError(f"{command.VERB} with others", "send_all", ("send",))
        return say(self, [prepare(self, command, (), b"", False) for command in commands])

    def publish(
        self,
        destination: str = "",
        *headers: Struct | bytes,
        # Those given most often come first: a name is looked for as long as one that was given has not been met.
        body: bytes = b"",
        exchange: str | None = None,
        routing_key: str | None = None,
        delivery_mode: DeliveryMode | None = None,
        priority: int | None = None,
        timestamp: int | None = None,
        content_length: int | None = None,
        message_id: UUID | None = None,
        correlation_id: bytes | None = None,
        reply_to: message.ReplyTo | None = None,
        content_type: str | None = None,
        content_encoding: str | None = None,
        application_headers: Mapping[str, Value] | None = None,
        user_id: bytes | None = None,
        app_id: bytes | None = None,
        ttl: int | None = None,
        expiration: int | None = None,
        discard_unroutable: bool = False,
        immediate: bool = False,
        redelivered: bool = False,
        resume_id: str | None = None,
        resume_ttl: int | None = None,
        accept_mode: AcceptMode = AcceptMode.NONE,
        acquire_mode: AcquireMode = AcquireMode.PRE_ACQUIRED,
        sync: bool = False,
    ) -> CommandId:
        """Transfers a message to an exchange ("" is the default exchange), or as a server to a subscriber's destination.

        Its properties are given one by one, as the fields of delivery-properties and message-properties, or else in `headers`:
        structs, or octets of encoded ones, such as the header of a message that was received.

        Accept-mode NONE: completion tells that it arrived; EXPLICIT asks for accept or reject as well, which not every
        broker says.  NoCredit when the other side throttles us, or the subscriber has no credit.
        """
        header = write_properties(
            discard_unroutable, immediate, redelivered, priority, delivery_mode, ttl, timestamp, expiration, exchange,
            routing_key, resume_id, resume_ttl, content_length, message_id, correlation_id, reply_to, content_type,
            content_encoding, user_id, app_id, application_headers,
        )  # fmt: skip
        if header and headers:
            raise EncodeError("message.transfer", "properties are given one by one or in headers, not both")
        if self.delivers:
            return self.deliver(destination, *((header,) if header else headers), body=body, sync=sync)
        return transfer(self, destination, accept_mode, acquire_mode, headers, body, sync, header)

    def deliver(self, destination: str, *headers: Struct | bytes, body: bytes = b"", sync: bool = False) -> CommandId:
        """Transfers a message to a subscriber, in the modes that it subscribed with.  NoCredit without its credit."""
        subscriber = self._subscribers.current.get(destination)
        if subscriber is None:
            self.check_speak("message.transfer")
            raise self._subscribers.no_such(destination)
        return transfer(self, destination, subscriber.accept_mode, subscriber.acquire_mode, headers, body, sync)

    def subscribe(
        self,
        queue: str,
        destination: str,
        *,
        accept_mode: AcceptMode = AcceptMode.EXPLICIT,
        acquire_mode: AcquireMode = AcquireMode.PRE_ACQUIRED,
        exclusive: bool = False,
        resume_id: str | None = None,
        resume_ttl: int | None = None,
        arguments: Mapping[str, Value] | None = None,
        sync: bool = False,
    ) -> Subscription:
        """Subscribes to a queue; nothing comes before `Subscription.grant`.  `destination` is ours to choose, one each."""
        self.send(
            message.Subscribe(
                queue, destination, accept_mode, acquire_mode, exclusive, resume_id, resume_ttl, arguments
            ),
            sync=sync,
        )  # fmt: skip
        return self._subscriptions.current[destination or ""]

    def accept(self, ids: Ids, *, sync: bool = False) -> CommandId:
        """Accepts acquired transfers: they are ours for good.  The ids may not be mentioned again."""
        return self.send(message.Accept(as_ids(ids)), sync=sync)

    def reject(self, ids: Ids, code: RejectCode = RejectCode.UNSPECIFIED, text: str = "", *, sync: bool = False) -> CommandId:
        """Rejects acquired transfers."""
        return self.send(message.Reject(as_ids(ids), code, text or None), sync=sync)

    def release(self, ids: Ids, set_redelivered: bool = False, *, sync: bool = False) -> CommandId:
        """Gives transfers back, acquired or not; `set_redelivered` marks them."""
        return self.send(message.Release(as_ids(ids), set_redelivered), sync=sync)

    def acquire(self, ids: Ids, *, sync: bool = False) -> CommandId:
        """Asks for transfers that came not acquired; `ResultReceived` tells which are ours now."""
        return self.send(message.Acquire(as_ids(ids)), sync=sync)

    def sync(self) -> CommandId:
        """A barrier: its completion tells that every command before it is complete."""
        return self.send(execution.Sync(), sync=True)

    def flush(self, expected: bool = False, confirmed: bool = False, completed: bool = True) -> None:
        """Asks what the other side expects, has confirmed, has completed by now.  No barrier (see `sync`)."""
        self.check_speak("session.flush")
        assert self._channel is not None
        self._channel.say(controls.Flush(expected, confirmed, completed))
        if expected:
            self._outbound.ask_expected()

    # --- transactions (a client's) ------------------------------------------------------------------------------------------

    def select_tx(self) -> Tx:
        """Makes the session transactional, once and for good (tx.select).  See also `tx`.

        LocalProtocolError on a session that is so already, or has dtx.select, or a subscription with accept-mode none.
        """
        self.send(tx.Select())
        return self.tx

    def select_dtx(self) -> Dtx:
        """Makes the session one of distributed transactions (dtx.select); said again it does no harm.  See also `dtx`."""
        self.send(dtx.Select())
        return self.dtx

    @property
    def tx(self) -> Tx:
        """The verbs of a session with tx.select, also of one that was resumed; without it they raise."""
        return Tx(self)

    @property
    def dtx(self) -> Dtx:
        """The verbs about branches: those that decide about one (prepare, commit, recover, ...) need no dtx.select."""
        return Dtx(self)

    # --- answering the other side's commands ------------------------------------------------------------------------------

    def complete(self, ids: Ids) -> None:
        """These commands of the other side are executed; the session reports it before the next octets are taken.

        Also while the session is detached and may be resumed: it reports it when it is attached again.
        """
        done = as_ids(ids)
        self._check_lives("session.completed")
        self._check_incomplete("session.completed", done)
        self._inbound.check_results_given(done)
        self._complete_now(done)

    def confirm(self, ids: Ids) -> None:
        """These commands of the other side will complete for certain; the session reports it when asked."""
        sure = as_ids(ids)
        self._check_lives("session.confirmed")
        self._check_incomplete("session.confirmed", sure)
        self._inbound.confirmed.update(sure)

    def result(self, id: CommandId, value: Struct | None = None) -> CommandId:
        """Says the result of a command of the other side, once, before it is completed."""
        return self.send(execution.Result(id, value))

    def fail(
        self,
        id: CommandId | None,
        code: ErrorCode,
        text: str = "",
        *,
        field_index: int | None = None,
        error_info: Mapping[str, Value] | None = None,
    ) -> CommandId:
        """Refuses a command of the other side (None: no certain one) with an error code, which ends the session.

        Says execution.exception and detach; what comes until detached is discarded, then `SessionDetached` follows.
        """
        self.check_speak("execution.exception")
        if id is not None and not (whole(id) and self._inbound.seen(id)):
            raise LocalProtocolError(
                f"execution.exception for {id}", "no such command was received", ("execution.exception for None",)
            )
        class_code, command_code = self.codes_of(id)
        return self._refuse(
            execution.Exception_(code, id, class_code, command_code, field_index, text or None, error_info)
        )  # fmt: skip

    def _check_lives(self, said: str) -> None:
        """SessionDetachedError unless the other side will hear of it, now or when the session is resumed."""
        if not self._established or self.state in ("attaching", "refused", "detaching", "ended"):
            raise SessionDetachedError(said, self.name, self._cause)

    def _refuse(self, exception: execution.Exception_) -> CommandId:
        id = say_exception(self, exception)
        self._refused(self.role, f"we refused it with {exception.error_code}: {exception.description or ''}")
        return id

    def _check_incomplete(self, verb: str, ids: RangeSet) -> None:
        incomplete = self._inbound.outstanding.freeze()
        if self._inbound.skipped:
            incomplete |= self._inbound.skipped.freeze()
        if not ids or not ids.issubset(incomplete):
            legal = (f"{verb} {incomplete}",) if incomplete else ()
            what = f"{ids - incomplete} not incomplete" if ids else "no ids"
            raise LocalProtocolError(f"{verb} {ids}", what, legal)

    def __repr__(self) -> str:
        return f"<Session {self.name!r} {self.state}>"


__all__ = ["Ids", "Session", "as_ids"]
