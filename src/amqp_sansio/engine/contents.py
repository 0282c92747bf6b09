"""The files and streams of one session; client, server and observer run the same rules.

The rows are in `tables.content_classes`; `Consumers`, `Staging` and `Deliveries` keep what the rows
cannot.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from amqp_sansio.engine.findings import Findings, Objection, some
from amqp_sansio.errors import LimitError, LocalProtocolError
from amqp_sansio.kernel.machine import Machine, Refusal, Table
from amqp_sansio.kernel.serials import RangeSet, pick
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.limits import Limits
from amqp_sansio.spec import file, stream
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.tables import content_classes as rows
from amqp_sansio.tables.connection import CLIENT, OTHER_SIDE, SERVER
from amqp_sansio.tables.content_classes import (
    COMPLETED,
    CONSUMER,
    FILE,
    NO_CONSUMER,
    OPEN,
    OPEN_OK,
    PUBLISHING,
    QOS,
    STAGE,
    STAGING,
    STREAM,
    nowait,
)
from amqp_sansio.tables.session import COMMAND_SPEAKERS

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session


def refused(machine: Machine, speaker: str, verb: str) -> Refusal | None:
    """Returns the refusal that `machine` would give, without changing its state."""
    return None if machine.can(speaker, verb) else machine.step(speaker, verb)


AnyConsume: TypeAlias = file.Consume | stream.Consume


def _acks(command: AnyConsume) -> bool:
    return isinstance(command, file.Consume) and not command.no_ack


class Consumers:
    """The consumers of one class.

    `late`: we missed the beginning of the conversation, so any tag may be in use.  `role`: a server executes a cancel when it
    receives it; a client sends nothing that would leave it unsure what to acknowledge.
    """

    __slots__ = ("_acks", "_cancels", "_latest", "_machines", "_name", "_role", "_table", "late")

    def __init__(self, name: str, table: Table, role: str | None, late: bool) -> None:
        self._name: Final = name
        self._table: Final = table
        self._role: Final = role
        self.late = late
        self._machines: dict[str, Machine] = {}
        self._acks: dict[str, bool | None] = {}
        self._cancels: dict[int, str] = {}
        self._latest: dict[str, int] = {}

    def acknowledged(self, tag: str) -> bool | None:
        """Returns whether deliveries to a tag need an acknowledgement; None when unknown."""
        return self._acks.get(tag)

    def check_consume(self, command: AnyConsume, most: int) -> Objection | None:
        """Checks a consume; at most `most` consumers may exist."""
        verb, tag = command.VERB, command.consumer_tag or ""
        said = f"{verb} {tag!r:.80}"
        if not command.queue:
            rule, legal = f"{verb}.queue.queue-exists-if-empty", ("the name of a queue",)
            return Objection(rule, said, legal, ErrorCode.NOT_ALLOWED, "a consume names a queue")
        if not tag:
            rule, legal = f"{verb}.consumer-tag.not-empty-consumer-tag", ("a tag that is not empty",)
            return Objection(rule, said, legal, ErrorCode.NOT_ALLOWED, "the tag is empty")
        refusal = refused(self._machine(tag), CLIENT, nowait(self._name) if command.nowait else verb)
        if refusal is not None:
            if f"{self._name}.cancel" in refusal.legal_for(CLIENT):
                rule = f"{verb}.consumer-tag.not-existing-consumer"
                cancel = f"{self._name}.cancel {tag!r:.80}"
                return Objection(rule, said, (cancel, "another tag"), ErrorCode.NOT_ALLOWED, "a consumer has that tag")
            text = "the consumer that had that tag before was not answered yet"
            return Objection(verb, said, ("another tag",), ErrorCode.ILLEGAL_STATE, text)
        if self._role == CLIENT and self._acks.get(tag, _acks(command)) is not _acks(command):
            text = "what is under way for the old consumer of that tag is acknowledged otherwise"
            ways = ("another tag", f"the same when {self._name}.cancel is complete")
            return Objection(verb, said, ways, ErrorCode.ILLEGAL_STATE, text)
        if tag not in self._machines and len(self._machines) >= most:
            code, legal = ErrorCode.RESOURCE_LIMIT_EXCEEDED, (f"at most {most} consumers",)
            return Objection("limits.subscriptions", said, legal, code, f"more than {most} consumers")
        return None

    def check(self, speaker: str, verb: str, tag: str) -> Objection | None:
        """Checks a consume-ok, cancel or deliver for a tag."""
        machine = self._machine(tag)
        if refused(machine, speaker, verb) is None:
            return None
        able = [f"{verb} {name}" for name in some(name for name, m in self._machines.items() if m.can(speaker, verb))]
        said = f"{verb} {tag!r:.80}"
        code, text = ErrorCode.ILLEGAL_STATE, f"the consumer is in state {machine.state}"
        if verb == f"{self._name}.consume-ok":
            text = "no consume waits for this answer"
        elif machine.state == NO_CONSUMER:
            code, text = ErrorCode.NOT_FOUND, "no consumer has that tag"
        return Objection(verb, said, tuple(able), code, text)

    def consume(self, command: AnyConsume) -> None:
        """Records a consume."""
        tag = command.consumer_tag or ""
        acks = _acks(command)
        machine = self._machine(tag)
        fresh = machine.states == (NO_CONSUMER,)
        self._machines[tag] = machine
        machine.step(CLIENT, nowait(self._name) if command.nowait else command.VERB)
        # Deliveries still in flight to the tag's former consumer keep the former consumer's terms.
        self._acks[tag] = acks if fresh or self._acks.get(tag) is acks else None

    def step(self, speaker: str, verb: str, tag: str, id: int | None) -> None:
        """Records a consume-ok, cancel or deliver, sent as command `id` (None: unknown)."""
        machine = self._machine(tag)
        if machine.step(speaker, verb) is not None:
            return
        self._machines.setdefault(tag, machine)
        if verb == f"{self._name}.cancel":
            self._forget_cancel(tag)
            if self._role == SERVER:
                machine.step(SERVER, COMPLETED)
            elif id is not None:
                self._cancels[id] = tag
                self._latest[tag] = id
        self._tidy(tag, machine)

    def completed(self, ids: RangeSet) -> None:
        """Records that the server has executed these commands of the client."""
        for id in pick(ids, self._cancels) if self._cancels else ():
            tag = self._cancels.pop(id)
            self._latest.pop(tag, None)
            machine = self._machines.get(tag)
            if machine is not None and machine.can(SERVER, COMPLETED):
                machine.step(SERVER, COMPLETED)
                self._tidy(tag, machine)

    def forget(self) -> None:
        """Records a gap: any tag may be in use."""
        self.late = True
        for kept in (self._machines, self._acks, self._cancels, self._latest):
            kept.clear()

    def snapshot(self) -> dict[str, object]:
        """Returns the state as a plain value."""
        return {
            "tags": tuple([(tag, machine.states, self._acks.get(tag)) for tag, machine in self._machines.items()]),
            "cancels": tuple(self._cancels.items()),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        for tag, states, acks in snapshot["tags"]:
            self._machines[typed(tag, str)] = Machine(self._table).restore(states)
            self._acks[tag] = typed(acks, bool, type(None))
        self._cancels.update(snapshot["cancels"])
        self._latest.update({tag: id for id, tag in self._cancels.items()})
        RangeSet.of(*self._cancels)

    def _machine(self, tag: str) -> Machine:
        machine = self._machines.get(tag)
        if machine is None:
            machine = Machine.unknown(self._table) if self.late else Machine(self._table)
        return machine

    def _tidy(self, tag: str, machine: Machine) -> None:
        if machine.states == (NO_CONSUMER,):
            self._machines.pop(tag, None)
            self._acks.pop(tag, None)
            self._forget_cancel(tag)

    def _forget_cancel(self, tag: str) -> None:
        before = self._latest.pop(tag, None)
        if before is not None:
            self._cancels.pop(before, None)


_OFFSET: Final = "file.open-ok.staged-size.behavior"
_WAITS: Final = {
    OPEN: "another file is being staged, and the answers do not say which file they are about",
    OPEN_OK: "no file.open waits for this answer",
    STAGE: "no file.open-ok has said where to begin",
}


class Staging:
    """The files that `sender` stages.

    Remembers at most `most` identifiers; beyond that, using an unknown one is not a violation.
    """

    __slots__ = ("_forgot", "_machine", "_most", "_offset", "_sender", "_size", "_sizes")

    def __init__(self, sender: str, most: int, late: bool) -> None:
        self._sender: Final = sender
        self._most: Final = most
        table = STAGING[sender]
        self._machine = Machine.unknown(table) if late else Machine(table)
        self._size: int | None = None
        self._offset: int | None = None
        self._sizes: dict[str, int | None] = {}
        self._forgot = late

    def size(self, identifier: str) -> int | None:
        """Returns the octets of an opened file; None when unknown."""
        return self._sizes.get(identifier)

    def check(self, speaker: str, command: file.Open | file.OpenOk | file.Stage, octets: int | None) -> Objection | None:
        """Checks a command of the staging; `octets` is the size of its content, None when unknown."""
        verb = command.VERB
        refusal = refused(self._machine, speaker, verb)
        if refusal is not None:
            return Objection(verb, verb, refusal.legal_for(speaker), ErrorCode.ILLEGAL_STATE, _WAITS[verb])
        if isinstance(command, file.OpenOk):
            have, size = command.staged_size, self._size
            if have is not None and size is not None and have > size:
                said, legal, text = f"{verb} with {have}", (f"{verb} with 0 to {size}",), f"the file has {size} octets"
                return Objection(_OFFSET, said, legal, ErrorCode.INVALID_ARGUMENT, text)
        elif isinstance(command, file.Stage) and octets is not None and self._size is not None and self._offset is not None:
            rest = self._size - self._offset
            if octets != rest:
                text = f"{self._size} octets were announced, of which {self._offset} were staged before"
                rule = _OFFSET if self._offset else "file.open.content-size.content-size"
                said, legal = f"{verb} with {octets} octets", (f"{verb} with {rest} octets",)
                return Objection(rule, said, legal, ErrorCode.INVALID_ARGUMENT, text)
        return None

    def check_use(self, verb: str, identifier: str) -> Objection | None:
        """Checks the file that publish or deliver names; the objection is unsure if we did not see it opened.

        A staging area may outlive sessions, so it may have been opened before.
        """
        if self._forgot or (identifier in self._sizes and self._machine.can(self._sender, verb)):
            return None
        legal = (*[f"{verb} of {name}" for name in some(self._sizes)], OPEN)
        text = "no such file was staged in this session"
        return Objection(f"{verb}.identifier", f"{verb} of {identifier!r:.80}", legal, ErrorCode.ILLEGAL_STATE, text, False)

    def step(self, speaker: str, command: file.Open | file.OpenOk | file.Stage) -> None:
        """Records a command of the staging."""
        self._machine.step(speaker, command.VERB)
        if isinstance(command, file.Open):
            self._size, self._offset = command.content_size, None
            identifier = command.identifier or ""
            self._sizes.pop(identifier, None)
            if len(self._sizes) >= self._most:
                self._forgot = True
                del self._sizes[next(iter(self._sizes))]
            self._sizes[identifier] = command.content_size
        elif isinstance(command, file.OpenOk):
            self._offset = command.staged_size or 0
        else:
            self._size = self._offset = None

    def forget(self) -> None:
        """Records a gap."""
        self._machine.forget()
        self._size = self._offset = None
        self._sizes.clear()
        self._forgot = True

    def snapshot(self) -> dict[str, object]:
        """Returns the state as a plain value."""
        return {
            "states": self._machine.states,
            "size": self._size,
            "offset": self._offset,
            "files": tuple(self._sizes.items()),
            "forgot": self._forgot,
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        self._machine.restore(snapshot["states"])
        self._size, self._offset = [typed(snapshot[name], int, type(None)) for name in ("size", "offset")]
        self._sizes.update({identifier: typed(size, int, type(None)) for identifier, size in snapshot["files"]})
        self._forgot = bool(snapshot["forgot"])


_MOVES: Final = rows.DELIVERY.moves


FileDelivery: TypeAlias = tuple[str, int | None, int, int]
"""Its state, its command's id (None: unknown), the file's octets (0: unknown), and its number in the session."""


class Deliveries:
    """The deliveries of one session.

    `late`: we missed some deliveries, so any tag may name one.  `at_once`: a delivery counts as received when it is read.

    `_open` is in order.  `_perhaps` holds deliveries that an acknowledgement of "all" may have crossed in flight.  `_all` is
    the last such acknowledgement until the server has completed it: until then, any delivery may have been sent before it.
    """

    __slots__ = ("_all", "_at_once", "_count", "_ids", "_octets", "_open", "_perhaps", "_received", "_window", "late")

    def __init__(self, at_once: bool, late: bool) -> None:
        self._at_once: Final = at_once
        self.late = late
        # Ordered, and removed from the front: a plain dict would step over removed entries again and again.
        self._open: dict[int, FileDelivery] = OrderedDict()
        self._perhaps: dict[int, FileDelivery] = OrderedDict()
        self._count = 0
        self._received: dict[int, None] = {}
        self._ids: dict[int, int] = {}
        self._all: int | None = None
        self._octets = 0
        self._window: tuple[int, int] | None = None if late else (0, 0)

    def open_window(self, octets: int, messages: int) -> None:
        """Sets the prefetch window; 0 is unlimited."""
        if self._window is not None:
            self._window = octets, messages

    def close_window(self) -> None:
        """Forgets the prefetch window."""
        self._window = None

    def check_deliver(self, command: file.Deliver, acks: bool | None, octets: int, most: int) -> Objection | None:
        """Checks a delivery; `acks`: whether it needs an acknowledgement (None: unknown); at most `most` may be open."""
        tag = command.delivery_tag or 0
        said = f"{command.VERB} with tag {tag}"
        if not tag:
            text = "zero stands for all deliveries so far"
            return Objection(
                "file.deliver.delivery-tag.non-zero", said, ("a tag that is not 0",), ErrorCode.ILLEGAL_ARGUMENT, text
            )
        if acks is False:
            return None
        if tag in self._open:
            text, legal = "a delivery with that tag waits for its acknowledgement", ("another tag",)
            return Objection("file.deliver.delivery-tag", said, legal, ErrorCode.ILLEGAL_STATE, text)
        if len(self._open) + len(self._perhaps) >= most:
            code, legal = ErrorCode.RESOURCE_LIMIT_EXCEEDED, (f"at most {most} deliveries under way",)
            return Objection("limits.incomplete_commands", said, legal, code, f"more than {most} are not settled")
        if not acks or self._window is None:
            return None
        most_octets, messages = self._window
        if (messages and len(self._open) >= messages) or (most_octets and self._open and self._octets + octets > most_octets):
            text = f"{len(self._open)} messages of {self._octets} octets wait for acknowledgements"
            size = f"{most_octets} octets" if most_octets else ""
            legal = (f"at most {' and '.join(part for part in (f'{messages} messages' if messages else '', size) if part)}",)
            return Objection("file.qos.prefetch-count.prefetch-discretion", said, legal, ErrorCode.ILLEGAL_STATE, text)
        return None

    def check_ack(self, command: file.Ack | file.Reject) -> Objection | None:
        """Checks an acknowledgement or a rejection."""
        tag, multiple = command.delivery_tag or 0, isinstance(command, file.Ack) and command.multiple
        if not tag and multiple:
            return None
        if tag in self._open or tag in self._perhaps or (self.late and tag):
            return None
        legal = tuple([f"{command.VERB} with tag {known}" for known in some(self._open)])
        rule = "file.ack.multiple.validation" if isinstance(command, file.Ack) else "file.reject.delivery-tag.session-local"
        said = f"{command.VERB} with tag {tag}"
        text = "no delivery of this session with that tag waits for it"
        return Objection(rule, said, legal, ErrorCode.INVALID_ARGUMENT, text)

    def deliver(self, tag: int, acks: bool | None, id: int | None, octets: int) -> None:
        """Records a delivery."""
        if acks is False:
            return
        before = self._perhaps.pop(tag, None)
        if before is not None:  # the tag is reused, so the former delivery was settled
            self._drop(tag, before)
        if acks is None or self._all is not None:
            state = rows.PERHAPS_RECEIVED if self._at_once else rows.PERHAPS
        else:
            state = rows.RECEIVED if self._at_once else rows.DELIVERED
        self._keep(tag, (state, id, octets, self._count))
        self._count += 1

    def _keep(self, tag: int, delivery: FileDelivery) -> None:
        state, id, octets, _ = delivery
        if state in (rows.DELIVERED, rows.RECEIVED):
            self._open[tag] = delivery
            self._octets += octets
        else:
            self._perhaps[tag] = delivery
            if state == rows.PERHAPS_RECEIVED:
                self._received[tag] = None
        if id is not None and not self._at_once:
            self._ids[id] = tag

    def settle(self, command: file.Ack | file.Reject, id: int | None, heard: bool) -> None:
        """Records an acknowledgement or rejection, command `id` (None: unknown); `heard`: the server has received it."""
        tag = command.delivery_tag or 0
        if not isinstance(command, file.Ack) or not command.multiple:
            self._settle(tag, command.VERB)
        elif tag:
            last = self._open.get(tag) or self._perhaps.get(tag)
            if last is not None:
                for each in (*_up_to(self._open, last[3]), *_up_to(self._perhaps, last[3])):
                    self._settle(each, rows.ACK)
        else:
            if id is None and not heard:
                self.close_window()
            self._all = None if heard else id
            for each in [*self._received, *self._open]:
                self._settle(each, rows.ACK_ALL)

    def completed(self, ids: RangeSet) -> None:
        """Records that the client has completed these commands, and so received their deliveries."""
        for id in pick(ids, self._ids) if self._ids else ():
            tag = self._ids.pop(id)
            kept = self._open if tag in self._open else self._perhaps
            delivery = kept[tag]
            kept[tag] = (_MOVES.get((delivery[0], CLIENT, COMPLETED), delivery[0]), None, delivery[2], delivery[3])
            if kept is self._perhaps:
                self._received[tag] = None

    def carried_out(self, ids: RangeSet) -> None:
        """Records that the server has completed these commands of the client."""
        if self._all is not None and self._all in ids:
            self._all = None

    def forget(self) -> None:
        """Records a gap: any tag may name a delivery."""
        self.late = True
        for kept in (self._open, self._perhaps, self._received, self._ids):
            kept.clear()
        self._octets = 0
        self._all = None
        self._window = None

    def snapshot(self) -> dict[str, object]:
        """Returns the state as a plain value."""
        kept = [(tag, *delivery) for each in (self._open, self._perhaps) for tag, delivery in each.items()]
        return {"deliveries": tuple(kept), "count": self._count, "window": self._window, "all": self._all}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        self._count = typed(snapshot["count"], int)
        for tag, state, id, octets, number in snapshot["deliveries"]:
            if {type(each) for each in (tag, octets, number)} != {int} or state not in rows.DELIVERY.states:
                raise TypeError("delivery")
            self._keep(tag, (state, id, octets, number))
        self._all = snapshot["all"]
        RangeSet.of(*self._ids, *(() if self._all is None else (self._all,)))
        window = snapshot["window"]
        if window is not None:
            octets, messages = window
            window = typed(octets, int), typed(messages, int)
        self._window = window

    def _settle(self, tag: int, verb: str) -> None:
        """Steps one delivery: it is settled, or may be."""
        kept = self._perhaps if tag in self._perhaps else self._open
        delivery = kept.pop(tag, None)
        if delivery is None:
            return
        state = _MOVES[delivery[0], CLIENT, verb]
        if kept is self._open:
            self._octets -= delivery[2]
        if state == rows.END:
            self._drop(tag, delivery)
        else:
            self._perhaps[tag] = (state, *delivery[1:])

    def _drop(self, tag: int, delivery: FileDelivery) -> None:
        self._received.pop(tag, None)
        if delivery[1] is not None:
            self._ids.pop(delivery[1], None)


def _up_to(kept: Mapping[int, FileDelivery], last: int) -> list[int]:
    """Returns the tags of the deliveries up to the one with this number."""
    found: list[int] = []
    for tag, delivery in kept.items():
        if delivery[3] > last:
            break
        found.append(tag)
    return found


CONTENT_VERBS: Final = frozenset(verb for verb in COMMAND_SPEAKERS if verb.startswith(("file.", "stream."))) | {
    OPEN,
    OPEN_OK,
    STAGE,
}
"""Every command of the two classes."""

_HEADED: Final = ("file.stage", "file.return", "stream.publish", "stream.return", "stream.deliver")
"""Commands whose content must have a header: file-properties or stream-properties, by their class."""

_RETURN_CODES: Final = (311, 312, 313)


class ContentClass:
    """What the classes file and stream have in common."""

    __slots__ = ("consumers", "publishing", "qos")

    def __init__(self, name: str, role: str | None, late: bool) -> None:
        make = Machine.unknown if late else Machine
        self.qos: Final = make(QOS[name])
        self.publishing: Final = make(PUBLISHING[name])
        self.consumers: Final = Consumers(name, CONSUMER[name], role, late)

    def machine(self, command: Command) -> Machine:
        """Returns the machine for a command that concerns neither a tag nor a file."""
        return self.qos if isinstance(command, file.Qos | file.QosOk | stream.Qos | stream.QosOk) else self.publishing

    def forget(self) -> None:
        """Records a gap."""
        self.qos.forget()
        self.publishing.forget()
        self.consumers.forget()

    def snapshot(self) -> dict[str, object]:
        """Returns the state as a plain value."""
        return {"qos": self.qos.states, "publishing": self.publishing.states, "consumers": self.consumers.snapshot()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        self.qos.restore(snapshot["qos"])
        self.publishing.restore(snapshot["publishing"])
        self.consumers.restore(snapshot["consumers"])


class Contents:
    """The files and streams of one session.

    `role` is the side that runs it, None for an observer.  `late`: we missed the beginning.  At a client every command it reads
    is received, at a server executed; to an observer it may still be in flight.
    """

    __slots__ = ("_asked", "_deliveries", "_file", "_limits", "_role", "_staging", "_stream")

    def __init__(self, limits: Limits, role: str | None = None, late: bool = False) -> None:
        self._limits: Final = limits
        self._role: Final = role
        self._file: Final = ContentClass(FILE, role, late)
        self._stream: Final = ContentClass(STREAM, role, late)
        self._staging: Final = {who: Staging(who, limits.staged_files, late) for who in (CLIENT, SERVER)}
        self._deliveries: Final = Deliveries(role == CLIENT, late)
        self._asked: tuple[int, int] = (0, 0)

    def check(self, speaker: str, command: Command, header: bool | None, octets: int | None) -> Objection | None:
        """Checks a command of `speaker` without changing anything.

        `header`: whether it has one; `octets`: the size of its body; None when unknown.
        """
        verb = command.VERB
        if header is False and verb in _HEADED:
            name = verb.partition(".")[0]
            legal = (f"{verb} with {name}.{name}-properties",)
            return Objection(f"{verb}.header", f"{verb} without header", legal, ErrorCode.COMMAND_INVALID, "it has a header")
        code = command.reply_code if isinstance(command, file.Return | stream.Return) else None
        if code is not None and code not in _RETURN_CODES:
            said, known = f"{verb} with {code}", tuple([str(each) for each in _RETURN_CODES])
            return Objection(f"{verb}.reply-code", said, known, ErrorCode.ILLEGAL_ARGUMENT, "no such return code")
        return _PARTS.get(type(command), _OTHERS).check(self, speaker, command, octets)

    def step(self, speaker: str, command: Command, id: int | None) -> None:
        """Records a command without a (sure) objection, sent as command `id` (None: unknown)."""
        _PARTS.get(type(command), _OTHERS).step(self, speaker, command, id)

    def completed(self, speaker: str, ids: RangeSet) -> None:
        """Records that `speaker` has completed these commands of the other side."""
        if speaker == SERVER:
            self._file.consumers.completed(ids)
            self._stream.consumers.completed(ids)
            self._deliveries.carried_out(ids)
        else:
            self._deliveries.completed(ids)

    def close_window(self) -> None:
        """Forgets the prefetch window: another session changed it for the whole connection."""
        self._deliveries.close_window()

    def forget(self) -> None:
        """Records a gap: every state is possible from here on."""
        self._file.forget()
        self._stream.forget()
        self._deliveries.forget()
        for staging in self._staging.values():
            staging.forget()

    def snapshot(self) -> dict[str, object]:
        """Returns the state as a plain value."""
        return {
            "file": self._file.snapshot(),
            "stream": self._stream.snapshot(),
            "staging": {who: staging.snapshot() for who, staging in self._staging.items()},
            "deliveries": self._deliveries.snapshot(),
            "asked": self._asked,
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        self._file.restore(snapshot["file"])
        self._stream.restore(snapshot["stream"])
        for who, staging in self._staging.items():
            staging.restore(snapshot["staging"][who])
        self._deliveries.restore(snapshot["deliveries"])
        octets, messages = snapshot["asked"]
        self._asked = typed(octets, int), typed(messages, int)

    def _of(self, command: Command) -> ContentClass:
        return self._file if command.VERB.startswith("file.") else self._stream


class _Part(NamedTuple):
    """How commands of some classes are checked, and what they change; with the arguments of `Contents`."""

    check: Callable[[Contents, str, Any, int | None], Objection | None]  # Any: each row takes its own commands
    step: Callable[[Contents, str, Any, int | None], None]


def _check_consume(contents: Contents, speaker: str, command: AnyConsume, octets: int | None) -> Objection | None:
    return contents._of(command).consumers.check_consume(command, contents._limits.subscriptions)


def _consume(contents: Contents, speaker: str, command: AnyConsume, id: int | None) -> None:
    contents._of(command).consumers.consume(command)


_OfConsumer: TypeAlias = file.ConsumeOk | file.Cancel | file.Deliver | stream.ConsumeOk | stream.Cancel | stream.Deliver
_OfStaging: TypeAlias = file.Open | file.OpenOk | file.Stage


def _check_consumer(contents: Contents, speaker: str, command: _OfConsumer, octets: int | None) -> Objection | None:
    return contents._of(command).consumers.check(speaker, command.VERB, command.consumer_tag or "")


def _step_consumer(contents: Contents, speaker: str, command: _OfConsumer, id: int | None) -> None:
    contents._of(command).consumers.step(speaker, command.VERB, command.consumer_tag or "", id)


def _check_deliver(contents: Contents, speaker: str, command: file.Deliver, octets: int | None) -> Objection | None:
    acknowledged = contents._file.consumers.acknowledged(command.consumer_tag or "")
    staged, name, most = contents._staging[SERVER], command.identifier or "", contents._limits.incomplete_commands
    return (
        _check_consumer(contents, speaker, command, octets)
        or contents._deliveries.check_deliver(command, acknowledged, staged.size(name) or 0, most)
        or staged.check_use(command.VERB, name)
    )


def _deliver(contents: Contents, speaker: str, command: file.Deliver, id: int | None) -> None:
    acknowledged = contents._file.consumers.acknowledged(command.consumer_tag or "")
    size = contents._staging[SERVER].size(command.identifier or "") or 0
    contents._deliveries.deliver(command.delivery_tag or 0, acknowledged, id, size)
    _step_consumer(contents, speaker, command, id)


def _check_staging(contents: Contents, speaker: str, command: _OfStaging, octets: int | None) -> Objection | None:
    return contents._staging[_stager(speaker, command)].check(speaker, command, octets)


def _stage(contents: Contents, speaker: str, command: _OfStaging, id: int | None) -> None:
    contents._staging[_stager(speaker, command)].step(speaker, command)


def _stager(speaker: str, command: Command) -> str:
    """Returns the side that stages the file: open-ok comes from the receiver."""
    return OTHER_SIDE[speaker] if isinstance(command, file.OpenOk) else speaker


def _check_ack(contents: Contents, speaker: str, command: file.Ack | file.Reject, octets: int | None) -> Objection | None:
    return contents._deliveries.check_ack(command)


def _settle(contents: Contents, speaker: str, command: file.Ack | file.Reject, id: int | None) -> None:
    contents._deliveries.settle(command, id, contents._role == SERVER)


def _check_other(contents: Contents, speaker: str, command: Command, octets: int | None) -> Objection | None:
    verb = command.VERB
    refusal = refused(contents._of(command).machine(command), speaker, verb)
    if refusal is None:
        return None
    text = "nothing was published" if verb.endswith("return") else "one question at a time, and one answer to each"
    return Objection(verb, verb, refusal.legal_for(speaker), ErrorCode.ILLEGAL_STATE, text)


def _step_other(contents: Contents, speaker: str, command: Command, id: int | None) -> None:
    contents._of(command).machine(command).step(speaker, command.VERB)


def _check_publish(contents: Contents, speaker: str, command: file.Publish, octets: int | None) -> Objection | None:
    staged = contents._staging[CLIENT]
    return _check_other(contents, speaker, command, octets) or staged.check_use(command.VERB, command.identifier or "")


def _ask_window(contents: Contents, speaker: str, command: file.Qos, id: int | None) -> None:
    _step_other(contents, speaker, command, id)
    contents._asked = command.prefetch_size or 0, command.prefetch_count or 0


def _open_window(contents: Contents, speaker: str, command: file.QosOk, id: int | None) -> None:
    _step_other(contents, speaker, command, id)
    contents._deliveries.open_window(*contents._asked)


_OTHERS: Final = _Part(_check_other, _step_other)
_CONSUMER: Final = file.ConsumeOk, file.Cancel, stream.ConsumeOk, stream.Cancel, stream.Deliver
_PARTS: Final[dict[type[Command], _Part]] = {
    **dict.fromkeys((file.Consume, stream.Consume), _Part(_check_consume, _consume)),
    **dict.fromkeys(_CONSUMER, _Part(_check_consumer, _step_consumer)),
    file.Deliver: _Part(_check_deliver, _deliver),
    **dict.fromkeys((file.Open, file.OpenOk, file.Stage), _Part(_check_staging, _stage)),
    **dict.fromkeys((file.Ack, file.Reject), _Part(_check_ack, _settle)),
    file.Publish: _Part(_check_publish, _step_other),
    file.Qos: _Part(_check_other, _ask_window),
    file.QosOk: _Part(_check_other, _open_window),
}


def is_global(command: Command) -> bool:
    """Returns whether a command changes the prefetch window of the connection's other sessions."""
    return isinstance(command, file.Qos) and command.global_


