"""The memory of a voice."""

from __future__ import annotations

import pytest

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import queue
from amqp_sansio.spec import session as s
from amqp_sansio.spec.codes import DetachCode
from amqp_sansio.spec.execution import Result, Sync
from amqp_sansio.spec.queue import Declare
from amqp_sansio.testing.speech.step import Step
from amqp_sansio.testing.speech.word_encoder import AttachmentVoice, ConnectionVoice, Setting, StreamVoice, Voice, speaker_of


def test_results_and_completions_are_owed() -> None:
    voice = Voice(Setting())
    for command in (Sync(), queue.Query("q")):
        voice.told(Step("client", command, 1))
    voice.told(Step("client", Sync(), 2))  # another session
    result, completed = voice.feedback("server")
    assert isinstance(result.said, Result)
    assert result.said.command_id == 1
    assert completed.said == s.Completed(RangeSet([(0, 1)]))
    voice.told(result)
    voice.told(completed)
    assert voice.halves["client"].awaited == {}
    voice.told(Step("client", s.KnownCompleted(RangeSet([(0, 1)])), 1))
    assert voice.feedback("server") == []
    voice.told(Step("server", s.Attached(b"s"), 1))
    assert [half.next_id for half in voice.halves.values()] == [0, 0]


def test_names_of_a_setting() -> None:
    setting = Setting(b"other", 3, "probe-")
    assert Voice(setting).queue().said == Declare("probe-q", exclusive=True, auto_delete=True)
    setting.mechanism, setting.user, setting.password = "PLAIN", "guest", "secret"
    (step,) = ConnectionVoice(setting).say("client:connection.start-ok")
    assert b"\0guest\0secret" in step.octets


def test_the_speaker_of_a_word() -> None:
    assert [speaker_of(word) for word in ("client:x", "recipient:x", "session:x", "sender:x", "server:x")] == [
        "client", "client", "client", "server", "server",
    ]  # fmt: skip


def test_a_word_that_there_is_not() -> None:
    with pytest.raises(KeyError):
        Voice(Setting()).say("client:nonsense")
    with pytest.raises(KeyError):
        StreamVoice(Setting()).say("client:nonsense")
    assert Voice(Setting()).hear(Step("client", Sync(), 1)) is None


def test_a_detached_tells_whether_it_refuses_the_attach_or_answers_the_detach() -> None:
    voice = AttachmentVoice(Setting())
    for asked, code in (
        ("attach", DetachCode.SESSION_BUSY),
        ("detach", DetachCode.NORMAL),
        ("attach", DetachCode.SESSION_BUSY),
    ):
        for step in voice.say(f"client:session.{asked}"):
            voice.told(step)
        (answer,) = voice.say("server:session.detached")
        assert answer.said == s.Detached(b"s", code)


def test_any_command_is_one_word_of_the_stream() -> None:
    voice = StreamVoice(Setting())
    assert voice.hear(Step("client", Sync(), 1)) == "client:command"
    assert voice.hear(Step("client", s.Flush(expected=True), 1)) == "client:session.flush expected"
    assert voice.hear(Step("client", Sync(), 2)) is None, "another channel"
