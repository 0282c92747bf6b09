"""Your own server, not a broker: it prints each published message and refuses all other commands.

`python custom_server.py 5672` listens on loopback until it is interrupted; port 0 picks a free one.
"""

import asyncio
import signal
import sys

from amqp_sansio.adapters.asyncio.server import serve
from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.hosting import OwnServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import CommandReceived, Event, TransferReceived
from amqp_sansio.spec import execution
from amqp_sansio.spec.codes import ErrorCode


def handle(connection: ServerConnection, event: Event) -> None:
    """Handles one event of a connection."""
    match event:
        case TransferReceived(session=name, id=id, body=body):
            print(f"{name.decode()[:11]}: {body.decode()}", flush=True)
            session = connection.session_named(name)
            assert session is not None
            session.complete(id)
        case CommandReceived(session=name, id=id, command=command) if not isinstance(command, execution.Sync):
            session = connection.session_named(name)
            assert session is not None
            session.fail(id, ErrorCode.NOT_IMPLEMENTED, "this server takes messages, and nothing else")
        case _:
            pass  # the machine answers logins, sessions and barriers itself


async def main(port: int) -> None:
    """Serves until it is interrupted."""
    own = OwnServer(ServerConfig(), handle)
    async with serve(own, own.connect, port=port) as server:
        print("listening at amqp://{}:{}/".format(*server.address), flush=True)
        interrupted = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
        await interrupted.wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5672))
