"""Attachment and command streams in the third person."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.tables.session import (
    ANY_COMMAND,
    ATTACH,
    ATTACHED,
    ATTACHED_AGAIN,
    ATTACHMENT,
    ATTACHMENT_VERBS,
    CLIENT,
    COMMAND,
    COMMAND_POINT,
    COMMAND_SPEAKERS,
    COMPLETED,
    CONFIRMED,
    DETACH,
    DETACHED,
    ENDPOINT,
    EXCEPTION,
    EXPECTED,
    FLUSH,
    FLUSH_EXPECTED,
    GAP,
    KEPT,
    KNOWN_COMPLETED,
    OTHER,
    OVER,
    SERVER,
    STREAM,
    TRANSPORT,
    AttachmentDialogue,
    attachment_verb,
)

Words = list[tuple[str, str]]
C, S = CLIENT, SERVER

LEGAL: dict[str, Words] = {
    "attach, speak, detach": [(C, ATTACH), (S, ATTACHED), (C, OTHER), (S, OTHER), (C, DETACH), (S, OTHER), (S, DETACHED)],
    "refused as busy": [(C, ATTACH), (S, DETACHED), (C, ATTACH), (S, ATTACHED)],
    "the server asks": [(S, ATTACH), (C, ATTACHED), (S, OTHER)],
    "attach again is idempotent": [(C, ATTACH), (S, ATTACHED), (C, ATTACH), (S, ATTACHED), (C, OTHER)],
    "in flight when the other said detach": [
        (C, ATTACH), (S, ATTACHED), (S, OTHER), (S, DETACH), (C, OTHER), (C, OTHER), (C, DETACHED), (C, ATTACH),
    ],
    "in flight when the other said detached": [
        (C, ATTACH), (S, ATTACHED), (S, DETACHED), (C, OTHER), (C, OTHER), (C, ATTACH), (S, ATTACHED), (C, OTHER),
    ],
    "detach crosses detach": [
        (C, ATTACH), (S, ATTACHED), (C, DETACH), (S, DETACH), (S, DETACHED), (C, DETACHED), (C, ATTACH),
    ],
    "detach on a transport without a session": [(C, DETACH), (S, DETACHED)],
    "given up before the answer": [(C, ATTACH), (C, DETACH), (S, ATTACHED), (S, DETACHED)],
    "detached for speech on a detached transport": [(S, DETACHED), (C, ATTACH)],
}  # fmt: skip

ILLEGAL: dict[str, tuple[Words, tuple[str, str]]] = {
    "speech without a session": ([], (C, OTHER)),
    "speech of the server without a session": ([], (S, OTHER)),
    "speech before attached": ([(C, ATTACH)], (C, OTHER)),
    "speech of the server before its attached": ([(C, ATTACH)], (S, OTHER)),
    "attached that nobody asked for": ([], (S, ATTACHED)),
    "speech after one's own detach": ([(C, ATTACH), (S, ATTACHED), (C, DETACH)], (C, OTHER)),
    "attach between detach and detached": ([(C, ATTACH), (S, ATTACHED), (C, DETACH)], (C, ATTACH)),
    "speech after one's own detached": ([(C, ATTACH), (S, ATTACHED), (C, DETACH), (S, DETACHED)], (S, OTHER)),
    "speech after forcing the other off": ([(C, ATTACH), (S, ATTACHED), (S, DETACHED)], (S, OTHER)),
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal_conversations(name: str) -> None:
    dialogue = AttachmentDialogue()
    for speaker, verb in LEGAL[name]:
        assert dialogue.can(speaker, verb)
        assert dialogue.step(speaker, verb) is None, (speaker, verb)


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_words_are_blamed_on_their_speaker_and_move_nothing(name: str) -> None:
    words, (speaker, verb) = ILLEGAL[name]
    dialogue = AttachmentDialogue()
    for word in words:
        assert dialogue.step(*word) is None
    before = dialogue.state(CLIENT), dialogue.state(SERVER)
    refusal = dialogue.step(speaker, verb)
    assert refusal is not None
    assert refusal.speaker == speaker
    assert (dialogue.state(CLIENT), dialogue.state(SERVER)) == before


@pytest.mark.parametrize("own", [CLIENT, SERVER])
def test_a_machine_accepts_every_word_of_the_other_speaker_in_every_state(own: str) -> None:
    table = ATTACHMENT[own]
    other = SERVER if own == CLIENT else CLIENT
    for state in table.states:
        for verb in ATTACHMENT_VERBS:
            assert (state, other, verb) in table.moves


@given(st.lists(st.tuples(st.sampled_from([CLIENT, SERVER]), st.sampled_from(ATTACHMENT_VERBS))))
def test_a_late_observer_accuses_nobody_whom_an_early_one_does_not(words: Words) -> None:
    early, late = AttachmentDialogue(), AttachmentDialogue(late=True)
    for speaker, verb in words:
        if early.step(speaker, verb) is None:
            assert late.step(speaker, verb) is None


@example([(C, ATTACH), (S, ATTACH), (S, ATTACHED)])  # who has asked as well does not answer
@given(st.lists(st.tuples(st.sampled_from([CLIENT, SERVER]), st.sampled_from(ATTACHMENT_VERBS))))
def test_a_refused_word_moves_neither_machine(words: Words) -> None:
    """Whatever was said before, a word that its speaker may not say leaves both sides where they were."""
    dialogue = AttachmentDialogue()
    for word in words:
        before = dialogue.state(CLIENT), dialogue.state(SERVER)
        if dialogue.step(*word) is not None:
            assert (dialogue.state(CLIENT), dialogue.state(SERVER)) == before


def test_verbs_of_the_attachment() -> None:
    assert attachment_verb("session.attach") == ATTACH
    assert attachment_verb("session.flush") == OTHER
    assert attachment_verb("message.transfer") == OTHER


def test_command_data_needs_a_command_point_on_each_attachment() -> None:
    for sender, receiver in ((C, S), (S, C)):
        stream = Machine(STREAM[sender])
        refusal = stream.step(sender, COMMAND)
        assert refusal is not None
        assert COMMAND_POINT in refusal.legal_for(sender)
        for verb in (FLUSH, GAP, KNOWN_COMPLETED, COMMAND_POINT, COMMAND, COMMAND, COMMAND_POINT, COMMAND):
            assert stream.step(sender, verb) is None
        for verb in (COMPLETED, CONFIRMED):
            assert stream.step(receiver, verb) is None


def test_expected_answers_a_flush_and_is_never_spontaneous() -> None:
    stream = Machine(STREAM[C])
    assert stream.step(S, EXPECTED) is not None
    assert stream.step(C, FLUSH) is None
    assert stream.step(S, EXPECTED) is not None
    assert stream.step(C, FLUSH_EXPECTED) is None
    assert stream.step(S, EXPECTED) is None
    assert stream.step(C, COMMAND) is not None
    assert stream.step(C, COMMAND_POINT) is None
    assert stream.step(C, COMMAND) is None


def test_commands_of_one_side_only() -> None:
    assert COMMAND_SPEAKERS["message.subscribe"] == CLIENT
    assert COMMAND_SPEAKERS["file.deliver"] == SERVER
    assert "message.transfer" not in COMMAND_SPEAKERS
    assert "execution.sync" not in COMMAND_SPEAKERS


BOTH = [(CLIENT, SERVER), (SERVER, CLIENT)]


@pytest.mark.parametrize(("own", "other"), BOTH)
def test_the_states_that_session_names_are_all_there_is(own: str, other: str) -> None:
    table = ENDPOINT[own]
    assert set(table.states) == {"detached", "attaching", "resuming", "attached", "refused", "detaching", "ended"}
    assert {row.speaker for row in table.rows} == {own, other, TRANSPORT}


@pytest.mark.parametrize(("own", "other"), BOTH)
def test_a_session_is_attached_refused_and_over(own: str, other: str) -> None:
    machine = Machine(ENDPOINT[own])
    for speaker, verb, state in [
        (own, ATTACH, "attaching"),
        (other, ATTACHED, "attached"),
        (own, ANY_COMMAND, "attached"),
        (TRANSPORT, KEPT, "detached"),
        (own, ATTACH, "attaching"),
        (other, ATTACHED_AGAIN, "resuming"),
        (other, ANY_COMMAND, "resuming"),
        (other, EXPECTED, "attached"),
        (other, EXCEPTION, "refused"),
        (TRANSPORT, OVER, "ended"),
    ]:
        assert machine.step(speaker, verb) is None
        assert machine.state == state
    assert machine.legal == ()


@pytest.mark.parametrize(("own", "other"), BOTH)
def test_the_end_that_was_asked_attaches_at_once(own: str, other: str) -> None:
    for word, state in ((ATTACHED, "attached"), (ATTACHED_AGAIN, "resuming")):
        machine = Machine(ENDPOINT[own])
        assert machine.step(own, word) is None
        assert machine.state == state


@pytest.mark.parametrize(("own", "other"), BOTH)
def test_an_end_says_commands_only_while_attached_and_nothing_after_its_detach(own: str, other: str) -> None:
    """An end that waits for an answer, was refused or has said detach says nothing; until it is over the other end counts."""
    table = ENDPOINT[own]
    assert [state for state in table.states if Machine(table, (state,)).can(own, ANY_COMMAND)] == ["attached"]
    heard = {state for state in table.states if Machine(table, (state,)).can(other, ANY_COMMAND)}
    assert heard == {"attached", "resuming", "refused"}
    for state in ("refused", "detaching", "ended"):
        assert not [row for row in table.rows if row.state == state and row.speaker == own]
    assert Machine(table, ("attached",)).can(own, DETACH)


@pytest.mark.parametrize(("own", "other"), BOTH)
def test_every_attachment_can_be_over(own: str, other: str) -> None:
    table = ENDPOINT[own]
    for state in ("attaching", "resuming", "attached", "refused", "detaching"):
        assert table.moves[state, TRANSPORT, KEPT] == "detached"
        assert table.moves[state, TRANSPORT, OVER] == "ended"
    assert table.moves["detached", TRANSPORT, OVER] == "ended"
