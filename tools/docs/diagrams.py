"""A state diagram from a table, as SVG on one line, so that Markdown passes it through.

States stand in layers by their distance from the initial one; what changes no state is written inside its box; the colour of
an arrow tells who speaks.
"""

from __future__ import annotations

from collections import deque
from html import escape
from typing import Final, NamedTuple

from amqp_sansio.kernel.machine import Row, Table

CHARACTER: Final = 6.4
"""Width of a character, in units of the drawing."""
LINE: Final = 13
GAP: Final = 70
COLOURS: Final = {
    **dict.fromkeys(("client", "sender", "manager"), "#1f5fa8"),
    **dict.fromkeys(("server", "recipient", "participant"), "#2e7d32"),
}
OTHER: Final = "#555555"


class Box(NamedTuple):
    """Where a state stands: its middle, its size, its title and the words that stay in it."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]


def layers(table: Table) -> list[list[str]]:
    """The states by distance from the initial one; what cannot be reached from it comes last."""
    depth = {table.initial: 0}
    waiting = deque([table.initial])
    while waiting:
        state = waiting.popleft()
        for row in table.rows:
            if row.state == state and row.next_state not in depth:
                depth[row.next_state] = depth[state] + 1
                waiting.append(row.next_state)
    deepest = max(depth.values()) + 1
    found: dict[int, list[str]] = {}
    for state in table.states:
        found.setdefault(depth.get(state, deepest), []).append(state)
    return [found[at] for at in sorted(found)]


def _words(rows: list[Row]) -> list[str]:
    by_speaker: dict[str, list[str]] = {}
    for row in rows:
        by_speaker.setdefault(row.speaker, []).append(row.verb)
    lines: list[str] = []
    for speaker, verbs in by_speaker.items():
        line = f"{speaker}:"
        for verb in verbs:
            if len(line) + len(verb) > 34:
                lines.append(line)
                line = "  "
            line += f" {verb}"
        lines.append(line)
    return lines


def moves(table: Table) -> dict[tuple[str, str], list[str]]:
    """Every arrow from one state to another, with the lines of its label."""
    arrows = dict.fromkeys((row.state, row.next_state) for row in table.rows if row.state != row.next_state)
    return {
        (start, end): _words([row for row in table.rows if (row.state, row.next_state) == (start, end)])
        for start, end in arrows
    }


def _height(lines: list[str]) -> float:
    return len(lines) * (LINE - 2) + 9


class Drawing:
    """Where everything stands.  Each label has a lane of its own between two layers, so that none hides another."""

    def __init__(self, table: Table) -> None:
        self.table: Final = table
        self.moves: Final = moves(table)
        self.boxes: Final[dict[str, Box]] = {}
        self.lanes: Final[dict[tuple[str, str], float]] = {}
        rows = layers(table)
        depth = {state: number for number, layer in enumerate(rows) for state in layer}
        top = 10.0
        for number, layer in enumerate(rows):
            height = self._place(layer, top)
            top += height + 22
            for arrow, lines in self.moves.items():
                ends = depth[arrow[0]], depth[arrow[1]]
                if min(ends) == number and ends[0] != ends[1]:
                    self.lanes[arrow] = top + _height(lines) / 2
                    top += _height(lines)
            top += 22
        self.height: Final = top
        self.width: Final = max(box.x + box.width / 2 for box in self.boxes.values()) + 160

    def _place(self, layer: list[str], top: float) -> float:
        sizes: list[tuple[str, float, float, tuple[str, ...]]] = []
        for state in layer:
            stays = _words([row for row in self.table.rows if row.state == row.next_state == state])
            lines = (state, *stays)
            sizes.append((state, max(len(line) for line in lines) * CHARACTER + 16, len(lines) * LINE + 12, lines))
        left = 20.0
        height = max(size[2] for size in sizes)
        for state, width, own, lines in sizes:
            self.boxes[state] = Box(left + width / 2, top + height / 2, width, own, lines)
            left += width + GAP * 2
        return height

    def _colour(self, arrow: tuple[str, str]) -> str:
        speakers = {row.speaker for row in self.table.rows if (row.state, row.next_state) == arrow}
        return COLOURS.get(speakers.pop(), OTHER) if len(speakers) == 1 else OTHER

    def arrow(self, arrow: tuple[str, str]) -> str:
        """One arrow and its label."""
        colour = self._colour(arrow)
        a, b = self.boxes[arrow[0]], self.boxes[arrow[1]]
        lane = self.lanes.get(arrow)
        if lane is None:  # side by side
            side = 1 if b.x > a.x else -1
            x1, y1, x2, y2 = a.x + side * a.width / 2, a.y, b.x - side * b.width / 2, b.y
            cx, cy = (x1 + x2) / 2, y1 + (-26 if side > 0 else 26)
            lx, ly = (x1 + 2 * cx + x2) / 4, (y1 + 2 * cy + y2) / 4
        else:
            down = b.y > a.y
            shift = 0 if down else -min(a.width, b.width) / 4
            x1, x2 = a.x + shift, b.x + shift
            y1 = a.y + (a.height / 2 if down else -a.height / 2)
            y2 = b.y - (b.height / 2 if down else -b.height / 2)
            between = [box for box in self.boxes.values() if min(a.y, b.y) < box.y < max(a.y, b.y)]
            bow = (120 + 0.5 * max(box.width for box in between)) * (1 if down else -1) if between else 0 if down else -30
            cx, cy = (x1 + x2) / 2 + bow, (y1 + y2) / 2
            # The control point is half-way down, so y grows evenly along the curve.
            t = (lane - y1) / (y2 - y1)
            lx, ly = (1 - t) ** 2 * x1 + 2 * t * (1 - t) * cx + t * t * x2, lane
        lines = self.moves[arrow]
        width, height = max(len(line) for line in lines) * CHARACTER, len(lines) * (LINE - 2) + 2
        ly -= (len(lines) - 1) * (LINE - 2) / 2 - 4
        label = "".join(
            f'<tspan x="{lx:.0f}" dy="{LINE - 2 if number else 0}">{escape(line)}</tspan>' for number, line in enumerate(lines)
        )
        return (
            f'<path d="M{x1:.0f},{y1:.0f} Q{cx:.0f},{cy:.0f} {x2:.0f},{y2:.0f}" fill="none" stroke="{colour}" '
            f'marker-end="url(#tip)"/>'
            f'<rect x="{lx - width / 2:.0f}" y="{ly - LINE + 3:.0f}" width="{width:.0f}" height="{height}" '
            f'fill="#ffffff" fill-opacity="0.85"/>'
            f'<text x="{lx:.0f}" y="{ly:.0f}" text-anchor="middle" fill="{colour}">{label}</text>'
        )

    def box(self, state: str) -> str:
        """One state."""
        box = self.boxes[state]
        thick = 2.5 if state == self.table.initial else 1
        dashes = ' stroke-dasharray="5 3"' if state in self.table.final else ""
        parts = [
            f'<rect x="{box.x - box.width / 2:.0f}" y="{box.y - box.height / 2:.0f}" width="{box.width:.0f}" '
            f'height="{box.height:.0f}" rx="7" fill="#f4f6f8" stroke="#333333" stroke-width="{thick}"{dashes}/>'
        ]
        y = box.y - box.height / 2 + LINE + 2
        for number, line in enumerate(box.lines):
            weight = ' font-weight="bold"' if number == 0 else ""
            parts.append(f'<text x="{box.x:.0f}" y="{y:.0f}" text-anchor="middle"{weight}>{escape(line)}</text>')
            y += LINE
        return "".join(parts)


def svg(table: Table) -> str:
    """The diagram of `table`, without line breaks."""
    drawing = Drawing(table)
    arrows = "".join(drawing.arrow(arrow) for arrow in drawing.moves)
    states = "".join(drawing.box(state) for state in drawing.boxes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-120 0 {drawing.width + 120:.0f} {drawing.height:.0f}" role="img" '
        f'aria-label="states of {escape(table.name)}" font-family="monospace" font-size="10.5" style="max-width:100%">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="#333333"/></marker></defs>{arrows}{states}</svg>'
    )
