"""Files that one side stages at the other: the rows of `tables.file`, and the known files with their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from amqp_sansio.engine.objection import Objection, machine_in, refused, some
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.spec import file
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.tables.file import OPEN, OPEN_OK, STAGE, STAGING

_SIZE: Final = "file.open.content-size.content-size"
_OFFSET: Final = "file.open-ok.staged-size.behavior"
_WAITS: Final = {
    OPEN: "another file is being staged, and the answers do not say which file they are about",
    OPEN_OK: "no file.open waits for this answer",
    STAGE: "no file.open-ok has said where to begin",
}


class Staging:
    """The files that `sender` stages.

    Remembers at most `most` identifiers; beyond that, using an unknown one is no violation.
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

    @property
    def state(self) -> str:
        """The state of the staging."""
        return self._machine.state

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
                rule = _OFFSET if self._offset else _SIZE
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
        machine_in(self._machine, snapshot["states"])
        self._size, self._offset = [typed(snapshot[name], int, type(None)) for name in ("size", "offset")]
        self._sizes.update({identifier: typed(size, int, type(None)) for identifier, size in snapshot["files"]})
        self._forgot = bool(snapshot["forgot"])
