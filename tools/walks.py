"""Walks: the files and functions that the library goes through for one task, traced in a real run.

`kernel`, `spec`, `events` and generated code do not count.  A walk lists files in the order in which the run first enters them,
with the function that it enters first, and calls back up: into a file that is still waiting for a callee in another file.

python -m tools.walks            prints them
python -m tools.walks --write    writes them into docs/topics/walks.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

import pyarrow as pa

from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.events import BranchAnswered, Event, SessionAttached, TransferReceived
from amqp_sansio.spec import queue
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.testing.memory import MemoryBroker, MemoryClient
from tools.size import FOLDER, ROOT, generated

PAGE: Final = ROOT / "docs" / "topics" / "walks.md"
SOURCES: Final = ROOT / FOLDER
CAPTURE: Final = str(ROOT / "tests" / "data" / "captures" / "cpp_hello.pcap")
LEFT_OUT: Final = ("kernel", "spec", "events")
MOST: Final = 12
"""The most files of a walk that a reader can keep in mind."""
HEAD: Final = f"""# Walks through the code

The files that a run enters for one task, in order, each with the function that it enters first. `kernel`, `spec`, `events` and
generated code do not count. `python -m tools.walks --write` traces real runs and writes this page; a test compares the two. A
walk should have at most {MOST} files; the page gives the reason where one has more.

A call *back up* enters a file that is still waiting for a callee in another file. Each has a reason.
"""


class Walk(NamedTuple):
    """What the tracer saw: files with the first function in each, and calls back up as (caller, callee), each once."""

    files: dict[str, str]
    climbs: dict[tuple[str, str], None]


@cache
def counted(filename: str) -> str | None:
    """Returns the path below the package; None for a file that does not count."""
    path = Path(filename)
    if not path.is_relative_to(SOURCES) or path.relative_to(SOURCES).parts[0] in LEFT_OUT:
        return None
    return None if generated(path.read_text(encoding="utf-8")) else path.relative_to(SOURCES).as_posix()


def trace(work: Callable[[], object], walk: Walk | None = None) -> Walk:
    """Returns the walk of what `work` does; with `walk`, continues it."""
    walk = walk or Walk({}, {})

    def entered(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        file = counted(code.co_filename) if event == "call" else None
        if file is None or code.co_name.startswith("<"):
            return
        walk.files.setdefault(file, code.co_qualname)
        below = list(callers(frame))
        if below and below[0][0] != file and file in [each for each, _ in below]:
            walk.climbs[(f"{below[0][0]} {below[0][1]}", f"{file} {code.co_qualname}")] = None

    sys.setprofile(entered)
    try:
        work()
    finally:
        sys.setprofile(None)
    return walk


def callers(frame: FrameType) -> Iterator[tuple[str, str]]:
    """Yields the callers that count, from the inside out: file and function."""
    caller = frame.f_back
    while caller is not None:
        file = counted(caller.f_code.co_filename)
        if file is not None and not caller.f_code.co_name.startswith("<"):
            yield file, caller.f_code.co_qualname
        caller = caller.f_back


def _carry(memory: MemoryBroker, client: MemoryClient, octets: bytes) -> None:
    """Carries a client's octets to the broker, and lets the broker work."""
    client._peer.receive_data(octets)
    for _ in memory.broker.events():
        pass


def _scene() -> tuple[MemoryBroker, MemoryClient, MemoryClient]:
    """Returns a broker with a queue, a publisher, and a consumer that has received three messages."""
    memory = MemoryBroker()
    publisher, consumer = memory.connect(), memory.connect()
    publisher.session(b"from").send(queue.Declare("orders"))
    memory.run()
    consumer.session(b"to").subscribe("orders", "here").grant(100)
    for _ in range(3):
        publisher.connection.sessions[0].publish(routing_key="orders", body=b"one")
        memory.run()
    consumer.events.clear()
    return memory, publisher, consumer


def receive() -> Walk:
    """From octets to TransferReceived."""
    memory, publisher, consumer = _scene()
    publisher.connection.sessions[0].publish(routing_key="orders", body=b"one")
    _carry(memory, publisher, publisher.connection.data_to_send())
    octets = consumer._peer.data_to_send()

    def work() -> None:
        consumer.connection.receive_data(octets)
        assert isinstance(consumer.connection.next_event(), TransferReceived)

    return trace(work)


def publish() -> Walk:
    """From `session.publish` to octets."""
    _, publisher, _ = _scene()
    session = publisher.connection.sessions[0]

    def work() -> None:
        session.publish(routing_key="orders", body=b"one")
        assert publisher.connection.data_to_send()

    return trace(work)


def grant() -> Walk:
    """From `subscription.grant` to octets."""
    _, _, consumer = _scene()
    subscription = consumer.connection.sessions[0].subscriptions["here"]

    def work() -> None:
        subscription.grant(10)
        assert consumer.connection.data_to_send()

    return trace(work)


def attach() -> Walk:
    """From `connection.session` to octets."""
    _, publisher, _ = _scene()

    def work() -> None:
        publisher.connection.session(b"more")
        assert publisher.connection.data_to_send()

    return trace(work)


