"""Which command is done where."""

from __future__ import annotations

import pytest
from tests.broker.harness import World, blurt, refused

from amqp_sansio.broker.fronts.sessions.table import COMMANDS
from amqp_sansio.events import CommandsCompleted, ExceptionReceived
from amqp_sansio.spec import dtx, exchange, execution, file, message, queue, stream, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.tables.session import COMMAND_SPEAKERS


def commands(module: object) -> list[type[Command]]:
    return [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Command) and each.VERB]


def test_every_command_that_a_client_may_say_has_its_row() -> None:
    said = [each for module in (message, tx, dtx, exchange, queue) for each in commands(module)]
    missing = [each.VERB for each in said if each not in COMMANDS and COMMAND_SPEAKERS.get(each.VERB) != "server"]
    assert missing == ["message.transfer"]  # which comes as an event of its own


CONTENT = (
    file.Qos(),
    file.Consume("q", "tag"),
    file.Open("identifier", 1),
    file.Publish("", "q"),
    stream.Qos(),
    stream.Consume("q", "tag"),
)


@pytest.mark.parametrize("command", CONTENT, ids=lambda command: command.VERB)
def test_what_has_no_row_is_not_implemented(world: World, command: Command) -> None:
    """What breaks the grammar of classes file and stream the engine answers, and with other codes."""
    client, session = world.session()
    assert refused(client, session, command).error_code == 540


def test_execution_sync_is_a_barrier(world: World) -> None:
    client, session = world.session()
    sync = session.sync()
    world.run()
    assert any(sync in event.ids for event in client.all(CommandsCompleted))


def test_what_follows_a_refused_command_is_not_done(world: World) -> None:
    client, session = world.session()
    blurt(session, queue.Delete("none"))
    blurt(session, queue.Declare("q"))
    world.run()
    assert [event.error_code for event in client.all(ExceptionReceived)] == [404]
    assert world.broker.host("").queues == {}


def test_a_result_that_nobody_asked_for_is_ignored(world: World) -> None:
    client, session = world.session()
    blurt(session, execution.Result(7))
    world.run()
    assert client.all(ExceptionReceived) == []
