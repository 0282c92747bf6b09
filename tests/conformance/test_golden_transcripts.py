"""One conversation in each dialect, in the words of a transcript: the same form in both families, changed only on purpose.

`python -m tests.conformance.test_golden_transcripts` writes the transcripts anew; read the difference before you keep it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from tests.conformance.test_golden_channels import conversation
from tests.engine.channels.stage import DIALECTS

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.dialects import AMQP_0_10, ChannelDialect
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import CommandReceived, Event, TransferReceived
from amqp_sansio.spec import message, queue
from amqp_sansio.testing.link import Link
from amqp_sansio.testing.transcript import Transcript

PLACE: Final = Path(__file__).resolve().parents[1] / "data" / "transcripts"
OCTETS: Final = 1
"""The unit of the last credit that is granted."""
NAMES: Final = ("0-10", *[dialect.name for dialect in DIALECTS])
PROPERTIES: Final = re.compile(r"((?:server|client)_properties)=.*?, (?=mechanisms?=)")


def of_sessions() -> list[str]:
    """A client declares, publishes, subscribes, accepts and ends; a server carries that out and delivers a message."""

    def hear(server: ServerConnection, event: Event) -> None:
        if isinstance(event, CommandReceived | TransferReceived) and event.id is not None:
            (session,) = server.sessions
            session.complete(event.id)
            if isinstance(event, CommandReceived) and isinstance(event.command, message.Flow) and event.command.unit == OCTETS:
                session.deliver("d", message.DeliveryProperties(routing_key="q"), body=b"one")

    link = Link(ClientConnection(ClientConfig()), ServerConnection(ServerConfig()), on_server=hear)
    link.run()
    session = link.client.session(b"s")
    link.run()
    session.send(queue.Declare("q", durable=True, arguments={"qpid.max_count": 10}))
    session.publish("", message.DeliveryProperties(routing_key="q"), body=b"one", sync=True)
    link.run()
    session.subscribe("q", "d").grant(7)
    heard = link.run()
    session.accept([event.id for _, event in heard if isinstance(event, TransferReceived)])
    link.run()
    session.detach()
    link.run()
    link.client.close()
    link.run()
    assert link.client.finished
    assert link.server.finished
    assert link.violations == []
    return link.transcript.lines


def of_channels(dialect: ChannelDialect) -> list[str]:
    """The golden conversation of a dialect, turn by turn."""
    transcript = Transcript()
    transcript.begin(0, 1)
    for turn, (speaker, octets) in enumerate(conversation(dialect).turns, 1):
        transcript.hear(turn, "client" if speaker == "C" else "server", octets)
    return transcript.lines


def transcript(name: str) -> str:
    """The lines of a dialect, without the properties of the two sides, in which our version stands."""
    lines = of_sessions() if name == AMQP_0_10.name else of_channels(next(each for each in DIALECTS if each.name == name))
    return "".join([PROPERTIES.sub(r"\1=..., ", line) + "\n" for line in lines])


def place(name: str) -> Path:
    return PLACE / f"{name.replace(' ', '-')}.txt"


@pytest.mark.parametrize("name", NAMES)
def test_the_transcript_is_as_it_was_written_down(name: str) -> None:
    assert transcript(name) == place(name).read_text(encoding="utf-8")


if __name__ == "__main__":
    PLACE.mkdir(exist_ok=True)
    for each in NAMES:
        place(each).write_text(transcript(each), encoding="utf-8")
