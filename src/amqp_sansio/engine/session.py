"""A session: both halves of it, and the verbs by which a caller speaks on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from uuid import UUID

from amqp_sansio.config import DEFAULT_PROFILE, Profile
from amqp_sansio.engine import attachment, feedback
from amqp_sansio.engine.carrier import CommandId, Role, check_seconds, name_of
from amqp_sansio.engine.credit import Credit
from amqp_sansio.engine.inbound import Inbound
from amqp_sansio.engine.outbound import Outbound
from amqp_sansio.engine.results import Results
from amqp_sansio.engine.subscription import Subscriber, Subscription
from amqp_sansio.engine.transfers import Transfers
from amqp_sansio.engine.transmit import octets_of, prepare, say, say_all, say_exception, subscriber_of, transfer
from amqp_sansio.errors import (
    ConnectionClosedError,
    EncodeError,
    LocalProtocolError,
    SessionDetachedError,
)
from amqp_sansio.events import Event
from amqp_sansio.kernel.serials import RangeSet, whole
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import execution, message
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.values import Value
from amqp_sansio.wire.layouts.properties import write_properties

if TYPE_CHECKING:
    from amqp_sansio.engine.carrier import Carrier
    from amqp_sansio.engine.channel import Channel

State: TypeAlias = Literal["detached", "attaching", "resuming", "attached", "refused", "detaching", "ended"]
"""Where a session stands.

