"""The grammar of segments and frames."""

from __future__ import annotations

import pytest

from amqp_sansio.grammar import assembly as a


def said(text: str) -> list[str]:
    """ "command Bb" and so on: a frame each, apart by commas."""
    return [a.frame("client", *each.split()) for each in text.split(", ")]


@pytest.mark.parametrize(
    "text",
    [
        "command BEbe", "command Bbe, header be, body Ebe", "command Bbe, body Eb, body E, body Ee", "command BEb, command BEe",
        "command Bb, command Be, header b, header e, body Ebe",
        "command Bbe, header Ebe, command BEbe",
    ],
)  # fmt: skip
def test_commands(text: str) -> None:
    assert a.commands("client").accepts(said(text))


@pytest.mark.parametrize(
    "text",
    [
        "header Bbe", "command Ebe", "command BEe", "command Bbe, command BEbe", "command Bbe, body be, header Ebe",
        "command Bb, header be", "command BEb, command Be", "command Bbe, header e",
    ],
)  # fmt: skip
def test_what_is_no_command(text: str) -> None:
    words = said(text)
    assert not a.commands("client").prefixes().accepts(words)


def test_controls_are_one_segment() -> None:
    assert a.controls("client").accepts(said("control BEbe, control BEb, control BE, control BEe"))
    assert not a.controls("client").prefixes().accepts(said("control Bbe"))


def test_shapes() -> None:
    plain = said("command BEbe")
    body = said("command Bbe, body Ebe")
    header = said("command Bbe, header Ebe")
    for need, takes in (("optional", (True, True, True)), ("required", (False, False, True)), ("never", (True, True, False))):
        language = a.commands("client", need)
        assert tuple(language.accepts(words) for words in (plain, body, header)) == takes
    assert not a.commands("client", "optional", body=False).accepts(body)
    assert a.frame("client", "body", "") == "client:body -"
