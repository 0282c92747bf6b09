"""The broker and its connections: virtual hosts in memory, without I/O; the caller drives it with octets, `tick` and `due`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import attrs

from amqp_sansio.broker.access import Access, Guard, Rules
from amqp_sansio.broker.config import DEFAULT_BROKER_CONFIG, BrokerConfig
from amqp_sansio.broker.fronts.front import Front, Holder, Service
from amqp_sansio.broker.fronts.served_families import FRONTS
from amqp_sansio.broker.journal import Entry, Journal, Opened
from amqp_sansio.broker.model.arguments import Hints
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import Form, Intake
from amqp_sansio.broker.model.subscribers import CONNECTION, Owner
from amqp_sansio.broker.snapshot import restore, take
from amqp_sansio.config import Accepted, Profile, Rejected, ServerConfig
from amqp_sansio.engine.handshake import Doorstep
from amqp_sansio.errors import EncodeError, LimitError, LocalProtocolError
from amqp_sansio.errors.core import many
from amqp_sansio.events import Event
from amqp_sansio.kernel.timers import AT_ONCE, Agenda, earliest, moment_of
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.front import FrontSubscription
    from amqp_sansio.broker.transactions import Coordinator
    from amqp_sansio.dialects import ConnectionCode


class Peer:
    """A connection of the broker, made by `Broker.connect`; the application owns the socket.

    `receive_data` and `receive_eof` store; `Broker.next_event` acts.  `Broker.ready` returns it when there is output to take.
    """

    __slots__ = (
        "_broker",
        "_config",
        "_connection",
        "_door",
        "_ended",
        "_eof",
        "_freed",
        "_identity",
        "_in_turn",
        "_lingered",
        "_most_output",
        "_service",
        "_host",
        "_stalled",
        "_waits",
        "_writable",
        "number",
        "_owner",
    )

    def __init__(self, broker: Broker, number: int, config: ServerConfig) -> None:
        self.number: Final = number
        """Its number among the broker's connections, from 1; it identifies the origin of messages."""
        self._owner: Final = Owner(CONNECTION, number)
        """Its identity in the model: the owner of queues that are exclusive to the connection."""
        self._broker: Final = broker
        self._config: Final = config
        self._most_output: Final = broker.limits.outbox_octets
        self._door: Doorstep | None = Doorstep(config)
        self._connection = self._door.connection
        self._connection._most_waiting = self._most_output
        self._identity: str | None = None
        self._host: VirtualHost | None = None
        """The virtual host that it opened."""
        self._stalled: Final[dict[FrontSubscription, None]] = {}
        """Consumers that missed a message because too much output was pending."""
        self._freed: Final[dict[Holder, None]] = {}
        """Sessions that keep less for replay than before, and for which something waited for that."""
        self._waits = False
        """Whether its request waits for the journal: until then none of its octets is read."""
        self._in_turn = False
        self._eof = False
        self._ended = False
        self._writable = True
        self._lingered = False
        self._service = broker._serving(self) if self._door.passed else Service(self)

    # --- the socket -------------------------------------------------------------------------------------------------------

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Stores octets from the client.  Raises LocalProtocolError after `receive_eof`."""
        if self._door is None:
            self._connection.receive_data(data)
        else:
            self._door.receive_data(data)
            self._enter()
        self._broker._stored(self)

    def receive_eof(self) -> None:
        """Records that the client sends nothing more.  May be repeated."""
        if self._door is None:
            self._connection.receive_eof()
        else:
            self._door.receive_eof()
            self._enter()
        self._eof = True
        self._broker._stored(self)

    def _enter(self) -> None:
        """Takes over the connection once the client's dialect is known."""
        assert self._door is not None
        if self._door.passed:
            self._connection = self._door.connection
            self._connection._most_waiting = self._most_output
            self._service = self._broker._serving(self)
            self._door = None

    def data_to_send(self) -> bytes:
        """Takes all pending output.  What waited for room continues, perhaps with more output at once."""
        octets = self._connection.data_to_send()
        self._broker._taken(self)
        return octets

    @property
    def bytes_to_send(self) -> int:
        """Octets of pending output, a lower bound; 0 when there are none."""
        return self._connection.bytes_to_send

    @property
    def wants_data(self) -> bool:
        """False while nothing more should be read: it has ended, it has stored enough, or its output must be taken first."""
        return self._connection.wants_data and not self.full

    @property
    def full(self) -> bool:
        """Whether too much output is pending for further deliveries (BrokerLimits.outbox_octets)."""
        return self._connection.bytes_to_send >= self._most_output

    @property
    def writable(self) -> bool:
        """Whether its socket accepts octets; set it to False while it does not.

        `Broker.ready` then omits the connection, so that a client that never reads costs the others nothing.
        """
        return self._writable

    @writable.setter
    def writable(self, writable: bool) -> None:
        self._writable = writable
        if writable and self._connection.bytes_to_send:
            self._broker._ready[self] = None

    @property
    def finished(self) -> bool:
        """True when it is over and all output was taken: close the socket."""
        return self._connection.finished

    @property
    def identity(self) -> str | None:
        """The client's authenticated identity, "" when it is anonymous; None until it is known."""
        return self._identity

    @property
    def ended(self) -> bool:
        """Whether the connection has ended."""
        return self._ended

    @property
    def is_open(self) -> bool:
        """Whether the client has logged in and opened a virtual host."""
        return self._connection.is_open

    def take_deferred(self) -> Callable[[], Accepted | Rejected] | None:
        """See `ServerConnection.take_deferred`."""
        return self._connection.take_deferred()

    def decided(self, verdict: Accepted | Rejected) -> None:
        """See `ServerConnection.decided`."""
        self._connection.decided(verdict)
        self._broker._stored(self)
        self._broker._ready[self] = None

    def close(self, code: ConnectionCode = CloseCode.NORMAL, text: str = "") -> None:
        """Closes the connection, as `ServerConnection.close` does and with the same errors."""
        self._connection.close(code, text)
        self._broker._ready[self] = None
        self._broker._agenda.note(self, self._connection.due)
        if self._connection.eventful:  # before both sides have agreed on a protocol header, a close ends it at once
            self._broker._stored(self)

    @property
    def _stopped_lingering(self) -> bool:
        """Returns whether the wait for the answer to our close has just ended; once."""
        if self._lingered and not self._connection.lingers:
            self._lingered = False
            return True
        return False

    # --- internals ------------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Ends the connection."""
        self._ended = True
        self._lingered = self._connection.lingers
        self._broker._forget_peer(self)

    def _tick(self, now: float) -> None:
        """Sets the time (monotonic seconds)."""
        broker, connection = self._broker, self._connection
        moment = connection.tick(now)
        if connection.bytes_to_send or self._stopped_lingering:
            broker._ready[self] = None
        broker._agenda.note(self, moment)
        if connection.eventful:
            broker._in_turn(self)

    def _continue_freed(self) -> None:
        """Lets whatever waited for the client's input continue: all of it is handled."""
        holders = list(self._freed)
        self._freed.clear()
        for holder in holders:
            holder.replay_freed()

    @property
    def held_up(self) -> bool:
        """Whether nothing is read from it now: it waits for the journal, or for its output to be taken."""
        return self._waits or (self.full and not self._eof)

    def __repr__(self) -> str:
        return f"<Peer {self._identity!r} {self._connection.state}>"


