"""Draws a state diagram of a table, as SVG on one line, so that Markdown passes it through.

igraph computes the layout (Sugiyama's method): states are in layers by their distance from the initial one, and the words of an
arrow are a box of their own in the layers between, so that nothing overlaps.  Words that change no state are inside the state's
box; the colour of an arrow shows the speaker.
"""

from __future__ import annotations

from collections import deque
from html import escape
from itertools import accumulate, pairwise
from textwrap import wrap
from typing import Final, NamedTuple

from amqp_sansio.kernel.machine import Row, Table

CHARACTER: Final = 6.4
"""Width of a character, in units of the drawing."""
LINE: Final = 13
"""Height of a line of text."""
WIDEST: Final = 16
"""Characters in a line, unless one word is longer."""
GAP: Final = 14
"""Pixels between neighbours."""
PAGE: Final = 680
"""The width of a page's text, in pixels: a wider diagram scrolls."""
WIDE: Final = 1000
"""The width in pixels that a diagram keeps to where it can, even if its lines are less straight then."""
COLOURS: Final = {
    **dict.fromkeys(("client", "sender", "manager"), "#1f5fa8"),
    **dict.fromkeys(("server", "recipient", "participant"), "#2e7d32"),
}
OTHER: Final = "#555555"


class Box(NamedTuple):
    """A state, or the words between two states: its lines, and the position of its centre."""

    lines: tuple[str, ...]
    bold: int = 0
    """How many lines, the first ones, are the name of a state."""
    x: float = 0
    y: float = 0

    @property
    def width(self) -> float:
        return max(len(line) for line in self.lines) * CHARACTER + 16

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + 8


def depths(table: Table) -> dict[str, int]:
    """Returns the distance of each state from the initial one; unreachable ones come last."""
    depth = {table.initial: 0}
    waiting = deque([table.initial])
    while waiting:
        state = waiting.popleft()
        for row in table.rows:
            if row.state == state and row.next_state not in depth:
                depth[row.next_state] = depth[state] + 1
                waiting.append(row.next_state)
    deepest = max(depth.values()) + 1
    return {state: depth.get(state, deepest) for state in table.states}


def _words(rows: list[Row]) -> tuple[str, ...]:
    by_speaker: dict[str, list[str]] = {}
    for row in rows:
        by_speaker.setdefault(row.speaker, []).append(row.verb)
    lines: list[str] = []
    for speaker, verbs in by_speaker.items():
        line = f"{speaker}:"
        for verb in verbs:
            if len(line) + len(verb) >= WIDEST and line.strip():
                lines.append(line)
                line = " "
            line += f" {verb}"
        lines.append(line)
    return tuple(lines)


