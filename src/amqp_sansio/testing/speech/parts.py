"""The parts of the protocol that have a grammar, each with its voice: the legal words, and their speakers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Final, Literal, TypeAlias, get_args

import attrs

from amqp_sansio.grammar import assembly, commands, connection, file, message, session, transactions
from amqp_sansio.grammar.algebra import one_of, repeated, sequence, together, without, words
from amqp_sansio.grammar.automaton import Automaton, Word
from amqp_sansio.testing.speech.commands import (
    AssemblyVoice,
    BranchVoice,
    ContentVoice,
    DeliveryVoice,
    DtxVoice,
    ExecutionVoice,
    ModelVoice,
    NoAckVoice,
    StagingVoice,
    StreamClassVoice,
    SubscriptionVoice,
    TransferVoice,
    TxVoice,
)
from amqp_sansio.testing.speech.step import Step
from amqp_sansio.testing.speech.word_encoder import AttachmentVoice, ConnectionVoice, Setting, StreamVoice, Voice

Opening: TypeAlias = Literal["nothing", "connection", "session", "work"]
"""What comes before the first word: nothing; an open connection; an attached session; the same with both command-points."""

OPENING: Final = (
    "client:protocol-header", "server:protocol-header", "server:connection.start", "client:connection.start-ok",
    "server:connection.tune", "client:connection.tune-ok", "client:connection.open", "server:connection.open-ok",
)  # fmt: skip


@attrs.frozen(eq=False, slots=False)
class Part:
    """One part: `name` such as "tx", its language and its voice.

    `alone` is the part of the language in which the server only answers; None when that is all of it.
    """

    name: str
    _language: Callable[[], Automaton]
    voice: Callable[[Setting], Voice]
    opening: Opening = "work"
    _alone: Callable[[], Automaton] | None = None

    @property
    def section(self) -> str:
        """Its section, for `amqp-sansio probe --section`."""
        return self.name.partition(":")[0]

    @cached_property
    def language(self) -> Automaton:
        """What both sides may say; it may break off anywhere."""
        return self._language().prefixes()

    @cached_property
    def client_led(self) -> Automaton:
        """The part of it in which the server only answers."""
        return self.language if self._alone is None else self._alone().prefixes()

    def __repr__(self) -> str:
        return f"<Part {self.name}>"


def opening(kind: Opening, voice: Voice) -> list[Step]:
    """Returns the usual opening by both sides, followed by what the voice prepares."""
    every: tuple[tuple[type[Voice], tuple[Word, ...]], ...] = (
        (ConnectionVoice, OPENING),
        (AttachmentVoice, ("client:session.attach", "server:session.attached")),
        (StreamVoice, ("client:session.command-point", "server:session.command-point")),
    )
    begun = every[: get_args(Opening).index(kind)]
    steps = [step for made, words in begun for word in words for step in made(voice.setting).say(word)]
    return [*steps, *voice.prepare()] if kind == "work" else steps


def _both(half: Callable[[str, str], Automaton]) -> Automaton:
    """Returns both directions of a grammar that has one for each."""
    return together(half("client", "server").prefixes(), half("server", "client").prefixes())


def _asked() -> Automaton:
    a = [f"{who}:session.{verb}" for who, verb in (("client", "attach"), ("server", "attached"), ("client", "detach"))]
    body = repeated(one_of(words(a[0], a[1]), "client:other"))
    return repeated(sequence(words(a[0], a[1]), body, words(a[2], "server:session.detached")))


def _branch() -> Automaton:
    """Returns the branch without what neither side can send: the session's end, its timeout, an administrator's decision."""
    return without(transactions.branch(), "session:ended", transactions.TIMEOUT, "administrator:complete")


def _connection() -> Automaton:
    return without(
        connection.conversation(), "client:other-protocol-header", "server:other-protocol-header", "server:connection.redirect"
    )  # fmt: skip


def _client_connection() -> Automaton:
    says = ("server:connection.close", "client:connection.close-ok", "server:session-traffic", "server:connection.heartbeat")
    return without(_connection().prefixes(), *says, "server:connection.secure")


def _delivery(no_ack: bool) -> Automaton:
    return without(file.delivery(), "server:file.deliver" if no_ack else "server:file.deliver no-ack")


def _consumed(name: str) -> Automaton:
    """Returns a consumer as far as the client controls it: without deliveries, which are up to the server."""
    return without(file.consumer(name), f"server:{name}.deliver")


PARTS: Final[dict[str, Part]] = {
    part.name: part
    for part in (
        Part("connection", _connection, ConnectionVoice, "nothing", _client_connection),
        Part("session: attachment", lambda: _both(session.attachment), AttachmentVoice, "connection", _asked),
        # Of the flushes that ask for `expected`, one at a time is unanswered.
        Part(
            "session: commands",
            lambda: _both(session.commands),
            StreamVoice,
            "session",
            partial(session.commands, "client", "server", 1),
        ),
        Part("execution", lambda: without(commands.execution("client"), "client:execution.result"), ExecutionVoice),
        *[
            Part(
                f"message: {('explicit', 'none')[accept]}, {('pre-acquired', 'not-acquired')[acquire]}",
                partial(message.none if accept else message.explicit, not acquire),
                partial(TransferVoice, accept_mode=accept, acquire_mode=acquire),
            )
            for accept in (0, 1)
            for acquire in (0, 1)
        ],
        Part("message: subscription", message.subscription_with_credit, SubscriptionVoice),
        Part("tx", transactions.subscribed, TxVoice),
        Part("dtx: demarcation", lambda: transactions.dtx(2), DtxVoice),
        Part("dtx: branch", _branch, BranchVoice),
        Part("exchange", commands.exchange, ModelVoice),
        Part("queue", commands.queue, ModelVoice),
        Part("file: quality of service", file.qos, ContentVoice),
        Part("file: consumer", file.consumer, ContentVoice, alone=lambda: _consumed("file")),
        Part("file: publishing", file.published, ContentVoice),
        Part("file: staging", lambda: file.staging("client", "server", "file.publish"), StagingVoice),
        Part("file: delivery", lambda: _delivery(False), DeliveryVoice),
        Part("file: delivery without ack", lambda: _delivery(True), NoAckVoice),
        Part("stream: quality of service", partial(file.qos, "stream"), StreamClassVoice),
        Part("stream: consumer", partial(file.consumer, "stream"), StreamClassVoice, alone=lambda: _consumed("stream")),
        Part("stream: publishing", partial(file.published, "stream"), StreamClassVoice),
        Part("assembly: commands", lambda: assembly.commands("client"), AssemblyVoice),
        Part("assembly: controls", lambda: assembly.controls("client"), AssemblyVoice),
    )
}
"""Every part by its name."""

SECTIONS: Final = tuple(dict.fromkeys([part.section for part in PARTS.values()]))
"""The sections, in the order of the specification's classes."""


def parts_of(section: str | None) -> list[Part]:
    """Returns the parts of a section; None: all.  Raises ValueError for an unknown section."""
    found = [part for part in PARTS.values() if section in (None, part.section, part.name)]
    if not found:
        raise ValueError(f"no section {section!r}: there are {', '.join(SECTIONS)}")
    return found