# --- a session's own commands and its peer's --------------------------------------------------------------------------------


def say_content(session: Session, command: Command, header: bool, octets: int) -> Callable[[int], None]:
    """Checks one of our commands and returns its effect; changes nothing.

    Raises LocalProtocolError or LimitError.
    """
    contents = _contents(session)
    wrong = contents.check(session.role, command, header, octets)
    if wrong is not None:
        name = wrong.rule.removeprefix("limits.")
        if name != wrong.rule:
            raise LimitError(name, getattr(session.limits, name))
        raise LocalProtocolError(wrong.said, wrong.text, wrong.legal, wrong.rule)

    def effect(id: int) -> None:
        session._said_content(contents, session.role, command, id)

    return effect


def hear_content(session: Session, id: int, command: Command, header: bytes, body: bytes) -> Objection | None:
    """Returns what is wrong with a command of the peer; records it when nothing is."""
    contents = _contents(session)
    wrong = contents.check(session.peer, command, bool(header), len(body))
    if wrong is not None and (wrong.sure or session.profile.strict):
        return wrong
    session._said_content(contents, session.peer, command, id)
    return None


def _contents(session: Session) -> Contents:
    return session._contents or Contents(session.limits, session.role)


_ANSWERS: Final = {"qos": "qos-ok", "consume": "consume-ok", "open": "open-ok", "open-ok": "stage"}
"""The answers that are legal even to a request at the wrong time: the answering side is not at fault."""


