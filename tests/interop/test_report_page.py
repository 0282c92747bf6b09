"""The page in a real browser: Debian's chromium, headless."""

from __future__ import annotations

import os
import subprocess
from html.parser import HTMLParser
from importlib.resources import as_file, files
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the extra [report] is not installed")

from tests.report.made import write_table
from tests.report.test_page import NASTY, spoiled

from amqp_sansio.captures.columns.runner import run
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.report.page import write


def browse(browser: str, page: Path, *what: str) -> str:
    """What the browser prints of a page that it shows without a network."""
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    profile = f"--user-data-dir={page.parent / 'profile'}"
    offline = ["--proxy-server=127.0.0.1:9", "--disable-gpu", "--disable-dev-shm-usage", profile]
    command = [browser, "--headless", *root, *offline, *what, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=180).stdout


class Boxes(HTMLParser):
    """Scripts, and the classes of the root."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts = 0
        self.root: str | None = ""
        self.charts = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.charts += tag == "svg" and ("class", "chart") in attrs
        if tag == "html":
            self.root = dict(attrs).get("class")


def test_the_page_of_captures_is_shown_and_its_script_runs(browser: str, tmp_path: Path) -> None:
    samples = files("amqp_sansio.cli") / "samples"
    with as_file(samples / "hello.pcap") as hello, as_file(samples / "badopen.pcap") as bad:
        run([str(hello), str(bad)], str(tmp_path), ReplayOptions(tables=tuple(TABLES)))
    page = write(str(tmp_path))
    shown = browse(browser, page, "--dump-dom")
    boxes = Boxes(shown)
    assert boxes.root == "zooms"  # set by our script: the page's policy knows its hash
    assert boxes.scripts == 1
    assert boxes.charts >= 4
    assert "The protocol was broken 3 times" in shown
    picture = tmp_path / "page.png"
    browse(browser, page, f"--screenshot={picture}", "--window-size=1100,2000", "--hide-scrollbars")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 50_000


def test_no_text_of_a_capture_runs(browser: str, tmp_path: Path) -> None:
    for table, rows in spoiled("".join(NASTY[:9])).items():
        write_table(tmp_path, table, rows)
    boxes = Boxes(browse(browser, write(str(tmp_path)), "--dump-dom"))
    assert (boxes.scripts, boxes.root) == (1, "zooms")