* detached: on no transport; may be attached (again).  attaching: we said attach.
* resuming: attached again, and waiting for what the other side expects.  attached: may be spoken on.
* refused: the other side sent an exception; its detach must follow.  detaching: we said detach.
* ended: over for good.
"""

Ids: TypeAlias = RangeSet | int | Iterable[int]


def as_ids(ids: Ids) -> RangeSet:
    """A set of ids given as a set, as one id or as any ids.  EncodeError for a number that is no id."""
    if isinstance(ids, RangeSet):
        return ids
    try:
        return RangeSet.of(ids) if isinstance(ids, int) else RangeSet.of(*ids)
    except (ValueError, TypeError) as error:
        raise EncodeError("session.commands", str(error)) from None


class Session:
    """A named conversation of two halves, which outlives the transports that it is attached to.

    Get one from a connection (`session`, `resume`, `accept`).  Every verb either raises and changes nothing, or has said its
    command: then the id of the command is returned.  SessionDetachedError while it is not attached, ConnectionClosedError
    while the connection closes, EncodeError for values that the wire cannot carry, LimitError where one of our limits stands.

    `subscriptions` are ours, `subscribers` the other side's; `transfers`, `inbound`, `outbound` and `results` are the engine's.
    """

    def __init__(
        self,
        name: bytes,
        role: Role,
        *,
        timeout: int | None = 0,
        max_timeout: int | None = 0,
        profile: Profile = DEFAULT_PROFILE,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """`timeout`: how long the session is to live while detached; a client asks the server for as much when it is not 0.
        `max_timeout`: the most that we grant when the other side asks.  Seconds; None for ever, 0 not at all."""
        name = name_of(name)
        for seconds in (timeout, max_timeout):
            check_seconds(seconds)
        self.name: Final = name
        self.role: Final[Role] = role
        self.profile: Final = profile
        self.limits: Final = limits
        self.timeout = timeout
        """How long it lives while detached: what we want until somebody grants something else."""
        self.wanted = timeout
        """How long we want it to live while detached: what the other side grants may be less."""
        self.max_timeout = timeout if role == "client" and max_timeout == 0 else max_timeout
        self._state: State = "detached"
        self.hears = False
        """Whether what the other side says on the channel counts."""
        self.speaks = False
        """Whether commands may be said, as far as the session is concerned."""
        self.cause = "not attached yet"
        self.channel: Channel | None = None
        self.attachments = 0
        """How often attach was said or accepted."""
        self.established = False
        """Whether it was ever attached: then the other side may have state of it."""
        self.outbound: Final = Outbound(timeout != 0 or max_timeout != 0)
        self.inbound: Final = Inbound()
        self.results: Final = Results()
        self.transfers: Final = Transfers()
        self.subscriptions: Final[dict[str, Subscription]] = {}
        self.subscribers: Final[dict[str, Subscriber]] = {}
        self.cancels: Final[dict[int, Subscription]] = {}
        self.flushes: Final[dict[int, Subscription]] = {}
        self.subscriber_flushes: Final[dict[int, Subscriber]] = {}
        self.windows: Final[dict[int, tuple[Subscriber, int]]] = {}
        """Deliveries in window mode that are not completed: whose, and their octets."""
        self.producer: Credit | None = None
        """What the other side lets us publish, in messages; None as long as it never throttled us."""
        self.throttle: Credit | None = None
        """What we let the other side publish; None as long as we never throttled it."""
        self.timeout_known = False
        self.held: list[Event] = []
        """Events of commands that came while the session was resuming."""
        self._touched = False
        self.detached_at: float | None = None
        self.command_cache: dict[tuple[str, int, int, bool], tuple[bytes, bytes]] = {}
        self.completes_on_hand_out: Final = profile.completion == "on_hand_out" or (
            profile.completion == "default" and role == "client"
        )
        self.metered = False
        """Whether any subscription was ever in credit mode: only then does a message completed at once cost credit."""
        self.minds_headers = False
        """Whether the connection that carries it now reads header structs on receipt, or otherwise than by default."""
        self.counts_headers: Final = profile.octets != "body"
        self.delivers: Final = role == "server"

    # --- attachment -------------------------------------------------------------------------------------------------------

    def bind(self, channel: Channel) -> None:
        """Puts the session on a free channel, on which `attach` then speaks."""
        attachment.bind(self, channel)

    def attach(self, force: bool = False) -> None:
        """Asks for the attachment; `SessionAttached` or `SessionDetached` follows.  Said again it does no harm.

        `force` takes the session away from another transport.
        """
        attachment.attach(self, force)

    def detach(self) -> None:
        """Ends the attachment; `SessionDetached` follows.  With a timeout of 0 it ends the session as well."""
        attachment.detach(self)

    def tick(self, now: float) -> float | None:
        """For a detached session: ends it when its time is over; the moment at which to ask again, None when never."""
        return attachment.tick(self, now)

    def request_timeout(self, seconds: int | None) -> None:
        """Asks the other side to keep the session so long while detached; `TimeoutGranted` tells what it grants.

        None: for ever.  0: not at all; then nothing is kept for replay any more once that is granted.
        """
        self.check_speak("session.request-timeout")
        check_seconds(seconds)
        assert self.channel is not None
        self.channel.say(controls.RequestTimeout(seconds))
        self.wanted = seconds
        if seconds != 0:
            self.outbound.retain = True

    @property
    def in_doubt(self) -> RangeSet:
        """Our commands that were sent and of which the other side has not said that they are complete."""
        return self.outbound.outstanding.freeze()

    @property
    def resumable(self) -> bool:
        """Whether it may be attached again after a loss of its transport."""
        return self.state != "ended" and self.timeout != 0

    @property
    def has_state(self) -> bool:
        """Whether anything was ever said in either half."""
        return self.outbound.sent or self.inbound.received is not None

    def snapshot(self) -> dict[str, object]:
        """All of it as a plain value: builtins and values of spec, which can be stored and pickled.  See `restore`."""
        from amqp_sansio.engine.snapshot import take

        return take(self)

    @classmethod
    def restore(
        cls, snapshot: Mapping[str, object], *, profile: Profile = DEFAULT_PROFILE, limits: Limits = DEFAULT_LIMITS
    ) -> Session:
        """A detached session in the state of a snapshot."""
        from amqp_sansio.engine.snapshot import restore

        return restore(snapshot, profile, limits)

    # --- saying commands --------------------------------------------------------------------------------------------------

    def send(self, command: Command, *headers: Struct | bytes, body: bytes = b"", sync: bool = False) -> CommandId:
        """Says any command; `headers` are header structs, or octets of encoded ones, for commands that carry content.

        `sync` asks for its completion promptly.  LocalProtocolError for what may not be said now; NoCredit for a transfer
        without credit.
        """
        if not isinstance(command, Command):
            raise EncodeError("command", f"a command of spec, not {type(command).__name__}")
        self.check_speak(command.VERB)
        if isinstance(command, message.Transfer):
            return transfer(
                self, command.destination or "", command.accept_mode or 0, command.acquire_mode or 0, headers, body, sync
            )
        if isinstance(command, execution.Exception_) and not headers and not octets_of(body):
            return self._refuse(command)
        return say(self, [prepare(self, command, headers, body, sync)])[0]

    def send_all(self, commands: Sequence[Command]) -> list[CommandId]:
        """Says several commands without content, all of them or none: those that do not decide about one another."""
        return say_all(self, commands)

    def publish(
        self,
        destination: str = "",
        *headers: Struct | bytes,
        body: bytes = b"",
        accept_mode: int = 1,
        acquire_mode: int = 0,
        sync: bool = False,
        discard_unroutable: bool = False,
        immediate: bool = False,
        redelivered: bool = False,
        priority: int | None = None,
        delivery_mode: int | None = None,
        ttl: int | None = None,
        timestamp: int | None = None,
        expiration: int | None = None,
        exchange: str | None = None,
        routing_key: str | None = None,
        resume_id: str | None = None,
        resume_ttl: int | None = None,
        content_length: int | None = None,
        message_id: UUID | None = None,
        correlation_id: bytes | None = None,
        reply_to: message.ReplyTo | None = None,
        content_type: str | None = None,
        content_encoding: str | None = None,
        user_id: bytes | None = None,
        app_id: bytes | None = None,
        application_headers: Mapping[str, Value] | None = None,
    ) -> CommandId:
        """Transfers a message to an exchange ("" is the default exchange), or as a server to a subscriber's destination.

        Its properties are given one by one, as the fields of delivery-properties and message-properties, or else in `headers`:
        structs, or octets of encoded ones, such as the header of a message that was received.

        Accept-mode 1 (none): completion tells that it arrived; 0 (explicit) asks for accept or reject as well, which not every
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
        subscriber = subscriber_of(self, destination)
        return transfer(self, destination, subscriber.accept_mode, subscriber.acquire_mode, headers, body, sync)

    def subscribe(
        self,
        queue: str,
        destination: str,
        *,
        accept_mode: int = 0,
        acquire_mode: int = 0,
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
        return self.subscriptions[destination]

    def accept(self, ids: Ids, *, sync: bool = False) -> CommandId:
        """Accepts acquired transfers: they are ours for good.  The ids may not be mentioned again."""
        return self.send(message.Accept(as_ids(ids)), sync=sync)

    def reject(self, ids: Ids, code: int = 0, text: str = "", *, sync: bool = False) -> CommandId:
        """Rejects acquired transfers (code 0 unspecified, 1 unroutable, 2 immediate)."""
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
        assert self.channel is not None
        self.channel.say(controls.Flush(expected, confirmed, completed))
        self.outbound.expected_asked += bool(expected)

    # --- answering the other side's commands ------------------------------------------------------------------------------

    def complete(self, ids: Ids) -> None:
        """These commands of the other side are executed; it is told before the next octets are taken.

        Also while the session is detached and may be resumed: the other side is told when it is attached again.
        """
        done = as_ids(ids)
        self._check_lives("session.completed")
        self._check_incomplete("session.completed", done)
        self.results.check_complete(done)
        self.complete_now(done)

    def confirm(self, ids: Ids) -> None:
        """These commands of the other side will complete for certain; it is told when it asks."""
        sure = as_ids(ids)
        self._check_lives("session.confirmed")
        self._check_incomplete("session.confirmed", sure)
        self.inbound.confirmed.update(sure)

    def result(self, id: CommandId, value: Struct | None = None) -> CommandId:
        """Says the result of a command of the other side, once, before it is completed."""
        return self.send(execution.Result(id, value))

    def fail(
        self,
        id: CommandId | None,
        code: int,
        text: str = "",
        *,
        field_index: int | None = None,
        error_info: Mapping[str, Value] | None = None,
    ) -> CommandId:
        """Refuses a command of the other side (None: no certain one) with an error code, which ends the session.

        Says execution.exception and detach; what comes until detached is discarded, then `SessionDetached` follows.
        """
        self.check_speak("execution.exception")
        if id is not None and not (whole(id) and self.inbound.seen(id)):
            raise LocalProtocolError(
                f"execution.exception for {id}", "no such command was received", ("execution.exception for None",)
            )
        class_code, command_code = self.codes_of(id)
        return self._refuse(
            execution.Exception_(code, id, class_code, command_code, field_index, text or None, error_info)
        )  # fmt: skip

    # --- for the engine ---------------------------------------------------------------------------------------------------

    @property
    def carrier(self) -> Carrier:
        """The connection underneath; only while there is a channel."""
        assert self.channel is not None
        return self.channel.carrier

    @property
    def state(self) -> State:
        """Where the session stands: see `State`."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = state
        self.hears = state in ("attached", "resuming", "refused")
        self.speaks = state == "attached"

    def check_speak(self, said: str) -> None:
        """SessionDetachedError or ConnectionClosedError unless commands may be said now."""
        if self.state != "attached":
            raise SessionDetachedError(said, self.name, self.cause)
        self.check_open(said)

    def flush_pending(self) -> None:
        """Writes what was gathered since the last time: completed, and what was asked for by flush or a timely-reply."""
        self._touched = False
        if self._state in ("attached", "resuming") and self.channel is not None:
            feedback.tell(self)

    def touch(self) -> None:
        """There is something to write before the next octets are taken."""
        if not self._touched and self.channel is not None:
            self._touched = True
            self.channel.carrier.touch(self)

    def untouch(self) -> None:
        """There is nothing to write any more."""
        self._touched = False

    def complete_now(self, ids: RangeSet) -> None:
        """Completes incomplete commands of the other side, and what hangs on them."""
        self.inbound.complete(ids)
        self.results.completed(ids)
        self.transfers.complete(ids)
        for id in [id for id in self.subscriber_flushes if id in ids]:
            self.subscriber_flushes.pop(id).flow.end_flush(id)
        self.touch()

    def codes_of(self, id: int | None) -> tuple[int | None, int | None]:
        """Class code and code of a command of the other side that is under way."""
        if id is None:
            return None, None
        owed = self.results.owed.get(id)
        if owed is not None:
            return owed.class_code, owed.code
        if id in self.inbound.incomplete:
            return 4, 1
        return None, None

    def emit(self, event: Event) -> None:
        """Hands an event to the connection."""
        self.carrier.emit(event)

    def emit_command(self, event: Event) -> None:
        """Hands on what a command of the other side became: behind SessionAttached, for nothing can be answered before."""
        if self.state == "resuming":
            self.held.append(event)
        else:
            self.carrier.emit(event)

    def emit_held(self) -> None:
        """The commands that came while the session was resuming, in order."""
        held, self.held = self.held, []
        for event in held:
            self.carrier.emit(event)

    def _check_lives(self, said: str) -> None:
        """SessionDetachedError unless the other side will hear of it, now or when the session is resumed."""
        if not self.established or self.state in ("attaching", "refused", "detaching", "ended"):
            raise SessionDetachedError(said, self.name, self.cause)

    def _refuse(self, exception: execution.Exception_) -> CommandId:
        id = say_exception(self, exception)
        self.state = "detaching"
        self.timeout = 0
        self.cause = f"we refused it with {exception.error_code}: {exception.description or ''}".rstrip(": ")
        return id

    def check_open(self, said: str) -> None:
        """ConnectionClosedError while the connection closes."""
        assert self.channel is not None
        cause = self.channel.carrier.closed_cause
        if cause is not None:
            raise ConnectionClosedError(said, cause)

    def _check_incomplete(self, verb: str, ids: RangeSet) -> None:
        incomplete = self.inbound.incomplete.freeze()
        if not ids or not ids.issubset(incomplete):
            legal = (f"{verb} {incomplete}",) if incomplete else ()
            what = f"{ids - incomplete} not incomplete" if ids else "no ids"
            raise LocalProtocolError(f"{verb} {ids}", what, legal)

    @property
    def legal(self) -> tuple[str, ...]:
        """What a caller may say now."""
        return {
            "attaching": ("session.detach",),
            "resuming": ("session.detach",),
            "attached": ("session.detach", "any command"),
        }.get(self.state, ())

    def __repr__(self) -> str:
        return f"<Session {self.name!r} {self.state}>"


__all__ = ["Ids", "Session", "State", "as_ids"]