# --- an observer ------------------------------------------------------------------------------------------------------------


class ContentWitness:
    """Judges what both sides of one attachment send about files and streams.

    `late`: we missed its beginning, or it continues an earlier attachment.
    """

    __slots__ = ("_contents", "_excused", "_findings", "_late")

    def __init__(self, findings: Findings, late: bool) -> None:
        self._findings: Final = findings
        self._late = late
        # Created on first use: most sessions carry neither files nor streams.
        self._contents: Contents | None = None
        self._excused: set[str] = set()

    def hear(self, speaker: str, id: int | None, command: Command | None, octets: int, body: int | None) -> None:
        """Judges a command of these classes; None when it cannot be read or is not for `speaker` to send.

        `octets` counts header and body, `body` the body alone (None: unknown).
        """
        contents = self._contents
        if contents is None:
            contents = self._contents = Contents(self._findings.limits, None, self._late)
        if command is None:
            contents.forget()
            return
        wrong = contents.check(speaker, command, None if body is None else octets > body, body)
        if wrong is None:
            contents.step(speaker, command, id)
        elif wrong.rule.startswith("limits."):
            self._findings.note(wrong.rule, f"{wrong.text}: we no longer track them")
            contents.forget()
        elif wrong.sure:
            if command.VERB in self._excused:
                self._excused.discard(command.VERB)
            else:
                self._findings.breach(wrong.rule, wrong.said, wrong.text, wrong.legal, wrong.code)
            name, _, verb = command.VERB.partition(".")
            if verb in _ANSWERS:
                self._excused.add(f"{name}.{_ANSWERS[verb]}")
            contents.forget()
        else:
            self._findings.divergence(wrong.rule, wrong.said, wrong.text, wrong.legal, wrong.code, about=wrong.said)
            contents.step(speaker, command, id)

    def completed(self, speaker: str, ids: RangeSet) -> None:
        """Records that `speaker` has completed these commands of the other side."""
        if self._contents is not None:
            self._contents.completed(speaker, ids)

    def close_window(self) -> None:
        """Forgets the prefetch window: another session changed it for the whole connection."""
        if self._contents is not None:
            self._contents.close_window()

    def forget(self) -> None:
        """Records a gap: every state is possible."""
        self._late = True
        if self._contents is not None:
            self._contents.forget()