def moves(table: Table) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Returns the states that are left for another state, by that one and the words: one box, where they share both."""
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in table.rows:
        if row.state != row.next_state:
            rows.setdefault((row.state, row.next_state), []).append(row)
    arrows: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (start, end), each in rows.items():
        arrows.setdefault((end, _words(each)), []).append(start)
    return arrows


class Drawing:
    """The positions of everything."""

    def __init__(self, table: Table) -> None:
        self.table: Final = table
        self.arrows: Final = moves(table)
        depth = depths(table)
        boxes = [
            Box((*name, *_words([row for row in table.rows if row.state == row.next_state == state])), len(name))
            for state in table.states
            for name in [wrap(state, WIDEST)]
        ]
        layers = [2 * depth[state] for state in table.states]
        edges: list[tuple[int, int]] = []
        for (end, words), starts in self.arrows.items():
            edges += [(table.states.index(start), len(boxes)) for start in starts]
            edges.append((len(boxes), table.states.index(end)))
            boxes.append(Box(words))
            layers.append(2 * min(depth[state] for state in (*starts, end)) + 1)
        import igraph  # imports matplotlib: callers that only list the pages do not need it

        layout = igraph.Graph(len(boxes), edges, directed=True).layout_sugiyama(layers=layers, maxiter=1000)
        points: list[list[float]] = layout.coords
        bends: list[list[list[float]]] = layout.edge_routing
        heights = [
            max((box.height for box, at in zip(boxes, layers, strict=True) if at == layer), default=0) + 24
            for layer in range(max(layers) + 1)
        ]
        for layer in range(max(layers) + 1):  # igraph does not guarantee its minimal gap everywhere
            row = sorted([point for each in (points, *bends) for point in each if int(point[1]) == layer])
            for before, point in pairwise(row):
                point[0] = max(point[0], before[0] + 1)
        tops = [0.0, *accumulate(heights)]
        widths = [(x, int(layer), box.width) for (x, layer), box in zip(points, boxes, strict=True)]
        places = _places([*widths, *[(x, int(layer), 0.0) for each in bends for x, layer in each]])

        def place(x: float, layer: float) -> tuple[float, float]:
            return places[round(x, 3), int(layer)], (tops[int(layer)] + tops[int(layer) + 1]) / 2

        self.boxes: Final = [Box(*box[:2], *place(*point)) for box, point in zip(boxes, points, strict=True)]
        self.bends: Final = [[place(*bend) for bend in each] for each in bends]
        self.edges: Final = edges
        self.width: Final = max(places[round(x, 3), layer] + width / 2 for x, layer, width in widths) + GAP
        self.height: Final = tops[-1]

    def arrow(self, number: int) -> tuple[str, str]:
        """Draws the lines to the words of an arrow and from them, and the words, to lie on all lines."""
        words = self.boxes[number]
        speakers = {line.partition(":")[0] for line in words.lines if not line.startswith(" ")}
        colour = COLOURS.get(speakers.pop(), OTHER) if len(speakers) == 1 else OTHER
        parts = []
        for edge, bends in zip(self.edges, self.bends, strict=True):
            if number in edge:
                tip = ' marker-end="url(#tip)"' if edge[0] == number else ""
                path = _path(self.boxes[edge[0]], bends, self.boxes[edge[1]])
                parts.append(f'<path d="{path}" fill="none" stroke="{colour}"{tip}/>')
        return "".join(parts), self._text(words, colour)

    def state(self, number: int) -> str:
        """Draws one state."""
        box, state = self.boxes[number], self.table.states[number]
        thick = 2.5 if state == self.table.initial else 1
        dashes = ' stroke-dasharray="5 3"' if state in self.table.final else ""
        return (
            f'<rect x="{box.x - box.width / 2:.0f}" y="{box.y - box.height / 2:.0f}" width="{box.width:.0f}" '
            f'height="{box.height:.0f}" rx="7" fill="#f4f6f8" stroke="#333333" stroke-width="{thick}"{dashes}/>'
            + self._text(box, "#111111")
        )

    def _text(self, box: Box, colour: str) -> str:
        y = box.y - (len(box.lines) - 1) * LINE / 2 + 4
        lines = [
            f'<tspan x="{box.x:.0f}" y="{y + number * LINE:.0f}" font-weight="{"bold" if number < box.bold else "normal"}">'
            f"{escape(line)}</tspan>"
            for number, line in enumerate(box.lines)
        ]
        return f'<text text-anchor="middle" fill="{colour}">{"".join(lines)}</text>'


def _places(things: list[tuple[float, int, float]]) -> dict[tuple[float, int], float]:
    """Returns where each column of the layout is drawn in each layer, in pixels: as far left as it can be in all of them, but
    further left in a layer that would go beyond `WIDE`.

    A thing is its column, its layer and its width, which is 0 for an arrow that passes.  Neighbours in a layer keep `GAP`.
    """
    columns: dict[float, float] = {}
    layers: dict[int, dict[float, float]] = {}  # the widths in each layer, by column
    latest = 0.0
    for x, layer, width in sorted([(round(x, 3), layer, width) for x, layer, width in things]):
        row = layers.setdefault(layer, {})
        before = max([column for column in row if column < x], default=None)
        edge = width / 2 + GAP if before is None else columns[before] + (row[before] + width) / 2 + GAP
        latest = columns[x] = max(latest, columns.get(x, 0.0), edge)
        row[x] = max(width, row.get(x, 0.0))
    widest = max(WIDE, *[sum(row.values()) + GAP * (len(row) + 1) for row in layers.values()])
    places: dict[tuple[float, int], float] = {}
    for layer, row in layers.items():
        edge = widest
        for x, width in sorted(row.items(), reverse=True):
            places[x, layer] = min(columns[x], edge - GAP - width / 2)
            edge = places[x, layer] - width / 2
    return places


def _path(start: Box, bends: list[tuple[float, float]], end: Box) -> str:
    """Returns a line from edge to edge of two boxes, through the points between."""
    down = (bends[0][1] if bends else end.y) > start.y
    into = (bends[-1][1] if bends else start.y) < end.y
    points = [
        (start.x, start.y + (start.height if down else -start.height) / 2),
        *bends,
        (end.x, end.y + (-end.height if into else end.height) / 2),
    ]
    path = f"M{points[0][0]:.0f},{points[0][1]:.0f}"
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = (y1 + y2) / 2
        path += f" C{x1:.0f},{middle:.0f} {x2:.0f},{middle:.0f} {x2:.0f},{y2:.0f}"
    return path


def svg(table: Table) -> str:
    """Returns the diagram of `table`, without line breaks."""
    drawing = Drawing(table)
    first = len(table.states)
    lines, words = map("".join, zip(*[drawing.arrow(number) for number in range(first, len(drawing.boxes))], strict=True))
    states = "".join([drawing.state(number) for number in range(first)])
    more = "<small>scroll for more →</small>" if drawing.width > PAGE else ""
    return (
        f'<div style="overflow-x: auto; background: #ffffff"><svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}" '
        f'style="max-width: none" width="{drawing.width:.0f}" role="img" '
        f'aria-label="states of {escape(table.name)}" font-family="monospace" '
        f'font-size="10.5"><defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="context-stroke"/></marker></defs>{lines}'
        f'<g paint-order="stroke" stroke="#ffffff" stroke-width="4">{words}</g>{states}</svg></div>{more}'
    )
