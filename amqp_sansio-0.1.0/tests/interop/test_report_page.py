"""The page in a real browser: Debian's chromium, headless."""

from __future__ import annotations

import os
import re
import subprocess
from html.parser import HTMLParser
from importlib.resources import as_file, files
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the extra [report] is not installed")

from tests.report.made import write_table
from tests.report.test_page import NASTY, spoiled

from amqp_sansio.captures.columns.local import run
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


PHONE = """<html><body style="margin:0"><iframe id="page" src="{page}" style="width:390px;height:800px;border:0"></iframe>
<script>addEventListener("load", () => {{
const seen = document.getElementById("page").contentDocument, charts = [...seen.querySelectorAll("svg.chart")];
const widest = Math.max(...charts.map((chart) => Math.ceil(chart.getBoundingClientRect().right)));
document.body.textContent = `width ${{seen.documentElement.scrollWidth}} of ${{charts.length}} charts ${{widest}};`;
}})</script></body></html>"""
"""The page in a frame as wide as a telephone; it says how wide the page has become, and where its charts end, in pixels."""


def test_on_a_telephone_nothing_is_wider_than_the_page(browser: str, tmp_path: Path) -> None:
    """Charts shrink; tables and conversations, which cannot, scroll by themselves."""
    samples = files("amqp_sansio.cli") / "samples"
    with as_file(samples / "hello.pcap") as hello, as_file(samples / "badopen.pcap") as bad:
        run([str(hello), str(bad)], str(tmp_path), ReplayOptions(tables=tuple(TABLES)))
    phone = tmp_path / "phone.html"
    phone.write_text(PHONE.format(page=write(str(tmp_path)).as_uri()))
    shown = browse(browser, phone, "--allow-file-access-from-files", "--virtual-time-budget=10000", "--dump-dom")
    found = re.search(r"width (\d+) of (\d+) charts (-?\d+);", shown)
    assert found is not None, shown[-2000:]
    width, charts, right = map(int, found.groups())
    assert charts >= 4
    assert right <= width <= 390


def test_no_text_of_a_capture_runs(browser: str, tmp_path: Path) -> None:
    for table, rows in spoiled("".join(NASTY[:9])).items():
        write_table(tmp_path, table, rows)
    boxes = Boxes(browse(browser, write(str(tmp_path)), "--dump-dom"))
    assert (boxes.scripts, boxes.root) == (1, "zooms")
