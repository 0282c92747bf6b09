"""The conversation around a violation: the words before and after it on its connection, from the existing tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from amqp_sansio.errors.core import many
from amqp_sansio.report.folder import Folder

BEFORE: Final = 8
"""Words shown before a violation."""
AFTER: Final = 6


class Said(NamedTuple):
    """A word, or a note about the connection."""

    ts_ns: int
    direction: str
    stream_offset: int
    kind: str
    """control, command, violation or note."""
    verb: str
    detail: str
    channel: int | None
    command_id: int | None

    @property
    def place(self) -> tuple[int, str, int]:
        """Its position in the order of a connection."""
        return self.ts_ns, self.direction, self.stream_offset

    @property
    def order(self) -> tuple[Any, ...]:
        """The same, with tie-breakers."""
        numbers = [-1 if each is None else each for each in (self.channel, self.command_id)]
        return *self.place, self.kind, self.verb, self.detail, *numbers


class Talk:
    """The surroundings of one violation."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row: Final = row
        self.rows: Final = [row]
        """All violations at the same position; `row` is the first."""
        self.name = ""
        """Name of the connection."""
        self.place: Final = (row["ts_ns"] or 0, row["direction"] or "", row["stream_offset"] or 0)
        self.earlier = 0
        """Earlier words that are not shown."""
        self.later = 0
        self.notes: Final[list[Said]] = []
        """Findings on the same connection near it."""
        self._before: list[Said] = []
        self._after: list[Said] = []

    def add(self, said: Said) -> None:
        """Adds a word on its connection."""
        if said.kind == "note" or said.kind == "violation":
            self.notes.append(said)
            if len(self.notes) > 400:
                self.notes.sort(key=lambda each: (abs(each.ts_ns - self.place[0]), each.order))
                del self.notes[100:]
            return
        same = (said.direction, said.stream_offset) == self.place[1:]
        words = self._before if not same and said.place < self.place else self._after
        words.append(said)
        if len(words) > 256:
            self._trim()

    def _trim(self) -> None:
        """Keeps only the nearest words."""
        self._before.sort(key=lambda each: each.order)
        surplus = max(0, len(self._before) - BEFORE)
        self.earlier += surplus
        del self._before[:surplus]
        self._after.sort(key=lambda each: ((each.direction, each.stream_offset) != self.place[1:], each.order))
        surplus = max(0, len(self._after) - AFTER - 1)
        self.later += surplus
        if surplus:
            del self._after[-surplus:]

    def lines(self) -> list[tuple[Said, tuple[Said, ...]]]:
        """Returns what to draw, in order; each with the findings about it."""
        self._trim()
        shown = sorted([*self._before, *self._after], key=lambda each: each.order)
        found: dict[tuple[str, int], list[Said]] = {}
        low = shown[0].ts_ns if self.earlier and shown else 0
        high = shown[-1].ts_ns if self.later and shown else 2**63
        said = {(each.direction, each.stream_offset) for each in shown}
        for note in sorted(set(self.notes), key=lambda each: (each.kind != "violation", each.order)):
            key = note.direction, note.stream_offset
            if not (low <= note.ts_ns <= high):
                continue
            if key not in said:
                shown.append(note)
                said.add(key)
                if note.kind != "violation":
                    continue
            found.setdefault(key, []).append(note)
        shown.sort(key=lambda each: each.order)
        return [(each, tuple(found.get((each.direction, each.stream_offset), ()))) for each in shown]


def talks(folder: Folder, violations: list[dict[str, Any]]) -> list[Talk]:
    """Returns the surroundings of these rows of violations; those at one position share theirs."""
    places: dict[tuple[Any, ...], Talk] = {}
    for row in violations:
        place = row["connection"], row["ts_ns"], row["direction"], row["stream_offset"]
        if place in places:
            places[place].rows.append(row)
        else:
            places[place] = Talk(row)
    found: Final = list(places.values())
    of: Final[dict[int, list[Talk]]] = {}
    for talk in found:
        of.setdefault(talk.row["connection"], []).append(talk)
    if not of:
        return found
    for connection, said in _everything(folder, of):
        for talk in of[connection]:
            talk.add(said)
    names = names_of(folder, of)
    for talk in found:
        talk.name = names.get(talk.row["connection"], "")
    return found


def names_of(folder: Folder, connections: Iterable[int]) -> dict[int, str]:
    """Returns the names of connections by their numbers."""
    batches = folder.of("connections", ("connection", "name"), connections)
    return {row["connection"]: row["name"] or "" for batch in batches for row in batch.to_pylist()}


def _everything(folder: Folder, connections: Iterable[int]) -> Iterator[tuple[int, Said]]:
    def rows(table: str, *columns: str) -> Iterator[dict[str, Any]]:
        for batch in folder.of(table, ("connection", "ts_ns", *columns), connections):
            yield from batch.to_pylist()

    for row in rows("commands", "direction", "channel", "command_id", "verb", "arguments", "stream_offset", "octets"):
        detail = (row["arguments"] or (many(row["octets"] or 0, "octet") if row["verb"] == "message.transfer" else "")).strip(
            "{}"
        )
        yield row["connection"], _said(row, "command", row["verb"] or "", detail)
    for row in rows("violations", "direction", "channel", "level", "rule", "said", "stream_offset"):
        if row["level"] != "damage":
            kind = "violation" if row["level"] == "violation" else "note"
            yield row["connection"], _said(row, kind, row["said"] or "", row["rule"] or "")
    if "controls" in folder:
        for row in rows("controls", "direction", "channel", "verb", "arguments", "stream_offset"):
            yield row["connection"], _said(row, "control", row["verb"] or "", (row["arguments"] or "").strip("{}"))
        return
    if "frames" in folder:
        columns = ("direction", "channel", "type", "verb", "stream_offset")
        for row in rows("frames", *columns, "first_frame"):
            if row["type"] == "control" and row["verb"]:
                yield row["connection"], _said(row, "control", row["verb"], "")
        if "commands" not in folder:
            for row in rows("frames", *columns):
                if row["type"] == "command" and row["verb"]:
                    yield row["connection"], _said(row, "command", row["verb"], "")
        return
    # Without the tables of controls and frames there is no row for each; sessions and connections show some of them.
    for row in rows("sessions", "channel", "session", "attached_at", "detach_at", "detach_by"):
        for at, who, verb in (
            (row["ts_ns"], "C", "session.attach"),
            (row["attached_at"], "S", "session.attached"),
            (row["detach_at"], row["detach_by"], "session.detach"),
        ):
            if at is not None and who:
                yield (
                    row["connection"],
                    Said(at, who, -1 - row["channel"], "control", verb, row["session"] or "", row["channel"], None),
                )
    for row in rows("connections", "opened_at"):
        if row["opened_at"] is not None:
            yield row["connection"], Said(row["opened_at"], "S", -1, "control", "connection.open-ok", "", 0, None)


def _said(row: dict[str, Any], kind: str, verb: str, detail: str) -> Said:
    offset = row["stream_offset"]
    return Said(
        row["ts_ns"] or 0,
        row["direction"] or "",
        -1 if offset is None else offset,
        kind,
        verb,
        detail,
        row["channel"],
        row.get("command_id"),
    )
