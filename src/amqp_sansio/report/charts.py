"""Charts as SVG, drawn by matplotlib, without texts from tables.  They use the page's colours, so that both themes are
readable."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any, Final

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from amqp_sansio.report.bins import Axis, Latencies
from amqp_sansio.report.flow import CreditHistory
from amqp_sansio.report.markup import Markup, count, duration

INK, FAINT, GRID, CLIENT, SERVER, WARN, PAPER = "#010101", "#020202", "#030303", "#040404", "#050505", "#060606", "#070707"
"""Placeholder colours, each for one of the page's."""
WIDTH: Final = 4.8
"""Inches of every chart: half of a screen or the whole of a phone, with text readable on both."""
_VARIABLES: Final = {
    INK: "var(--ink)",
    FAINT: "var(--faint)",
    GRID: "var(--grid)",
    CLIENT: "var(--client)",
    SERVER: "var(--server)",
    WARN: "var(--warn)",
    PAPER: "var(--card)",
}
_STYLE: Final = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "svg.fonttype": "none",
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": FAINT,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "path.simplify": False,
}


class Charts:
    """Draws charts; each has ids of its own, so that any number fit on one page."""

    def __init__(self) -> None:
        self._count = 0

    def _figure(self, height: float) -> tuple[Figure, Any]:
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        return figure, figure.add_subplot()

    def _svg(self, figure: Figure, title: str) -> Markup:
        self._count += 1
        prefix = f"c{self._count}-"
        out = StringIO()
        with mpl.rc_context({"svg.hashsalt": prefix}):
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        drawn = out.getvalue()
        drawn = drawn[drawn.index("<svg") :]
        drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
        drawn = re.sub(r"\bid=\"", f'id="{prefix}', drawn)
        drawn = re.sub(r"(href=\"#|url\(#)", rf"\g<1>{prefix}", drawn)
        drawn = re.sub(r"#0[1-7]0[1-7]0[1-7]", lambda found: _VARIABLES.get(found[0], found[0]), drawn)
        drawn = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", drawn)
        drawn = re.sub(r"\s*\n\s*", " ", drawn)
        return Markup(drawn.replace("<svg ", f'<svg class="chart" role="img" aria-label="{title}" ', 1))

    def over_time(self, axis: Axis, title: str, unit: str, lines: list[tuple[str, str, Any]], marked: Any = None) -> Markup:
        """Draws lines over time; `marked` are steps with a stall, which are shaded."""
        with mpl.rc_context(_STYLE):
            figure, plot = self._figure(2.5)
            seconds = axis.seconds()
            _shade(plot, axis, marked)
            for name, colour, values in lines:
                _steps(plot, seconds, values, colour, 1.4, name)
            _over_time(figure, plot, axis, unit)
            return self._svg(figure, title)

    def histogram(self, latencies: Latencies, title: str, colour: str, unit: str) -> Markup:
        """Draws a histogram over a logarithmic time axis, with the percentiles marked; it counts what `unit` names."""
        with mpl.rc_context(_STYLE):
            figure, plot = self._figure(2.3)
            edges, counts = latencies.coarse()
            plot.stairs(counts, edges, fill=True, color=colour, alpha=0.75, linewidth=0)
            plot.set_xscale("log")
            spread = latencies.spread()
            assert spread is not None
            top = max(counts) * 1.22
            plot.set_ylim(0, top)
            low, high = edges[0], edges[-1]
            if high / low < 16:
                low, high = low / 4, high * 4
            plot.set_xlim(low, high)
            for name, value in (("p50", spread.p50), ("p99", spread.p99)):
                at = min(max(value, low), high)
                plot.axvline(at, color=INK, linewidth=0.9, linestyle=(0, (3, 2)))
                left = name == "p50"
                plot.annotate(
                    f"{name} {duration(value)}",
                    (at, top),
                    xytext=(-3 if left else 3, -8),
                    textcoords="offset points",
                    ha="right" if left else "left",
                    fontsize=8,
                    clip_on=False,
                )
            plot.set_xlabel("time, on a logarithmic scale")
            plot.xaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(round(value))))
            plot.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
            _counts(plot, unit, 3)
            return self._svg(figure, title)

    def credit(self, axis: Axis, line: CreditHistory) -> Markup:
        """Draws the credit of one subscription and its unsettled deliveries, with its stalls marked."""
        with mpl.rc_context(_STYLE):
            figure, plot = self._figure(2.5)
            zero = (line.axis.start - axis.start) / 1e9
            seconds = [zero + each for each in line.axis.seconds()]
            for change in line.changes:
                if change.stalled_ns:
                    end = (change.ts_ns - axis.start) / 1e9
                    plot.axvspan(end - change.stalled_ns / 1e9, end, color=WARN, alpha=0.2, linewidth=0.6)
            _steps(plot, seconds, line.flying, SERVER, 1.3, "delivered, not settled")
            times = [(change.ts_ns - axis.start) / 1e9 for change in line.changes]
            credit = [float("nan") if change.credit is None else float(change.credit) for change in line.changes]
            plot.plot(
                times, credit, drawstyle="steps-post", color=CLIENT, linewidth=1.4, marker="o", markersize=2.2, label="credit"
            )
            if line.stalled_ns:
                plot.fill_between([], [], color=WARN, alpha=0.25, label="stalled at zero")
            _over_time(figure, plot, line.axis, "messages", zero)
            return self._svg(figure, "Credit of a subscription over time")


def _steps(plot: Any, seconds: list[float], values: Any, colour: str, width: float, name: str) -> None:
    """Draws a line of steps, filled."""
    plot.fill_between(seconds, values, step="pre", color=colour, alpha=0.18, linewidth=0)
    plot.plot(seconds, values, drawstyle="steps-pre", color=colour, linewidth=width, label=name)


def _over_time(figure: Figure, plot: Any, axis: Axis, unit: str, zero: float = 0.0) -> None:
    """Sets up the axes and the legend of a chart whose time axis begins `zero` seconds after the first packet."""
    plot.set_xlim(zero, zero + axis.step * axis.steps / 1e9)
    plot.set_xlabel("seconds since the first packet")
    plot.set_ylim(bottom=0)
    _counts(plot, unit, 4)
    figure.legend(loc="outside upper left", ncols=3)


def _counts(plot: Any, unit: str, steps: int) -> None:
    """Labels the vertical axis with `unit`, and gives it whole numbers."""
    plot.set_ylabel(unit)
    plot.yaxis.set_major_locator(MaxNLocator(steps, integer=True))
    plot.yaxis.set_major_formatter(FuncFormatter(lambda value, _: count(int(value))))


def _shade(plot: Any, axis: Axis, marked: Any) -> None:
    if marked is None:
        return
    start: int | None = None
    for place, stalled in enumerate([*[each > 0 for each in marked[: axis.steps]], False]):
        if stalled and start is None:
            start = place
        elif not stalled and start is not None:
            step = axis.step / 1e9
            plot.axvspan(start * step, place * step, color=WARN, alpha=0.16, linewidth=0)
            start = None
    plot.fill_between([], [], color=WARN, alpha=0.25, label="a subscription stalls")
