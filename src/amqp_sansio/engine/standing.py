"""Where a session stands: what it remembers of both halves, how it gets a channel and loses it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from amqp_sansio.config import DEFAULT_PROFILE, Profile
from amqp_sansio.engine import feedback
from amqp_sansio.engine.carrier import Role
from amqp_sansio.engine.contents import Contents, is_global
from amqp_sansio.engine.inbound import Inbound
from amqp_sansio.engine.outbound import Outbound
from amqp_sansio.engine.subscription import Subscriber, Subscribers, Subscription, Subscriptions
from amqp_sansio.errors import ConnectionClosedError, EncodeError, SessionDetachedError
from amqp_sansio.events import Event, Origin, SessionAttached, SessionDetached, TransactionEnded, TransactionOutcome, Violation
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import TOP, RangeSet, whole
from amqp_sansio.ledger.demarcation import Demarcation
from amqp_sansio.ledger.transfers import Transfers
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command
from amqp_sansio.tables.demarcation import TX
from amqp_sansio.tables.endpoint import ATTACHED_AGAIN, COMMAND, ENDPOINT, EXCEPTION, KEPT, OVER, TRANSPORT
from amqp_sansio.tables.session import ATTACHED, EXPECTED
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.reading import DEFAULT_READING

if TYPE_CHECKING:
    from amqp_sansio.engine.carrier import Carrier
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


class Standing:
    """What is under `Session`: its memory, without the verbs.

    The rest of the engine reads and steps it; a caller has no business here but to look.
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