def attached() -> Walk:
    """From the octets of the answer to SessionAttached."""
    memory, publisher, _ = _scene()
    publisher.connection.session(b"more")
    return _answer(memory, publisher, SessionAttached)


def _answer(memory: MemoryBroker, client: MemoryClient, kind: type[Event]) -> Walk:
    """Traces the client's handling of the broker's answer, which contains an event of this kind."""
    _carry(memory, client, client.connection.data_to_send())
    octets = client._peer.data_to_send()

    def work() -> None:
        client.connection.receive_data(octets)
        assert any(isinstance(event, kind) for event in client.connection.events())

    return trace(work)


def _prepared() -> tuple[MemoryBroker, MemoryClient, Callable[[], object]]:
    """Returns a branch that its session has left, and the call that prepares it."""
    memory, publisher, _ = _scene()
    session, xid = publisher.connection.sessions[0], Xid(0, b"global", b"one")
    dtx = session.select_dtx()
    dtx.start(xid)
    session.publish(routing_key="orders", body=b"one")
    dtx.end(xid)
    memory.run()
    return memory, publisher, lambda: dtx.prepare(xid)


def prepare() -> Walk:
    """From `dtx.prepare` to octets."""
    _, publisher, call = _prepared()

    def work() -> None:
        call()
        assert publisher.connection.data_to_send()

    return trace(work)


def prepared() -> Walk:
    """From the octets of the result to BranchAnswered."""
    memory, publisher, call = _prepared()
    call()
    return _answer(memory, publisher, BranchAnswered)


def broker_prepares() -> Walk:
    """From the octets of dtx.prepare to those of its result, at the broker."""
    memory, publisher, call = _prepared()
    call()
    octets = publisher.connection.data_to_send()

    def work() -> None:
        _carry(memory, publisher, octets)
        assert publisher._peer.data_to_send()

    return trace(work)


def route() -> Walk:
    """From the octets of a publisher through the broker to those for another client."""
    memory, publisher, consumer = _scene()
    publisher.connection.sessions[0].publish(routing_key="orders", body=b"one")
    octets = publisher.connection.data_to_send()

    def work() -> None:
        _carry(memory, publisher, octets)
        assert consumer._peer.data_to_send()

    return trace(work)


def packets() -> Walk:
    """From a capture file to columns of packets."""
    return trace(lambda: list(read_file(CAPTURE, 0)))


def row() -> Walk:
    """From the packet of a transfer, in the middle of its connection, to the row that is kept until its outcome is known."""
    read = pa.concat_tables([pa.Table.from_batches([batch]) for batch in read_file(CAPTURE, 0)]).combine_chunks()
    replay = ConnectionReplay()
    for batch in read.to_batches(max_chunksize=1):
        walk = trace(partial(replay.feed, batch))
        if any(sum(recorder.transferred.values()) for recorder in replay._recorders.values()):
            return walk
    raise AssertionError("no transfer in the capture")


WALKS: Final = {
    "A transfer, from octets to event": receive,
    "A publish": publish,
    "Credit granted": grant,
    "Attach": attach,
    "Attached": attached,
    "Prepare, at the client": prepare,
    "Prepare, at the broker": broker_prepares,
    "Prepared, at the client": prepared,
    "From a publisher through the broker to another client": route,
    "A file to packets": packets,
    "A packet to a row": row,
}
CLIMBS: Final = {
    "broker/fronts/sessions/holder.py SessionHolder.result_after": "the session answers, once the change is journalled.",
    "engine/channel.py Channels.touch": "a session that has changed is visited once, before the next output.",
    "engine/connection.py Carrier._decode": "a control that cannot be decoded ends the connection, whichever channel it is on.",
    "engine/connection.py Carrier._write": "before octets are taken, sessions write what they have gathered.",
    "engine/connection.py Connection._emit": "the connection queues events until `next_event`.",
    "engine/subscription.py Subscriptions.named": "`send` accepts message.flow from any caller, so the check looks it up.",
}
"""The reason for each call back up, by callee."""
LONG: Final = {
    "A packet to a row": "three tasks: three files find the packet's connection and its place in the stream,"
    " eight read and judge it as an observer does, down to the values in its header, and two record it."
    " No two of them are one thing.",
}
"""The reason why a walk has more than `MOST` files."""


def told(title: str, make: Callable[[], Walk]) -> str:
    """Returns one walk as a section of the page."""
    walk = make()
    lines = [f"## {title}", "", (make.__doc__ or "").strip(), ""]
    lines += [f"{n}. [{file}](../../{FOLDER}/{file}): `{name}`" for n, (file, name) in enumerate(walk.files.items(), 1)]
    if len(walk.files) > MOST:
        lines += ["", f"{len(walk.files)} files, more than {MOST}: {LONG[title]}"]
    if walk.climbs:
        lines += ["", "Calls back up:", ""]
        lines += [f"* `{caller}` calls `{callee}`: {CLIMBS[callee]}" for caller, callee in walk.climbs]
    return "\n".join(lines) + "\n"


def page() -> str:
    """Returns the page of the manual."""
    return HEAD + "".join("\n" + told(title, make) for title, make in WALKS.items())


def main(arguments: list[str]) -> int:
    """Returns the exit code: 0."""
    if arguments == ["--write"]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
