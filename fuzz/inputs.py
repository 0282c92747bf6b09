"""Maps a guided fuzzer's octets to speakers and a target, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from fuzz import corpus, spoken
from fuzz.corpus import Said
from fuzz.targets import breach

WHO: Final = ("client", "server")


def packed(said: Said) -> bytes:
    """Encodes pieces of two speakers: before each, the speaker in the highest bit of two octets, and the size."""
    return b"".join([(len(octets) | 0x8000 * WHO.index(who)).to_bytes(2, "big") + octets for who, octets in said])


def unpacked(data: bytes) -> Said:
    """Decodes them; a size beyond the end means everything that is left."""
    said: list[tuple[str, bytes]] = []
    at = 0
    while at + 2 < len(data):
        head = int.from_bytes(data[at : at + 2], "big")
        octets = data[at + 2 : at + 2 + (head & 0x7FFF)]
        said.append((WHO[head >> 15], octets))
        at += 2 + len(octets)
        if not octets:
            break
    return tuple(said)


class Guided(NamedTuple):
    """One target: `meant` maps octets to the name of a target of `fuzz.targets` and its input; `seeds` are the first inputs."""

    meant: Callable[[bytes], tuple[str, Said]]
    seeds: Callable[[], list[bytes]]


def _decoder(data: bytes) -> tuple[str, Said]:
    return "decoder", (("client", data),)


def _decoder_seeds() -> list[bytes]:
    kinds = (spoken.control_payloads(), spoken.command_payloads(), spoken.structs(), [spoken.HEADER])
    return [bytes([kind]) + octets for kind, words in enumerate(kinds) for octets in words]


def _client(data: bytes) -> tuple[str, Said]:
    return "fresh_client", (("server", data),)


def _server(data: bytes) -> tuple[str, Said]:
    return "fresh_server", (("client", data),)


def _alone(speaker: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        said = [spoken.spoken(each, speaker) for each in spoken.conversations("connection")]
        return [b"".join([octets for _, octets in each]) for each in spoken.chosen(said)]

    return seeds


def _session(data: bytes) -> tuple[str, Said]:
    """Starts after a legal prefix; the first octet selects whose session it is."""
    role = data[0] & 1 if data else 0
    return (("client", (("server", data[1:]),)), ("server", (("client", data[1:]),)))[role]


def _session_seeds() -> list[bytes]:
    found: list[bytes] = []
    for section in spoken.SECTIONS[1:]:
        for role, speaker in ((0, "server"), (1, "client")):
            said = [spoken.spoken(each, speaker) for each in spoken.conversations(section)]
            found += [bytes([role]) + b"".join([octets for _, octets in each]) for each in spoken.chosen(said)[:8]]
    return found


def _broker(data: bytes) -> tuple[str, Said]:
    return "broker", unpacked(data)


def _broker_seeds() -> list[bytes]:
    found: list[bytes] = []
    for section in spoken.SECTIONS[1:]:
        for said in spoken.chosen([spoken.spoken(each, "client") for each in spoken.conversations(section)])[:8]:
            found.append(packed(said))
            found.append(packed((*said, *[("server", octets) for _, octets in said])))
    return found


def _observer(data: bytes) -> tuple[str, Said]:
    return "observer", unpacked(data)


def _observer_seeds() -> list[bytes]:
    opening = spoken.spoken(spoken.OPENING)
    found = [packed(said) for said in spoken.chosen([spoken.spoken(each) for each in spoken.conversations("connection")])[:10]]
    for section in spoken.SECTIONS[1:]:
        said = spoken.chosen([spoken.spoken(each) for each in spoken.conversations(section)])
        found += [packed((*opening, *each)) for each in said[:6]]
    return found


def _capture(data: bytes) -> tuple[str, Said]:
    return "capture", (("file", data),)


def _capture_seeds() -> list[bytes]:
    opening = spoken.spoken(spoken.OPENING)
    found = [path.read_bytes()[:1500] for path in corpus.files()[:4]]
    for section in spoken.SECTIONS[1:]:
        said = spoken.chosen([spoken.spoken(each) for each in spoken.conversations(section)])
        found += [spoken.capture((*opening, *each)) for each in said[:3]]
    return found


GUIDED: Final[dict[str, Guided]] = {
    "decoder": Guided(_decoder, _decoder_seeds),
    "client": Guided(_client, _alone("server")),
    "server": Guided(_server, _alone("client")),
    "session": Guided(_session, _session_seeds),
    "broker": Guided(_broker, _broker_seeds),
    "observer": Guided(_observer, _observer_seeds),
    "capture": Guided(_capture, _capture_seeds),
}


def wrong(name: str, data: bytes) -> str:
    """Returns how these octets break the invariant; "" when it holds."""
    target, said = GUIDED[name].meant(data)
    return breach(target, said)
