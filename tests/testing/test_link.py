"""Two machines joined in memory."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.dialects import AMQP_0_8, AMQP_0_9, AMQP_0_9_1, ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Connection
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import ConnectionClosed, ConnectionOpened, Event, Origin
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.testing.link import Link, Speaker, _Choices


def pair() -> tuple[ClientConnection, ServerConnection]:
    client = ClientConnection(ClientConfig(username="ann", password="hush", virtual_host="v"))
    return client, ServerConnection(ServerConfig(mechanisms=[PlainServer(lambda user, password: password == "hush")]))


def conversation(link: Link[ClientConnection, ServerConnection]) -> tuple[list[Event], list[Event]]:
    """The opening, a session, the close: the events of each side."""
    heard = link.run()
    link.client.session(b"s")
    heard += link.run()
    link.client.close(CloseCode.NORMAL, "bye")
    heard += link.run()
    return [event for who, event in heard if who == "client"], [event for who, event in heard if who == "server"]


def test_a_conversation_is_written_down_in_the_third_person() -> None:
    link = Link(*pair())
    conversation(link)
    text = str(link.transcript)
    assert "client: protocol header AMQP 0-10" in text
    assert "client: [0] connection.open(virtual_host='v'" in text
    assert "server: [1] session.attached(name=b's')" in text
    assert "server: [0] connection.close-ok()" in text
    assert "response=<9 octets>" in text
    assert "hush" not in text
    assert link.client.finished
    assert link.server.finished


# However the octets are cut and delayed, both sides see the same events and say the same octets.
@given(
    delay=st.tuples(st.integers(0, 3), st.integers(0, 9)),
    chunk=st.tuples(st.integers(1, 5), st.integers(1, 60)),
    choices=st.lists(st.integers(0, 1000), max_size=30),
)
def test_cutting_and_delay_change_nothing(delay: tuple[int, int], chunk: tuple[int, int], choices: list[int]) -> None:
    plain = Link(*pair())
    expected = conversation(plain)
    link = Link(*pair(), delay=delay, chunk=chunk, choices=choices, strict=True)
    assert conversation(link) == expected
    assert link.violations == []
    assert link.said == plain.said


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_one_octet_at_a_time_in_sevens_and_whole_are_the_same(size: int) -> None:
    plain, cut = Link(*pair()), Link(*pair(), chunk=size)
    assert conversation(cut) == conversation(plain)
    assert cut.said == plain.said


def test_the_same_seed_makes_the_same_run() -> None:
    runs = []
    for _ in range(2):
        link = Link(*pair(), delay=(0, 5), chunk=(1, 30), choices=Random(3))
        conversation(link)
        runs.append(link.transcript.lines)
    assert runs[0] == runs[1]


def total(speaker: Speaker) -> int:
    link = Link(*pair())
    conversation(link)
    return len(link.said[speaker])


@pytest.mark.parametrize("speaker", ["client", "server"])
def test_both_learn_of_a_cut_at_any_octet_after_what_was_good(speaker: Speaker) -> None:
    whole = conversation(Link(*pair()))
    for octets in range(total(speaker)):
        link = Link(*pair())
        link.cut_after(speaker, octets)
        heard = link.run()
        if not link.broken:
            link.client.session(b"s")
            heard += link.run()
        if not link.broken:
            link.client.close(CloseCode.NORMAL, "bye")
            heard += link.run()
        assert link.broken
        for side, good in zip(("client", "server"), whole, strict=True):
            events = [event for who, event in heard if who == side]
            ends = [event for event in events if isinstance(event, ConnectionClosed)]
            assert events[-1:] == ends
            before = [event for event in events if type(event).__name__ not in ("ConnectionClosed", "SessionDetached")]
            assert before == [event for event in good if event in before]
        assert not link.client.wants_data
        assert not link.server.wants_data


def test_a_cut_comes_with_its_octet_and_not_with_the_next() -> None:
    link = Link(*pair(), chunk=1)
    link.cut_after("client", 8)
    heard = link.run()
    assert link.broken
    assert link.said == {"client": link.said["client"][:8], "server": link.said["server"]}
    assert [type(event) for _, event in heard] == [ConnectionClosed, ConnectionClosed]


def test_a_reconnect_begins_anew_and_the_record_goes_on() -> None:
    link = Link(*pair())
    link.run()
    link.cut()
    assert [type(event) for _, event in link.run()] == [ConnectionClosed, ConnectionClosed]
    link.reconnect(*pair())
    assert any(isinstance(event, ConnectionOpened) for _, event in link.run())
    assert link.connections == 2
    assert str(link.transcript).count("--- connection") == 2


def test_a_side_that_closes_its_half_still_gets_the_other() -> None:
    link = Link(*pair(), delay=2)
    link.run()
    link.server.close(CloseCode.CONNECTION_FORCED, "going down")
    link.step()
    link.half_close("server")
    heard = link.run()
    assert ("client", ConnectionClosed(Origin.PEER, 320, "going down")) in heard
    assert heard[-1] == ("server", ConnectionClosed(Origin.LOCAL, 320, "going down"))
    assert "the server closes its half" in str(link.transcript)


def test_events_are_reported_as_they_happen() -> None:
    told: list[str] = []

    def on_client(connection: ClientConnection, event: Event) -> None:
        told.append(type(event).__name__)
        if isinstance(event, ConnectionOpened):
            connection.close()

    link = Link(*pair(), on_client=on_client)
    link.run()
    assert told == ["StartReceived", "ConnectionOpened", "ConnectionClosed"]


def test_the_observer_names_the_side_that_broke_the_protocol() -> None:
    link = Link(*pair())
    link.run()
    link.client._write(b"\x0f\x00\x00\x10" + bytes(8) + b"\x01\x08\x00\x00")
    link.run()
    (violation,) = link.violations
    assert violation.said == "connection.open-ok"
    quiet = Link(*pair(), strict=None)
    conversation(quiet)
    assert quiet.violations == []


def test_crossing_closes_end_both() -> None:
    link = Link(*pair(), delay=3, strict=True)
    link.run()
    link.client.close(CloseCode.NORMAL, "a")
    link.server.close(CloseCode.CONNECTION_FORCED, "b")
    heard = link.run()
    assert heard == [
        ("client", ConnectionClosed(Origin.LOCAL, 200, "a")),
        ("server", ConnectionClosed(Origin.LOCAL, 320, "b")),
    ]
    ends: tuple[Connection, Connection] = (link.client, link.server)
    assert all(each.finished for each in ends)
    assert link.violations == []


@pytest.mark.parametrize("dialect", [AMQP_0_8, AMQP_0_9, AMQP_0_9_1], ids=lambda dialect: dialect.name)
def test_a_link_carries_either_family(dialect: ChannelDialect) -> None:
    """Its observer and its transcript know what is spoken by the header of the client."""
    client = ChannelClientConnection(ClientConfig(dialect=dialect))
    link = Link(client, ChannelServerConnection(ServerConfig(dialects=(dialect,))), chunk=1)
    link.run()
    client.channel().publish("", "k", b"one")
    link.run()
    text = str(link.transcript)
    assert f"client: protocol header AMQP {dialect.name}" in text
    assert "client: [1] basic.publish(" in text
    assert link.violations == []


def test_a_list_is_read_again_from_its_start() -> None:
    choices = _Choices([1, 5])
    assert [choices.between(10, 12) for _ in range(4)] == [11, 12, 11, 12]


def test_where_there_is_nothing_to_choose_nothing_is_used_up() -> None:
    choices = _Choices([1, 2])
    assert choices.between(7, 7) == 7
    assert choices.between(0, 9) == 1
    assert _Choices().between(3, 9) == 3


def test_the_same_seed_makes_the_same_choices() -> None:
    one, other = _Choices(Random(7)), _Choices(Random(7))
    assert [one.between(0, 99) for _ in range(20)] == [other.between(0, 99) for _ in range(20)]
