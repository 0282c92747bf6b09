"""Files of a session: those that one side stages at the other, and the deliveries that await acknowledgement."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from amqp_sansio.engine.objection import Objection, refused, some
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import RangeSet, pick
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.spec import file
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.tables import content_classes as rows
from amqp_sansio.tables.connection import CLIENT
from amqp_sansio.tables.content_classes import COMPLETED, OPEN, OPEN_OK, STAGE, STAGING

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


Delivery: TypeAlias = tuple[str, int | None, int, int]
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
        self._open: dict[int, Delivery] = OrderedDict()
        self._perhaps: dict[int, Delivery] = OrderedDict()
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

    def _keep(self, tag: int, delivery: Delivery) -> None:
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

    def _drop(self, tag: int, delivery: Delivery) -> None:
        self._received.pop(tag, None)
        if delivery[1] is not None:
            self._ids.pop(delivery[1], None)


def _up_to(kept: Mapping[int, Delivery], last: int) -> list[int]:
    """Returns the tags of the deliveries up to the one with this number."""
    found: list[int] = []
    for tag, delivery in kept.items():
        if delivery[3] > last:
            break
        found.append(tag)
    return found
