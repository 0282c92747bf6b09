"""What may happen to messages."""

from __future__ import annotations

from typing import ClassVar, Final

from amqp_sansio.kernel.value import Value
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import DeliveryProperties, FragmentProperties, MessageProperties, Transfer
from amqp_sansio.wire.headers import decode_headers
from amqp_sansio.wire.reading import DEFAULT_READING, Reading


class TransferReceived(Value):
    """A message arrived (message.transfer).

    `id` is the command's id in the other side's half of the session, the name by which it is accepted, rejected, released
    or completed; `transfer` holds destination and modes.  `header` is the raw header segment (empty when there was none):
    its structs were walked on receipt, so that their number, sizes and codes are right, and are decoded when asked for;
    forwarding it costs nothing.  `body` is the content; `empty_body` tells a body segment of 0 octets from none.

    Decoding them keeps the limits of the connection (nesting, zero_width_elements, ranges): what goes beyond is a
    `HeaderError`.  A copy, by pickle or by hand, does not know the connection and keeps the default limits.
    """

    __slots__ = ("_memo", "body", "empty_body", "header", "id", "session", "sync", "transfer")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "id", "transfer", "header", "body", "sync", "empty_body")
    __match_args__ = ("session", "id", "transfer", "header", "body", "sync", "empty_body")

    def __init__(
        self,
        session: bytes,
        id: int,
        transfer: Transfer,
        header: bytes = b"",
        body: bytes = b"",
        sync: bool = False,
        empty_body: bool = False,
    ) -> None:
        self.session: Final = session
        self.id: Final = id
        self.transfer: Final = transfer
        self.header: Final = header
        self.body: Final = body
        self.sync: Final = sync
        self.empty_body: Final = empty_body
        self._memo: tuple[Struct, ...] | Reading | None = None  # the structs, once read; before, how to read them

    @property
    def headers(self) -> tuple[Struct, ...]:
        """All header structs in the order in which they were sent.  Raises `HeaderError` for a field that cannot be read."""
        memo = self._memo
        if memo is None or isinstance(memo, Reading):
            self._memo = memo = decode_headers(self.header, 0, len(self.header), memo or DEFAULT_READING)
        return memo

    def read_as(self, reading: Reading) -> None:
        """For the engine: how the header structs are read when somebody asks."""
        self._memo = reading

    @property
    def delivery_properties(self) -> DeliveryProperties | None:
        """The first delivery-properties, None when there are none.  Raises `HeaderError`."""
        structs = self._memo
        if structs is None:  # the call to the other property is dear
            structs = self._memo = decode_headers(self.header, 0, len(self.header))
        elif type(structs) is Reading:
            structs = self.headers
        for struct in structs:
            if type(struct) is DeliveryProperties:
                return struct
        return None

    @property
    def message_properties(self) -> MessageProperties | None:
        """The first message-properties, None when there are none.  Raises `HeaderError`."""
        structs = self._memo
        if structs is None:  # the call to the other property is dear
            structs = self._memo = decode_headers(self.header, 0, len(self.header))
        elif type(structs) is Reading:
            structs = self.headers
        for struct in structs:
            if type(struct) is MessageProperties:
                return struct
        return None

    @property
    def fragment_properties(self) -> FragmentProperties | None:
        """The first fragment-properties, None when the message is whole.  Raises `HeaderError`."""
        structs = self._memo
        if structs is None:  # the call to the other property is dear
            structs = self._memo = decode_headers(self.header, 0, len(self.header))
        elif type(structs) is Reading:
            structs = self.headers
        for struct in structs:
            if type(struct) is FragmentProperties:
                return struct
        return None


class ProducerCreditChanged(Value):
    """The other side throttles our transfers: producer flow control on destination "".

    `messages` is how many more transfers may be published; None is without limit.
    """

    __slots__ = ("messages", "session")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "messages")
    __match_args__ = ("session", "messages")

    def __init__(self, session: bytes, messages: int | None) -> None:
        self.session: Final = session
        self.messages: Final = messages
