"""The grammar of class exchange."""

from __future__ import annotations

from amqp_sansio.grammar.exchange import exchange
from amqp_sansio.spec import exchange as spec
from amqp_sansio.spec.base import Command


def test_it_names_every_command_of_the_class() -> None:
    verbs = {each.VERB for each in vars(spec).values() if isinstance(each, type) and issubclass(each, Command) and each.VERB}
    assert set(exchange().alphabet) == {f"client:{verb}" for verb in verbs}
    assert exchange().accepts(exchange().alphabet * 2)
