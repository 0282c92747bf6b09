"""The grammar of class queue."""

from __future__ import annotations

from amqp_sansio.grammar.queue import queue
from amqp_sansio.spec import queue as spec
from amqp_sansio.spec.base import Command


def test_it_names_every_command_of_the_class() -> None:
    verbs = {each.VERB for each in vars(spec).values() if isinstance(each, type) and issubclass(each, Command) and each.VERB}
    assert set(queue().alphabet) == {f"client:{verb}" for verb in verbs}
    assert queue().accepts(queue().alphabet * 2)
