"""A session: its two halves, the commands that a caller can send, and how it is attached and detached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast
from uuid import UUID

from amqp_sansio.config import DEFAULT_PROFILE, Profile
from amqp_sansio.engine import feedback
from amqp_sansio.engine.carrier import Carrier, CommandId, Role
from amqp_sansio.engine.contents import Contents, is_global
from amqp_sansio.engine.inbound import Inbound
from amqp_sansio.engine.outbound import Outbound
from amqp_sansio.engine.subscription import Subscriber, Subscribers, Subscription, Subscriptions
from amqp_sansio.engine.transactions import Dtx, Tx
from amqp_sansio.engine.transmit import ALONE, prepare, say, say_exception, transfer
from amqp_sansio.errors import ConnectionClosedError, DecodeError, EncodeError, LocalProtocolError, SessionDetachedError
from amqp_sansio.events import Event, Origin, SessionAttached, SessionDetached, TransactionEnded, TransactionOutcome, Violation
from amqp_sansio.kernel.deadlines import AT_ONCE, moment_of
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.octets import octets_of
from amqp_sansio.kernel.serials import TOP, RangeSet, whole
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.ledger.demarcation import Demarcation
from amqp_sansio.ledger.transfers import Transfers
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import dtx, execution, message, tx
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, DeliveryMode, ErrorCode, RejectCode
from amqp_sansio.spec.values import Value
from amqp_sansio.tables.demarcation import TX
from amqp_sansio.tables.endpoint import ATTACHED_AGAIN, COMMAND, ENDPOINT, EXCEPTION, KEPT, OVER, TRANSPORT
from amqp_sansio.tables.session import ATTACH, ATTACHED, DETACH, EXPECTED
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.layouts.properties import write_properties
from amqp_sansio.wire.reading import DEFAULT_READING

if TYPE_CHECKING:
    from amqp_sansio.engine.channel import Channel
    from amqp_sansio.engine.replaying import Replaying

State: TypeAlias = Literal["detached", "attaching", "resuming", "attached", "refused", "detaching", "ended"]
"""Where a session stands: the states of `tables.endpoint`, which says what each means."""


def name_of(name: object) -> bytes:
    """The name of a session, which callers may have given anything for: octets, or text, which is UTF-8.  EncodeError."""
    try:
        octets = name.encode() if isinstance(name, str) else memoryview(name).tobytes()  # type: ignore[arg-type]  # or TypeError
    except (TypeError, ValueError):
        raise EncodeError("session.name", f"takes octets or text, not {type(name).__name__} {name!r:.40}") from None
    if len(octets) > 0xFFFF:
        raise EncodeError("session.name", f"at most 65535 octets, not {len(octets)}")
    return octets


def check_seconds(seconds: object) -> None:
    """EncodeError for what is no lifetime of a detached session."""
    if seconds is not None and not whole(seconds):
        raise EncodeError("session.timeout", f"takes 0 to {TOP} seconds, or None for ever, not {seconds!r:.40}")


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


class Session:
    """A named conversation of two halves, which outlives the transports that it is attached to.

    Get one from a connection (`session`, `resume`, `accept`).  Every verb either raises and changes nothing, or has said its
    command: then the id of the command is returned.  SessionDetachedError while it is not attached, ConnectionClosedError
    while the connection closes, EncodeError for values that the wire cannot carry, LimitError where one of our limits stands.

    `subscriptions` are ours, `subscribers` the other side's.
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
        self.peer: Final[Role] = "server" if role == "client" else "client"
        self.profile: Final = profile
        self.limits: Final = limits
        self._timeout = timeout
        self._wanted = timeout
        """How long we want it to live while detached: what the other side grants may be less."""
        self._max_timeout = timeout if role == "client" and max_timeout == 0 else max_timeout
        self._endpoint: Final = Machine(ENDPOINT[role])
        self._state: State = "detached"
        """The state of `_endpoint`; this and the next two are set by its steps alone."""
        self._hears = False
        """Whether what the other side says on the channel counts."""
        self._speaks = False
        """Whether the session, as far as it is concerned, may send commands."""
        self._cause = "not attached yet"
        self._channel: Channel | None = None
        self._attachments = 0
        """How often attach was sent or accepted."""
        self._established = False
        """Whether it was ever attached: then the other side may have state of it."""
        self._outbound: Final = Outbound(timeout != 0 or max_timeout != 0, role, name)
        self._inbound: Final = Inbound(self.peer)
        self._transfers: Final[Transfers[Subscription]] = Transfers()
        self._demarcation = Demarcation()
        """What the client says of transactions, whichever side we are."""
        self._subscriptions: Final = Subscriptions()
        self._subscribers: Final = Subscribers()
        self._contents: Contents | None = None
        """Files and streams; None as long as nobody spoke of them."""
        self._timeout_known = False
        self._held: list[Event] = []
        """Events of commands that came while the session was resuming."""
        self._held_octets = 0
        """Of those commands."""
        self._replaying: Replaying | None = None
        """What is left to say again before the session is attached."""
        self._touched = False
        self._detached_at: float | None = None
        self.completes_on_hand_out: Final = profile.completion == "on_hand_out" or (
            profile.completion == "default" and role == "client"
        )
        self._minds_headers = False
        """Whether the connection that carries it now reads header structs on receipt, or otherwise than by default."""
        self.counts_headers: Final = profile.octets != "body"
        self.charges_headers: Final = profile.strict and self.counts_headers
        """Whether a server is held to its credit in octets of headers too, which Broker-J does not count."""
        self.delivers: Final = role == "server"

    @property
    def in_doubt(self) -> RangeSet:
        """Our commands that were sent and of which the other side has not said that they are complete."""
        return self._outbound.outstanding.freeze()

    @property
    def resumable(self) -> bool:
        """Whether it may be attached again after a loss of its transport."""
        return self.state != "ended" and self._timeout != 0

    @property
    def has_state(self) -> bool:
        """Whether anything was ever said in either half."""
        return self._outbound.begun or self._inbound.begun

    @property
    def _carrier(self) -> Carrier:
        """The connection underneath; only while there is a channel."""
        assert self._channel is not None
        return self._channel.carrier

    @property
    def _layout(self) -> Layout:
        """Encodes methods; only while there is a channel."""
        assert self._channel is not None
        return self._channel.layout

    @property
    def state(self) -> State:
        """Where the session stands: see `State`."""
        return self._state

    @property
    def timeout(self) -> int | None:
        """Seconds that it lives while detached (None: for ever): what we want until somebody grants something else."""
        return self._timeout

    @property
    def cause(self) -> str:
        """Why it cannot send now; "" when it can."""
        return self._cause

    @property
    def subscriptions(self) -> Mapping[str, Subscription]:
        """What we subscribed to, by destination."""
        return MappingProxyType(self._subscriptions.current)

    @property
    def subscribers(self) -> Mapping[str, Subscriber]:
        """Who at the other side subscribed to us, by destination."""
        return MappingProxyType(self._subscribers.current)

    def _may(self, verb: str) -> bool:
        """Whether we may say this word of `tables.endpoint` now."""
        return self._endpoint.can(self.role, verb)

    def _step(self, speaker: str, verb: str) -> None:
        """`speaker` says a word of `tables.endpoint`, which is legal now."""
        endpoint = self._endpoint
        refusal = endpoint.step(speaker, verb)
        assert refusal is None, refusal
        self._state = cast(State, endpoint.state)
        self._hears = endpoint.can(self.peer, COMMAND)
        self._speaks = endpoint.can(self.role, COMMAND)

    def check_speak(self, said: str) -> None:
        """SessionDetachedError or ConnectionClosedError unless it may send commands now."""
        if not self._speaks:
            raise SessionDetachedError(said, self.name, self._cause)
        if self._channel is None or self._channel.carrier._closed_cause is not None:
            self.check_open(said)

    def _flush_pending(self) -> None:
        """Writes what was gathered since the last time: completed, and what was asked for by flush or a timely-reply."""
        self._touched = False
        if self._state in ("attached", "resuming") and self._channel is not None:
            feedback.tell(self)

    def _touch(self) -> None:
        """There is something to write before the next octets are taken."""
        if not self._touched and self._channel is not None:
            self._touched = True
            self._channel.channels.touch(self)

    def _complete_now(self, ids: RangeSet) -> None:
        """Completes incomplete commands of the other side, and what hangs on them."""
        self._inbound.complete(ids)
        self._subscriptions.give_back(self._transfers.complete(ids))
        if self._subscribers.flushes:
            self._subscribers.end_flushes(ids)
        self._touch()

    def _complete_one(self, id: int) -> None:
        """Completes one incomplete command of the other side, whose result was sent if it has one: `complete` unchecked."""
        inbound = self._inbound
        if id in self._transfers.deliveries or id in self._subscribers.flushes or inbound.skipped:
            self._complete_now(RangeSet.of(id))
            return
        inbound.complete_one(id)
        self._touch()

    def codes_of(self, id: int | None) -> tuple[int | None, int | None]:
        """Class code and code of a command of the other side that is under way."""
        if id is None:
            return None, None
        owed = self._inbound.owed.get(id)
        if owed is not None:
            return owed.class_code, owed.code
        if id in self._inbound.outstanding:
            return 4, 1
        return None, None

    def _emit(self, event: Event) -> None:
        """Hands an event to the connection."""
        self._carrier._emit(event)

    def _emit_command(self, event: Event) -> None:
        """Hands on what a command of the other side became: behind SessionAttached, for nothing can be answered before."""
        if self.state == "resuming":
            self._held.append(event)
        else:
            self._carrier._emit(event)

    def _hold(self, octets: int) -> int:
        """A command of `octets` octets came while the session was resuming: the octets of all that came."""
        self._held_octets += octets
        return self._held_octets

    def _emit_held(self) -> None:
        """The commands that came while the session was resuming, in order."""
        held, self._held, self._held_octets = self._held, [], 0
        for event in held:
            self._carrier._emit(event)

    def check_open(self, said: str) -> None:
        """ConnectionClosedError while the connection closes."""
        assert self._channel is not None
        cause = self._channel.carrier._closed_cause
        if cause is not None:
            raise ConnectionClosedError(said, cause)

    @property
    def legal(self) -> tuple[str, ...]:
        """What a caller may say now."""
        prefix = f"{self.role}:"
        return tuple([word.removeprefix(prefix) for word in self._endpoint.legal if word.startswith(prefix)])

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
        if self._inbound.skipped.highs:
            incomplete |= self._inbound.skipped.freeze()
        if not ids or not ids.issubset(incomplete):
            legal = (f"{verb} {incomplete}",) if incomplete else ()
            what = f"{ids - incomplete} not incomplete" if ids else "no ids"
            raise LocalProtocolError(f"{verb} {ids}", what, legal)

    def __repr__(self) -> str:
        return f"<Session {self.name!r} {self.state}>"

    # --- attached, and over ---------------------------------------------------------------------------------------------------

    def _refused(self, speaker: str, cause: str) -> None:
        """`speaker` says an exception: the session is over, but for the detach behind it."""
        self._step(speaker, EXCEPTION)
        self._timeout = 0
        self._cause = cause.rstrip(": ")

    def _attached(self, speaker: Role) -> None:
        """`speaker` sent attached: commands may follow, or first we find out what the other side has."""
        if self._established:
            self._step(speaker, ATTACHED_AGAIN)
            self._subscriptions.resume(self._outbound.next_id)
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
        self._replaying = None
        if not resumed:
            self._timeout_known = False  # it may be a new one over there, which nobody has asked to be kept
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

    def _said_content(self, contents: Contents, speaker: Role, command: Command, id: int) -> None:
        """`speaker` said a command of class file or stream, to which `contents` objects nothing, as its command `id`."""
        self._contents = contents
        contents.step(speaker, command, id)
        if is_global(command) and self._channel is not None:
            for other in self._channel.channels.sessions:
                if other is not self and other._contents is not None:
                    other._contents.close_window()

    def _keep_for(self, seconds: int | None) -> None:
        """It lives so long while detached, until somebody grants something else."""
        self._timeout = seconds

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
            for event in self._outbound.ended():
                self._emit(event)
            if self._demarcation.state == TX and self._outbound.next_id != self._outbound.boundary:
                self._emit(TransactionEnded(self.name, None, TransactionOutcome.ROLLED_BACK))
        self._emit(
            SessionDetached(self.name, channel.number, origin, code, text, violation, self.in_doubt, ended)
        )  # fmt: skip
        self._detached_at = None  # its time begins at its next tick: the last one of the connection may be long ago
        self._touched = False
        self._replaying = None
        self._unbind()

    def _bind(self, channel: Channel) -> None:
        """The channel is ours."""
        carrier = channel.carrier
        self._channel = channel
        self._minds_headers = carrier.eager_headers or carrier.reading != DEFAULT_READING

    def _unbind(self) -> None:
        """We have no channel any more."""
        if self._channel is not None:
            self._channel.vacate()
        self._channel = None

    def _begin(self) -> None:
        """Both halves begin an attachment: nothing is known of the new channel yet."""
        self._attachments += 1
        self._outbound.begin_attachment()
        self._inbound.begin_attachment()


__all__ = ["Ids", "Session", "as_ids"]
