"""What counts as code, line by line and token by token."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from tools import size
from tools.size import Size

SOURCE = '''"""A docstring
of two lines."""

import os  # one line, two tokens

# a comment alone


class Small:
    """Another."""

    name: int = 1
    """What a name is."""

    def text(self) -> str:
        "One" " more."
        return """two
lines"""
'''


def test_blank_lines_comments_and_docstrings_do_not_count() -> None:
    # import os | class Small : | name : int = 1 | def text ( self ) -> str : | return """two lines"""
    assert size.measure(SOURCE) == Size(files=1, lines=6, tokens=2 + 3 + 5 + 8 + 2)


@pytest.mark.parametrize(("text", "tokens"), [("x = f'{a}{b!r:>{c}} d'", 3), ("x = 'a' 'b'", 4), ("x = f'{f(1)}' + y", 5)])
def test_an_f_string_is_one_token_in_every_version_of_python(text: str, tokens: int) -> None:
    assert size.measure(text).tokens == tokens


def test_a_string_that_follows_other_characters_than_ascii_is_found() -> None:
    assert size.measure("x = 'ä'; 'documentation'\n").tokens == 4


def test_generated_files_do_not_count() -> None:
    files = [("a/one.py", "x = 1"), ("a/two.py", f'"""Layouts.\n\n{size.MARK} from its tables."""\nx = 1'), ("b.py", "y = 2")]
    listed = [(PurePosixPath(name), text) for name, text in files]
    assert size.by_room(iter(listed)) == {"a": Size(1, 1, 3), "b": Size(1, 1, 3)}


def test_the_commit_before_is_counted_as_the_tree_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert size.main(["--json", "src/amqp_sansio/kernel"]) == 0
    assert size.by_room(size.in_tree("src/amqp_sansio/kernel"))["machine"].tokens > 100
    table = size.table({"a": Size(1, 5, 30)}, {"a": Size(1, 7, 29), "b": Size(1, 1, 1)})
    assert [line.split() for line in table.splitlines()][1:] == [
        ["a", "1", "5", "30", "-2", "+1"],
        ["b", "0", "0", "0", "-1", "-1"],
        ["total", "1", "5", "30", "-3", "+0"],
    ]
    capsys.readouterr()