TURN: Final = 64
"""The most deliveries between two events, so that no connection waits longer to be read."""
WORK: Final = 16 * TURN
"""The most deliveries per virtual host while there is nothing to read: octets that arrive meanwhile wait no longer."""


class Broker:
    """A broker in memory.

    Connections come from `connect`; their sockets are yours.  The order in a loop: `Peer.receive_data`, `tick`, `events`, for
    each of `ready` `Peer.data_to_send`, and last `due`, the moment of the next round.  As long as anything can be done at once,
    `ready` is not empty or `due` has come.  `ready` contains a connection until its octets are taken; while its socket accepts
    none, set `Peer.writable`.  Nothing that a client sends makes it raise.

    `fronts` are the protocol families that it serves.
    """

    def __init__(self, config: BrokerConfig = DEFAULT_BROKER_CONFIG, *, fronts: Iterable[type[Front]] = FRONTS) -> None:
        self.config: Final = config
        self.limits: Final[BrokerLimits] = config.limits
        self._now: float | None = None
        self._began = 0.0  # the moment of the first tick; what was on the queues then counts as having arrived before it
        self.hints: Final = Hints()
        """Arguments of clients that the broker ignored: `take` them for a log."""
        self._journals: Final = Journal(config.journal)
        """The journal of durable changes, and what waits for it."""
        self._intake: Final = Intake(config.epoch)
        """Assigns the numbers of messages."""
        self._hosts: Final[dict[str, VirtualHost]] = {}
        self._agenda: Final[Agenda[Peer | Holder]] = Agenda()
        self._settling: Final[dict[Holder, None]] = {}
        """Sessions that owe accepts or rejects of publishes."""
        self._deletions: Final[list[tuple[Holder, str]]] = []  # sessions to notify of deleted queues
        self._clean = False  # whether a snapshot was taken without connections, and no client has connected since
        # The number of the entry `Opened` until it is stored, then 0.  Sessions send nothing before: a restored broker would
        # not know that their deliveries are redelivered.
        self._opened_entry = 0
        self._peers: Final[dict[Peer, None]] = {}
        self._connected = 0  # connections so far
        self._turns: Final[deque[Peer]] = deque()
        self._blocked: Final[dict[Peer, None]] = {}  # not read until their octets are taken
        self._ready: dict[Peer, None] = {}
        """The connections that may have octets to send."""
        self._to_tick: Final[dict[Peer | Holder, None]] = {}  # need the next tick: octets came, or a timer is to start
        self._referenced: Final[dict[str, None]] = {}  # virtual hosts that `host` has returned: never removed
        for name in config.virtual_hosts or ():
            self._begin_host(name)
        self._guard: Guard | None = None
        """Decides what clients may do; None: everything."""
        self._fronts: Final = tuple([front(self) for front in fronts])
        self._forms: Final[Mapping[str, Form]] = {front.FORM.name: front.FORM for front in self._fronts}
        self.set_access(config.access)

    def set_access(self, access: Access | None) -> None:
        """Replaces the access rules by these rules, or this function; None: everything is allowed.

        Ends subscriptions that are no longer allowed, with the reason.  Raises LimitError for more rules than `limits.rules`.
        """
        if isinstance(access, Rules) and len(access.rules) > self.limits.rules:
            raise LimitError("rules", self.limits.rules, len(access.rules))
        self._guard = None if access is None else Guard(access)
        if self._guard is None:
            return
        for peer in self.peers:
            front = self._front_of(peer)
            if front is not None and not self._serves(front) and peer._connection.closed_cause is None:
                peer.close(CloseCode.CONNECTION_FORCED, "the rules of this broker do not reach the dialect of the connection")
        for front in self._fronts:
            front.revoke(self._guard)

    # --- connections ------------------------------------------------------------------------------------------------------

    def connect(self, config: ServerConfig | None = None) -> Peer:
        """Returns a new connection, which waits for its client.  Raises what `ServerConnection` raises for a config.

        The config sets who may connect, and by which mechanisms; its `virtual_hosts` restrict those of the broker.
        """
        if config is not None and not isinstance(config, ServerConfig):
            raise EncodeError("config", f"takes a ServerConfig, not {type(config).__name__}")
        if config is None:
            config = ServerConfig(profile=Profile(error_codes=self.config.error_codes))
        # The model decodes a header once for all messages that share it; a command is complete once the broker has executed it.
        profile = attrs.evolve(config.profile, completion="default")
        properties = Map({**self.config.announced, **config.properties})
        self._connected += 1
        peer = Peer(self, self._connected, attrs.evolve(config, headers="lazy", profile=profile, properties=properties))
        self._peers[peer] = None
        self._to_tick[peer] = None
        if self._clean:
            self._clean = False
            number = self._opened_entry = self._journals.write(Opened(""))
            self._journals.after(number, lambda: self._opened_stored(number))
        return peer

    def _serving(self, peer: Peer) -> Service:
        """Returns the service for the client, whose dialect is now known."""
        front = self._front_of(peer)
        return Service(peer) if front is None or not self._serves(front) else front.serve(peer)

    def _front_of(self, peer: Peer) -> Front | None:
        return next((front for front in self._fronts if isinstance(peer._connection, front.CONNECTION)), None)

    def _serves(self, front: Front) -> bool:
        """Returns whether the front can serve: with rules, only one that asks the guard can."""
        return self._guard is None or front.GUARDED

    def _opened_stored(self, number: int) -> None:
        """Records that this entry `Opened` is stored: deliveries need not wait for it."""
        if self._opened_entry == number:
            self._opened_entry = 0

    @property
    def peers(self) -> tuple[Peer, ...]:
        """The connections that have not ended."""
        return tuple(self._peers)

    def ready(self) -> tuple[Peer, ...]:
        """Returns the connections that have octets to send and can (`Peer.writable`), or have ended.

        It returns a connection until its octets are taken, and an ended one once more.  Other connections cost nothing.
        """
        if not self._ready:
            return ()
        ready = tuple([peer for peer in self._ready if peer._ended or (peer._writable and peer.bytes_to_send)])
        if len(ready) < len(self._ready):
            self._ready = dict.fromkeys(ready)
        for peer in ready:
            # The application may hold no reference that would take them: returned once.
            if peer._ended and (peer._eof or not peer._writable or not peer.bytes_to_send):
                del self._ready[peer]
        return ready

    # --- events -----------------------------------------------------------------------------------------------------------

    def next_event(self) -> tuple[Peer, Event] | None:
        """Returns the next event and its connection; None when there is nothing to read.

        The broker has already acted on it.  Connections take turns, one event each, with deliveries in between, so that one
        client's flood does not delay the others.
        """
        turns = self._turns
        while turns:
            peer = turns.popleft()
            connection = peer._connection
            if peer._waits or (connection.bytes_to_send >= peer._most_output and not peer._eof):  # `Peer.held_up` inlined
                self._suspend(peer)
                continue
            event = connection.next_event()
            if event is None and connection._undecoded:  # others get a turn, even if their octets are not stored yet
                turns.append(peer)
                self._ready[peer] = None
                break
            if event is None:
                peer._in_turn = False
                if peer._freed:
                    peer._continue_freed()
                self._agenda.note(peer, connection.due)
                if connection.bytes_to_send or peer._stopped_lingering:
                    self._ready[peer] = None
                continue
            turns.append(peer)
            peer._service.act_on(event)
            if peer not in self._ready and connection.bytes_to_send:
                self._ready[peer] = None
            if self._deletions:
                self._tell_deletions()
            host = peer._host
            if host is not None and (host.dispatchable or host.wakeable):
                host.dispatch(TURN)
            return peer, event
        self._work()
        return None

    def events(self) -> Iterator[tuple[Peer, Event]]:
        """Yields events until there is none for now."""
        while (happened := self.next_event()) is not None:
            yield happened

    def _readable(self) -> bool:
        """Whether a connection in turn can be read; drops those before it that cannot."""
        while self._turns and self._turns[0].held_up:
            self._suspend(self._turns.popleft())
        return bool(self._turns)

    def _suspend(self, peer: Peer) -> None:
        """Stops reading a connection until its output, if there is too much, was taken or its journal entry stored."""
        peer._in_turn = False
        self._agenda.note(peer, peer._connection.due)
        if peer.full and not peer._eof:
            self._blocked[peer] = None

    def _work(self) -> None:
        """Does pending work when nothing is to be read, up to `WORK`; the rest is then due."""
        for host in self._hosts.values():
            host.move_some()
        busy, left = True, WORK
        while busy and left > 0:
            left -= TURN
            busy = False
            for host in self._hosts.values():
                if host.dispatchable or host.wakeable:
                    busy = host.dispatch(TURN) or busy
            if self._settling:
                settling = list(self._settling)
                self._settling.clear()
                for holder in settling:
                    holder.settle()
            if self._deletions:
                busy = True
                self._tell_deletions()
        for front in self._fronts:
            if front.pending:
                front.work()

    def _tell_deletions(self) -> None:
        deletions = self._deletions[:]
        self._deletions.clear()
        for holder, queue in deletions:
            holder.queue_deleted(queue)

    # --- notifications from peers and sessions --------------------------------------------------------------------------------

    def _stored(self, peer: Peer) -> None:
        """Records that the connection has octets to read, or the end of them."""
        self._to_tick[peer] = None
        self._in_turn(peer)

    def _in_turn(self, peer: Peer) -> None:
        """Records that the connection has an event."""
        if not peer._in_turn:
            peer._in_turn = True
            self._turns.append(peer)

    def _taken(self, peer: Peer) -> None:
        """Records that the connection's output was taken, which lets whatever waited for room continue."""
        self._ready.pop(peer, None)
        if peer in self._blocked:
            del self._blocked[peer]
            self._in_turn(peer)
        if peer._stalled:
            stalled = list(peer._stalled)
            peer._stalled.clear()
            for consumer in stalled:
                consumer.wake()
        host = peer._host
        if host is not None and (host.dispatchable or host.wakeable):
            host.dispatch(TURN)  # the rest is then due
        if peer._connection.bytes_to_send:
            self._ready[peer] = None

    def _forget_peer(self, peer: Peer) -> None:
        """Forgets a connection that has ended."""
        if peer._host is not None:
            peer._host.owner_ended(peer._owner)
            peer._host.users -= 1
        self._peers.pop(peer, None)
        self._blocked.pop(peer, None)
        self._agenda.forget(peer)
        self._ready[peer] = None
        if peer._connection.lingers:
            self._to_tick[peer] = None
        else:
            self._to_tick.pop(peer, None)

    def _keep(self, holder: Holder) -> None:
        """Keeps a holder without a connection: its timeout starts."""
        self._to_tick[holder] = None

    # --- virtual hosts ----------------------------------------------------------------------------------------------------

    def exists(self, name: str) -> bool:
        """Returns whether the virtual host exists, or may be created."""
        return self.config.virtual_hosts is None or name in self.config.virtual_hosts

    def _open(self, name: str) -> VirtualHost | None:
        """Returns the virtual host of that name, created on first use; None when it is not allowed.

        At the limit of virtual hosts, the broker first removes those that are empty and unused.
        """
        host = self._hosts.get(name)
        if host is not None or not self.exists(name):
            return host
        if len(self._hosts) >= self.limits.virtual_hosts:
            for idle in [each for each, kept in self._hosts.items() if kept.empty and each not in self._referenced]:
                del self._hosts[idle]
        return self._begin_host(name) if len(self._hosts) < self.limits.virtual_hosts else None

    def _begin_host(self, name: str) -> VirtualHost:
        config = self.config
        made = self._hosts[name] = VirtualHost(
            name,
            self._journals,
            self.limits,
            self._intake,
            config.error_codes,
            config.branch_timeout,
            config.most_branch_timeout,
        )
        return made

    def host(self, name: str = "") -> VirtualHost:
        """Returns the model of a virtual host, created on first use; it then stays.

        Raises LocalProtocolError for one that the config does not allow, LimitError for one too many.
        """
        host = self._open(name)
        if host is None:
            hosts = self.config.virtual_hosts
            if hosts is not None:
                legal = tuple([repr(each) for each in hosts])
                raise LocalProtocolError(f"host({name!r})", "no such virtual host", legal, "BrokerConfig.virtual_hosts")
            raise LimitError("virtual_hosts", self.limits.virtual_hosts, len(self._hosts) + 1)
        self._referenced[name] = None
        return host

    def coordinator(self, name: str = "") -> Coordinator:
        """Returns the coordinator of a virtual host's branches; administrators use its `in_doubt` and `complete`.

        Raises as `host` does.
        """
        return self.host(name).coordinator

    # --- time -------------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> float | None:
        """The time of the last tick (monotonic seconds); None before the first."""
        return self._now

    def tick(self, now: float) -> float | None:
        """Advances the clock to `now` (monotonic seconds), and does what is due; returns `due` as of this point.

        Sends heartbeats; ends handshakes and connections that time out, expired sessions, messages and branches.  Call it after
        `receive_data` and before `events`, in every round in which octets came: a message with a ttl expires that long after
        the last tick.  If its octets were stored after that, its time starts at the next tick, so that a program that ticks
        after the events loses nothing; only the expiration in its header (BrokerConfig.epoch) then counts from the last tick,
        and may be early.
        """
        now = moment_of(now)
        if self._now is None:
            self._began = now
        self._now = now
        due = dict.fromkeys(self._to_tick)
        self._to_tick.clear()
        for each in self._agenda.due(now):
            due[each] = None
        for each in due:
            if isinstance(each, Peer):
                each._tick(now)
            else:
                each.tick(now)
        moment: float | None = None
        for host in self._hosts.values():
            at = host.due
            if at is not None and at <= now:
                host.expire(now)
                at = host.due
            moment = earliest(moment, at)
        self._work()
        return now if self._to_tick or self._readable() else earliest(moment, self._agenda.next)

    @property
    def due(self) -> float | None:
        """The next moment at which there is something to do (monotonic seconds), None for never.

        Read it last, after `ready` and `Peer.data_to_send`.  It is not after the last tick while anything besides what `ready`
        returns can be done at once: octets to read, deliveries that others' progress allows, a timer that starts with the next
        tick.  Then run another round without waiting.
        """
        if self._to_tick or self._settling or self._deletions or self._readable() or any(each.pending for each in self._fronts):
            return self._at_once
        moment = self._agenda.next
        for host in self._hosts.values():
            if host.dispatchable or host.wakeable or host.leaving:
                return self._at_once
            moment = earliest(moment, host.due)
        return moment

    @property
    def _at_once(self) -> float:
        return AT_ONCE if self._now is None else self._now

    # --- the journal ------------------------------------------------------------------------------------------------------

    def journal(self) -> tuple[Entry, ...]:
        """Returns the durable changes since the last call, in order: store them, then call `journalled`."""
        return self._journals.take()

    def journalled(self, number: int) -> None:
        """Records that entries up to this number are stored, and does what waited.  LocalProtocolError for one not taken."""
        self._journals.journalled(number)
        self._work()

    # --- snapshots --------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, object]:
        """Returns all that must survive a restart, as a plain value of builtins; `snapshot.encode_snapshot` encodes it.

        It includes entries up to its "journal", even those not journalled yet: once it is stored they are safe, and `restore`
        skips them.
        """
        taken = take(self)
        self._clean = bool(taken["clean"])
        return taken

    @classmethod
    def restore(
        cls,
        snapshot: Mapping[str, object] | None,
        entries: Iterable[Entry] = (),
        *,
        config: BrokerConfig = DEFAULT_BROKER_CONFIG,
        fronts: Iterable[type[Front]] = FRONTS,
    ) -> Broker:
        """Restores a broker from a snapshot (None: empty) and the journal entries after it.

        Every message counts as redelivered, unless the snapshot was taken without any connection and no entry came after it.
        Raises RestoreError when the snapshot is damaged or of an unknown version, when entries are missing in between, or when
        the config does not allow its content.
        """
        broker = cls(config, fronts=fronts)
        restore(broker, snapshot, entries)
        broker.set_access(config.access)  # checks the subscriptions of kept sessions
        return broker

    def __repr__(self) -> str:
        return f"<Broker: {many(len(self._peers), 'connection')}, {many(len(self._hosts), 'virtual host')}>"
