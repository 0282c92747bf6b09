"""The parts of the page about traffic: latency, messages, credit, talkers, connections, sessions, captures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amqp_sansio.errors.core import many
from amqp_sansio.report.bins import MOST_NAMES, Axis, HeaviestKeys, Latencies
from amqp_sansio.report.charts import CLIENT, INK, SERVER, Charts
from amqp_sansio.report.findings import bar, base, left, named_in
from amqp_sansio.report.flow import CreditReader
from amqp_sansio.report.folder import Folder
from amqp_sansio.report.latency import Commands, Messages
from amqp_sansio.report.markup import (
    ABSENT,
    WHO,
    Content,
    Markup,
    card,
    count,
    duration,
    explained,
    joined,
    label,
    listed,
    moment,
    named,
    octets,
    often,
    small,
    table,
    tag,
)
from amqp_sansio.report.overview import SHOWN, Overview, both

VERBS = 15
"""Verbs with a row of percentiles."""


def latency(charts: Charts, commands: Commands | None, messages: Messages | None) -> Markup:
    """Shows histograms side by side, then percentiles."""
    drawn: list[tuple[str, str, Latencies, int, str]] = []
    if messages is not None:
        sent = messages.sums
        drawn += [
            ("End to end: published to delivered, by message-id", INK, messages.end_to_end, sent["S"], "messages"),
            ("Published until settled by the server", CLIENT, messages.settle["C"], sent["C"], "messages"),
            ("Delivered until settled by the client", SERVER, messages.settle["S"], sent["S"], "messages"),
        ]
    if commands is not None:
        said = commands.sums
        drawn += [
            ("Commands of the client until complete", CLIENT, commands.latency["C"], said["C"], "commands"),
            ("Commands of the server until complete", SERVER, commands.latency["S"], said["S"], "commands"),
        ]
    cards: list[Markup] = []
    rows: list[tuple[Content, ...]] = []
    for title, colour, held, total, unit in drawn:
        if held.count:
            number = small(f"{of_all(held.count, total)} {unit}")
            cards.append(card(tag("h3", title), number, charts.histogram(held, title, colour, unit)))
        rows.append(_spread(title, held, total))
    if commands is not None:
        order = sorted(commands.by_verb.items(), key=lambda item: (-item[1].count, item[0]))
        totals = commands.totals
        rows += [_spread(f"until complete: {verb}", held, totals[verb]) for verb, held in order[:VERBS] if held.count]
    if not drawn:
        return ABSENT
    told = "Percentiles are within 1.1 %, the least and the greatest exact."
    if messages is not None and messages.every > 1:
        told += f" End to end: {many(messages.with_id, 'message')} with an id, of whose ids one in {messages.every} was joined."
    if messages is not None and messages.early:
        told += (
            f" {many(messages.early, 'delivery', 'deliveries')} ended, by the recorded times, before the message was published"
            " (a clock that stepped back, clocks that disagree): without a latency."
        )
    below = sum([each[2].below for each in drawn])
    if below:
        told += f" {count(below)} were below zero (clocks that disagree) and count as 0."
    head = ("", "measured", "least", "p50", "p90", "p99", "p99.9", "greatest")
    return joined(
        tag("div", *cards, class_="two"),
        card(table(head, rows, *range(1, 8)), small(told)),
    )


def of_all(number: int, total: int) -> str:
    """Formats how many of all a number rests on: "42 of 2,507"."""
    return f"{count(number)} of {count(max(number, total))}"


def _spread(title: str, held: Latencies, total: int) -> tuple[Content, ...]:
    spread = held.spread()
    if spread is None:
        return (title, of_all(0, total), *["—"] * 6)
    return (title, of_all(spread.number, total), *[duration(each) for each in spread[1:]])


def over_time(
    charts: Charts, axis: Axis, messages: Messages | None, credit: CreditReader | None, names: dict[int, str]
) -> Markup:
    """Shows messages sent, messages in flight with the stalls marked, and the subscriptions that stalled longest."""
    parts: list[Markup] = []
    stalled = None if credit is None or not credit.stalls else credit.busy
    if messages is not None:
        sent = [("published", CLIENT, messages.sent["C"]), ("delivered", SERVER, messages.sent["S"])]
        flying = [
            ("published, not settled", CLIENT, messages.in_flight["C"]),
            ("delivered, not settled", SERVER, messages.in_flight["S"]),
        ]
        step = duration(axis.step)
        told = (
            f"At the end of each step of {step}; a message counts until it is settled or its connection ends, "
            "and not at all when its fate is unknown."
        )
        sides = [
            card(tag("h3", f"Messages sent, by steps of {step}"), charts.over_time(axis, "Messages sent", "messages", sent)),
            card(
                tag("h3", "Messages in flight"),
                charts.over_time(axis, "Messages in flight", "messages", flying, stalled),
                small(told),
            ),
        ]
        parts.append(tag("div", *sides, class_="two"))
    if credit is not None:
        parts.append(_credit(charts, axis, credit, names))
    return joined(*parts) if parts else ABSENT


def _credit(charts: Charts, axis: Axis, credit: CreditReader, names: dict[int, str]) -> Markup:
    told = f"{many(credit.subscriptions, 'subscription')}{' at least' if credit.uncounted else ''}; credit stood at zero "
    told += f"{often(credit.stalls)}, {duration(credit.stalled_ns)} in all." if credit.stalls else "at no time in the capture."
    parts: list[Markup] = [tag("h3", "Credit"), tag("p", told)]
    if credit.lines:
        parts.append(small(f"Drawn: {many(len(credit.lines), 'subscription')}, those that stalled longest first."))
    lines: list[Markup] = []
    for line in credit.lines.values():
        of = line.of
        words = [f"stalled {often(line.stalls)}, {duration(line.stalled_ns)} in all" if line.stalls else "never stalled"]
        if line.without_limit:
            words.append("credit without limit is not drawn")
        if line.left_out:
            words.append(f"{many(line.left_out, 'change')} of its credit left out")
        title = tag("h3", label(of.destination or "(no name)"), f" from {line.queue}" if line.queue else "")
        where = label(names.get(of.connection) or str(of.connection))
        about = small(where, f", session {of.session}, channel {of.channel}: ", "; ".join(words), most=1000)
        lines.append(tag("div", title, about, charts.credit(axis, line) if line.changes else ""))
    if lines:
        parts.append(tag("div", *lines, class_="two"))
    return card(*parts)


def talkers(folder: Folder, seen: Overview, commands: Commands | None, messages: Messages | None) -> Markup:
    """Shows the busiest senders: hosts, exchanges and keys, queues, verbs."""
    cards: list[Markup] = []

    def rank(
        title: str,
        first: str,
        second: str,
        of: HeaviestKeys[Any],
        who: str,
        name: Callable[[Any], str] = lambda key: key or "(empty)",
    ) -> None:
        weight = octets if first == "octets" else count
        other = octets if second == "octets" else count
        top = of.top(10)
        most = max([number for _, number, _ in top], default=1)
        rows: list[tuple[Content, ...]] = [
            (label(name(key)), weight(number), other(more) if second else "", bar(number, most, who=who))
            for key, number, more in top
        ]
        parts = listed(title, ("", first, second, ""), rows, 1, 2)
        if len(of) > len(rows):
            parts.append(small(f"The first {len(rows)} of {count(len(of))}."))
        if of.forgot:
            parts.append(small(f"More than {count(MOST_NAMES)} names: the numbers are lower bounds."))
        cards.append(card(*parts))

    if "connections" in folder:
        rank("Hosts of clients", "octets", "messages", seen.clients, "C")
    if messages is not None:
        title = "Published to exchange / routing key"
        rank(title, "messages", "octets", messages.routes, "C", lambda route: f"{route[0] or '(default)'} / {route[1]}")
        rank("Delivered from queue", "messages", "octets", messages.queues, "S", lambda queue: queue or "(unknown)")
    if commands is not None:
        rank("Commands", "number", "", commands.verbs, "C", lambda said: f"{said[1]} by the {WHO.get(said[0], '?')}")
        if len(commands.errors):
            rank("Refused, by error code", "number", "", commands.errors, "warn", lambda of: f"{of[0]}: {named(of[1])}")
    return tag("div", *cards, class_="two") if cards else ABSENT


def _both(row: dict[str, Any], what: str) -> str:
    """Formats two numbers: of the client, and of the server."""
    return " / ".join([count(row[f"{what}_by_{who}"] or 0) for who in ("client", "server")])


def _lasted(row: dict[str, Any]) -> str:
    return duration((row["ended_at"] or row["ts"]) - row["ts"])


def _end(row: dict[str, Any], code: str, text: str) -> str:
    """Formats how it ended, and why."""
    return f"{row['ending']}, {explained(row[code], row[text])}" if row[code] else str(row["ending"])


def connections(seen: Overview, names: dict[int, str], folder: Folder) -> Markup:
    """Shows connections and sessions."""
    parts: list[Markup] = []
    if "connections" in folder:
        told = f"{many(seen.rows['connections'], 'connection')}: {_ends(seen.ends.top(10))}. "
        told += f"AMQP: {', '.join([f'{name} {count(number)}' for name, number, _ in seen.protocols.top(10)])}."
        head: tuple[str, ...] = (
            "connection",
            "began (UTC)",
            "lasted",
            "AMQP",
            "end",
            "client said",
            "server said",
            "messages",
            "lost",
            "violations",
        )
        rows = [_connection(row) for row in seen.connections]
        parts += [tag("h3", "Connections"), tag("p", told, most=1000), table(head, rows, *range(5, 10))]
        if seen.rows["connections"] > len(rows):
            parts.append(small(f"The first {SHOWN}: those with violations, then those that said most."))
    if "sessions" in folder:
        head = (
            "session",
            "connection",
            "channel",
            "transactions",
            "end",
            "lasted",
            "commands C / S",
            "messages C / S",
            "in doubt",
        )
        rows = [_session(row, names) for row in seen.sessions]
        parts += [
            tag("h3", "Sessions"),
            tag("p", f"{many(seen.rows['sessions'], 'attachment')}: {_ends(seen.session_ends.top(10))}.", most=1000),
            table(head, rows, 2, 5, 6, 7, 8),
        ]
        if seen.rows["sessions"] > len(rows):
            parts.append(small(f"The first {SHOWN}: those with most commands."))
    for name, title, tally in (
        ("transactions", "Local transactions", seen.transactions),
        ("dtx", "Branches of distributed transactions", seen.branches),
    ):
        if name in folder and len(tally):
            parts += [tag("h3", title), tag("p", f"{_ends(tally.top(12))}.")]
    return card(*parts) if parts else ABSENT


def _connection(row: dict[str, Any]) -> tuple[Content, ...]:
    lost = both(row, "lost")
    return (
        label(row["name"]),
        moment(row["ts_ns"]),
        _lasted(row),
        row["protocol"] or "?",
        _end(row, "close_code", "close_text"),
        octets(row["octets_by_client"] or 0),
        octets(row["octets_by_server"] or 0),
        _both(row, "transfers"),
        octets(lost) if lost else "",
        count(row["violations"]) if row["violations"] else "",
    )


def _session(row: dict[str, Any], names: dict[int, str]) -> tuple[Content, ...]:
    return (
        label(row["session"] or "(unknown)"),
        named_in(names, row),
        f"{row['channel']}",
        row["demarcation"] or "",
        _end(row, "error_code", "error_text"),
        _lasted(row),
        _both(row, "commands"),
        _both(row, "transfers"),
        "?" if row["in_doubt"] is None else count(row["in_doubt"]) if row["in_doubt"] else "",
    )


def _ends(top: list[tuple[str, int, int]]) -> str:
    return ", ".join([f"{name} {count(number)}" for name, number, _ in top]) or "none"


def captures(folder: Folder, seen: Overview) -> Markup:
    """Shows what was read, what could not be read, and what the tables are."""
    parts: list[Markup] = []
    said: dict[str, Any] = folder.manifest or {}
    named = said.get("captures")
    problems = said.get("problems")
    if folder.manifest is None:
        parts.append(
            tag(
                "p",
                "There is no manifest: the tables may not be whole, and what they were made of is not known.",
                class_="level note",
            )
        )
    if isinstance(problems, list) and problems:
        items = [tag("li", str(each), most=1000) for each in problems[:SHOWN]]
        parts += [tag("h3", f"Not read, not to the end, or too late: {count(len(problems))}"), tag("ul", *items)]
    heard = {name: (number, size) for name, number, size in seen.captures.top(1000)}
    shown = [str(each) for each in named] if isinstance(named, list) else sorted(heard)
    rows: list[tuple[Content, ...]] = []
    for name in shown[: 2 * SHOWN]:
        number, size = heard.get(name, (0, 0))
        rows.append((label(name), count(number), octets(size)))
    parts += listed(f"Captures: {count(len(shown))}", ("file", "connections first heard in it", "octets captured"), rows, 1, 2)
    parts.append(left(len(shown), len(rows)))
    sums = seen.sums
    if sums:
        parts.append(
            tag(
                "p",
                f"{count(sums.get('packets', 0))} packets; {octets(seen.lost)} missing at {many(sums.get('gaps', 0), 'place')};"
                f" {octets(sums.get('opaque_octets', 0))} could not be read (a security layer, damage, another protocol).",
                most=1000,
            )
        )
    table_rows: list[tuple[Content, ...]] = [(name, count(number)) for name, number in seen.rows.items()]
    parts += listed("Tables", ("table", "rows"), table_rows, 1)
    damage = [row for row in seen.findings if row["level"] == "damage"][:SHOWN]
    if damage:
        places: list[tuple[Content, ...]] = [
            (
                label(base(row["capture"])),
                "" if row["file_offset"] is None else count(row["file_offset"]),
                row["text"],
            )
            for row in damage
        ]
        total = seen.levels["damage"]
        parts += listed(f"Damage: {many(total, 'place')}", ("file", "octet", "what is wrong"), places, 1)
    return card(*parts)
