"""The grammars of connection and session spoken to what runs: an observer, our client and our server."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scripted import ScriptedPeer
from tests.witnesses.octets import NAME, Watch, thing_of

from amqp_sansio.config import Accepted, Challenge, ClientConfig, ClientExchange, ServerConfig, ServerExchange
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import ConnectionClosed, Event, Origin
from amqp_sansio.grammar import connection, session
from amqp_sansio.grammar.algebra import difference, together
from amqp_sansio.grammar.automaton import START, Automaton, Word
from amqp_sansio.grammar.walks import Sampler, shortest_to_each, transition_words

CONNECTION = connection.conversation().prefixes()
ATTACHMENT = together(session.attachment("client", "server").prefixes(), session.attachment("server", "client").prefixes())
STREAMS = together(session.commands("client", "server").prefixes(), session.commands("server", "client").prefixes())
OPENING = (
    "client:protocol-header", "server:protocol-header", "server:connection.start", "client:connection.start-ok",
    "server:connection.tune", "client:connection.tune-ok", "client:connection.open", "server:connection.open-ok",
)  # fmt: skip
ATTACHED = (*OPENING, "client:session.attach", "server:session.attached")
SECTIONS = {"connection": (CONNECTION, ()), "attachment": (ATTACHMENT, OPENING), "streams": (STREAMS, ATTACHED)}
seeds = st.integers(0, 2**32)


# --- the observer -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("strict", [False, True])
def test_an_observer_takes_every_way_through_the_grammar(section: str, strict: bool) -> None:
    language, before = SECTIONS[section]
    for said in transition_words(language).values():
        assert Watch(strict).tell([*before, *said]) == []


# A random legal conversation is no violation to an observer.
@pytest.mark.parametrize("section", SECTIONS)
@given(seed=seeds, length=st.integers(1, 40))
def test_an_observer_takes_what_is_legal(section: str, seed: int, length: int) -> None:
    language, before = SECTIONS[section]
    said = Sampler(language).word(length, Random(seed).randrange)
    if said is not None:
        assert Watch().tell([*before, *said]) == []


def unheard(word: Word, way: tuple[Word, ...]) -> bool:
    """A second protocol header is no word but octets that are no frame; without a header there is no connection yet."""
    return word.endswith("protocol-header") or "server:protocol-header" not in way


def pipelined(word: Word, way: tuple[Word, ...]) -> bool:
    """A side that has sent session.attach and has no answer yet uses the session: the grammar forbids it, and no rule does.

    The transport must be attached by then, but only the other side knows whether it is; deployed clients do not wait.
    """
    speaker, _, verb = word.partition(":")
    asked, other = f"{speaker}:session.attach", "server" if speaker == "client" else "client"
    answered = {f"{other}:session.attached", f"{speaker}:session.detach"}
    return verb == "other" and asked in way and answered.isdisjoint(way[way.index(asked) :])


@pytest.mark.parametrize("section", SECTIONS)
def test_an_observer_blames_the_speaker_of_each_illegal_step(section: str) -> None:
    language, before = SECTIONS[section]
    for state, way in shortest_to_each(language).items():
        for word in language.alphabet:
            if language.step(state, word) is None and not unheard(word, (*before, *way)):
                watch = Watch(strict=True)
                assert watch.tell([*before, *way]) == []
                violations = watch.say(word)
                if not violations and pipelined(word, way):
                    continue
                assert violations, f"{word} behind {way}"
                assert violations[0].speaker == ("C" if word.startswith("client:") else "S")


# --- our client and our server ------------------------------------------------------------------------------------------


class Patient:
    """A mechanism of both sides that goes on for as many rounds as the server wants."""

    name = "X"

    def __init__(self, rounds: int = 0) -> None:
        self.rounds = rounds

    def start(self) -> _Exchange:
        return _Exchange(self.rounds)


class _Exchange(ClientExchange, ServerExchange):
    def __init__(self, rounds: int) -> None:
        self._rounds = rounds

    @property
    def done(self) -> bool:
        return True

    def initial(self) -> bytes | None:
        return b""

    def step(self, octets: bytes | None) -> bytes | Challenge | Accepted:  # type: ignore[override]
        return b"!"


class _Challenging(Patient):
    def start(self) -> _Exchange:
        return _ChallengingExchange(self.rounds)


class _ChallengingExchange(_Exchange):
    def step(self, octets: bytes | None) -> bytes | Challenge | Accepted:  # type: ignore[override]
        self._rounds -= 1
        return Challenge(b"?") if self._rounds >= 0 else Accepted("somebody")


class Talk:
    """A connection of ours, the grammar beside it, and a peer that says what it is told.

    Whatever our side says is checked against the grammar as it comes.
    """

    def __init__(self, ours: ClientConnection | ServerConnection) -> None:
        self.us, self.them = ("client", "server") if isinstance(ours, ClientConnection) else ("server", "client")
        self.peer = ScriptedPeer(ours)
        self.state: int = START
        self.said: list[Word] = []
        self.headed = False
        self.listen()

    def step(self, word: Word) -> None:
        self.said.append(word)
        to = CONNECTION.step(self.state, word)
        assert to is not None, f"{self.said}: legal was {CONNECTION.legal(self.state)}"
        self.state = to

    def listen(self) -> None:
        heard = self.peer.hear()
        if len(self.peer.header) == 8 and not self.headed:
            self.headed = True
            self.step(f"{self.us}:protocol-header")
        for thing in heard:
            verb = thing.VERB if thing.VERB.startswith("connection.") else "session-traffic"
            self.step(f"{self.us}:{verb}")

    def say(self, word: Word) -> list[Event]:
        """Our peer says a word, legal or not."""
        verb = word.partition(":")[2]
        thing = thing_of(verb)
        return self.peer.say(thing, channel=0 if verb.startswith("connection.") else 1)

    @property
    def choices(self) -> list[Word]:
        """What our peer may say now."""
        return [word for word in CONNECTION.legal(self.state) if word.startswith(f"{self.them}:")]

    @property
    def closing(self) -> bool:
        return f"{self.us}:connection.close" in self.said


def talk_of(client: bool, rounds: int) -> Talk:
    if client:
        return Talk(ClientConnection(ClientConfig(mechanisms=[Patient()])))
    return Talk(ServerConnection(ServerConfig(mechanisms=[_Challenging(rounds)])))


def blamed(events: list[Event]) -> bool:
    return any(isinstance(event, ConnectionClosed) and event.origin is Origin.VIOLATION for event in events)


# Whatever a peer says that is legal, our side finds no fault with it, and what our side says is legal; one illegal word behind
# that ends the connection as a violation.
@pytest.mark.parametrize("client", [True, False], ids=["client", "server"])
@given(seed=seeds, length=st.integers(0, 30))
def test_ours_speaks_the_grammar(client: bool, seed: int, length: int) -> None:
    random = Random(seed)
    talk = talk_of(client, random.randrange(3))
    for _ in range(length):
        if random.random() < 0.05 and talk.peer.connection.is_open and not talk.closing:
            talk.peer.connection.close()
            talk.listen()
        choices = [word for word in talk.choices if not word.endswith("other-protocol-header")]
        if not choices or talk.peer.connection.finished:
            break
        word = random.choice(choices)
        talk.step(word)
        assert not blamed(talk.say(word)), talk.said
        talk.listen()
    wrong = [
        word
        for word in CONNECTION.alphabet
        if word.startswith(f"{talk.them}:") and word not in talk.choices and not word.endswith("protocol-header")
    ]
    if wrong and not talk.closing and not talk.peer.connection.finished:
        word = random.choice(wrong)
        assert blamed(talk.say(word)), (talk.said, word)


class Channel:
    """A channel of an open connection of ours, the grammar of attachment beside it, and a peer that says what it is told."""

    def __init__(self, client: bool) -> None:
        self.talk = talk_of(client, 0)
        for word in OPENING:
            if word.startswith(f"{self.talk.them}:"):
                self.talk.step(word)
                self.talk.say(word)
                self.talk.listen()
        assert self.talk.peer.connection.is_open
        self.state: int = START
        self.said: list[Word] = []

    def step(self, word: Word) -> None:
        self.said.append(word)
        to = ATTACHMENT.step(self.state, word)
        assert to is not None, f"{self.said}: legal was {ATTACHMENT.legal(self.state)}"
        self.state = to

    def listen(self) -> None:
        for thing in self.talk.peer.hear():
            known = thing.VERB in session.VERBS
            self.step(f"{self.talk.us}:{thing.VERB if known else 'other'}")

    def act(self, random: Random) -> None:
        """Our side asks for a session, or leaves it."""
        ours = self.talk.peer.connection
        assert isinstance(ours, ClientConnection | ServerConnection)
        attached = [session for session in ours.sessions if session.state == "attached"]
        if attached and random.random() < 0.3:
            attached[0].detach()
        elif not ours.sessions and isinstance(ours, ClientConnection):
            ours.session(NAME).attach()
        self.listen()


# What our side says of a session is legal, whatever its peer says that is; and none of that is a violation.
@pytest.mark.parametrize("client", [True, False], ids=["client", "server"])
@given(seed=seeds, length=st.integers(0, 30))
def test_our_sessions_speak_the_grammar(client: bool, seed: int, length: int) -> None:
    random = Random(seed)
    channel = Channel(client)
    them = channel.talk.them
    for _ in range(length):
        if random.random() < 0.3:
            channel.act(random)
        word = random.choice([word for word in ATTACHMENT.legal(channel.state) if word.startswith(f"{them}:")])
        channel.step(word)
        events = channel.talk.peer.say(thing_of(word.partition(":")[2]), channel=1)
        assert not blamed(events), (channel.said, events)
        channel.listen()
    assert channel.talk.peer.connection.is_open


# --- what the three have in common --------------------------------------------------------------------------------------


def test_the_sections_hold_what_they_should() -> None:
    """A language whose words were mistyped would be empty, and the tests above about nothing."""
    for language, before in SECTIONS.values():
        assert not language.empty
        assert before == () or CONNECTION.accepts(OPENING)
    assert difference(session.sessions().prefixes(), ATTACHMENT).empty
    assert isinstance(STREAMS, Automaton)
