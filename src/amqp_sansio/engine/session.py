"""A session: both halves of it, and the verbs by which a caller speaks on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct as Packing
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from amqp_sansio.config import DEFAULT_PROFILE, Profile
from amqp_sansio.engine.carrier import CommandId, Role
from amqp_sansio.engine.credit import Credit
from amqp_sansio.engine.inbound import Inbound
from amqp_sansio.engine.outbound import Outbound
from amqp_sansio.engine.results import Results
from amqp_sansio.engine.speaking import Effect, check_command, check_fragments, check_modes
from amqp_sansio.engine.subscription import Subscriber, Subscription
from amqp_sansio.engine.transfers import Transfers
from amqp_sansio.errors import (
    ConnectionClosedError,
    EncodeError,
    LocalProtocolError,
    NoCredit,
    SessionDetachedError,
)
from amqp_sansio.events import Event, Origin, SessionAttached, SessionDetached, Violation
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import execution, message
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.values import Value
from amqp_sansio.wire.segments import frame_command

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

_pack: Final = Packing(">BBHHHI").pack  # a frame header: flags, type, size, track, channel, reserved
_CACHED: Final = 256


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
        if len(name) > 0xFFFF:
            raise EncodeError("session.name", f"at most 65535 octets, not {len(name)}")
        self.name: Final = name
        self.role: Final[Role] = role
        self.profile: Final = profile
        self.limits: Final = limits
        self.timeout = timeout
        """How long it lives while detached: what we want until somebody grants something else."""
        self.max_timeout: Final = timeout if role == "client" and max_timeout == 0 else max_timeout
        self.state: State = "detached"
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
        self._touched = False
        self._detached_at: float | None = None
        self._commands: dict[tuple[str, int, int, bool], tuple[bytes, bytes]] = {}
        self.completes_on_hand_out: Final = profile.completion == "on_hand_out" or (
            profile.completion == "default" and role == "client"
        )
        self.eager_headers = False
        """Whether header structs are decoded on receipt, on the connection that carries it now."""
        self.counts_headers: Final = profile.octets != "body"

    # --- attachment -------------------------------------------------------------------------------------------------------

    def bind(self, channel: Channel) -> None:
        """Puts the session on a free channel, on which `attach` then speaks."""
        if self.state != "detached" or self.channel is not None:
            raise LocalProtocolError("session.attach", self.state, self._legal(), "session.attach.one-transport-per-session")
        if not channel.free:
            raise LocalProtocolError(
                "session.attach", "the channel is in use", ("a free channel",), "session.attach.one-session-per-transport"
            )
        self.take(channel)

    def attach(self, force: bool = False) -> None:
        """Asks for the attachment; `SessionAttached` or `SessionDetached` follows.  Said again it does no harm.

        `force` takes the session away from another transport.
        """
        if self.state == "ended":
            raise SessionDetachedError("session.attach", self.name, self.cause)
        if self.state in ("resuming", "attached"):
            return
        if self.channel is None:
            raise SessionDetachedError("session.attach", self.name, f"{self.cause}; resume it on a connection")
        if self.state not in ("detached", "attaching"):
            raise SessionDetachedError("session.attach", self.name, self.cause)
        self._check_open("session.attach")
        if self.state == "attaching" and not force:
            return
        if not self.channel.can_say("session.attach"):
            raise LocalProtocolError("session.attach", "detaching", ("after session.detached",))
        self.channel.say(controls.Attach(self.name, force))
        if self.state == "detached":
            self.state = "attaching"
            self.cause = "waiting for attached"
            self._begin_attachment()

    def detach(self) -> None:
        """Ends the attachment; `SessionDetached` follows.  With a timeout of 0 it ends the session as well."""
        if self.state not in ("attaching", "resuming", "attached"):
            raise SessionDetachedError("session.detach", self.name, self.cause)
        self._check_open("session.detach")
        assert self.channel is not None
        self.flush_pending()
        self.channel.say(controls.Detach(self.name))
        self.state = "detaching"
        self.cause = "detached by us"

    def request_timeout(self, seconds: int | None) -> None:
        """Asks the other side to keep the session so long while detached; `TimeoutGranted` tells what it grants.

        None: for ever.  0: not at all; then nothing is kept for replay any more once that is granted.
        """
        self.check_speak("session.request-timeout")
        assert self.channel is not None
        self.channel.say(controls.RequestTimeout(seconds))
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

    def tick(self, now: float) -> float | None:
        """For a detached session: ends it when its time is over; the moment at which to ask again, None when never."""
        if self.state != "detached" or self.channel is not None or self.timeout is None or not self.attachments:
            return None
        if self._detached_at is None:
            self._detached_at = now
        due = self._detached_at + self.timeout
        if now < due:
            return due
        self.state = "ended"
        self.cause = f"detached for {self.timeout} s"
        return None

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
            return self._transfer(
                command.destination or "", command.accept_mode or 0, command.acquire_mode or 0, headers, body, sync
            )
        if isinstance(command, execution.Exception_):
            return self._fail(command)
        return self._say([self._prepare(command, headers, body, sync)])[0]

    def send_all(self, commands: Sequence[Command]) -> list[CommandId]:
        """Says several commands without content, all of them or none."""
        self.check_speak(commands[0].VERB)
        return self._say([self._prepare(command, (), b"", False) for command in commands])

    def publish(
        self,
        destination: str = "",
        *headers: Struct | bytes,
        body: bytes = b"",
        accept_mode: int = 1,
        acquire_mode: int = 0,
        sync: bool = False,
    ) -> CommandId:
        """Transfers a message to an exchange ("" is the default exchange), or as a server to a subscriber's destination.

        Accept-mode 1 (none): completion tells that it arrived; 0 (explicit) asks for accept or reject as well, which not every
        broker says.  NoCredit when the other side throttles us, or the subscriber has no credit.
        """
        if self.role == "server":
            return self.deliver(destination, *headers, body=body, sync=sync)
        return self._transfer(destination, accept_mode, acquire_mode, headers, body, sync)

    def deliver(self, destination: str, *headers: Struct | bytes, body: bytes = b"", sync: bool = False) -> CommandId:
        """Transfers a message to a subscriber, in the modes that it subscribed with.  NoCredit without its credit."""
        subscriber = self.subscribers.get(destination)
        if subscriber is None:
            self.check_speak("message.transfer")
            raise self._no_subscriber(destination)
        return self._transfer(destination, subscriber.accept_mode, subscriber.acquire_mode, headers, body, sync)

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
        self.outbound.expected_asked += expected

    # --- answering the other side's commands ------------------------------------------------------------------------------

    def complete(self, ids: Ids) -> None:
        """These commands of the other side are executed; it is told before the next octets are taken."""
        done = as_ids(ids)
        self.check_speak("session.completed")
        self._check_incomplete("session.completed", done)
        self.results.check_complete(done)
        self.complete_now(done)

    def confirm(self, ids: Ids) -> None:
        """These commands of the other side will complete for certain; it is told when it asks."""
        sure = as_ids(ids)
        self.check_speak("session.confirmed")
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
        if id is not None and not self.inbound.seen(id):
            raise LocalProtocolError(
                f"execution.exception for {id}", "no such command was received", ("execution.exception for None",)
            )
        class_code, command_code = self.codes_of(id)
        return self._fail(
            execution.Exception_(code, id, class_code, command_code, field_index, text or None, error_info)
        )  # fmt: skip

    # --- for the engine ---------------------------------------------------------------------------------------------------

    @property
    def carrier(self) -> Carrier:
        """The connection underneath; only while there is a channel."""
        assert self.channel is not None
        return self.channel.carrier

    @property
    def hears(self) -> bool:
        """Whether what the other side says on the channel counts."""
        return self.state in ("attached", "resuming", "refused")

    def check_speak(self, said: str) -> None:
        """SessionDetachedError or ConnectionClosedError unless commands may be said now."""
        if self.state != "attached":
            raise SessionDetachedError(said, self.name, self.cause)
        self._check_open(said)

    def flush_pending(self) -> None:
        """Writes what was gathered since the last time: completed, and known-completed where it was asked for."""
        self._touched = False
        if self.state not in ("attached", "resuming") or self.channel is None:
            return
        if self.inbound.due:
            self.inbound.due = False
            self.write_completed(self.inbound.wants_timely())
        if self.outbound.known_due:
            for part in self._parts(self.outbound.take_known()):
                self.channel.say(controls.KnownCompleted(part))

    def write_completed(self, timely: bool) -> None:
        """Says all completions that the other side does not know of, the empty set too."""
        assert self.channel is not None
        for part in self._parts(self.inbound.completed.freeze()):
            self.channel.say(controls.Completed(part, timely))

    def write_confirmed(self) -> None:
        """Says what is confirmed and not known to be: with us, all that is complete is."""
        assert self.channel is not None
        for part in self._parts(self.inbound.confirmed.freeze() | self.inbound.completed.freeze()):
            self.channel.say(controls.Confirmed(part))

    def _parts(self, ids: RangeSet) -> list[RangeSet]:
        """A set cut so that each part fits into one control."""
        room = (self.carrier.max_frame_size - 18) // 8
        ranges = ids.ranges
        if len(ranges) <= room:
            return [ids]
        return [RangeSet(ranges[at : at + room]) for at in range(0, len(ranges), room)]

    def touch(self) -> None:
        """There is something to write before the next octets are taken."""
        if not self._touched and self.channel is not None:
            self._touched = True
            self.channel.carrier.touch(self)

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

    def attached(self) -> None:
        """The transport is ours: either speak, or first find out what the other side has."""
        if self.established:
            self.state = "resuming"
            self.cause = "waiting for what the other side expects"
            assert self.channel is not None
            self.channel.say(controls.Flush(True, True, True))
            self.outbound.expected_asked += 1
        else:
            self.ready(False)

    def take(self, channel: Channel) -> None:
        """The channel is this session's."""
        self.channel = channel
        channel.session = self
        self.eager_headers = channel.carrier.eager_headers
        self._commands.clear()

    def accepted(self) -> None:
        """As `attached`, on the side that was asked."""
        self._begin_attachment()
        self.attached()

    def ready(self, resumed: bool) -> None:
        """May be spoken on."""
        assert self.channel is not None
        self.state = "attached"
        self.cause = ""
        self.established = True
        self.emit(SessionAttached(self.name, self.channel.number, resumed))
        if self.role == "client" and self.timeout != 0 and not self.timeout_known:
            self.channel.say(controls.RequestTimeout(self.timeout))

    def granted(self, seconds: int | None) -> None:
        """Somebody granted a detached lifetime: it is ours from now on."""
        self.timeout = seconds
        self.timeout_known = True
        if seconds == 0:
            self.outbound.stop_retaining()
        else:
            self.outbound.retain = True

    def leave(
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
        channel = self.channel
        assert channel is not None
        ended = ended or (self.timeout == 0 and not keep and self.state != "attaching")
        self.state = "ended" if ended else "detached"
        self.cause = text or f"{origin} detached it" + (f" (code {code})" if code else "")
        if violation is not None:
            self.cause = f"{violation.rule}: {violation.text or violation.said}"
        self.emit(
            SessionDetached(self.name, channel.number, origin, code, text, violation, self.in_doubt, ended)
        )  # fmt: skip
        self._detached_at = channel.carrier.now
        self._touched = False
        self.channel = None
        channel.session = None
        channel.carrier.forget(channel.number)

    def _begin_attachment(self) -> None:
        self.attachments += 1
        self.outbound.begin_attachment()
        self.inbound.begin_attachment()

    def _check_open(self, said: str) -> None:
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

    def _legal(self) -> tuple[str, ...]:
        return {
            "attaching": ("session.detach",),
            "resuming": ("session.detach",),
            "attached": ("session.detach", "any command"),
        }.get(self.state, ())

    def _encode_headers(self, headers: tuple[Struct | bytes, ...], verb: str) -> bytes | None:
        """The header segment; None without any."""
        if not headers:
            return None
        layout = self.carrier.layout
        parts: list[bytes] = []
        for struct in headers:
            if isinstance(struct, bytes):
                parts.append(struct)
            else:
                if isinstance(struct, message.FragmentProperties):
                    check_fragments(self, "message.fragment-properties")
                parts.append(layout.encode_struct32(struct))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _prepare(
        self, command: Command, headers: tuple[Struct | bytes, ...], body: bytes, sync: bool
    ) -> tuple[bytes, bytes | None, bytes | None, list[bytes], Effect | None]:
        """Checks and encodes; changes nothing."""
        assert self.channel is not None
        carrier = self.channel.carrier
        verb = command.VERB
        if (headers or body) and verb not in carrier.layout.segments:
            raise LocalProtocolError(f"{verb} with content", "a command without segments", (f"{verb} without content",))
        effect = check_command(self, command)
        payload = carrier.layout.encode_command(command, sync)
        header = self._encode_headers(headers, verb)
        content = octets_of(body) or None
        frames = frame_command(self.channel.number, payload, header, content, carrier.max_frame_size)
        return payload, header, content, frames, effect

    def _say(
        self, prepared: list[tuple[bytes, bytes | None, bytes | None, list[bytes], Effect | None]]
    ) -> list[CommandId]:  # fmt: skip
        outbound = self.outbound
        if outbound.retain:
            octets = sum([len(payload) + len(header or b"") + len(body or b"") for payload, header, body, _, _ in prepared])
            outbound.check_room(octets, self.limits)
        ids: list[CommandId] = []
        for payload, header, body, frames, effect in prepared:
            self.write_point()
            self.carrier.write(b"".join(frames) if len(frames) > 1 else frames[0])
            id = outbound.say(payload, header, body)
            ids.append(id)
            if effect is not None:
                effect(id)
        return ids

    def write_point(self) -> None:
        """Says command-point when the other side would number the next command otherwise."""
        assert self.channel is not None
        outbound = self.outbound
        if outbound.position != outbound.next_id:
            self.channel.say(controls.CommandPoint(outbound.next_id, 0))
            outbound.position = outbound.next_id

    def _transfer(
        self,
        destination: str,
        accept_mode: int,
        acquire_mode: int,
        headers: tuple[Struct | bytes, ...],
        body: bytes,
        sync: bool,
    ) -> CommandId:
        """The one way a message goes out.  Nothing changes before everything was checked and encoded."""
        channel = self.channel
        if channel is None or self.state != "attached" or channel.carrier.closed_cause is not None:
            self.check_speak("message.transfer")
            raise AssertionError(self.state)
        carrier = channel.carrier
        command = self._commands.get((destination, accept_mode, acquire_mode, sync))
        if command is None:
            command = self._encode_transfer(channel, destination, accept_mode, acquire_mode, sync)
        payload, frame = command
        header = self._encode_headers(headers, "message.transfer") if headers else None
        content: bytes | None = octets_of(body)
        header_octets = 0 if header is None else len(header)
        body_octets = 0 if content is None else len(content)
        room = carrier.max_frame_size - 12
        if body_octets and header is not None and header_octets <= room and body_octets <= room:
            octets = b"".join((
                frame, _pack(0x03, 2, header_octets + 12, 1, channel.number, 0), header,
                _pack(0x07, 3, body_octets + 12, 1, channel.number, 0), content or b"",
            ))  # fmt: skip
        else:
            if not body_octets:
                content = None
            octets = b"".join(frame_command(channel.number, payload, header, content, carrier.max_frame_size))
        subscriber: Subscriber | None = None
        cost = 0
        producer = self.producer
        if producer is not None and not producer.allows(1):
            raise NoCredit("", "message", 1, 0)
        if self.role == "server":
            cost = header_octets + body_octets if self.counts_headers else body_octets
            subscriber = self._subscriber(destination, cost)
        outbound = self.outbound
        if outbound.retain:
            outbound.check_room(len(payload) + header_octets + body_octets, self.limits)
        if outbound.position != outbound.next_id:
            self.write_point()
        carrier.write(octets)
        id = outbound.say(payload, header, content)
        if producer is not None:
            producer.spend(1)
        if subscriber is not None:
            subscriber.flow.transfer(cost)
            if subscriber.flow.mode:
                self.windows[id] = (subscriber, cost)
        return id

    def _encode_transfer(
        self, channel: Channel, destination: str, accept_mode: int, acquire_mode: int, sync: bool
    ) -> tuple[bytes, bytes]:
        """The command segment of a transfer, and the frame with it where content follows; remembered."""
        check_modes(accept_mode, acquire_mode)
        payload = channel.carrier.layout.encode_command(message.Transfer(destination, accept_mode, acquire_mode), sync)
        command = payload, _pack(0x0B, 1, len(payload) + 12, 1, channel.number, 0) + payload
        if len(self._commands) >= _CACHED:
            self._commands.clear()
        self._commands[destination, accept_mode, acquire_mode, sync] = command
        return command

    def _subscriber(self, destination: str, cost: int) -> Subscriber:
        """The subscriber of a destination, when it has the credit.  Changes nothing."""
        subscriber = self.subscribers.get(destination)
        if subscriber is None:
            raise self._no_subscriber(destination)
        flow = subscriber.flow
        if not flow.messages.allows(1):
            raise NoCredit(destination, "message", 1, flow.messages.available)
        if not flow.octets.allows(cost):
            raise NoCredit(destination, "byte", cost, flow.octets.available)
        return subscriber

    def _no_subscriber(self, destination: str) -> LocalProtocolError:
        legal = tuple([f"message.transfer {name!r}" for name in list(self.subscribers)[:8]])
        return LocalProtocolError(f"message.transfer {destination!r}", "no such subscriber", legal)

    def _fail(self, exception: execution.Exception_) -> CommandId:
        """Says an exception, then detach."""
        channel = self.channel
        assert channel is not None
        payload = channel.carrier.layout.encode_command(exception, False)
        frames = frame_command(channel.number, payload, None, None, channel.carrier.max_frame_size)
        self.flush_pending()
        self.write_point()
        channel.carrier.write(b"".join(frames))
        id = self.outbound.say(payload, None, None)
        self.outbound.outstanding.discard_id(id)  # it ends the session: nobody will ever complete it
        channel.say(controls.Detach(self.name))
        self.state = "detaching"
        self.timeout = 0
        self.cause = f"we refused it with {exception.error_code}: {exception.description or ''}".rstrip(": ")
        return id

    def __repr__(self) -> str:
        return f"<Session {self.name!r} {self.state}>"


def octets_of(body: bytes) -> bytes:
    """The body as bytes.  EncodeError for what is no octets."""
    if type(body) is bytes:
        return body
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise EncodeError("body", f"octets, not {type(body).__name__}")
    return bytes(body)


__all__ = ["Ids", "Session", "State", "as_ids"]
