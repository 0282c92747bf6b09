"""Events of messages."""

from __future__ import annotations

from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import DeliveryProperties, FragmentProperties, MessageProperties, Transfer
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.layouts.layout import decode_headers


class TransferReceived(ValueObject):
    """A message arrived (message.transfer).

    `id` is the command's id in the peer's half of the session; it is accepted, rejected, released or completed by this id.
    `transfer` holds destination and modes.  `header` is the raw header segment, empty when there was none.  The number, sizes
    and codes of its structs were checked on receipt; they are decoded on access, so forwarding the header costs nothing.
    `body` is the content; `empty_body` distinguishes a body segment of 0 octets from none.

    Decoding keeps the limits of the connection (nesting, zero_width_elements, ranges) and raises HeaderError beyond them. A
    pickled or constructed copy does not know the connection and keeps the default limits.
    """

    session: bytes
    id: int
    transfer: Transfer
    header: bytes = b""
    body: bytes = b""
    sync: bool = False
    empty_body: bool = False
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
    def delivery_properties(self) -> DeliveryProperties | None:
        """The first delivery-properties; None when there are none.  Raises HeaderError when a field cannot be decoded."""
        structs = self._memo
        if structs is None:  # `headers` inlined: the call is costly here
            structs = self._memo = decode_headers(self.header, 0, len(self.header))
        elif type(structs) is Reading:
            structs = self.headers
        for struct in structs:
            if type(struct) is DeliveryProperties:
                return struct
        return None

    @property
    def message_properties(self) -> MessageProperties | None:
        """The first message-properties; None when there are none.  Raises HeaderError when a field cannot be decoded."""
        structs = self._memo
        if structs is None:  # `headers` inlined: the call is costly here
            structs = self._memo = decode_headers(self.header, 0, len(self.header))
        elif type(structs) is Reading:
            structs = self.headers
        for struct in structs:
            if type(struct) is MessageProperties:
                return struct
        return None

    @property
    def fragment_properties(self) -> FragmentProperties | None:
        """The first fragment-properties; None when the message is whole.  Raises HeaderError when a field cannot be decoded."""
        return next((struct for struct in self.headers if isinstance(struct, FragmentProperties)), None)


class ProducerCreditChanged(ValueObject):
    """The peer limits our transfers (producer flow control on destination "").

    `messages` is how many more transfers may be published; None is without limit.
    """

    session: bytes
    messages: int | None
