"""How connections of a dialect begin and end, as one value: the rows, and what rows cannot express."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from amqp_sansio.kernel.machine import Table
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.tables.connection import HANDSHAKE, ConnectionDialogue
from amqp_sansio.tables.tuning import BELOW, RANGES, Numbering, Tuning


class CloseCodes:
    """The codes of connection.close: the existing ones (`legal`), and when each is sent.

    `host`: the virtual host does not exist.  `login`: the login failed.  `order`: a word of class connection at the wrong time;
    `direction`: by the wrong side; `channel`: anything on a channel that is not open.  `limit`: beyond one of our limits.
    Undecodable frames are 501 in every dialect.
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
        """Returns the code itself; where the dialect lacks it, `direction` for 505 (unexpected-frame), else 501."""
        return int(code if code in self.legal else self.direction if code == _UNEXPECTED_FRAME else CloseCode.FRAMING_ERROR)


_UNEXPECTED_FRAME: Final = 505


class Handshake:
    """The handshake of one dialect, with the names that 0-10 gives the verbs of class connection (`wire.codec`).

    `rows` are the state table, `codes` those of connection.close; `letter` are those of the specification, where `codes` are
    what deployed peers use instead.  `greets`: the server answers a protocol header that it speaks with the same one; otherwise
    it begins with start at once, and a header from it means that it speaks another version.  `version` are major and minor in
    start.  `tuning` are the rules of tune, and `numbering` says what channel-max counts.  Both sides announce the
    `capabilities` in their properties.  `silent_refusal`: a server that refuses a login sends close only to a client with the
    capability `SAYS_REFUSED`, and otherwise just drops the connection.
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
        """Returns a connection before its first word."""
        return ConnectionDialogue(rows=self.rows)


SESSIONS: Final = Handshake(HANDSHAKE, CloseCodes(CloseCode), greets=True)
"""The handshake of 0-10."""
SAYS_REFUSED: Final = "authentication_failure_close"
"""The capability of a client that wants a close when its login fails: an extension of RabbitMQ to 0-9-1."""
