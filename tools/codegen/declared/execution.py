"""Events of commands: the peer's commands that arrive, and the answers to ours."""

from __future__ import annotations

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.file import FileProperties
from amqp_sansio.spec.stream import StreamProperties
from amqp_sansio.spec.values import Map
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.layouts.layout import decode_headers


class CommandReceived(ValueObject):
    """A command other than message.transfer, execution.result and execution.exception arrived.

    `id` is its id in the peer's half of the session; `sync` asks for its completion promptly.  `header` and `body` are the
    octets of its content (file and stream classes), empty when there is none.  The structs of the header were checked on
    receipt and are decoded on access, as those of `TransferReceived` are.
    """

    session: bytes
    id: int
    command: Command
    sync: bool = False
    header: bytes = b""
    body: bytes = b""
    _memo: tuple[Struct, ...] | Reading | None = None  # the structs, once decoded; before that, how to decode them

    @property
    def headers(self) -> tuple[Struct, ...]:
        """All header structs in the order in which they were sent.  Raises HeaderError when a field cannot be decoded."""
        memo = self._memo
        if memo is None or isinstance(memo, Reading):
            self._memo = memo = decode_headers(self.header, 0, len(self.header), memo or DEFAULT_READING)
        return memo

    def read_as(self, reading: Reading) -> None:
        """Sets how the header structs are decoded on access; for the engine."""
        self._memo = reading

    @property
    def file_properties(self) -> FileProperties | None:
        """The first file-properties; None when there are none.  Raises HeaderError when a header field cannot be decoded."""
        return next((struct for struct in self.headers if isinstance(struct, FileProperties)), None)

    @property
    def stream_properties(self) -> StreamProperties | None:
        """The first stream-properties; None when there are none.  Raises HeaderError when a header field cannot be decoded."""
        return next((struct for struct in self.headers if isinstance(struct, StreamProperties)), None)


class ResultReceived(ValueObject):
    """The result of our command `id` (execution.result).  `value` is None when the result is empty."""

    session: bytes
    id: int
    value: Struct | None


class ExceptionReceived(ValueObject):
    """The peer refuses a command (execution.exception), which ends the session: `SessionDetached` follows.

    `id` is our command that failed, None when the exception names none.
    """

    session: bytes
    error_code: int
    id: int | None = None
    class_code: int | None = None
    command_code: int | None = None
    field_index: int | None = None
    description: str = ""
    error_info: Map | None = None


class CommandsCompleted(ValueObject):
    """The peer has executed our commands `ids` (session.completed); each id comes once."""

    session: bytes
    ids: RangeSet


class CommandsConfirmed(ValueObject):
    """The peer will certainly complete our commands `ids` (session.confirmed); each id comes once."""

    session: bytes
    ids: RangeSet


class CommandsSkipped(ValueObject):
    """The peer will never send its commands `ids` (session.gap)."""

    session: bytes
    ids: RangeSet
