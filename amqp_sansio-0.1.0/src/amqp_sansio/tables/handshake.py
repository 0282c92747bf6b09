"""How connections of a dialect begin and end, as a value: the rows, and what is not in rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from amqp_sansio.kernel.machine import Table
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.tables.connection import HANDSHAKE, ConnectionDialogue
from amqp_sansio.tables.tuning import BELOW, RANGES, Numbering, Tuning


class CloseCodes:
    """The codes of connection.close: those there are (`legal`), and when each is sent.

    `host`: there is no such virtual host.  `login`: the login failed.  `order`: a word of class connection at the wrong time;
    `direction`: by the wrong side; `channel`: anything on a channel that is not open.  `limit`: more than one of our
    limits.  What no frame can be made of is 501 everywhere.
    """

    __slots__ = ("channel", "direction", "host", "legal", "limit", "login", "order")

    def __init__(
        self,
        legal: Iterable[int],
        *,
        host: int = CloseCode.INVALID_PATH,
        login: int = CloseCode.CONNECTION_FORCED,
        order: int = CloseCode.FRAMING_ERROR,
        direction: int = CloseCode.FRAMING_ERROR,
        channel: int = CloseCode.FRAMING_ERROR,
        limit: int = CloseCode.CONNECTION_FORCED,
    ) -> None:
        self.legal: Final = frozenset([int(code) for code in legal])
        self.host: Final = host
        self.login: Final = login
        self.order: Final = order
        self.direction: Final = direction
        self.channel: Final = channel
        self.limit: Final = limit

    def said(self, code: int) -> int:
        """The code itself; where the dialect does not have it, that of a word at the wrong time, else 501."""
        return int(code if code in self.legal else self.direction if code == _UNEXPECTED_FRAME else CloseCode.FRAMING_ERROR)


_UNEXPECTED_FRAME: Final = 505


class Handshake:
    """The handshake of one dialect.  The words are 0-10's, as for every dialect (`wire.codec`).

    `rows` are who may say what when, `codes` those of connection.close, of which `letter` are those that the document gives
    where deployed peers say others.  `greets`: the server answers the protocol header that it speaks with the same one;
    otherwise it begins with start at once, and a header from it says that it speaks another version.  `version` is what start
    says of itself, major and minor.  `tuning` are the rules of tune, and `numbering` says what channel-max counts.  Both
    sides say the `capabilities` in their properties.  `silent_refusal`: a server that refuses a login says close only to a
    client that asked for that (`SAYS_REFUSED`), and else just ends the connection.
    """

    __slots__ = (
        "capabilities", "codes", "greets", "letter", "numbering", "rows", "silent_refusal", "tuning", "version",
    )  # fmt: skip

    def __init__(
        self,
        rows: Table,
        codes: CloseCodes,
        *,
        greets: bool,
        letter: CloseCodes | None = None,
        version: tuple[int, int] | None = None,
        tuning: Tuning = RANGES,
        numbering: Numbering = BELOW,
        capabilities: tuple[str, ...] = (),
        silent_refusal: bool = False,
    ) -> None:
        self.rows: Final = rows
        self.codes: Final = codes
        self.letter: Final = codes if letter is None else letter
        self.greets: Final = greets
        self.version: Final = version
        self.tuning: Final = tuning
        self.numbering: Final = numbering
        self.capabilities: Final = capabilities
        self.silent_refusal: Final = silent_refusal

    def dialogue(self) -> ConnectionDialogue:
        """A connection before its first word."""
        return ConnectionDialogue(rows=self.rows)


SESSIONS: Final = Handshake(HANDSHAKE, CloseCodes(CloseCode), greets=True)
"""The handshake of 0-10."""
SAYS_REFUSED: Final = "authentication_failure_close"
"""The capability of a client that wants an answer when its login fails."""
