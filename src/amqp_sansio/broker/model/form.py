"""The form in which a family writes message headers: the model keeps the publisher's octets, and reads them by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Envelope
    from amqp_sansio.broker.model.properties import Properties
    from amqp_sansio.spec.values import Map


class Form:
    """The form of one family, one object for all its messages; compared by identity.

    A base class rather than a protocol: each message makes calls to it.  `header` is always the `Envelope.header` of a message
    in this form.
    """

    def __init__(self, name: str) -> None:
        self.name: Final = name
        """The name of the family, by which a journal identifies the form of the octets that it keeps."""

    def properties(self, header: bytes) -> Properties:
        """Returns all properties in the header.  Raises DecodeError when it cannot be read."""
        raise NotImplementedError

    def headers(self, header: bytes) -> Map:
        """Returns the application headers alone, an empty map when there are none.  Raises DecodeError."""
        raise NotImplementedError

    def marked(self, header: bytes) -> bytes:
        """Returns the header with the redelivered mark, otherwise unchanged.  Raises DecodeError."""
        raise NotImplementedError

    def headed(self, header: bytes, name: str, value: int) -> bytes:
        """Returns the header with one more application header, otherwise unchanged.  Raises DecodeError."""
        raise NotImplementedError

    def envelope(self, header: bytes, empty_body: bool) -> Envelope:
        """Returns the envelope of a header that was stored as it was to be delivered.  Raises DecodeError.

        `empty_body`: there was a body, of 0 octets.
        """
        raise NotImplementedError

    def written(self, properties: Properties) -> bytes:
        """Encodes the properties of a message from another family; drops those that this form cannot express.

        Never raises: the client here is not to blame for another family's publisher.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<Form of {self.name}>"
