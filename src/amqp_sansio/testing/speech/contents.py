"""The voices of classes file and stream."""

from __future__ import annotations

from types import ModuleType
from typing import ClassVar

from amqp_sansio.grammar.automaton import Word
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import file, stream
from amqp_sansio.spec import session as s
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.testing.speech.commands import BODY, Client
from amqp_sansio.testing.speech.step import Step
from amqp_sansio.testing.speech.word_encoder import NONE, OTHER, Setting, speaker_of


class ContentVoice(Client):
    """The words that both classes have: quality of service, a consumer, publishing and returns."""

    name = "file"
    header: ClassVar[tuple[Struct, ...]] = (file.FileProperties(content_type="text/plain"),)
    content: ClassVar[tuple[str, ...]] = ("stage", "return")
    """The commands that carry content."""
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

    def common(self, spec: ModuleType) -> dict[str, Command]:
        """Returns the commands of a class that have the same fields in the other one."""
        return {
            "qos-ok": spec.QosOk(),
            "consume": spec.Consume(self.q, "t"),
            "consume nowait": spec.Consume(self.q, "t", nowait=True),
            "consume-ok": spec.ConsumeOk("t"),
            "cancel": spec.Cancel("t"),
            "return": spec.Return(312, "no route", "", self.q),
        }

    def commands(self) -> dict[str, Command]:
        """Returns the commands by name, without the class."""
        q = self.q
        deliver = file.Deliver("t", self._tag, False, "", q, "f")
        return self.common(file) | {
            "qos": file.Qos(0, 10),
            "open": file.Open("f", len(BODY)),
            "open-ok": file.OpenOk(0),
            "stage": file.Stage(),
            "publish": file.Publish("", q, identifier="f"),
            "deliver": deliver,
            "deliver no-ack": deliver,
            "ack": file.Ack(1),
            "ack of all": file.Ack(0, multiple=True),
            "reject": file.Reject(1, requeue=True),
        }

    def say(self, word: Word) -> list[Step]:
        who = speaker_of(word)
        verb = word.partition(":")[2]
        if verb == "session.completed":
            ids = RangeSet.of(*self._cancels[-1:]) if who == "server" else self._delivered
            return [self.step(who, s.Completed(ids), word)]
        short = verb.partition(".")[2]
        said = self.commands()[short]
        return [self.step(who, said, word, **({"header": self.header, "body": BODY} if short in self.content else {}))]

    def hear(self, step: Step) -> Word | None:
        said = step.said
        if isinstance(said, s.Completed) and said.commands and self._cancels and self._cancels[-1] in said.commands:
            return "server:session.completed"
        return f"{step.speaker}:{step.verb}" if step.verb.startswith(f"{self.name}.") else None


class StreamClassVoice(ContentVoice):
    """Class stream."""

    name = "stream"
    header = (stream.StreamProperties(content_type="text/plain"),)
    content = ("publish", "return", "deliver")
    opened = False

    def commands(self) -> dict[str, Command]:
        return self.common(stream) | {
            "qos": stream.Qos(0, 10, 0),
            "publish": stream.Publish("", self.q),
            "deliver": stream.Deliver("t", self._tag, "", self.q),
        }


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
