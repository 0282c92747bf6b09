"""What the command line gives is checked, and becomes the settings of a verb."""

from __future__ import annotations

import argparse

import attrs
import pytest

from amqp_sansio.cli.given import Wrapped, asked, pair, whole
from amqp_sansio.cli.main import main, parser


@attrs.frozen
class Settings:
    name: str
    numbers: tuple[int, ...] = ()


def test_settings_have_the_names_of_their_arguments() -> None:
    assert asked(Settings, argparse.Namespace(name="x", numbers=[1, 2], other=3)) == Settings("x", (1, 2))


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("65535", 65535), ("0" * 30 + "7", 7)])
def test_an_integer_within_its_bounds_is_read(text: str, number: int) -> None:
    assert whole(0, 65535)(text) == number


@pytest.mark.parametrize("text", ["", "-1", "65536", "1.0", "x", "\u0663", "9" * 5000, "0" * 25 + "65536"])
def test_any_other_text_is_refused_in_the_words_of_the_argument(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be an integer from 0 to 65535"):
        whole(0, 65535)(text)
    with pytest.raises(argparse.ArgumentTypeError, match="is not a port"):
        whole(0, 65535, "is not a port")(text)


def test_an_integer_without_a_bound_may_be_of_any_size() -> None:
    assert whole(1)("9" * 100) == int("9" * 100)
    with pytest.raises(argparse.ArgumentTypeError, match="of at least 1"):
        whole(1)("0")


def test_a_pair_has_a_name() -> None:
    assert pair("NAME=TEXT")("a=b=c") == ("a", "b=c")
    for wrong in ("a", "=b", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="is not NAME=TEXT"):
            pair("NAME=TEXT")(wrong)


TEXT = """One paragraph that is
written on two lines.

  a list   that stays
  as it    is

The end."""


def filled(width: int) -> list[str]:
    return Wrapped("x", width=width)._fill_text(TEXT, width, "").splitlines()


def test_paragraphs_are_filled_and_what_is_indented_stays() -> None:
    assert filled(80) == [
        "One paragraph that is written on two lines.",
        "",
        "  a list   that stays",
        "  as it    is",
        "",
        "The end.",
    ]
    assert filled(20)[:3] == ["One paragraph that", "is written on two", "lines."]


def test_no_word_is_broken_at_a_hyphen() -> None:
    text = "Keys of SCRAM-SHA-256, say."
    assert Wrapped("x", width=20)._fill_text(text, 15, "").splitlines() == ["Keys of", "SCRAM-SHA-256,", "say."]


def test_an_indented_line_that_is_too_long_goes_on_below_its_second_column() -> None:
    text = (
        "These:\n  a verb   what it does in many words\n  amqp-sansio never broken in two\n  a note in many words that is long"
    )
    assert Wrapped("x", width=34)._fill_text(text, 34, "").splitlines()[1:] == [
        "  a verb   what it does in many",
        "           words",
        "  amqp-sansio never broken in two",
        "  a note in many words that is",
        "  long",
    ]


@pytest.mark.parametrize("columns", [70, 100, 160])
def test_every_verb_says_its_help_in_the_width_that_there_is(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    top = parser()
    (verbs,) = [each.choices for each in top._actions if isinstance(each, argparse._SubParsersAction)]
    for each in verbs.values():
        assert each.formatter_class in (Wrapped, argparse.HelpFormatter)
        lines = each.format_help().splitlines()
        prose = [line for line in lines if line and not line.startswith(" ") and not line.startswith("usage")]
        assert max(map(len, prose)) <= columns, prose
    assert any(len(line) > 140 for line in verbs["decode"].format_help().splitlines()) is (columns == 160)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("analyze --ot DIR x.pcap", "unrecognized arguments: --ot (did you mean --out?)"),
        ("watch --chekpoint=DIR", "unrecognized arguments: --chekpoint=DIR (did you mean --checkpoint?)"),
        ("probe --sed 1", "unrecognized arguments: --sed (did you mean --seed?)"),
        ("analyze --fil 3 x.pcap", "the following arguments are required: --out"),  # abbreviated
        ("analyze x.pcap -- --ot", "the following arguments are required: --out"),
        ("serv --port 1", "argument VERB: invalid choice: 'serv' "),
        ("--versin", "unrecognized arguments: --versin (did you mean --version?)"),
    ],
)
def test_the_verb_reports_an_unknown_option_before_a_missing_extra(
    words: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(words.split())
    assert f"error: {told}" in capsys.readouterr().err
