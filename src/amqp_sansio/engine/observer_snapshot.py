"""What the snapshot of an observer consists of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from amqp_sansio.engine.consumers import Consumers
from amqp_sansio.engine.contents import ContentClass, Contents
from amqp_sansio.engine.deliveries import Deliveries
from amqp_sansio.engine.ear import Ear
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.plain import Dumper, Loader, Plain
from amqp_sansio.engine.staging import Staging
from amqp_sansio.engine.witness import Witness
from amqp_sansio.engine.witness_channel import ChannelWitness
from amqp_sansio.engine.witness_content import ContentWitness
from amqp_sansio.engine.witness_credit import CreditWitness
from amqp_sansio.engine.witness_demarcation import DemarcationWitness
from amqp_sansio.engine.witness_handshake import HandshakeWitness
from amqp_sansio.engine.witness_stream import StreamWitness
from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.machine import Machine, Table
from amqp_sansio.kernel.serials import MutableRangeSet
from amqp_sansio.ledger.credit import Credit, CreditBook, Grants
from amqp_sansio.ledger.demarcation import Demarcation
from amqp_sansio.ledger.ids import Ids
from amqp_sansio.ledger.settling import Settling
from amqp_sansio.ledger.subscriptions import Subscription, Subscriptions
from amqp_sansio.limits import Limits
from amqp_sansio.protocol import ProtocolHeader
from amqp_sansio.tables import file, stream
from amqp_sansio.tables.connection import CLOSE_BY_CLIENT, CLOSE_BY_SERVER, HANDSHAKE, ConnectionDialogue
from amqp_sansio.tables.demarcation import DEMARCATION
from amqp_sansio.tables.session import ATTACHMENT, STREAM, AttachmentDialogue
from amqp_sansio.wire.assembler import Assembler
from amqp_sansio.wire.partial import Partial
from amqp_sansio.wire.segments import SegmentReader

_CLASSES: Final[dict[str, type]] = {
    kind.__name__: kind
    for kind in (
        Assembler,
        AttachmentDialogue,
        ChannelWitness,
        ConnectionDialogue,
        Consumers,
        ContentClass,
        ContentWitness,
        Contents,
        Credit,
        CreditBook,
        CreditWitness,
        Deliveries,
        Demarcation,
        DemarcationWitness,
        Findings,
        Grants,
        HandshakeWitness,
        Ear,
        Ids,
        Limits,
        Machine,
        MutableRangeSet,
        Partial,
        ProtocolHeader,
        SegmentReader,
        Settling,
        Staging,
        Subscription,
        Subscriptions,
        StreamWitness,
        Witness,
    )
}

_TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        HANDSHAKE,
        CLOSE_BY_CLIENT,
        CLOSE_BY_SERVER,
        DEMARCATION,
        *ATTACHMENT.values(),
        *STREAM.values(),
        *[table for rows in (file, stream) for table in (rows.QOS, rows.CONSUMER, rows.PUBLISHING)],
        *file.STAGING.values(),
    )
}


def dump(root: object) -> Plain:
    """The state as plain values."""
    return Dumper(_CLASSES).dump(root)


def load(plain: Plain, callable_: Callable[..., object] | None) -> object:
    """The state again."""
    return Loader(_CLASSES, _TABLES, callable_).load(plain)


State = tuple[
    object, bool, tuple[set[str], set[str]], bool, "ProtocolHeader | None", "dict[Literal['C', 'S'], Ear]", Witness, Limits
]
"""Name of the dialect, strict, who was heard late, the end, the client's header, the ears, the witness, the limits."""


def load_state(plain: Plain, carries: Callable[[int, int], bool]) -> State:
    """The parts of an observer.  DecodeError when it is not a snapshot of one."""
    state = load(plain, carries)
    if isinstance(state, tuple) and len(state) == 8:
        name, strict, late, eof, client_header, ears, witness, limits = state
        if (
            isinstance(limits, Limits)
            and isinstance(witness, Witness)
            and isinstance(ears, dict)
            and isinstance(late, tuple)
            and [type(each) for each in late] == [set, set]
            and isinstance(client_header, ProtocolHeader | None)
        ):
            return name, bool(strict), (late[0], late[1]), bool(eof), client_header, ears, witness, limits
    raise DecodeError("snapshot", 0, "not a snapshot of an observer")
