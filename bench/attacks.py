"""Measures what strangers and clients can cost a broker: `python -m bench.attacks`; `--src DIR` attacks another tree.

Each attack meets a fresh `amqp-sansio serve` in its own process.  Linux only: memory is read from /proc.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import trustme

from amqp_sansio import ClientConfig, ClientConnection, Profile, RangeSet, ServerConnection, Session
from amqp_sansio.adapters.access_files import Verifier, write
from amqp_sansio.adapters.sync import connect
from amqp_sansio.events import AttachRequested, CommandReceived, OpenRequested, TransferReceived
from amqp_sansio.spec.codes import AcceptMode, AcquireMode
from amqp_sansio.spec.connection import StartOk
from amqp_sansio.spec.message import Subscribe, Transfer
from amqp_sansio.spec.queue import Declare, Query
from amqp_sansio.spec.session import Attach, Detach, Expected
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_command, frame_control

HEADER: Final = b"AMQP\1\1\0\x0a"
PIECE: Final = 65_000
IDLE: Final = 3_000
FLOODS: Final = 8
"""How many connections flood, each with OCTETS."""
OCTETS: Final = 32 * 1024 * 1024
LOGINS: Final = 100
REPLAYED: Final = 60
"""How many messages of a MiB a client has replayed."""
SECONDS: Final = 2.0
CLIENT: Final = """
import asyncio, sys
from contextlib import suppress
from amqp_sansio.adapters.asyncio import connect

def held():
    with open("/proc/self/status", encoding="ascii") as said:
        return [int(line.split()[1]) for line in said if line.startswith("VmHWM")][0] // 1024

async def main():
    url = f"amqp://127.0.0.1:{sys.argv[1]}/"
    async with connect(url, close_timeout=0.1) as connection, connection.session() as session:
        async with session.subscribe("q", prefetch=10):
            await asyncio.sleep(float(sys.argv[2]))

before = held()
error = "nothing"
try:
    asyncio.run(main())
except Exception as raised:
    error = type(raised).__name__
