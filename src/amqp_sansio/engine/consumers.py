"""The consumers of a session in class file or class stream: the rows of `tables.content_classes`, and the known tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from amqp_sansio.engine.objection import Objection, refused, some
from amqp_sansio.kernel.machine import Machine, Table
from amqp_sansio.kernel.serials import RangeSet, pick
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.spec import file, stream
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.tables.connection import CLIENT, SERVER
from amqp_sansio.tables.content_classes import COMPLETED, NO_CONSUMER, nowait

Consume: TypeAlias = file.Consume | stream.Consume


def _acks(command: Consume) -> bool:
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

    def check_consume(self, command: Consume, most: int) -> Objection | None:
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

    def consume(self, command: Consume) -> None:
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
