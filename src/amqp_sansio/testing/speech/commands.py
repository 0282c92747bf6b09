"""The voices of the classes whose words are commands: execution, message, tx, dtx, exchange, queue, file and stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import ClassVar, Final

from amqp_sansio.dialects import DEFAULT
from amqp_sansio.engine.demarcation import Demarcation
from amqp_sansio.grammar import transactions
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.grammar.message import ACQUIRE, GOT, LOST
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx, exchange, file, message, queue, stream, tx
from amqp_sansio.spec import session as s
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.execution import Exception_, Result, Sync
from amqp_sansio.spec.message import Acquired, DeliveryProperties
from amqp_sansio.spec.xids import XidKey
from amqp_sansio.testing.speech.step import Said, Speaker, Step
from amqp_sansio.testing.speech.word_encoder import NONE, OTHER, Setting, Voice, by_verb, speaker_of, verb_of
from amqp_sansio.wire.layouts.layout import encode_headers
from amqp_sansio.wire.primitives import put_frame_header
from amqp_sansio.wire.segments import FIRST_FRAME, FIRST_SEGMENT, FRAME_HEADER_SIZE, KINDS, LAST_FRAME, LAST_SEGMENT

BODY: Final = b"a message"
PUBLISH: Final = message.Transfer("", 1, 0)
"""The publish of a message to the queue."""
RIVAL: Final = "rival"
"""The destination of another consumer of the queue, which takes messages before they can be acquired."""


class ExecutionVoice(Voice):
    """Class execution, from the client's side."""

    asks = (Sync,)

    def table(self, who: Speaker) -> Mapping[str, Said]:
        gives_up = Exception_(541, description="the client gives up")
        return {"command": queue.Query(self.q), **by_verb(Sync(), gives_up)}


class ClientVoice(Voice):
    """A voice of the client alone that declares a queue first."""

    def prepare(self) -> list[Step]:
        return [self.queue()]

    def step(self, speaker: Speaker, said: Said, word: Word = "", **more: object) -> Step:
        """Returns a step as `Voice.step` does, with a content where the command carries one."""
        if isinstance(said, message.Transfer):
            header: Struct = DeliveryProperties(exchange=None if speaker == "client" else "", routing_key=self.q)
        elif isinstance(said, file.Stage | file.Return):
            header = file.FileProperties(content_type="text/plain")
        elif isinstance(said, stream.Publish | stream.Return | stream.Deliver):
            header = stream.StreamProperties(content_type="text/plain")
        else:
            return super().step(speaker, said, word, **more)
        return super().step(speaker, said, word, header=[header], body=BODY, **more)


class TransferVoice(ClientVoice):
    """The life of one transfer; the client is its recipient."""

    def __init__(self, setting: Setting, accept_mode: int = 0, acquire_mode: int = 0) -> None:
        super().__init__(setting)
        self.accept_mode: Final = accept_mode
        self.acquire_mode: Final = acquire_mode
        self.transfer: int | None = None
        """The id of the transfer."""
        self._acquiring: list[int] = []
        self._planned: list[bool] = []
        self._rival: int | None = None
        self._rivalled = False

    def prepare(self) -> list[Step]:
        return [
            *super().prepare(),
            self.step("client", message.Subscribe(self.q, "d", self.accept_mode, self.acquire_mode)),
            self.step("client", message.Flow("d", 0, 1)),
            self.step("client", message.Flow("d", 1, 0xFFFFFFFF)),
            self.step("client", PUBLISH),
        ]

    def foresee(self, words: Sequence[Word]) -> None:
        self._planned = [word == GOT for word in words if word in (GOT, LOST)]

    def ahead(self, word: Word) -> list[Step]:
        """Makes another consumer take the message when an acquire is to fail, and release it otherwise."""
        if word != ACQUIRE or not self._planned:
            return []
        if self._planned.pop(0) == (self._rival is None):
            return []
        if self._rival is not None:
            said: list[Command] = [message.Release(RangeSet.of(self._rival))]
            self._rival = None
        else:
            said = [] if self._rivalled else [message.Subscribe(self.q, RIVAL, 0, 0), message.SetFlowMode(RIVAL, 0)]
            said += [message.Flow(RIVAL, 0, 1), message.Flow(RIVAL, 1, 0xFFFFFFFF)]
        return [self.step("client", each) for each in said]

    def told(self, step: Step) -> None:
        said = step.said
        if isinstance(said, message.Transfer) and step.speaker == "server":
            if said.destination == RIVAL:
                self._rival = self.halves["server"].next_id
            elif self.transfer is None:
                self.transfer = self.halves["server"].next_id
        if isinstance(said, message.Subscribe) and said.destination == RIVAL:
            self._rivalled = True
        if isinstance(said, message.Acquire):
            self._acquiring.append(self.halves["client"].next_id)
        super().told(step)

    def table(self, who: Speaker) -> Mapping[str, Said]:
        ids = NONE if self.transfer is None else RangeSet.of(self.transfer)
        asked = next(iter(self.halves["client"].awaited), 0)
        transfer = message.Transfer("d", self.accept_mode, self.acquire_mode)
        settles = message.Acquire(ids), message.Accept(ids), message.Reject(ids, 0, ""), message.Release(ids)
        return {
            **by_verb(*settles, s.Completed(ids)),
            "message.transfer pre-acquired": transfer,
            "message.transfer not-acquired": transfer,
            "message.acquired": Result(asked, Acquired(ids)),
            "message.acquired without it": Result(asked, Acquired(NONE)),
        }

    def hear(self, step: Step) -> Word | None:
        said = step.said
        if isinstance(said, message.Transfer):
            if said.destination == RIVAL:
                return None
            return f"sender:message.transfer {'not-acquired' if said.acquire_mode else 'pre-acquired'}"
        if isinstance(said, Result) and isinstance(said.value, Acquired) and said.command_id in self._acquiring:
            return "sender:message.acquired" + ("" if said.value.transfers else " without it")
        return None


