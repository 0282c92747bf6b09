"""The grammar of class execution."""

from __future__ import annotations

from amqp_sansio.grammar import execution


def test_an_exception_is_the_last_command() -> None:
    language = execution.execution("server")
    some = ["server:execution.sync", "server:command", "server:execution.result"]
    assert language.accepts(some)
    assert language.accepts([*some, "server:execution.exception"])
    assert not language.accepts(["server:execution.exception", *some])
