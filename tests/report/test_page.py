"""The whole page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.captures import build, scram
from tests.captures.finer import TABLES_1, finer_captures
from tests.report.made import START, story, write_story, write_table

from amqp_sansio.captures.columns.local import run
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.report.folder import ReportError
from amqp_sansio.report.page import CSS, NAME, SCRIPT, page, write


def test_nothing_is_fetched_and_nothing_ends_its_element() -> None:
    for words in (CSS, SCRIPT):
        assert words
        assert "</" not in words
        assert "http" not in words
    assert "url(" not in CSS
    assert "@import" not in CSS
    assert "prefers-color-scheme:dark" in CSS
    assert "@media print" in CSS


ROOT = Path(__file__).resolve().parents[2]
HERE = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT / "src")}
NASTY = (
    "<script>window.hacked=1</script>",
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "</style></svg></title><script>alert(1)</script>",
    "--><!--",
    "]]><![CDATA[",
    "$\\frac{$ %s {0} {{}} \\",
    "javascript:alert(1)",
    "\u202e\x00\x1b[31m\n\r\t\u2028",
    "&lt;b&gt; &#60;",
    "x" * 5000,
    "漢字 \U0001f600 \u0301",
)


class Reader(HTMLParser):
    """What a browser would make elements of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.wrong: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.wrong += [f"{tag} {name}" for name, _ in attrs if name.startswith("on") or name in ("src", "srcdoc", "action")]
        self.wrong += [
            f"{name}={value}" for name, value in attrs if name.endswith("href") and not (value or "").startswith("#")
        ]
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")