class SubscriptionVoice(ClientVoice):
    """One subscription and its credit."""

    asks = (message.Stop, message.Flush, message.Cancel)  # which take credit away when they are complete; that is a word

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._waiting: dict[int, Word] = {}

    def prepare(self) -> list[Step]:
        return [*super().prepare(), *[self.step("client", PUBLISH) for _ in range(3)]]

    def told(self, step: Step) -> None:
        said = step.said
        if isinstance(said, self.asks) and step.speaker == "client":
            self._waiting[self.halves["client"].next_id] = f"server:{step.verb} completed"
        if isinstance(said, s.Completed) and step.speaker == "server" and said.commands:
            for id in [id for id in self._waiting if id in said.commands]:
                del self._waiting[id]
        super().told(step)

    def table(self, who: Speaker) -> Mapping[str, Said]:
        ends = message.Stop("d"), message.Flush("d"), message.Cancel("d")
        first = {word: RangeSet.of(id) for id, word in reversed(self._waiting.items())}
        begun = message.Subscribe(self.q, "d", 1, 0), message.SetFlowMode("d", 0), message.Transfer("d", 1, 0)
        return {
            **by_verb(*begun, *ends),
            "message.flow message": message.Flow("d", 0, 100),
            "message.flow byte": message.Flow("d", 1, 0xFFFFFFFF),
            **{f"{each.VERB} completed": s.Completed(first.get(f"server:{each.VERB} completed", NONE)) for each in ends},
        }

    def hear(self, step: Step) -> Word | None:
        if isinstance(step.said, message.Transfer):
            return "server:message.transfer"
        if isinstance(step.said, s.Completed) and step.said.commands:
            return next((word for id, word in self._waiting.items() if id in step.said.commands), None)
        return None


class TxVoice(ClientVoice):
    """Class tx."""

    def table(self, who: Speaker) -> dict[str, Said]:
        return {
            **by_verb(tx.Select(), tx.Commit(), tx.Rollback()),
            verb_of(transactions.SUBSCRIBE): message.Subscribe(self.q, "d", 1, 0),
            verb_of(transactions.CANCEL): message.Cancel("d"),
        }


