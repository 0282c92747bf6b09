"""The sections: tables and the grammar that must be the same language, and why they may differ where they do."""

from __future__ import annotations

from functools import partial
from typing import Final

from amqp_sansio.grammar import connection, file, message, session, transactions
from amqp_sansio.grammar.algebra import answered, together
from amqp_sansio.grammar.automaton import Automaton
from amqp_sansio.tables import branch as branch_rows
from amqp_sansio.tables import connection as connection_rows
from amqp_sansio.tables import content_classes
from amqp_sansio.tables import demarcation as demarcation_rows
from amqp_sansio.tables import session as session_rows
from amqp_sansio.tables import transfer as transfer_rows
from amqp_sansio.tables import two_phase as two_phase_rows
from tools.witnesses import older
from tools.witnesses.section import Section, automaton, dialogue, spread


def _closes() -> Automaton:
    tables = (connection_rows.CLOSE_BY_CLIENT, connection_rows.CLOSE_BY_SERVER)
    language = together(*[automaton(table) for table in tables])
    for word in connection.USE:
        language = spread(language, word.replace("session-traffic", connection_rows.OTHER), [word])
    return language


def _memory(branches: int) -> Automaton:
    """Returns the limits on how many branches a session has, and how many of them are suspended."""
    d = transactions
    started = answered(d.START, d.END, d.END_SUSPENDED, most=branches)
    suspended = answered(d.SUSPEND, d.RESUME, d.END_SUSPENDED, most=branches)
    return together(started.prefixes(), suspended.prefixes())


_MEMORY: Final = (
    "which branches are suspended is memory: a verb names the state of its xid, and only memory knows which one applies. "
    "This section counts {} per session."
)
_COUNTED: Final = (
    "one expected per flush that asks for it needs counting, which no regular language can do: table and grammar only require "
    "some flush before it; how many are owed is memory."
)
_CONSUMERS: Final = (
    "a tag may be cancelled and used again while its last consume is unanswered, to any depth by the specification; only "
    "counting could follow that, so both witnesses require the answer first."
)
_TAKEN: Final = (
    "an unrequested detached has no answer that would show when it arrived: whatever its receiver says may have been on its "
    "way, until one side asks for a session again."
)
_SESSIONS: Final = (
    "how many sessions work for a branch is memory of the coordinator; the rows define the state of the branch for the "
    "speaking session, and here every session has its own machine."
)
_ONE_QUESTION: Final = "one question at a time: qos-ok does not say which qos it answers."

OTHERS: Final = {"client": "server", "server": "client"}

SECTIONS: Final[tuple[Section, ...]] = (
    Section(
        "connection",
        (connection_rows.HANDSHAKE, connection_rows.CLOSE_BY_CLIENT, connection_rows.CLOSE_BY_SERVER),
        connection.conversation,
        rows=lambda: dialogue(connection_rows.HANDSHAKE),
    ),
    Section(
        "connection: close",
        (connection_rows.CLOSE_BY_CLIENT, connection_rows.CLOSE_BY_SERVER),
        connection.close,
        rows=_closes,
    ),
    *[
        Section(
            f"session: attachment, words of the {who}",
            (session_rows.ATTACHMENT[who],),
            lambda who=who, other=other: session.attachment(who, other),  # type: ignore[misc]
            reason=_TAKEN,
        )
        for who, other in OTHERS.items()
    ],
    *[
        Section(
            f"session: at the {who}",
            (session_rows.ENDPOINT[who],),
            lambda who=who, other=other: session.endpoint(who, other),  # type: ignore[misc]
        )
        for who, other in OTHERS.items()
    ],
    *[
        Section(
            f"session: commands of the {who}",
            (session_rows.STREAM[who],),
            lambda who=who, other=other: session.commands(who, other),  # type: ignore[misc]
            reason=_COUNTED,
        )
        for who, other in OTHERS.items()
    ],
    Section("message: accept-mode explicit", (transfer_rows.EXPLICIT,), lambda: message.transfer(0)),
    Section("message: accept-mode none", (transfer_rows.NONE,), lambda: message.transfer(1)),
    *[
        Section(
            f"tx and dtx-demarcation, {count}",
            (demarcation_rows.DEMARCATION,),
            lambda number=number: transactions.demarcation(number),  # type: ignore[misc]
            lambda number=number: _memory(number),  # type: ignore[misc]
            _MEMORY.format(count),
        )
        for number, count in ((1, "one branch"), (2, "two branches"), (3, "three branches"))
    ],
    Section("dtx-coordination, one session", (branch_rows.BRANCH,), transactions.branch),
    *[
        Section(
            f"dtx-coordination, {count} sessions",
            (branch_rows.BRANCH,),
            lambda sessions=sessions: transactions.branch(sessions),  # type: ignore[misc]
            reason=_SESSIONS,
            sessions=sessions,
        )
        for count, sessions in (("two", ("one", "two")), ("three", ("one", "two", "three")))
    ],
    Section("file: quality of service", (content_classes.QOS["file"],), file.qos, reason=_ONE_QUESTION),
    Section("file: consumer", (content_classes.CONSUMER["file"],), file.consumer, reason=_CONSUMERS),
    Section("file: publishing", (content_classes.PUBLISHING["file"],), file.published),
    Section(
        "file: staged by the client",
        (content_classes.STAGING["client"],),
        lambda: file.staging("client", "server", content_classes.PUBLISH),
    ),
    Section(
        "file: staged by the server",
        (content_classes.STAGING["server"],),
        lambda: file.staging("server", "client", content_classes.DELIVER),
    ),
    Section("file: delivery", (content_classes.DELIVERY,), file.delivery),
    Section("stream: quality of service", (content_classes.QOS["stream"],), partial(file.qos, "stream"), reason=_ONE_QUESTION),
    Section("stream: consumer", (content_classes.CONSUMER["stream"],), partial(file.consumer, "stream"), reason=_CONSUMERS),
    Section("stream: publishing", (content_classes.PUBLISHING["stream"],), partial(file.published, "stream")),
    *older.sections(),
)

ALONE: Final = {
    "execution": "any command in any order; an exception is the last one. The engine's streams of commands follow it. The "
    "observer alone reports no violation for a command after an exception: the specification says that an exception informs a "
    "peer, but nowhere that nothing may follow. The detach ends the session, and no word before it breaks a rule.",
    "exchange": "any command of the client in any order.",
    "queue": "any command of the client in any order.",
    "message: subscription": "credit is arithmetic (`ledger.credit`); the grammar says only whether there may be any, and an "
    "observer is tested with its conversations.",
    "session: life of a command id": "sets of ids are arithmetic (`ledger.ids`).",
    "assembly": "`wire.segments` is not a table: a reader is tested with every frame in every state. It differs in two points: "
    "it recognises an unmarked last segment by what follows (a body) or at its last frame (a command without content), and "
    "unless strict it takes a header without E for the last segment, as qpidd means it.",
}
"""Grammars without a table, and why."""

TABLES_ALONE: Final = {
    two_phase_rows.TWO_PHASE: "our own way of deciding and recovering: the specification only defines the verbs of a "
    "coordinator, so the verbs that it sends are checked against the grammar of dtx-coordination.",
}
"""Tables without a grammar, and why."""