def spoiled(word: str) -> dict[str, list[dict[str, Any]]]:
    """The story with every text replaced, but for those that a table can only hold one of a few of."""
    fixed = {"direction", "level", "event", "outcome"}
    tables = story()
    for name, rows in tables.items():
        for row in rows:
            for column in table_schema(TABLES[name]):
                if pa.types.is_string(column.type) and column.name not in fixed:
                    row[column.name] = word
            if "legal" in row:
                row["legal"] = [word, word]
    return tables


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How often each element stands on the page of harmless texts."""
    folder = tmp_path_factory.mktemp("harmless")
    for table, rows in spoiled("harmless").items():
        write_table(folder, table, rows)
    return Reader(page(str(folder))).tags


# Whatever texts stand in the tables, the page has the elements that it has with harmless ones, but for the lines of long ones.
@pytest.mark.parametrize("word", NASTY, ids=range(len(NASTY)))
def test_texts_of_captures_never_become_markup(tmp_path: Path, word: str, harmless: dict[str, int]) -> None:
    for table, rows in spoiled(word).items():
        write_table(tmp_path, table, rows)
    read = Reader(page(str(tmp_path)))
    assert (read.wrong, read.open, read.tags["script"]) == ([], [], 1)
    assert {**read.tags, "tspan": 0} == {**harmless, "tspan": 0}


def test_even_levels_and_speakers_that_are_none_do_no_harm(tmp_path: Path) -> None:
    for table, rows in story().items():
        texts = [field.name for field in table_schema(TABLES[table]) if pa.types.is_string(field.type)]
        write_table(tmp_path, table, [{**row, **{name: NASTY[1] for name in texts if name in row}} for row in rows])
    assert Reader(page(str(tmp_path))).wrong == []


def test_the_same_tables_give_the_same_page_and_it_needs_nothing_else(tmp_path: Path) -> None:
    folder = write_story(tmp_path)
    first = page(str(folder))
    probe = f"import sys; from amqp_sansio.report.page import page; sys.stdout.write(page({str(folder)!r}))"
    again = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=True, env=HERE)
    assert again.stdout.decode() == first
    assert "http://" not in first.replace("http://www.w3.org/", "")
    assert "https://" not in first
    assert "default-src 'none'" in first
    for part in ("tx.commit.select-required", "1:aa:bb", "c&gt;s#1", "legal was", "stalled once, 2 s in all", 'class="here"'):
        assert part in first


def test_every_link_leads_to_a_part(tmp_path: Path) -> None:
    made = page(str(write_story(tmp_path)))
    import re

    for key in re.findall(r'<a href="#([^"]+)"', made):
        assert f'id="{key}"' in made


@pytest.mark.parametrize("table", list(TABLES))
def test_one_table_alone_gives_a_page_full_or_empty(tmp_path: Path, table: str) -> None:
    write_table(tmp_path / "empty", table, [])
    write_table(tmp_path / "full", table, story().get(table, [{}]))
    for name in ("empty", "full"):
        read = Reader(page(str(tmp_path / name)))
        assert read.wrong == []


def test_all_tables_empty_give_a_page(tmp_path: Path) -> None:
    for table in TABLES:
        write_table(tmp_path, table, [])
    made = page(str(tmp_path))
    assert "Nothing was judged: no AMQP connection was found. Nothing was left in doubt." in made
    assert "No time is known." in made


def test_captures_become_a_page(tmp_path: Path) -> None:
    samples = files("amqp_sansio.cli") / "samples"
    with as_file(samples / "hello.pcap") as hello, as_file(samples / "badopen.pcap") as bad:
        run([str(hello), str(bad)], str(tmp_path), ReplayOptions(tables=tuple(TABLES)))
    made = page(str(tmp_path))
    assert "The protocol was broken 3 times on 2 connections (3 by the client)" in made
    assert made.count('class="sequence"') == 2  # two of the violations are one control
    assert "connection.tune-ok with channel-max 65535" in made
    assert "guest" not in made  # the password


def test_tables_of_schema_version_1_give_the_page_of_today(tmp_path: Path) -> None:
    """The same captures give the same page, but for where they lay and what the manifest of today says besides."""
    captures = finer_captures(tmp_path)
    run(captures, str(tmp_path / "tables"), ReplayOptions(broker="north", tables=tuple(TABLES), body_head=8))
    now = page(str(tmp_path / "tables")).replace(str(tmp_path), "/tmp/v1")
    assert page(str(TABLES_1)) == re.sub(r"<h3>Not read, not to the end, or too late: 1</h3><ul>.*?</ul>", "", now)


# Memory and the page are bounded, whatever the tables hold.
@pytest.mark.parametrize(("rows", "kilobytes"), [(100_000, 350_000), pytest.param(400_000, 450_000, marks=pytest.mark.soak)])
def test_big_tables_give_a_page_of_the_same_size(tmp_path: Path, rows: int, kilobytes: int) -> None:
    numbers = np.arange(rows)
    known: dict[str, dict[str, Any]] = {
        "messages": {
            "direction": np.where(numbers % 2, "S", "C"), "destination": [f"d{n % 90000}" for n in range(rows)],
            "message_id": [f"m{n // 2}" for n in range(rows)], "ts_ns": START + numbers * 1000,
            "ts": START // 1000 + numbers, "last_octet_ns": START + numbers * 1000,
            "last_octet_at": START // 1000 + numbers, "settled_at": START // 1000 + numbers, "settle_latency_ns": numbers,
            "outcome": ["accepted"] * rows, "connection": numbers % 5000,
        },
        "commands": {
            "direction": ["C"] * rows, "verb": ["message.transfer"] * rows, "outcome": ["open"] * rows, "connection": numbers,
            "ts_ns": START + numbers,
        },
        "violations": {
            "direction": ["C"] * rows, "level": ["violation"] * rows, "rule": [f"rule{n}" for n in range(rows)],
            "said": ["x"] * rows, "connection": numbers % 50, "ts_ns": START + numbers, "stream_offset": numbers,
        },
    }  # fmt: skip
    for table, columns in known.items():
        place = tmp_path / table / "x.parquet"
        place.parent.mkdir()
        fields = [field for field in table_schema(TABLES[table]) if field.name in columns]
        made = pa.table([pa.array(columns[field.name], field.type) for field in fields], names=[field.name for field in fields])
        pq.write_table(made, str(place), row_group_size=50_000)
    probe = f"from amqp_sansio.report.page import write; write({str(tmp_path)!r})"
    # Not getrusage: that begins with what the process that forked had.
    probe += "; print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=True, env=HERE)
    assert int(done.stdout) < kilobytes  # of which the libraries are 170 000
    text = (tmp_path / NAME).read_text()
    assert len(text) < 1_500_000
    assert "lower bounds" in text
    assert Reader(text).wrong == []


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = write_story(tmp_path / "tables")
    assert write(str(folder)) == folder / NAME
    assert write(str(folder), str(tmp_path / "p.html")).read_bytes() == (folder / NAME).read_bytes()
    with pytest.raises(ReportError, match="cannot be written"):
        write(str(folder), str(tmp_path / "none" / "p.html"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.html", "tables"]


def test_a_page_goes_into_a_pipe_and_through_a_link_without_taking_their_place(tmp_path: Path) -> None:
    folder = write_story(tmp_path / "tables")
    made = write(str(folder)).read_bytes()
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    link.symlink_to(tmp_path / "page.html")
    write(str(folder), str(link))
    assert (link.is_symlink(), (tmp_path / "page.html").read_bytes() == made) == (True, True)
    os.mkfifo(pipe)
    with (tmp_path / "taken").open("wb") as taken:
        reader = subprocess.Popen(["cat", str(pipe)], stdout=taken)
    try:
        assert write(str(folder), str(pipe)) == pipe
        assert pipe.is_fifo()
        assert reader.wait(60) == 0
    finally:
        reader.kill()
        reader.wait()
    assert (tmp_path / "taken").read_bytes() == made


def test_nothing_of_a_scram_exchange_reaches_the_page(tmp_path: Path) -> None:
    """No nonce, no salt, no proof, no verifier, with every table there."""
    options = ReplayOptions(ports=(scram.PORT,), tables=tuple(TABLES), body_head=64)
    run([scram.write(tmp_path / "scram.pcap")], str(tmp_path / "tables"), options)
    text = write(str(tmp_path / "tables")).read_text(encoding="utf-8")
    assert build.CLIENT in text
    assert scram.told(text) == []


@pytest.mark.parametrize("out", [".", "/"])
def test_a_folder_is_no_place_for_a_page(out: str, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"cannot be written: it is a folder"):
        write(str(tmp_path), out)
