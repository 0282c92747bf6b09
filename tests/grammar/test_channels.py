"""Connections and channels of the older dialects, by hand, and questions ahead of their answers."""

from __future__ import annotations

from itertools import product

import pytest

from amqp_sansio.grammar import channels
from amqp_sansio.grammar.algebra import difference
from amqp_sansio.grammar.automaton import Automaton
from amqp_sansio.grammar.channels import OpenWords, in_order
from amqp_sansio.grammar.notation import Grammar, Question
from amqp_sansio.grammar.texts import GRAMMAR_0_9, GRAMMAR_0_9_1

OPEN = {"client:channel.open": "server:channel.open-ok"}
RESUME = {**OPEN, "client:channel.resume": "server:channel.ok"}


def said(text: str, short: str) -> list[str]:
    """ "C:open S:open-ok" with the class of `text` in front; of a word with a dot or none that is no method, as it is."""
    found: list[str] = []
    for each in short.split():
        who, _, verb = each.partition(":")
        name = verb if "." in verb or verb in ("work", "protocol-header", "session-traffic") else f"{text}.{verb}"
        found.append(f"{'client' if who == 'C' else 'server'}:{name.replace('+', ' ')}")
    return found


def judged(language: Automaton, text: str, short: str) -> bool:
    """Whether a conversation is legal; one that is not must be so up to its last word."""
    words = said(text, short)
    legal = language.prefixes()
    assert legal.accepts(words[:-1]), short
    return legal.accepts(words)


OPENING = "C:protocol-header S:start C:start-ok S:tune C:tune-ok C:open S:open-ok"


@pytest.mark.parametrize(
    ("short", "legal"),
    [
        ("C:protocol-header C:start-ok C:tune-ok C:open C:session-traffic S:start S:tune S:open-ok S:session-traffic", True),
        ("C:protocol-header C:start-ok S:start S:secure C:secure-ok S:secure", True),
        ("C:protocol-header S:tune", False),
        ("C:protocol-header C:start-ok C:secure-ok", False),
        ("C:protocol-header C:start-ok C:tune-ok S:start S:secure C:open C:session-traffic S:close C:close-ok", True),
        ("C:protocol-header C:start-ok C:tune-ok S:start S:secure C:secure-ok", False),
        ("C:protocol-header C:start-ok C:tune-ok S:start S:secure S:tune", False),
        ("C:protocol-header C:start-ok S:start S:secure C:tune-ok", False),
        ("C:protocol-header C:start-ok C:tune-ok S:start S:tune S:open-ok", False),
        (f"{OPENING} C:close S:session-traffic S:close C:close-ok S:close-ok", True),
        (f"{OPENING} C:close C:session-traffic", False),
        (f"{OPENING} S:close C:session-traffic C:close-ok S:session-traffic", False),
        (f"{OPENING} C:close-ok", False),
        ("C:protocol-header C:start-ok S:other-protocol-header C:tune-ok", True),
        ("C:protocol-header C:start-ok S:other-protocol-header S:start", False),
    ],
)
def test_connections(short: str, legal: bool) -> None:
    language = channels.connection()
    words = short.replace("S:other-protocol-header", "S:protocol-header")
    if "other" in short:
        whole = [w.replace("server:protocol", "server:other-protocol") for w in said("connection", words)]
        assert language.prefixes().accepts(whole) is legal
    else:
        assert judged(language, "connection", short) is legal


def test_a_connection_that_is_sent_elsewhere() -> None:
    short = OPENING.replace("open-ok", "redirect")
    assert judged(channels.connection(OpenWords(redirects=True)), "connection", short)
    assert not judged(channels.connection(), "connection", short)


# What the text has in one order, word by word, is legal when either may go ahead.
@pytest.mark.parametrize("grammar", [GRAMMAR_0_9_1, GRAMMAR_0_9], ids=["0-9-1", "0-9"])
def test_a_side_that_does_not_go_ahead_is_right_too(grammar: Grammar) -> None:
    redirects = grammar is GRAMMAR_0_9
    assert difference(grammar.language("connection"), channels.connection(OpenWords(redirects=redirects))).empty


@pytest.mark.parametrize(
    ("short", "legal"),
    [
        ("C:open C:work S:open-ok S:work C:close S:work S:close-ok C:open", True),
        ("C:open S:close C:work C:close-ok C:open", True),
        ("C:open S:open-ok C:close S:close C:close-ok S:close-ok C:resume C:work S:ok S:work", True),
        ("C:work", False),
        ("C:open S:work", False),
        ("C:open C:open", False),
        ("C:open S:ok", False),
        ("C:open S:open-ok S:close C:open", False),
        ("C:open S:open-ok C:close C:open", False),
        ("C:open S:open-ok C:close S:close S:close-ok C:open", False),
    ],
)
def test_lives_of_a_channel(short: str, legal: bool) -> None:
    assert judged(channels.channel(RESUME), "channel", short) is legal


def test_nothing_comes_between_a_method_and_its_content() -> None:
    legal = channels.content("client").prefixes()
    method, header, body = "client:method with content", "client:header", "client:body"
    assert legal.accepts(["client:method", method, "client:empty header", method, header, body, "client:last body"])
    for wrong in ([header], [method, method], [method, header, "client:method"], [method, "client:empty header", body]):
        assert legal.accepts(wrong[:-1])
        assert not legal.accepts(wrong)


