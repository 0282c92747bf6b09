"""The grammar of a stream of commands."""

from __future__ import annotations

from amqp_sansio.grammar import commands

POINT, COMMAND = "client:session.command-point", "client:command"


def test_no_command_before_a_point() -> None:
    stream = commands.stream("client")
    controls = [f"client:{verb}" for verb in commands.CONTROLS]
    assert stream.accepts([*controls, POINT, COMMAND, *controls, POINT, COMMAND])
    assert not stream.accepts([*controls, COMMAND])
    assert stream.accepts([])


def test_the_feedback_is_legal_at_any_time() -> None:
    half = commands.half("client", "server")
    sets = ["server:session.completed", "server:session.confirmed"]
    assert half.accepts([*sets, POINT, *sets, COMMAND, *sets])
    assert not half.accepts([POINT, "server:session.expected"])
    assert half.accepts(["client:session.flush expected", POINT, "server:session.expected"])
