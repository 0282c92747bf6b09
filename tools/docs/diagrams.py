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
COLOURS: Final = {"client": "#1f5fa8", "server": "#2e7d32", "ours": "#1f5fa8", "theirs": "#2e7d32"}
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


def boxes(table: Table) -> dict[str, Box]:
    """Every state with its place."""
    placed: dict[str, Box] = {}
    top = 10.0
    for layer in layers(table):
        sizes: list[tuple[str, float, float, tuple[str, ...]]] = []
        for state in layer:
            stays = _words([row for row in table.rows if row.state == row.next_state == state])
            lines = (state, *stays)
            sizes.append((state, max(len(line) for line in lines) * CHARACTER + 16, len(lines) * LINE + 12, lines))
        left = 20.0
        height = max(size[2] for size in sizes)
        for state, width, own, lines in sizes:
            placed[state] = Box(left + width / 2, top + height / 2, width, own, lines)
            left += width + GAP * 2
        top += height + GAP
    return placed


def _arrow(table: Table, start: str, end: str, at: dict[str, Box]) -> str:
    rows = [row for row in table.rows if (row.state, row.next_state) == (start, end)]
    speakers = {row.speaker for row in rows}
    colour = COLOURS.get(speakers.pop(), OTHER) if len(speakers) == 1 else OTHER
    a, b = at[start], at[end]
    down = b.y > a.y
    if a.y == b.y:
        side = 1 if b.x > a.x else -1
        x1, y1, x2, y2 = a.x + side * a.width / 2, a.y, b.x - side * b.width / 2, b.y
    else:
        x1, x2 = a.x, b.x
        y1 = a.y + (a.height / 2 if down else -a.height / 2)
        y2 = b.y - (b.height / 2 if down else -b.height / 2)
    long = abs(y2 - y1)
    bow = (0.0 if long < GAP * 2 else 80 + long * 0.2) if down else -(270 + long * 0.2)
    cx, cy = (x1 + x2) / 2 + bow * (1 if a.y != b.y else 0), (y1 + y2) / 2 - (26 if a.y == b.y else 0)
    lx, ly = (x1 + 2 * cx + x2) / 4, (y1 + 2 * cy + y2) / 4
    lines = _words(rows)
    width = max(len(line) for line in lines) * CHARACTER
    label = "".join(
        f'<tspan x="{lx:.0f}" dy="{0 if number == 0 else LINE - 2}">{escape(line)}</tspan>' for number, line in enumerate(lines)
    )
    ly -= (len(lines) - 1) * (LINE - 2) / 2
    return (
        f'<path d="M{x1:.0f},{y1:.0f} Q{cx:.0f},{cy:.0f} {x2:.0f},{y2:.0f}" fill="none" stroke="{colour}" '
        f'marker-end="url(#tip)"/>'
        f'<rect x="{lx - width / 2:.0f}" y="{ly - LINE + 2:.0f}" width="{width:.0f}" height="{len(lines) * (LINE - 2) + 3}" '
        f'fill="#ffffff" fill-opacity="0.85"/>'
        f'<text x="{lx:.0f}" y="{ly:.0f}" text-anchor="middle" fill="{colour}">{label}</text>'
    )


def svg(table: Table) -> str:
    """The diagram of `table`, without line breaks."""
    at = boxes(table)
    width = max(box.x + box.width / 2 for box in at.values()) + 160
    height = max(box.y + box.height / 2 for box in at.values()) + 20
    moves = list(dict.fromkeys((row.state, row.next_state) for row in table.rows if row.state != row.next_state))
    parts = [_arrow(table, start, end, at) for start, end in moves]
    for state, box in at.items():
        thick = 2.5 if state == table.initial else 1
        dashes = ' stroke-dasharray="5 3"' if state in table.final else ""
        parts.append(
            f'<rect x="{box.x - box.width / 2:.0f}" y="{box.y - box.height / 2:.0f}" width="{box.width:.0f}" '
            f'height="{box.height:.0f}" rx="7" fill="#f4f6f8" stroke="#333333" stroke-width="{thick}"{dashes}/>'
        )
        y = box.y - box.height / 2 + LINE + 2
        for number, line in enumerate(box.lines):
            weight = ' font-weight="bold"' if number == 0 else ""
            parts.append(f'<text x="{box.x:.0f}" y="{y:.0f}" text-anchor="middle"{weight}>{escape(line)}</text>')
            y += LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-120 0 {width + 120:.0f} {height:.0f}" role="img" '
        f'aria-label="states of {escape(table.name)}" font-family="monospace" font-size="10.5" style="max-width:100%">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#333333"/></marker></defs>'
        f"{''.join(parts)}</svg>"
    )
