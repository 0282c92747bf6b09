"""Generates the page of Broker-J's deviations from the JSON of a probe (`python -m tools.interop.probed`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).resolve().parents[2] / "docs" / "data" / "broker-j.json"


def departures_page() -> str:
    """Returns every rule that it broke, in how many ways, and the shortest conversation of each."""
    told = json.loads(DATA.read_text(encoding="utf-8"))
    lines = [
        "# What a probe finds in Broker-J",
        "",
        f"`python -m tools.interop.probed` held {told['conversations']} conversations with Apache Qpid Broker-J; it kept "
        f"{len(told['kept'])} rules and broke {len(told['broken'])}. "
        "The machine was busy, which may explain some silences.",
        "",
        "| rule | broken | kept | answer |",
        "|---|---|---|---|",
    ]
    for each in told["broken"]:
        for way in each["ways"]:
            cells = (f"`{each['rule']}`", each["broken"], each["kept"], way["answer"].replace("|", "\\|"))
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += [
        "",
        f"It was started {told['starts']} times; `server: it goes on` below shows what ends it.",
        "",
        "| part | transitions taken | left, and why |",
        "|---|---|---|",
    ]
    for part in told["coverage"]:
        left: dict[str, int] = {}
        for missed in part["missing"]:
            left[missed["why"]] = left.get(missed["why"], 0) + missed["moves"]
        why = "; ".join([f"{count}: {text}" for text, count in left.items()])
        lines.append(f"| {part['part']} | {part['covered']} of {part['moves']} | {why} |")
    for each in told["broken"]:
        way = each["ways"][0]
        lines += ["", f"## {each['rule']}", "", "```text", *way["conversation"], "```"]
    return "\n".join([*lines, ""])
