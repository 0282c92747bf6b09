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
    offline = ["--proxy-server=127.0.0.1:9", "--disable-quic", "--disable-background-networking", "--disable-component-update"]
    offline += ["--disable-sync", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", profile]
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


LAYOUT = """<html><body style="margin:0"><iframe id="page" src="{page}" style="width:{width}px;height:900px;border:0"></iframe>
<script>addEventListener("load", () => {{
const seen = document.getElementById("page").contentDocument, view = seen.defaultView, found = [];
for (const each of seen.querySelectorAll("details")) each.open = true;
const box = (each) => each.getBoundingClientRect(), says = (each) => each.textContent.trim().slice(0, 60);
const scrolls = (each) => each.closest(".wide") !== null;
const own = (each) => [...each.childNodes].some((part) => part.nodeType === 3 && part.data.trim());
const texts = [...seen.body.querySelectorAll("*")].filter((each) =>
  own(each) && !["SCRIPT", "STYLE", "title"].includes(each.tagName) && box(each).width);
for (const each of texts) {{
  const it = box(each);
  if (!scrolls(each) && (it.left < -0.5 || it.right > {width} + 0.5)) found.push(`edge: ${{says(each)}}`);
}}
if (seen.documentElement.scrollWidth > {width}) found.push(`edge: the page is ${{seen.documentElement.scrollWidth}} wide`);
for (const svg of seen.querySelectorAll("svg")) {{
  const parts = [...svg.querySelectorAll("text")].filter((each) => each.textContent.trim()).map((each) => [box(each), each]);
  parts.forEach(([one, what], at) => {{
    const least = parseFloat(view.getComputedStyle(what).fontSize) * box(svg).width / svg.viewBox.baseVal.width;
    if (least < 7) found.push(`small: ${{least.toFixed(1)}} px ${{says(what)}}`);
    for (const [other, more] of parts.slice(at + 1)) {{
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (wide > 1 && high > 0.3 * Math.min(one.height, other.height)) found.push(`overlap: ${{says(what)}} | ${{says(more)}}`);
    }}
  }});
}}
const parse = (colour) => (colour.match(/[0-9.]+/g) || []).map(Number);
const light = (colour) => {{
  const [r, g, b] = colour.slice(0, 3).map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
}};
const behind = (each) => {{
  for (let at = each; at; at = at.parentElement) {{
    const colour = parse(view.getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
  }}
  return [255, 255, 255];
}};
for (const each of texts) {{
  const style = view.getComputedStyle(each), inked = each.namespaceURI.endsWith("svg") ? style.fill : style.color;
  const [low, high] = [light(parse(inked)), light(behind(each))].sort((a, b) => a - b);
  if ((high + .05) / (low + .05) < 4.5) found.push(`contrast: ${{((high + .05) / (low + .05)).toFixed(1)}} ${{says(each)}}`);
}}
const hidden = [...seen.querySelectorAll(".wide")].filter((each) => each.scrollWidth > each.clientWidth + 1 &&
  view.getComputedStyle(each.nextElementSibling).display === "none");
for (const each of hidden) found.push(`no hint: ${{says(each)}}`);
const dark = light(behind(seen.body)) < .2;
const told = `LOOKED at ${{texts.length}} texts, ${{dark ? "dark" : "light"}}: `;
document.body.textContent = told + found.slice(0, 40).join(" ; ") + " END";
}})</script></body></html>"""
"""Reads boxes and texts of the page as it is laid out: what is beyond the edge, overlaps, is too small or too faint."""


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with everything on it: violations, damage, credit, transactions, histograms."""
    folder = tmp_path_factory.mktemp("rich")
    data = Path(__file__).parents[1] / "data" / "captures"
    captures = [str(data / f"{name}.pcap") for name in ("errors", "badframes", "credit", "dtx", "tx", "hello")]
    run(captures, str(folder), ReplayOptions(tables=tuple(TABLES)))
    return write(str(folder))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_overlaps_leaves_the_page_or_is_hard_to_read(browser: str, rich: Path, width: int, theme: str) -> None:
    frame = rich.parent / f"{theme}-{width}.html"
    frame.write_text(LAYOUT.format(page=rich.as_uri(), width=width))
    dark = ["--force-dark-mode"] if theme == "dark" else []
    asked = (
        "--allow-file-access-from-files",
        f"--window-size={max(width, 500)},1000",
        "--virtual-time-budget=10000",
        "--dump-dom",
    )
    shown = browse(browser, frame, *dark, *asked)
    found = re.search(r"LOOKED at (\d+) texts, (\w+): (.*) END", shown, re.DOTALL)
    assert found is not None, shown[-2000:]
    assert int(found[1]) > 300
    assert found[2] == theme
    assert found[3].split(" ; ") == [""]
