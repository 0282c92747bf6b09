"""What the command line gives is checked, and becomes the settings of a verb."""

from __future__ import annotations

import argparse

import attrs
import pytest

from amqp_sansio.cli.given import asked, pair, whole


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
