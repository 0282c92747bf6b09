"""Charts as SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from amqp_sansio.report.bins import Axis, Latencies
from amqp_sansio.report.charts import CLIENT, Charts

AXIS = Axis(0, 10**9)


def drawn(charts: Charts) -> str:
    held = Latencies()
    held.add(np.array([1000, 2000, 3000]))
    line = charts.over_time(AXIS, "t", "messages", [("a", CLIENT, np.arange(AXIS.steps))], np.arange(AXIS.steps) % 50 == 0)
    return line + charts.histogram(held, "h", CLIENT, "messages")


def test_the_same_numbers_give_the_same_octets_and_ids_are_not_shared() -> None:
    assert drawn(Charts()) == drawn(Charts())
    found = re.findall(r'\bid="([^"]+)"', drawn(Charts()))
    assert len(found) == len(set(found))


def test_a_chart_needs_nothing_else_and_takes_the_colours_of_the_page() -> None:
    both = drawn(Charts())
    assert not re.search(r"<(script|image|metadata|foreignObject)|#0[1-7]0[1-7]0[1-7]|<\?xml|<!DOCTYPE", both)
    assert "var(--client)" in both
    names = set(re.findall(r'\bid="([^"]+)"', both))
    assert set(re.findall(r"(?:href=\"#|url\(#)([^\")]+)", both)) <= names
    ElementTree.fromstring(f"<div>{both}</div>")


def test_one_latency_and_very_many_have_a_chart() -> None:
    for values in ([0], [5], list(range(0, 10**12, 10**8))):
        held = Latencies()
        held.add(np.array(values))
        assert "p50" in Charts().histogram(held, "h", CLIENT, "messages")
