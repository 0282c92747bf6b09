"""Tests of amqp_sansio.dialects."""

import json
import subprocess
import sys

from amqp_sansio import ClientConfig, ClientConnection, ServerConfig, ServerConnection
from amqp_sansio.dialects import AMQP_0_10, AMQP_0_10_FINAL


def test_both_begin_alike() -> None:
    """The errata did not change the protocol header."""
    assert AMQP_0_10.header == AMQP_0_10_FINAL.header == bytes.fromhex("414d51500101000a")
    assert (AMQP_0_10.name, AMQP_0_10_FINAL.name) == ("0-10", "0-10 final")
    assert (AMQP_0_10.codec.name, AMQP_0_10_FINAL.codec.name) == ("0-10 errata", "0-10 final")


def test_a_layout_is_imported_when_a_dialect_of_it_is_used() -> None:
    """And none with the package, nor that of another dialect."""
    program = """
import json, sys
def seen(): return sorted(name.rpartition(".")[2] for name in sys.modules if ".layouts.v" in name)
import amqp_sansio
first = seen()
amqp_sansio.ClientConnection()
second = seen()
amqp_sansio.AMQP_0_10_FINAL.codec
print(json.dumps([first, second, seen()]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[], ["v0_10"], ["v0_10", "v0_10_final"]]


def test_a_dialect_makes_its_connections() -> None:
    client = AMQP_0_10.client(ClientConfig(), True)
    server = AMQP_0_10.server(ServerConfig())
    assert (type(client), type(server)) == (ClientConnection, ServerConnection)
    assert repr(AMQP_0_10) == "<Dialect 0-10>"


def test_words_and_layouts_of_a_family_are_imported_when_a_dialect_of_it_is_used() -> None:
    """Not with the package, nor with 0-10; and of an older dialect its own alone."""
    program = """
import json, sys
def seen():
    return sorted(name for name in sys.modules if ".spec.methods" in name or ".layouts.v0_8" in name or ".layouts.v0_9" in name)
import amqp_sansio
amqp_sansio.ClientConnection()
first = seen()
from amqp_sansio.dialects import AMQP_0_9_1
AMQP_0_9_1.codec
print(json.dumps([first, [name.removeprefix("amqp_sansio.") for name in seen()]]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, then = json.loads(done.stdout)
    assert first == []
    words = ["access", "basic", "channel", "confirm", "exchange", "queue", "tx"]
    assert then == ["spec.methods", *[f"spec.methods.{name}" for name in words], "wire.layouts.v0_9_1"]