print(f"{held() - before} MiB, and got {error}")
"""
MIB: Final = 1024 * 1024


@contextmanager
def served(src: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Yields a broker and its port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "amqp_sansio", "serve", "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "PYTHONPATH": src},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield process, int(process.stdout.readline().rpartition(":")[2])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def memory(process: subprocess.Popen[str]) -> int:
    """Returns the octets that the process has in memory."""
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as said:
        return int(said.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def settled(process: subprocess.Popen[str]) -> int:
    """Returns the same, once it stops growing."""
    most = 0
    for _ in range(50):
        now = memory(process)
        if now <= most:
            return now
        most = now
        time.sleep(0.2)
    return most


def most(process: subprocess.Popen[str]) -> int:
    """Returns the peak of its memory in octets: what was refused is freed again."""
    settled(process)
    with open(f"/proc/{process.pid}/status", encoding="ascii") as said:
        return next(int(line.split()[1]) for line in said if line.startswith("VmHWM")) * 1024


def unfinished(src: str) -> str:
    """Before login: commands on many channels that never end."""
    with served(src) as (process, port), ExitStack() as kept:
        before = memory(process)
        for _ in range(FLOODS):
            connected = kept.enter_context(socket.create_connection(("127.0.0.1", port)))
            connected.settimeout(1)
            with suppress(OSError):
                connected.sendall(HEADER)
                for number in range(OCTETS // PIECE):
                    head = bytes([0x0A, 1]) + (12 + PIECE).to_bytes(2) + b"\0\1" + number.to_bytes(2) + bytes(4)
                    connected.sendall(head + bytes(PIECE))
        grown = most(process) - before
    return f"{FLOODS} connections, each with {OCTETS // MIB} MiB of commands without an end: {grown / MIB:.0f} MiB held"


def idle(src: str, folder: str) -> str:
    """Before login: silent TLS sockets."""
    certificate, key = Path(folder, "cert.pem"), Path(folder, "key.pem")
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(key)
    with served(src, "--tls-cert", str(certificate), "--tls-key", str(key)) as (process, port), ExitStack() as kept:
        before = memory(process)
        for _ in range(IDLE):
            with suppress(OSError):
                kept.enter_context(socket.create_connection(("127.0.0.1", port)))
        grown = most(process) - before
    return f"{IDLE} idle TLS sockets: {grown / MIB:.0f} MiB held"


def logins(src: str, folder: str) -> str:
    """Wrong passwords, all at once: how long a logged-in client waits."""
    users = str(Path(folder, "users"))
    write(users, "ann", Verifier.make("right"))  # without the pairs verified before
    Path(users).write_text("".join([line for line in Path(users).read_text().splitlines(True) if "salt-key" not in line]))
    with served(src, "--auth", users) as (_, port):

        def fail(number: int) -> None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connected:
                start_ok = StartOk({}, "PLAIN", b"\0ann\0wrong%d" % number, "en_US")
                connected.sendall(HEADER + frame_control(0, LAYOUT.encode_control(start_ok), 4096))
                connected.settimeout(60)
                while connected.recv(65536):
                    pass

        with connect(f"amqp://ann:right@127.0.0.1:{port}") as connection, connection.session() as session:
            session.sync()
            threads = [threading.Thread(target=fail, args=(number,)) for number in range(LOGINS)]
            for thread in threads:
                thread.start()
            longest = 0.0
            while any(thread.is_alive() for thread in threads):
                begun = time.monotonic()
                session.sync()
                longest = max(longest, time.monotonic() - begun)
    return f"{LOGINS} wrong passwords at once: somebody who is logged in waits {longest * 1000:.0f} ms at most"


def logged_in(src: str) -> str:
    """After login: transfers on many sessions of one connection that never end."""
    with served(src) as (process, port), socket.create_connection(("127.0.0.1", port)) as connected:
        machine = ClientConnection()
        sessions: list[Session] = []
        while not sessions or any(each.state != "attached" for each in sessions):
            connected.sendall(machine.data_to_send())
            machine.receive_data(connected.recv(65536))
            for _ in machine.events():
                pass
            if machine.is_open and not sessions:
                sessions = [machine.session(f"s{number}") for number in range(16)]
        for each in sessions:
            each.sync()
        connected.sendall(machine.data_to_send())
        before = settled(process)
        connected.settimeout(2)
        with suppress(OSError):
            for channel in range(1, 17):
                transfer = LAYOUT.encode_command(Transfer("", 1, 0), False)
                first = bytes([0x0B, 1]) + (12 + len(transfer)).to_bytes(2) + b"\0\1" + channel.to_bytes(2) + bytes(4)
                connected.sendall(first + transfer)
                for at in range(OCTETS // PIECE):
                    head = bytes([0x06 if at == 0 else 0x04, 3]) + (12 + PIECE).to_bytes(2) + b"\0\1" + channel.to_bytes(2)
                    connected.sendall(head + bytes(4 + PIECE))
        grown = most(process) - before
    return f"one client that is logged in, 16 messages of {OCTETS // MIB} MiB without an end: {grown / MIB:.0f} MiB held"


def unread(src: str) -> str:
    """After login: a client that sends requests endlessly, and reads no answer."""
    with served(src) as (process, port), socket.create_connection(("127.0.0.1", port)) as connected:
        machine = ClientConnection()
        session: Session | None = None
        while session is None or session.state != "attached":
            connected.sendall(machine.data_to_send())
            machine.receive_data(connected.recv(65536))
            for _ in machine.events():
                pass
            if machine.is_open and session is None:
                session = machine.session("s")
        session.sync()
        connected.sendall(machine.data_to_send())
        before = settled(process)
        assert session._channel is not None
        asked = b"".join(frame_command(session._channel.number, LAYOUT.encode_command(Query("nowhere"), True))) * 1000
        connected.settimeout(3)
        with suppress(OSError):
            for _ in range(OCTETS // len(asked)):
                connected.sendall(asked)
        grown = most(process) - before
    return f"one client that is logged in, {OCTETS // MIB} MiB of questions, no answer read: {grown / MIB:.0f} MiB held"


def again(src: str) -> str:
    """After login: a resumed session whose messages the broker must replay all; the client reads none of them."""
    with served(src) as (process, port), socket.create_connection(("127.0.0.1", port)) as connected:
        machine = ClientConnection(ClientConfig(profile=Profile(completion="manual")))
        session: Session | None = None
        got, wanted = 0, 0
        while True:
            connected.sendall(machine.data_to_send())
            machine.receive_data(connected.recv(1 << 20))
            got += sum(isinstance(event, TransferReceived) for event in machine.events())
            if machine.is_open and session is None:
                session = machine.session("s", timeout=300)
            elif session is not None and session.state == "attached" and not wanted:
                session.send(Declare("q"))
                for _ in range(REPLAYED):
                    session.publish(routing_key="q", body=bytes(MIB))
                connected.sendall(machine.data_to_send())
                session.subscribe("q", "d", accept_mode=AcceptMode.NONE, acquire_mode=AcquireMode.NOT_ACQUIRED).grant(REPLAYED)
                wanted = REPLAYED
            elif wanted and got == wanted:
                break
        assert session is not None
        assert session._channel is not None
        before, worst = settled(process), 0
        for control in (Detach(session.name), Attach(session.name), Expected(RangeSet.of(0))):
            connected.sendall(frame_control(session._channel.number, LAYOUT.encode_control(control), 4096))
        for _ in range(30):
            time.sleep(0.1)
            worst = max(worst, memory(process) - before)
    return f"a session attached again that wants {REPLAYED} MiB again and reads nothing: {worst / MIB:.0f} MiB held"


def hostile(src: str) -> str:
    """A server that sends messages beyond the credit, to a client with prefetch=10 that takes them as they come."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(listener.getsockname()[1]), str(SECONDS)],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": src},
        )  # fmt: skip
        connected, _ = listener.accept()
        with connected, suppress(ConnectionError):
            meet(connected)
        said, _ = client.communicate()
    return f"a hostile server, {SECONDS:.0f} s of messages beyond the credit: the client holds {said.strip()}"


def meet(connected: socket.socket) -> None:
    """Accepts a client, and floods it once it has subscribed."""
    machine = ServerConnection()
    while octets := connected.recv(65536):
        machine.receive_data(octets)
        for event in machine.events():
            match event:
                case OpenRequested():
                    machine.open_ok()
                case AttachRequested(session=name):
                    machine.accept(name)
                case CommandReceived(session=name, command=Subscribe(destination=destination)):
                    session = machine.session_named(name)
                    assert session is not None
                    session.sync()  # after a command-point
                    connected.sendall(machine.data_to_send())
                    command = LAYOUT.encode_command(Transfer(destination, 0, 0), False)
                    assert session._channel is not None
                    frames = b"".join(frame_command(session._channel.number, command, None, bytes(60_000))) * 4
                    while True:
                        connected.sendall(frames)
        connected.sendall(machine.data_to_send())


def main() -> None:
    """Prints one line for each attack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--src", default=str(Path(__file__).parents[1] / "src"), help="the tree whose `serve` is attacked")
    src = parser.parse_args().src
    with tempfile.TemporaryDirectory() as folder:
        print(unfinished(src), idle(src, folder), logins(src, folder), sep="\n")
    print(logged_in(src), unread(src), again(src), hostile(src), sep="\n")


if __name__ == "__main__":
    main()