class DtxVoice(TxVoice):
    """Class dtx: which branch the work of the session belongs to."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._book: Final = Demarcation()
        self._begun = 0
        self._subscribed = 0

    def told(self, step: Step) -> None:
        super().told(step)
        said = step.said
        if isinstance(said, message.Subscribe):
            self._subscribed += 1
        elif isinstance(said, Command) and (verb := self._book.verb(said)) is not None:
            self._book.said(verb, said, None)
            self._begun += verb == verb_of(transactions.START)

    def _xid(self, key: XidKey | None) -> Xid:
        """Returns the branch; an unused one when there is none."""
        return self.setting.xid(b"-1") if key is None else Xid(*key)

    def table(self, who: Speaker) -> dict[str, Said]:
        active, suspended = self._xid(self._book.associated), self._xid(next(iter(self._book.suspended), None))
        return super().table(who) | {
            verb_of(transactions.SELECT): dtx.Select(),
            verb_of(transactions.START): dtx.Start(self.setting.xid(b"%d" % self._begun)),
            verb_of(transactions.RESUME): dtx.Start(suspended, resume=True),
            verb_of(transactions.END): dtx.End(active),
            verb_of(transactions.SUSPEND): dtx.End(active, suspend=True),
            verb_of(transactions.END_SUSPENDED): dtx.End(suspended),
            verb_of(transactions.SUBSCRIBE): message.Subscribe(self.q, f"d{self._subscribed}", 1, 0),
        }


class BranchVoice(ClientVoice):
    """Class dtx: the life of one branch.  With `work`, publishes a message in it, so that prepare has something to keep."""

    work = True

    def foresee(self, words: Sequence[Word]) -> None:
        self.work = "session:prepare(read-only)" not in words

    def prepare(self) -> list[Step]:
        return [*super().prepare(), self.step("client", dtx.Select())]

    def say(self, word: Word) -> list[Step]:
        steps = super().say(word)
        return [*steps, self.step("client", PUBLISH)] if verb_of(word) == "start" and self.work else steps

    def table(self, who: Speaker) -> Mapping[str, Said]:
        xid = self.setting.xid(b"b")
        return {
            "start": dtx.Start(xid),
            "start(join)": dtx.Start(xid, join=True),
            "start(resume)": dtx.Start(xid, resume=True),
            "end": dtx.End(xid),
            "end(suspend)": dtx.End(xid, suspend=True),
            "end(fail)": dtx.End(xid, fail=True),
            "prepare": dtx.Prepare(xid),
            "prepare(read-only)": dtx.Prepare(xid),
            "commit": dtx.Commit(xid),
            "commit(one-phase)": dtx.Commit(xid, True),
            "rollback": dtx.Rollback(xid),
            "forget": dtx.Forget(xid),
            "get-timeout": dtx.GetTimeout(xid),
            "set-timeout": dtx.SetTimeout(xid, 100),
        }


NEEDED: Final = {
    "exchange.bind": ("queue.declare", "exchange.declare"),
    "exchange.unbind": ("queue.declare", "exchange.declare", "exchange.bind"),
    "exchange.delete": ("exchange.declare",),
    "queue.delete": ("queue.declare",),
    "queue.purge": ("queue.declare",),
}
"""The verbs that make what a verb needs."""


class ModelVoice(Voice):
    """Classes exchange and queue: what a command names exists, because it is declared before where it must be."""

    _made: frozenset[str] = frozenset()
    """The verbs that made what exists now."""

    def told(self, step: Step) -> None:
        super().told(step)
        if step.verb in NEEDED["exchange.unbind"]:
            self._made |= {step.verb}
        elif step.verb == "queue.delete" and "exchange.bind" not in self._made:
            self._made -= {"queue.declare"}
        elif step.verb == "queue.delete":  # the exchange is auto-deleted with its last binding
            self._made = frozenset()
        elif step.verb in ("exchange.delete", "exchange.unbind"):
            self._made -= {"exchange.declare", "exchange.bind"}

    def say(self, word: Word) -> list[Step]:
        said = self.table("client")
        needed = [self.step("client", said[each]) for each in NEEDED.get(verb_of(word), ()) if each not in self._made]
        return [*needed, *super().say(word)]

    def table(self, who: Speaker) -> Mapping[str, Said]:
        q, x, key = self.q, self.setting.named("x"), "k"
        return by_verb(
            queue.Declare(q, exclusive=True, auto_delete=True),
            queue.Delete(q),
            queue.Purge(q),
            queue.Query(q),
            exchange.Declare(x, "direct", auto_delete=True),
            exchange.Delete(x),
            exchange.Query(x),
            exchange.Bind(q, x, key),
            exchange.Unbind(q, x, key),
            exchange.Bound(x, q, key),
        )


FLAGS: Final = {"B": FIRST_SEGMENT, "E": LAST_SEGMENT, "b": FIRST_FRAME, "e": LAST_FRAME}


def frame(channel: int, kind: str, flags: str, payload: bytes) -> bytes:
    """Returns one frame with these flags ("BEbe")."""
    number = KINDS.index(kind)
    bits = sum([FLAGS[flag] for flag in flags if flag in FLAGS])
    return put_frame_header(bits, number, FRAME_HEADER_SIZE + len(payload), 0, min(number, 1), channel, 0) + payload


class AssemblyVoice(ClientVoice):
    """Frames of message.transfer and of session.flush.

    Of a segment in several frames, the first has all octets but one, the middle ones none, and the last one the rest.
    """

    def segment(self, kind: str) -> bytes:
        """Returns the whole segment."""
        return {
            "control": DEFAULT.codec.encode_control(s.Flush(completed=True)),
            "command": DEFAULT.codec.encode_command(message.Transfer("", 1, 0), False),
            "header": encode_headers([DeliveryProperties(routing_key=self.q)]),
            "body": BODY,
        }[kind]

    def say(self, word: Word) -> list[Step]:
        kind, flags = verb_of(word).split(" ")
        whole = self.segment(kind)
        first, last = "b" in flags, "e" in flags
        part = whole if first and last else whole[:-1] if first else whole[-1:] if last else b""
        octets = frame(self.setting.channel, kind, flags, part)
        note = f"frame [{self.setting.channel}] {kind} {flags} of {len(part)} octets"
        return [Step(speaker_of(word), octets, self.setting.channel, word=word, note=note)]


class ContentVoice(ClientVoice):
    """The words that both classes have: quality of service, a consumer, publishing and returns."""

    spec: ClassVar[ModuleType] = file
    opened: ClassVar[bool] = True
    """Whether both sides have opened a file "f" before the first word, in which publishes and deliveries are staged."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._cancels: list[int] = []
        self._delivered = NONE
        """The id of the first delivery."""
        self._tag = 1

    def told(self, step: Step) -> None:
        if step.verb.endswith(".cancel"):
            self._cancels.append(self.halves["client"].next_id)
        if step.verb.endswith(".deliver"):
            self._delivered = self._delivered or RangeSet.of(self.halves["server"].next_id)
            self._tag += 1
        super().told(step)

    def prepare(self) -> list[Step]:
        steps = super().prepare()
        for who, other in OTHER.items() if self.opened else ():
            steps += [self.step(who, file.Open("f", 9)), self.step(other, file.OpenOk(0))]
        return steps

    def table(self, who: Speaker) -> Mapping[str, Said]:
        spec, q = self.spec, self.q
        done = RangeSet.of(*self._cancels[-1:]) if who == "server" else self._delivered
        return {
            **by_verb(s.Completed(done), spec.QosOk(), spec.Consume(q, "t"), spec.ConsumeOk("t"), spec.Cancel("t")),
            spec.Consume.VERB + " nowait": spec.Consume(q, "t", nowait=True),
            **by_verb(spec.Return(312, "no route", "", q), *self.own()),
            "file.deliver no-ack": file.Deliver("t", self._tag, False, "", q, "f"),
            "file.ack of all": file.Ack(0, multiple=True),
        }

    def own(self) -> Iterable[Command]:
        """Returns the commands whose fields differ in the other class, or that it lacks."""
        deliver = file.Deliver("t", self._tag, False, "", self.q, "f")
        publish, opens = file.Publish("", self.q, identifier="f"), file.Open("f", len(BODY))
        settles = file.Ack(1), file.Reject(1, requeue=True)
        return file.Qos(0, 10), opens, file.OpenOk(0), file.Stage(), publish, deliver, *settles

    def hear(self, step: Step) -> Word | None:
        said = step.said
        if isinstance(said, s.Completed) and said.commands and self._cancels and self._cancels[-1] in said.commands:
            return "server:session.completed"
        return f"{step.speaker}:{step.verb}" if isinstance(said, Command) and step.verb in self.table("client") else None


class StreamClassVoice(ContentVoice):
    """Class stream."""

    spec: ClassVar[ModuleType] = stream
    opened = False

    def own(self) -> Iterable[Command]:
        return stream.Qos(0, 10, 0), stream.Publish("", self.q), stream.Deliver("t", self._tag, "", self.q)


class StagingVoice(ContentVoice):
    """Class file: staged messages."""

    opened = False


class DeliveryVoice(ContentVoice):
    """Class file: one delivery to an existing consumer."""

    no_ack = False

    def prepare(self) -> list[Step]:
        return [*super().prepare(), self.step("client", file.Consume(self.q, "t", no_ack=self.no_ack, nowait=True))]


class NoAckVoice(DeliveryVoice):
    """Class file: one delivery that needs no acknowledgement."""

    no_ack = True
