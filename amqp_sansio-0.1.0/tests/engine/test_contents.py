"""The conversation about files and streams.  (Word by word, and what crosses: test_content_talk.)"""

from __future__ import annotations

import attrs
import pytest

from amqp_sansio.engine.contents import CONTENT_VERBS, Contents, is_global
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec import file, stream
from amqp_sansio.spec.base import Command
from amqp_sansio.wire.layouts.v0_10 import LAYOUT

C, S = "client", "server"
ALL = [thing for module in (file, stream) for thing in vars(module).values() if isinstance(thing, type)]
COMMANDS: list[type[Command]] = [each for each in ALL if issubclass(each, Command) and each is not Command]


def test_every_command_of_the_two_classes_is_taken() -> None:
    assert {each.VERB for each in COMMANDS} == CONTENT_VERBS
    for each in COMMANDS:
        for speaker in (C, S):
            contents = Contents(DEFAULT_LIMITS, None, True)
            contents.check(speaker, each(), None, None)
            contents.step(speaker, each(), None)


def test_content_that_must_have_a_header_is_that_of_the_layout() -> None:
    assert {verb for verb in LAYOUT.segments if verb.startswith(("file.", "stream."))} == {
        each.VERB
        for each in COMMANDS
        for objection in [Contents(DEFAULT_LIMITS).check(S, each(), False, 0)]
        if objection is not None and objection.rule == f"{each.VERB}.header"
    }


@pytest.mark.parametrize("late", [False, True])
def test_a_snapshot(late: bool) -> None:
    contents = Contents(DEFAULT_LIMITS, None, late)
    for speaker, command in [
        (C, file.Qos(7, 3)),
        (C, stream.Qos()),
        (S, stream.QosOk()),
        (C, stream.Consume("q", "t")),
        (C, stream.Publish("x")),
        (S, file.Open("f", 8)),
    ]:
        assert contents.check(speaker, command, True, 0) is None
        contents.step(speaker, command, 0)
    again = Contents(DEFAULT_LIMITS, None, late)
    again.restore(contents.snapshot())
    assert again.snapshot() == contents.snapshot()
    for key in contents.snapshot():
        with pytest.raises((KeyError, ValueError, TypeError)):
            Contents(DEFAULT_LIMITS).restore({**contents.snapshot(), key: ("x", "y")})


def test_what_is_for_the_whole_connection() -> None:
    assert is_global(file.Qos(0, 1, True))
    assert not is_global(file.Qos(0, 1))
    assert not is_global(stream.Qos(0, 1, 1, True))  # a server may ignore what is asked of a stream


@pytest.mark.parametrize("heard", [False, True])
def test_to_a_late_observer_a_delivery_shows_that_its_tag_has_a_consumer(heard: bool) -> None:
    """Whoever did not hear the consume knows of the consumer by what is delivered to it, and counts it."""
    contents = Contents(attrs.evolve(DEFAULT_LIMITS, subscriptions=1), None, True)
    if heard:
        contents.step(S, file.Deliver("t", 1), None)
    objection = contents.check(C, file.Consume("q", "u"), None, None)
    assert (None if objection is None else objection.rule) == ("limits.subscriptions" if heard else None)
