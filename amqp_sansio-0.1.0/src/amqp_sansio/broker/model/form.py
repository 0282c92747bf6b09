"""How a family writes what a message says of itself: the model keeps the octets of its publisher, and asks the form of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Envelope
    from amqp_sansio.broker.model.properties import Properties
    from amqp_sansio.spec.values import Map


class Form:
    """The form of one family, one object for all its messages; compared by identity.

    A base class, for messages ask it.  `header` is always what `Envelope.header` holds of a message in this form.
    """

    def __init__(self, name: str) -> None:
        self.name: Final = name
        """The name of the family: what a journal says of the octets that it keeps."""

    def properties(self, header: bytes) -> Properties:
        """All that the header says.  DecodeError when it cannot be read."""
        raise NotImplementedError

    def headers(self, header: bytes) -> Map:
        """The application's own headers alone, an empty map when there are none.  DecodeError."""
        raise NotImplementedError

    def marked(self, header: bytes) -> bytes:
        """The header with the redelivered mark; nothing else is changed.  DecodeError."""
        raise NotImplementedError

    def headed(self, header: bytes, name: str, value: int) -> bytes:
        """The header with one more of the application's headers; all else as it was.  DecodeError."""
        raise NotImplementedError

    def envelope(self, header: bytes, empty_body: bool) -> Envelope:
        """What a header says that was stored as it was to be delivered.  DecodeError.

        `empty_body`: there was a body, of 0 octets.
        """
        raise NotImplementedError

    def written(self, properties: Properties) -> bytes:
        """A header in this form of what a message in another one says; what this form has no place for is left out.

        Raises nothing, for what another family's publisher said is nobody's fault here.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<Form of {self.name}>"