@pytest.mark.parametrize(
    ("short", "notified", "legal"),
    [
        ("C:consume S:deliver S:consume-ok S:deliver C:cancel S:deliver S:cancel-ok C:consume", False, True),
        ("C:consume+nowait S:deliver C:cancel+nowait S:deliver C:consume+nowait", False, True),
        ("C:cancel S:cancel-ok", False, True),
        ("C:consume C:consume", False, False),
        ("S:deliver", False, False),
        ("C:consume S:consume-ok C:cancel S:cancel-ok S:deliver", False, False),
        ("C:consume S:cancel-ok", False, False),
        ("C:consume S:consume-ok S:cancel+nowait", False, False),
        ("C:consume S:consume-ok S:cancel+nowait C:consume", True, True),
        ("C:consume S:consume-ok S:cancel+nowait S:deliver", True, False),
        ("C:consume S:consume-ok C:cancel S:cancel+nowait S:cancel-ok", True, True),
    ],
)
def test_consumers(short: str, notified: bool, legal: bool) -> None:
    assert judged(channels.consumer(notified=notified), "basic", short) is legal


def test_a_delivery_is_settled_once() -> None:
    legal = channels.delivery(("ack", "reject"), ("recover",)).prefixes()
    assert legal.accepts(["server:basic.deliver", "client:basic.ack"])
    for first in ("server:basic.deliver no-ack", "client:basic.ack"):
        assert not legal.accepts([first, "client:basic.ack"])
    assert legal.accepts(["client:basic.recover", "server:basic.deliver", "client:basic.recover", "client:basic.ack"])
    for first in ("ack", "reject"):
        assert not legal.accepts(["server:basic.deliver", f"client:basic.{first}", "client:basic.ack"])


def test_modes() -> None:
    both, plain = channels.demarcation(True).prefixes(), channels.demarcation().prefixes()
    assert both.accepts(["client:tx.select", "client:tx.select", "client:tx.commit", "client:tx.rollback"])
    assert both.accepts(["client:confirm.select", "server:basic.ack", "client:confirm.select"])
    for first, second in (("tx.select", "confirm.select"), ("confirm.select", "tx.select"), ("confirm.select", "tx.commit")):
        assert not both.accepts([f"client:{first}", f"client:{second}"])
    assert not plain.accepts(["client:confirm.select"])
    assert not plain.accepts(["client:tx.commit"])


def test_what_is_published_is_confirmed_once() -> None:
    legal = channels.confirmed(2).prefixes()
    publish, ack, select = "client:basic.publish", "server:basic.ack", "client:confirm.select"
    assert legal.accepts([publish, select, publish, publish, ack, "server:basic.nack"])
    assert not legal.accepts([publish, select, ack])
    assert not legal.accepts([select, publish, ack, ack])


def test_references() -> None:
    legal = channels.reference("server").prefixes()
    words = [f"server:message.{verb}" for verb in ("open", "append", "transfer by reference", "checkpoint", "close", "resume")]
    assert legal.accepts([*words, words[4], words[0]])
    for wrong in ([words[1]], [words[4]], [words[0], words[0]], [words[0], words[5]]):
        assert not legal.accepts(wrong)


ASKED = (Question("c:a", ("s:a-ok",)), Question("c:b", ("s:b-ok", "s:ok")), Question("c:d", ("s:ok",)), Question("c:n", ()))


def test_answers_come_in_the_order_of_the_questions() -> None:
    legal = in_order(ASKED).prefixes()
    assert legal.accepts(["c:a", "c:b", "s:a-ok", "c:n", "c:a", "s:ok", "s:a-ok"])
    for wrong in (["s:ok"], ["c:a", "c:b", "s:ok"], ["c:a", "s:b-ok"], ["c:n", "s:ok"], ["c:a", "c:a", "c:a"]):
        assert legal.accepts(wrong[:-1])
        assert not legal.accepts(wrong)


def test_what_is_answered_at_any_time() -> None:
    legal = in_order(ASKED, any_time={"b", "d"}).prefixes()
    assert legal.accepts(["c:b", "c:a", "s:a-ok", "s:ok"])
    assert legal.accepts(["c:b", "c:a", "s:ok", "s:a-ok"])
    # Who hears `ok` may not know whether it is for b or for d.
    assert legal.accepts(["c:d", "c:b", "s:ok", "s:ok"])
    assert legal.accepts(["c:d", "c:b", "s:ok", "s:b-ok"])
    assert not legal.accepts(["c:d", "c:b", "s:ok", "s:b-ok", "s:ok"])


def test_more_that_waits_is_more_that_is_legal() -> None:
    assert difference(in_order(ASKED, 1), in_order(ASKED, 2)).empty
    assert not difference(in_order(ASKED, 3), in_order(ASKED, 2)).empty
    with pytest.raises(ValueError, match="most must be at least 1"):
        in_order(ASKED, 0)


# Against a list that is kept by hand, for all conversations of up to five words.
def test_as_a_queue_has_it() -> None:
    words = ["c:a", "c:b", "s:a-ok", "s:b-ok", "s:ok"]
    legal = in_order(ASKED[:2]).prefixes()
    answers = {"c:a": ("s:a-ok",), "c:b": ("s:b-ok", "s:ok")}
    for said in (each for length in range(6) for each in product(words, repeat=length)):
        waiting: list[str] = []
        right = True
        for word in said:
            if word in answers:
                waiting.append(word)
                right = right and len(waiting) <= 2
            else:
                right = right and bool(waiting) and word in answers[waiting.pop(0)]
            if not right:
                break
        assert legal.accepts(said) is right, said
