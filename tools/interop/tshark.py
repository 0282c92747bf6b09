"""tshark as an independent witness: what it finds in a capture of AMQP 0-10, frame by frame and field by field.

for frame in Tshark().frames(path): frame.verb, frame.fields
"""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from tools.interop.maven import NotAvailable

METHOD: Final = re.compile(r"amqp\.\w+\.method$")
QUIET: Final = ("_ws.expert", "amqp.struct.packing", "amqp.method.arguments")
"""Boxes around fields, and opinions about them, which are not fields."""


@attrs.frozen
class Shown:
    """A field as tshark shows it: the name of its filter, its label, the text after that, and its position.

    `start` counts octets from the beginning of the frame.  `value` is what a filter compares with; `octets` are those of the
    field: for a bit, a single bit of them.
    """

    name: str
    label: str
    text: str
    start: int
    size: int
    value: str
    octets: bytes
    inner: tuple[Shown, ...] = ()


@attrs.frozen
class TsharkFrame:
    """A frame: `kind` is 0 control, 1 command, 2 header, 3 body; `flags` are the four bits of its position.

    `verb` is "" unless the frame begins a control or command.
    """

    stream: int
    from_client: bool
    kind: int
    flags: int
    size: int
    channel: int
    verb: str
    fields: tuple[Shown, ...]
    complaints: tuple[str, ...]


def program() -> str:
    """Returns its path.  Raises NotAvailable."""
    found = shutil.which("tshark")
    if found is None:
        raise NotAvailable("there is no tshark here")
    return found


class Tshark:
    """The program."""

    def __init__(self) -> None:
        self._program: Final = program()
        done = subprocess.run([self._program, "--version"], capture_output=True, text=True, check=True)
        self.version: Final = done.stdout.split()[2] if len(done.stdout.split()) > 2 else "unknown"

    def frames(self, capture: Path, *, port: int = 5672) -> Iterator[TsharkFrame]:
        """Yields all frames of 0-10 in a capture, in order; `port` is that of the server."""
        command = [self._program, "-n", "-r", str(capture), "-d", f"tcp.port=={port},amqp", "-T", "pdml"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            for _, element in ElementTree.iterparse(process.stdout):
                if element.tag == "packet":
                    yield from _packet(element, port)
                    element.clear()
        if process.returncode:
            raise ValueError(f"{capture}: tshark ends with {process.returncode}")


def _packet(packet: ElementTree.Element, port: int) -> Iterator[TsharkFrame]:
    stream, from_client = -1, False
    for layer in packet.iterfind("proto"):
        if layer.get("name") == "tcp":
            found = {field.get("name"): field.get("show", "") for field in layer.iterfind("field")}
            stream, from_client = int(found["tcp.stream"]), found["tcp.dstport"] == str(port)
        elif layer.get("name") == "amqp" and layer.find("field[@name='amqp.track-number']") is not None:
            yield _frame(layer, stream, from_client)


def _frame(layer: ElementTree.Element, stream: int, from_client: bool) -> TsharkFrame:
    begin = int(layer.get("pos", "0"))
    numbers: dict[str, int] = {}
    verb = ""
    rest: list[ElementTree.Element] = []
    for field in layer.iterfind("field"):
        name = field.get("name", "")
        if METHOD.fullmatch(name) and not verb:
            verb = field.get("showname", "").removeprefix("Method: ").partition(" ")[0]
        elif name in ("amqp.frame-position", "amqp.type", "amqp.length", "amqp.channel"):
            numbers[name] = int(field.get("show", "0"))
        elif name not in ("amqp.format", "amqp.track-number", "amqp.reserved", "amqp.class"):
            rest.append(field)
    complaints = [each.get("show", "") for each in layer.iter("field") if each.get("name") == "_ws.expert.message"]
    return TsharkFrame(
        stream,
        from_client,
        numbers["amqp.type"],
        numbers["amqp.frame-position"],
        numbers["amqp.length"],
        numbers["amqp.channel"],
        verb,
        tuple(_shown(rest, begin)),
        tuple(complaints),
    )


def _shown(fields: list[ElementTree.Element], begin: int) -> Iterator[Shown]:
    """Yields the fields, with boxes opened."""
    for field in fields:
        name = field.get("name", "")
        inner = field.findall("field")
        if name in QUIET and name != "_ws.expert":
            yield from _shown(inner, begin)
        elif name not in QUIET:
            title = re.sub(r"^[.01 ]+ = ", "", field.get("showname", "") or field.get("show", ""))
            label, _, text = title.partition(": ")
            octets = field.get("value", "")
            yield Shown(
                name,
                label,
                text,
                int(field.get("pos", "0")) - begin,
                int(field.get("size", "0")),
                field.get("show", ""),
                bytes.fromhex(octets) if len(octets) % 2 == 0 else b"",
                tuple(_shown(inner, begin)),
            )
