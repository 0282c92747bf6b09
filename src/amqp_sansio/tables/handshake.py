"""How connections of a dialect begin and end, as a value: the rows, and what is not in rows."""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.machine import Table
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.tables.connection import HANDSHAKE, ConnectionDialogue


class Handshake:
    """The handshake of one dialect.  The words are 0-10's, as for every dialect (`wire.codec`), and so are the rules of tune.

    `rows` are who may say what when.  `greets`: the server answers the protocol header that it speaks with the same one;
    otherwise it begins with start at once, and a header from it says that it speaks another version.  `close_codes` are those
    that connection.close may carry.
    """

    __slots__ = ("close_codes", "greets", "rows")

    def __init__(self, rows: Table, close_codes: frozenset[int], *, greets: bool) -> None:
        self.rows: Final = rows
        self.close_codes: Final = close_codes
        self.greets: Final = greets

    def dialogue(self) -> ConnectionDialogue:
        """A connection of which nothing was said yet."""
        return ConnectionDialogue(rows=self.rows)


SESSIONS: Final = Handshake(HANDSHAKE, frozenset(int(code) for code in CloseCode), greets=True)
"""The handshake of 0-10."""
