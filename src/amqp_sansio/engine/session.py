"""The 0-10 session: its two halves, the commands that a caller can send, and its attachment to a channel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast
from uuid import UUID

from amqp_sansio.config import DEFAULT_PROFILE, Profile
from amqp_sansio.engine.connection import CommandId, Role
from amqp_sansio.engine.contents import Contents, is_global
from amqp_sansio.engine.demarcation import Demarcation, demarcation_of
from amqp_sansio.engine.inbound import Inbound, tell
from amqp_sansio.engine.outbound import ALONE, Outbound, prepare, say, say_exception, transfer
from amqp_sansio.engine.subscription import Subscriber, Subscribers, Subscription, Subscriptions
from amqp_sansio.engine.transactions import Dtx, Tx
from amqp_sansio.errors import ConnectionClosedError, DecodeError, EncodeError, LocalProtocolError, SessionDetachedError
from amqp_sansio.events import Event, Origin, SessionAttached, SessionDetached, TransactionEnded, TransactionOutcome, Violation
from amqp_sansio.kernel.machine import Machine, spoken_by
from amqp_sansio.kernel.serials import TOP, RangeSet, whole
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.kernel.timers import AT_ONCE, moment_of
from amqp_sansio.kernel.value import octets_of
from amqp_sansio.ledger.ids import TransferBook
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import dtx, execution, message, tx
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, DeliveryMode, ErrorCode, RejectCode
from amqp_sansio.spec.values import Value
from amqp_sansio.tables.demarcation import TX
from amqp_sansio.tables.session import (
    ANY_COMMAND,
    ATTACH,
    ATTACHED,
    ATTACHED_AGAIN,
    DETACH,
    ENDPOINT,
    EXCEPTION,
    EXPECTED,
    KEPT,
    OVER,
    TRANSPORT,
)
from amqp_sansio.wire.codec import DEFAULT_READING
from amqp_sansio.wire.layouts.properties import write_properties

if TYPE_CHECKING:
    from amqp_sansio.engine.channel import Channel
    from amqp_sansio.engine.outbound import Replaying

State: TypeAlias = Literal["detached", "attaching", "resuming", "attached", "refused", "detaching", "ended"]
"""The state of a session, one of those of `tables.session`, which defines each."""


def name_of(name: object) -> bytes:
    """Returns the name of a session as octets; text is encoded as UTF-8.  Raises EncodeError for anything else, or more than
    65535 octets."""
    try:
        octets = name.encode() if isinstance(name, str) else memoryview(name).tobytes()  # type: ignore[arg-type]  # or TypeError
    except (TypeError, ValueError):
        raise EncodeError("session.name", f"takes octets or text, not {type(name).__name__} {name!r:.40}") from None
    if len(octets) > 0xFFFF:
        raise EncodeError("session.name", f"at most 65535 octets, not {len(octets)}")
    return octets


def check_seconds(seconds: object) -> None:
    """Raises EncodeError unless `seconds` is a valid lifetime of a detached session."""
    if seconds is not None and (not whole(seconds) or isinstance(seconds, bool)):
        raise EncodeError("session.timeout", f"takes 0 to {TOP} seconds, or None for ever, not {seconds!r:.40}")


_VERSION: Final = 3
"""The version of the snapshot format."""
_SECONDS: Final = (int, type(None))
_FIELDS: Final = {
    "timeout": _SECONDS, "timeout_known": (bool,), "max_timeout": _SECONDS, "wanted": _SECONDS, "attachments": (int,),
    "established": (bool,),
}  # fmt: skip
"""Attributes of a session that are plain values, with their types."""

AnyIds: TypeAlias = RangeSet | int | Iterable[int]


def as_ids(ids: AnyIds) -> RangeSet:
    """Returns a set of ids, given as a set, one id or an iterable of ids.  Raises EncodeError for a number that is not
    an id."""
    if isinstance(ids, RangeSet):
        return ids
    try:
        return RangeSet.span(ids, ids) if isinstance(ids, int) else RangeSet.of(*ids)
    except (ValueError, TypeError) as error:
        raise EncodeError("session.commands", str(error)) from None


class Session:
    """A named conversation of two halves, which outlives the transports that it is attached to.

    Get one from a connection (`session`, `resume`, `accept`).  Every method that sends a command either raises and changes
    nothing, or sends it and returns its id. All raise SessionDetachedError while the session is not attached,
    ConnectionClosedError while the connection closes, EncodeError for values that the wire cannot carry, and LimitError where a
    local limit applies.

    `subscriptions` are this side's, `subscribers` the other side's.
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
        """Creates a detached session.

        `timeout` is how long it should live while detached; a client asks the server for that unless it is 0. `max_timeout` is
        the most that this side grants when the other asks.  Both in seconds; None: for ever, 0: not at all.
        """
        name = name_of(name)
        for seconds in (timeout, max_timeout):
            check_seconds(seconds)
        self.name: Final = name
        self.role: Final[Role] = role
        self.peer: Final[Role] = "server" if role == "client" else "client"
        self.profile: Final = profile
        self.limits: Final = limits
        self._timeout = timeout
        self._wanted = timeout
        """The detached lifetime that this side wants; the other side may grant less."""
        self._max_timeout = timeout if role == "client" and max_timeout == 0 else max_timeout
        self._endpoint: Final = Machine(ENDPOINT[role])
        self._state: State = "detached"
        """The state of `_endpoint`; only `_step` sets this and the next two."""
        self._hears = False
        """Whether this side processes commands and session controls from the other."""
        self._speaks = False
        """Whether the state of the session permits sending commands."""
        self._cause = "not attached yet"
        self._channel: Channel | None = None
        self._attachments = 0
        """The number of times attach was sent or accepted."""
        self._established = False
        """Whether it was ever attached: then the other side may have state of it."""
        self._outbound: Final = Outbound(timeout != 0 or max_timeout != 0, role, name)
        self._inbound: Final = Inbound(self.peer)
        self._transfers: Final[TransferBook[Subscription]] = TransferBook()
        self._transactions: Demarcation | None = None
        """The client's use of tx and dtx, whichever side this is; None until there is any.  See `demarcation_of`."""
        self._subscriptions: Final = Subscriptions()
        self._subscribers: Final = Subscribers()
        self._contents: Contents | None = None
        """State of the file and stream classes; None until one of their commands is used."""
        self._timeout_known = False
        self._held: list[Event] = []
        """Events of commands that arrived while the session was resuming."""
        self._held_octets = 0
        """The octets of those commands."""
        self._replaying: Replaying | None = None
        """What remains to be replayed before the session is attached."""
        self._touched = False
        self._detached_at: float | None = None
        self.completes_on_hand_out: Final = profile.completion == "on_hand_out" or (
            profile.completion == "default" and role == "client"
        )
        self._minds_headers = False
        """Whether the current connection decodes header structs on receipt, or reads with options other than the defaults."""
        self.counts_headers: Final = profile.octets != "body"
        self.charges_headers: Final = profile.strict and self.counts_headers
        """Whether octets of headers also count against a server's credit; Broker-J does not count them."""
        self.delivers: Final = role == "server"

    @property
    def in_doubt(self) -> RangeSet:
        """The ids of this side's commands that were sent and not yet reported complete."""
        return self._outbound.outstanding.freeze()

    @property
    def resumable(self) -> bool:
        """Whether the session may be attached again after its transport is lost."""
        return self.state != "ended" and self._timeout != 0

    @property
    def has_state(self) -> bool:
        """Whether any command was ever sent or received."""
        return self._outbound.begun or self._inbound.begun

    def _begin_transactions(self) -> Demarcation:
        """Makes the record of the client's use of tx and dtx."""
        self._transactions = Demarcation()
        return self._transactions

    @property
    def _place(self) -> Channel:
        """The channel underneath; only valid while there is one."""
        assert self._channel is not None
        return self._channel

    @property
    def state(self) -> State:
        """The state of the session; see `State`."""
        return self._state

    @property
    def timeout(self) -> int | None:
        """The detached lifetime in seconds (None: for ever): what this side wants, until a timeout is granted."""
        return self._timeout

    @property
    def cause(self) -> str:
        """Why the session cannot send now; "" when it can."""
        return self._cause

    @property
    def subscriptions(self) -> Mapping[str, Subscription]:
        """This side's subscriptions, by destination."""
        return MappingProxyType(self._subscriptions.current)

    @property
    def subscribers(self) -> Mapping[str, Subscriber]:
        """The other side's subscriptions, by destination."""
        return MappingProxyType(self._subscribers.current)

    def _may(self, verb: str) -> bool:
        """Returns whether this side may now use this verb of `tables.session`."""
        return self._endpoint.can(self.role, verb)

    def _step(self, speaker: str, verb: str) -> None:
        """Steps the state machine by a verb of `speaker`, which must be legal now."""
        endpoint = self._endpoint
        refusal = endpoint.step(speaker, verb)
        assert refusal is None, refusal
        self._state = cast(State, endpoint.state)
        self._hears = endpoint.can(self.peer, ANY_COMMAND)
        self._speaks = endpoint.can(self.role, ANY_COMMAND)

    def check_speak(self, said: str) -> None:
        """Raises SessionDetachedError or ConnectionClosedError unless the session may send commands now."""
        if not self._speaks:
            raise SessionDetachedError(said, self.name, self._cause)
        if self._channel is None or self._channel.carrier._closed_cause is not None:
            self.check_open(said)

    def _flush_pending(self) -> None:
        """Does what `inbound.tell` does, for the half that sends."""
        tell(self)

    def _touch(self) -> None:
        """Schedules the session to write before `data_to_send` next takes octets."""
        if not self._touched and self._channel is not None:
            self._touched = True
            self._channel.channels.touch(self)

    def _complete_now(self, ids: RangeSet) -> None:
        """Completes incomplete commands of the other side, with their effects on credit and message.flush."""
        self._inbound.complete(ids)
        self._subscriptions.give_back(self._transfers.complete(ids))
        if self._subscribers.flushes:
            self._subscribers.end_flushes(ids)
        self._touch()

    def codes_of(self, id: int | None) -> tuple[int | None, int | None]:
        """Returns the class code and command code of an incomplete command of the other side, None for what is unknown."""
        if id is None:
            return None, None
        owed = self._inbound.owed.get(id)
        if owed is not None:
            return owed.class_code, owed.code
        if id in self._inbound.outstanding:
            return 4, 1
        return None, None

    def _say(self, control: Control) -> None:
        """Writes a control on the session's channel."""
        self._place.say(control)

    def _emit(self, event: Event) -> None:
        """Passes an event to the connection."""
        self._place.carrier._emit(event)

    def _hold(self, octets: int) -> int:
        """Counts the octets of a command that arrived while the session was resuming, and returns the total so far."""
        self._held_octets += octets
        return self._held_octets

    def _emit_held(self) -> None:
        """Emits the events of commands that arrived while the session was resuming, in order."""
        held, self._held, self._held_octets = self._held, [], 0
        for event in held:
            self._place.carrier._emit(event)

    def check_open(self, said: str) -> None:
        """Raises ConnectionClosedError while the connection closes."""
        cause = self._place.carrier._closed_cause
        if cause is not None:
            raise ConnectionClosedError(said, cause)

    @property
    def legal(self) -> tuple[str, ...]:
        """The verbs that a caller may use now."""
        return spoken_by(self.role, self._endpoint.legal)

    def request_timeout(self, seconds: int | None) -> None:
        """Asks the other side to keep the session for so long while detached; `TimeoutGranted` reports what it grants.

        `seconds` None: for ever.  0: not at all; once that is granted, nothing is kept for replay.
        """
        self.check_speak("session.request-timeout")
        check_seconds(seconds)
        self._say(controls.RequestTimeout(seconds))
        self._wanted = seconds
        if seconds != 0:
            self._outbound.begin_retaining()

    def snapshot(self) -> dict[str, object]:
        """Returns the whole state as a plain value of builtins and values of `spec`, which can be stored, pickled and compared.

        State of a single attachment (the channel, its command-points) is not included.  See `restore`.
        """
        return {
            "version": _VERSION, "name": self.name, "role": self.role,
            **{name: getattr(self, f"_{name}") for name in _FIELDS}, "ended": self.state == "ended", "cause": self._cause,
            **self._outbound.snapshot(), **self._inbound.snapshot(),
            "demarcation": demarcation_of(self).snapshot(), **self._subscriptions.snapshot(self._transfers),
            **self._subscribers.snapshot(), "contents": self._contents and self._contents.snapshot(),
        }  # fmt: skip

    @classmethod
    def restore(
        cls, snapshot: Mapping[str, object], *, profile: Profile = DEFAULT_PROFILE, limits: Limits = DEFAULT_LIMITS
    ) -> Session:
        """Returns a detached session in the state of a snapshot.  Raises DecodeError for a value that `snapshot` did not
        produce."""
        given: Mapping[str, Any] = snapshot
        try:
            if given.get("version") != _VERSION:
                raise ValueError(f"version {given.get('version')!r}: this library reads version {_VERSION}")
            name, role = typed(given["name"], bytes), given["role"]
            if role not in ("client", "server"):
                raise ValueError(f"role {role!r}")
            most = given["max_timeout"]
            session = cls(name, role, timeout=given["timeout"], max_timeout=most, profile=profile, limits=limits)
            check_seconds(given["wanted"])
            for field, kinds in _FIELDS.items():
                setattr(session, f"_{field}", typed(given[field], *kinds))
            if typed(given["ended"], bool):
                session._step(TRANSPORT, OVER)
            cause = typed(given["cause"], str)
            session._cause = cause if given["ended"] else "restored, and not attached yet"
            session._outbound.restore(given)
            session._inbound.restore(given)
            session._transactions = Demarcation.restore(given["demarcation"])
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
        """Requests the attachment; `SessionAttached` or `SessionDetached` follows.  Repeating the call has no effect.

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
        if not self._channel.dialogue.can(self.role, ATTACH):
            raise LocalProtocolError("session.attach", "detaching", ("after session.detached",))
        self._channel.say(controls.Attach(self.name, force))
        first = self.state == "detached"
        self._step(self.role, ATTACH)
        if first:
            self._cause = "waiting for attached"
            self._begin()

    def detach(self) -> None:
        """Ends the attachment; `SessionDetached` follows.  With a timeout of 0 this also ends the session."""
        if not self._may(DETACH):
            raise SessionDetachedError("session.detach", self.name, self._cause)
        self.check_open("session.detach")
        self._flush_pending()
        self._say(controls.Detach(self.name))
        self._step(self.role, DETACH)
        self._cause = "detached by us"

    def tick(self, now: float) -> float | None:
        """Advances the clock of a detached session to `now` (monotonic seconds), and ends the session when its timeout has
        passed.

        The timeout starts with the first tick after the detachment.  Returns `due`.
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

        `AT_ONCE` when its timeout starts with the next tick; None when it is not detached or never ends.
        """
        if self.state != "detached" or self._channel is not None or self._timeout is None or not self._established:
            return None
        return AT_ONCE if self._detached_at is None else self._detached_at + self._timeout

    # --- saying commands --------------------------------------------------------------------------------------------------

    def send(self, command: Command, *headers: Struct | bytes, body: bytes = b"", sync: bool = False) -> CommandId:
        """Sends any command and returns its id.

        `headers` are header structs, or their encoded octets, for commands that carry content.  `sync` asks for prompt
        completion. Raises LocalProtocolError for a command that is illegal now, and NoCredit for a transfer without credit.
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
        """Raises EncodeError unless it is a command, and SessionDetachedError or ConnectionClosedError while the session cannot
        send."""
        if not isinstance(command, Command):
            raise EncodeError("command", f"a command of spec, not {type(command).__name__}")
        self.check_speak(command.VERB)

    def send_all(self, commands: Sequence[Command]) -> list[CommandId]:
        """Sends several commands without content, all or none.

        Raises LocalProtocolError for commands that decide about one another (`ALONE`).
        """
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

        Give its properties one by one, as the fields of delivery-properties and message-properties, or else in `headers`:
        structs, or encoded octets such as the header of a received message.

        With accept-mode NONE, completion means that it arrived; EXPLICIT also asks for accept or reject, which not every broker
        sends. Raises NoCredit when the other side throttles this one, or the subscriber has no credit.
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
        """Transfers a message to a subscriber, in the modes of its subscription.  Raises NoCredit when the subscriber has
        none."""
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
        """Subscribes to a queue, under a `destination` unique in the session.  No message arrives before
        `Subscription.grant`."""
        self.send(
            message.Subscribe(
                queue, destination, accept_mode, acquire_mode, exclusive, resume_id, resume_ttl, arguments
            ),
            sync=sync,
        )  # fmt: skip
        return self._subscriptions.current[destination or ""]

    def accept(self, ids: AnyIds, *, sync: bool = False) -> CommandId:
        """Accepts acquired transfers, which settles them: their ids may not be used again."""
        return self.send(message.Accept(as_ids(ids)), sync=sync)

    def reject(
        self, ids: AnyIds, code: RejectCode = RejectCode.UNSPECIFIED, text: str = "", *, sync: bool = False
    ) -> CommandId:
        """Rejects acquired transfers."""
        return self.send(message.Reject(as_ids(ids), code, text or None), sync=sync)

    def release(self, ids: AnyIds, set_redelivered: bool = False, *, sync: bool = False) -> CommandId:
        """Releases transfers, acquired or not; `set_redelivered` marks them as redelivered."""
        return self.send(message.Release(as_ids(ids), set_redelivered), sync=sync)

    def acquire(self, ids: AnyIds, *, sync: bool = False) -> CommandId:
        """Asks to acquire transfers that arrived not acquired; `ResultReceived` lists those acquired."""
        return self.send(message.Acquire(as_ids(ids)), sync=sync)

    def sync(self) -> CommandId:
        """Sends a barrier (execution.sync): its completion means that every earlier command is complete."""
        return self.send(execution.Sync(), sync=True)

    def flush(self, expected: bool = False, confirmed: bool = False, completed: bool = True) -> None:
        """Asks the other side which commands it expects, has confirmed and has completed so far.  Not a barrier (see
        `sync`)."""
        self.check_speak("session.flush")
        self._say(controls.Flush(expected, confirmed, completed))
        if expected:
            self._outbound.ask_expected()

    # --- transactions (a client's) ------------------------------------------------------------------------------------------

    def select_tx(self) -> Tx:
        """Makes the session transactional, irrevocably (tx.select).  See also `tx`.

        Raises LocalProtocolError on a session that already is, that has dtx.select, or that has a subscription with accept-mode
        none.
        """
        self.send(tx.Select())
        return self.tx

    def select_dtx(self) -> Dtx:
        """Enables distributed transactions on the session (dtx.select); repeating the call does no harm.  See also `dtx`."""
        self.send(dtx.Select())
        return self.dtx

    @property
    def tx(self) -> Tx:
        """The verbs of a session with tx.select, resumed ones included; without it they raise."""
        return Tx(self)

    @property
    def dtx(self) -> Dtx:
        """The verbs of distributed transactions; those that decide a branch (prepare, commit, recover, ...) need no
        dtx.select."""
        return Dtx(self)

    # --- answering the other side's commands ------------------------------------------------------------------------------

    def complete(self, ids: AnyIds) -> None:
        """Marks these commands of the other side as executed; the session reports it before the next octets are taken.

        Also works while the session is detached and resumable: it reports them when it is attached again.
        """
        done = self._incomplete("session.completed", ids)
        self._inbound.check_results_given(done)
        self._complete_now(done)

    def confirm(self, ids: AnyIds) -> None:
        """Promises that these commands of the other side will complete; the session reports it on request."""
        self._inbound.confirmed.update(self._incomplete("session.confirmed", ids))

    def result(self, id: CommandId, value: Struct | None = None) -> CommandId:
        """Sends the result of a command of the other side, once, before it is completed."""
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
        """Refuses a command of the other side (`id` None: no particular one) with an error code, which ends the session.

        Sends execution.exception and detach.  Whatever arrives until detached is discarded, then `SessionDetached` follows.
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

    def _refuse(self, exception: execution.Exception_) -> CommandId:
        id = say_exception(self, exception)
        self._refused(self.role, f"we refused it with {exception.error_code}: {exception.description or ''}")
        return id

    def _incomplete(self, verb: str, given: AnyIds) -> RangeSet:
        """Returns the ids of incomplete commands that a report is about.

        Raises SessionDetachedError unless it can reach the other side, now or when the session is resumed.
        """
        ids = as_ids(given)
        if not self._established or self.state in ("attaching", "refused", "detaching", "ended"):
            raise SessionDetachedError(verb, self.name, self._cause)
        incomplete = self._inbound.outstanding.freeze()
        if self._inbound.skipped.highs:
            incomplete |= self._inbound.skipped.freeze()
        if not ids or not ids.issubset(incomplete):
            legal = (f"{verb} {incomplete}",) if incomplete else ()
            raise LocalProtocolError(f"{verb} {ids}", f"{ids - incomplete} not incomplete" if ids else "no ids", legal)
        return ids

    def __repr__(self) -> str:
        return f"<Session {self.name!r} {self.state}>"

    # --- attached, and over ---------------------------------------------------------------------------------------------------

    def _refused(self, speaker: str, cause: str) -> None:
        """Ends the session after an exception from `speaker`; only the detach remains."""
        self._step(speaker, EXCEPTION)
        self._timeout = 0
        self._cause = cause.rstrip(": ")

    def _attached(self, speaker: Role) -> None:
        """Handles `attached`, sent by `speaker`: a new session is ready for commands, a resumed one first asks for the other
        side's state."""
        if self._established:
            self._step(speaker, ATTACHED_AGAIN)
            self._subscriptions.resume(self._outbound.next_id)
            self._cause = "waiting for what the other side expects"
            self._say(controls.Flush(True, True, True))
            self._outbound.ask_expected()
        else:
            self._step(speaker, ATTACHED)
            self._ready(False)

    def _resumed(self, resumed: bool = True) -> None:
        """Resumes after the other side reported what it expects.  `resumed`: it still has the state of the session."""
        self._replaying = None
        if not resumed:
            self._timeout_known = False  # the other side may have made a new one, which was never asked to live on
        self._step(self.peer, EXPECTED)
        self._ready(resumed)

    def _ready(self, resumed: bool) -> None:
        """Makes the session ready to send commands."""
        self._cause = ""
        self._established = True
        self._emit(SessionAttached(self.name, self._place.number, resumed))
        self._emit_held()
        if self.role == "client" and self._timeout != 0 and not self._timeout_known:
            self._say(controls.RequestTimeout(self._timeout))

    def _said_content(self, contents: Contents, speaker: Role, command: Command, id: int) -> None:
        """Records a command of class file or stream that `speaker` sent with this id, and that `contents` permits."""
        self._contents = contents
        contents.step(speaker, command, id)
        if is_global(command) and self._channel is not None:
            for other in self._channel.channels.sessions:
                if other is not self and other._contents is not None:
                    other._contents.close_window()

    def _keep_for(self, seconds: int | None) -> None:
        """Sets the detached lifetime until a timeout is granted."""
        self._timeout = seconds

    def _granted(self, seconds: int | None) -> None:
        """Adopts the detached lifetime that either side granted."""
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
        """Ends the attachment: emits SessionDetached and frees the channel.

        The session ends with it when `ended`, or when its detached lifetime is 0 and `keep` is not given.
        """
        channel = self._place
        code = None if code is None else int(code)
        ended = ended or (self._timeout == 0 and not keep and self.state != "attaching")
        self._step(TRANSPORT, OVER if ended else KEPT)
        self._emit_held()
        self._cause = text or f"{origin} detached it" + (f" (code {code})" if code else "")
        if violation is not None:
            self._cause = f"{violation.rule}: {violation.text or violation.said}"
        if ended and self.role == "client":
            for event in self._outbound.ended():
                self._emit(event)
            if (
                self._transactions is not None
                and self._transactions.state == TX
                and self._outbound.next_id != self._outbound.boundary
            ):
                self._emit(TransactionEnded(self.name, None, TransactionOutcome.ROLLED_BACK))
        self._emit(
            SessionDetached(self.name, channel.number, origin, code, text, violation, self.in_doubt, ended)
        )  # fmt: skip
        self._detached_at = None  # its time begins at its next tick: the last one of the connection may be long ago
        self._touched = False
        self._replaying = None
        self._unbind()

    def _bind(self, channel: Channel) -> None:
        """Puts the session on a channel."""
        carrier = channel.carrier
        self._channel = channel
        self._minds_headers = carrier.eager_headers or carrier.reading != DEFAULT_READING

    def _unbind(self) -> None:
        """Takes the session off its channel."""
        self._place.vacate()
        self._channel = None

    def _begin(self) -> None:
        """Starts an attachment in both halves, with no knowledge of the new channel yet."""
        self._attachments += 1
        self._outbound.begin_attachment()
        self._inbound.begin_attachment()


__all__ = ["AnyIds", "Session", "as_ids"]
