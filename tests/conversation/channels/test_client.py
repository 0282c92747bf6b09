"""A client of a broker with channels, over several connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from tests.conversation.channels.stage import Stage, staged
from tests.steps import assert_linear

from amqp_sansio.conversation.retry import NEVER
from amqp_sansio.dialects import AMQP_0_9
from amqp_sansio.engine.sasl import AmqPlain, CramMd5, External, Plain, Scram
from amqp_sansio.errors import ConnectionClosedError, ConnectionLost, EncodeError
from amqp_sansio.events import ConnectionBlocked, ConnectionUnblocked
from amqp_sansio.events.channel import ChannelClosed, ConsumerCancelled, MessageReturned


def test_a_channel_that_is_asked_for_early_opens_with_the_connection() -> None:
    stage = staged()
    stage.cut()
    core = stage.client.open_channel()
    was = core.is_open
    stage.connect()
    assert [was, core.is_open] == [False, True]


def test_the_broker_blocks_and_unblocks() -> None:
    stage = staged()
    server = stage.server
    assert server is not None
    server.block("memory")
    stage.run()
    blocked = [stage.client.blocked]
    server.unblock()
    stage.run()
    assert [*blocked, stage.client.blocked] == [True, False]
    assert stage.told == [ConnectionBlocked("memory"), ConnectionUnblocked()]


def test_the_listener_hears_what_no_call_waits_for() -> None:
    stage = staged()
    stage.queue("q")
    core, other = stage.open(), stage.open()
    core.consumers.subscribe("q")
    stage.run()
    returned = core.publish("", "nowhere", b"", {"mandatory": True})
    stage.run()
    stage.broker._delete("q")
    stage.run()
    stage.get(other.close())
    assert [type(each) for each in stage.told] == [MessageReturned, ConsumerCancelled, ChannelClosed]
    assert returned.done


def test_a_new_secret_is_for_the_next_connections_too() -> None:
    stage = staged()
    updated = stage.client.update_secret("guest", "expired")
    stage.run()
    assert updated.done
    assert stage.broker.secrets == [b"guest"]
    assert stage.client.config.password == "guest"
    assert "expired" not in repr(stage.client.config)


def test_the_client_tells_a_tap_to_hide_the_octets_with_a_new_secret_and_no_otherss() -> None:
    told: list[tuple[bool, bytes, bool]] = []
    stage = Stage(tap=lambda *said: told.append(said))
    stage.connect()
    told.clear()
    stage.client.update_secret("hush-hush")
    with_it = stage.client.data_to_send()
    stage.client.open_channel()
    behind = stage.client.data_to_send()
    assert b"hush-hush" in with_it
    assert told == [(True, with_it, False), (True, behind, True)]


def test_a_secret_that_is_no_text_is_refused_and_not_quoted() -> None:
    stage = staged()
    with pytest.raises(EncodeError) as raised:
        stage.client.update_secret("hush-hush\ud800")
    assert "hush" not in repr(raised.value)
    assert raised.value.__suppress_context__
    assert stage.client.config.password == "guest"


def test_a_secret_whose_answer_is_lost_is_an_error() -> None:
    stage = staged()
    stage.broker.mute = True
    updated = stage.client.update_secret("guest")
    stage.cut()
    with pytest.raises(ConnectionLost):
        updated.result()


@pytest.mark.parametrize("dials", [False, True])
def test_a_new_secret_after_a_loss_is_for_the_next_connection(dials: bool) -> None:
    """With the old one, which may have expired, it could not log in."""
    stage = staged()
    stage.cut()
    if dials:  # and is not open yet
        stage.client.begin()
    with pytest.raises(EncodeError, match="reason"):
        stage.client.update_secret("new", "x" * 256)
    assert stage.client.config.password == "guest"
    assert stage.client.update_secret("new").done
    assert stage.client.config.password == "new"
    assert stage.client.machine.data_to_send().count(b"new") == 0


def test_a_dialect_without_new_secrets_has_none_after_a_loss() -> None:
    stage = staged(AMQP_0_9)
    stage.cut()
    with pytest.raises(EncodeError, match="update-secret"):
        stage.client.update_secret("new")
    assert stage.client.config.password == "guest"


def test_a_channel_opens_even_if_nobody_waits_for_it() -> None:
    stage = staged()
    woken: list[bool] = []
    stage.client.wake = lambda: woken.append(stage.client.machine.bytes_to_send > 0)
    stage.client.open_channel()
    assert woken == [True]


def test_nothing_is_asked_of_a_closed_client() -> None:
    stage = staged()
    core = stage.open()
    closed = stage.client.close()
    stage.run()
    stage.client.give_up(ConnectionLost("it was closed here"))
    assert closed.done
    assert core.ended.done
    with pytest.raises(ConnectionClosedError):
        stage.client.open_channel()
    with pytest.raises(ConnectionClosedError):
        stage.client.update_secret("new")


def test_a_channel_closed_during_a_loss_is_not_opened_again() -> None:
    stage = staged()
    kept, closed = stage.open(), stage.open()
    stage.cut()
    closed.close()
    stage.connect()
    assert kept.is_open
    assert not closed.is_open
    assert list(stage.client.cores.values()) == [kept]
    assert len(stage.client.machine.channels) == 1


def test_channels_beyond_what_a_new_connection_carries_end_with_an_error() -> None:
    stage = staged()
    cores = [stage.open() for _ in range(3)]
    stage.cut()
    stage.broker.channel_max = 2
    stage.connect()
    assert [core.is_open for core in cores] == [True, True, False]
    assert cores[2].error is not None


def test_the_end_of_a_connection_costs_as_much_as_it_has_channels() -> None:
    def prepared(size: int) -> Callable[[], object]:
        stage = staged(retry=NEVER)
        for _ in range(size):
            stage.client.open_channel()
        stage.run()

        def end() -> None:
            stage.client.receive_eof()
            stage.client.tick(stage.now)

        return end

    assert_linear(prepared, 200)


@pytest.mark.parametrize("mechanism", [Plain, AmqPlain, CramMd5, Scram])
def test_a_new_secret_is_for_mechanisms_of_the_users_own_too(mechanism: Any) -> None:
    """As auth_mechanism in a URL makes them."""
    stage = staged()
    stage.client.config = attrs.evolve(stage.client.config, mechanisms=(External(), mechanism("guest", "old")))
    stage.get(stage.client.update_secret("new"))
    external, changed = stage.client.config.mechanisms
    assert (external, changed) == (External(), mechanism("guest", "new"))
