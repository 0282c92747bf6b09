"""The bases of the generated vocabulary: a control, a command, a struct."""

from __future__ import annotations

from typing import ClassVar

from amqp_sansio.kernel.value import Value


class Control(Value):
    """Something said on track 0: about the connection or the session, without an id."""

    __slots__ = ()
    VERB: ClassVar[str] = ""
    """Its name in the specification's words, such as "session.attach"."""


class Command(Value):
    """Something said on track 1: it has an id within its session and is executed exactly once, in order."""

    __slots__ = ()
    VERB: ClassVar[str] = ""
    """Its name in the specification's words, such as "message.transfer"."""
    RESULT: ClassVar[str] = ""
    """The name of the struct that answers it in execution.result, or "" when none does."""


class Struct(Value):
    """A group of fields that other things carry: header structs, results, xids."""

    __slots__ = ()
    NAME: ClassVar[str] = ""
    """Its name in the specification's words, such as "message.delivery-properties"."""
