"""Single controls: rows of `controls`.

The frequent ones (completions, heartbeats) are as many as the commands; of them only the last few before each violation and the
first few after it are kept, which explain it.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.captures.json_values import compact, fields, text_of
from amqp_sansio.captures.replay.rows import Row, Rows
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Heartbeat
from amqp_sansio.spec.session import Completed, Confirmed, Flush, KnownCompleted

NEAR: Final = 8
"""Frequent controls kept on either side of a violation."""
SHOWN_RANGES: Final = 16
"""Ranges of ids kept of each."""

_SETS: Final = (Completed, Confirmed, KnownCompleted)


def arguments_of(control: Control | None) -> str | None:
    """Returns the fields of a control as JSON, the name of a session as text where it is text; None when it could not be
    decoded."""
    if control is None:
        return None
    said = fields(control, False)
    name = getattr(control, "name", None)
    if isinstance(name, bytes):
        said["name"] = text_of(name)
    return compact(said)


class Controls:
    """The controls of one connection."""

    __slots__ = ("_after", "_last", "_rows")

    def __init__(self, rows: Rows) -> None:
        self._rows: Final = rows
        self._last: list[Row] = []
        self._after = 0

    def hear(
        self, time: int, speaker: str, channel: int, verb: str, control: Control | None, place: tuple[int, int, int]
    ) -> None:
        """Takes a control (None: it could not be decoded); `place` is its offset in the stream, the file, and its packet's
        offset."""
        kind = type(control)
        if isinstance(control, _SETS):
            said: object = control.commands.ranges[:SHOWN_RANGES] if control.commands else ()
        elif kind is Heartbeat or kind is Flush:
            said = None
        else:
            self._rows.by_table["controls"].append((time, speaker, channel, verb, arguments_of(control), *place))
            return
        self.often((time, speaker, channel, verb, said, *place))

    def often(self, row: Row) -> None:
        """Takes a frequent control: its columns, with ranges of ids in place of the arguments."""
        if self._after:
            self._after -= 1
            self._tell(row)
        else:
            self._last.append(row)
            if len(self._last) > NEAR:
                del self._last[0]

    def violation(self) -> None:
        """Keeps the controls just before and after a violation."""
        for row in self._last:
            self._tell(row)
        self._last.clear()
        self._after = NEAR

    def _tell(self, row: Row) -> None:
        time, speaker, channel, verb, said, *place = row
        ranges = f'{{"commands":[{",".join([f"[{low},{high}]" for low, high in said])}]}}' if isinstance(said, tuple) else "{}"
        self._rows.by_table["controls"].append((time, speaker, channel, verb, ranges, *place))
