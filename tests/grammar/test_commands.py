"""The grammars of classes execution, exchange and queue."""

from __future__ import annotations

from types import ModuleType

import pytest

from amqp_sansio.grammar import commands
from amqp_sansio.grammar.automaton import Automaton
from amqp_sansio.spec import exchange, queue
from amqp_sansio.spec.base import Command


def test_an_exception_is_the_last_command() -> None:
    language = commands.execution("server")
    some = ["server:execution.sync", "server:command", "server:execution.result"]
    assert language.accepts(some)
    assert language.accepts([*some, "server:execution.exception"])
    assert not language.accepts(["server:execution.exception", *some])


@pytest.mark.parametrize(("spec", "language"), [(exchange, commands.exchange()), (queue, commands.queue())])
def test_it_names_every_command_of_the_class(spec: ModuleType, language: Automaton) -> None:
    verbs = {each.VERB for each in vars(spec).values() if isinstance(each, type) and issubclass(each, Command) and each.VERB}
    assert set(language.alphabet) == {f"client:{verb}" for verb in verbs}
    assert language.accepts(language.alphabet * 2)
