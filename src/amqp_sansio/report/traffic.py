"""The parts of the page that show the traffic: latency, messages, credit, talkers, connections, sessions, captures."""

from __future__ import annotations

from typing import Any

from amqp_sansio.report.bins import MOST_NAMES, Axis, Latencies
from amqp_sansio.report.charts import CLIENT, INK, SERVER, Charts
from amqp_sansio.report.codes import explained, named
from amqp_sansio.report.findings import WHO, bar, base
from amqp_sansio.report.flow import Credit
from amqp_sansio.report.folder import Folder
from amqp_sansio.report.latency import Commands, Messages
from amqp_sansio.report.markup import Content, Markup, count, duration, joined, many, octets, table, tag
from amqp_sansio.report.moments import moment
from amqp_sansio.report.overview import SHOWN, Overview

VERBS = 15
"""Verbs that have a row of percentiles."""


def latency(charts: Charts, commands: Commands | None, messages: Messages | None) -> Markup:
    """Histograms side by side, then percentiles."""
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
            number = tag("p", f"{of_all(held.count, total)} {unit}", class_="small")
            cards.append(tag("div", tag("h3", title), number, charts.histogram(held, title, colour, unit), class_="card"))
        rows.append(_spread(title, held, total))
    if commands is not None:
        order = sorted(commands.by_verb.items(), key=lambda item: (-item[1].count, item[0]))
        totals = commands.totals
        rows += [_spread(f"until complete: {verb}", held, totals[verb]) for verb, held in order[:VERBS] if held.count]
    if not drawn:
        return tag("p", "None of the tables that tell it is here.", class_="none")
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
    head: tuple[str, ...] = ("", "measured", "least", "p50", "p90", "p99", "p99.9", "greatest")
    return joined(
        tag("div", *cards, class_="two"),
        tag("div", table(head, rows, frozenset(range(1, 8))), tag("p", told, class_="small"), class_="card"),
    )


def of_all(number: int, total: int) -> str:
    """On how many a number rests: "42 of 2,507"."""
    return f"{count(number)} of {count(max(number, total))}"


def _spread(title: str, held: Latencies, total: int) -> tuple[Content, ...]:
    spread = held.spread()
    if spread is None:
        return (title, of_all(0, total), *["—"] * 6)
    return (title, of_all(spread.number, total), *[duration(each) for each in spread[1:]])


def over_time(charts: Charts, axis: Axis, messages: Messages | None, credit: Credit | None, names: dict[int, str]) -> Markup:
    """Messages sent, messages in flight with the stalls marked, and the subscriptions that stalled longest."""
    parts: list[Markup] = []
    stalled = None if credit is None or not credit.stalls else credit.busy
    if messages is not None:
        sent = [("published", CLIENT, messages.sent["C"]), ("delivered", SERVER, messages.sent["S"])]
        flying = [
            ("published, not settled", CLIENT, messages.in_flight["C"]),
            ("delivered, not settled", SERVER, messages.in_flight["S"]),
        ]
        step = duration(axis.step)
        sides = [
            tag(
                "div",
                tag("h3", f"Messages sent, by steps of {step}"),
                charts.over_time(axis, "Messages sent", "messages", sent),
                class_="card",
            ),
            tag(
                "div",
                tag("h3", "Messages in flight"),
                charts.over_time(axis, "Messages in flight", "messages", flying, stalled),
                tag(
                    "p",
                    f"At the end of each step of {step}; a message counts until it is settled or its connection ends, "
                    "and not at all when its fate is unknown.",
                    class_="small",
                ),
                class_="card",
            ),
        ]
        parts.append(tag("div", *sides, class_="two"))
    if credit is not None:
        parts.append(_credit(charts, axis, credit, names))
    return joined(*parts) if parts else tag("p", "None of the tables that tell it is here.", class_="none")


def _credit(charts: Charts, axis: Axis, credit: Credit, names: dict[int, str]) -> Markup:
    told = f"{many(credit.subscriptions, 'subscription')}{' at least' if credit.uncounted else ''}; credit stood at zero "
    told += (
        f"{many(credit.stalls, 'time')}, {duration(credit.stalled_ns)} in all."
        if credit.stalls
        else "at no time in the capture."
    )
    parts: list[Markup] = [tag("h3", "Credit"), tag("p", told)]
    if credit.lines:
        parts.append(
            tag("p", f"Drawn: {many(len(credit.lines), 'subscription')}, those that stalled longest first.", class_="small")
        )
    lines: list[Markup] = []
    for line in credit.lines.values():
        of = line.of
        words = [f"stalled {many(line.stalls, 'time')}, {duration(line.stalled_ns)} in all" if line.stalls else "never stalled"]
        if line.without_limit:
            words.append("credit without limit is not drawn")
        if line.left_out:
            words.append(f"{many(line.left_out, 'change')} of its credit left out")
        title = tag(
            "h3", tag("span", of.destination or "(no name)", class_="name"), f" from {line.queue}" if line.queue else ""
        )
        where = tag("span", names.get(of.connection) or str(of.connection), class_="name")
        about = tag("p", where, f", session {of.session}, channel {of.channel}: ", "; ".join(words), class_="small", most=1000)
        lines.append(tag("div", title, about, charts.credit(axis, line) if line.changes else ""))
    if lines:
        parts.append(tag("div", *lines, class_="two"))
    return tag("div", *parts, class_="card")


def talkers(folder: Folder, seen: Overview, commands: Commands | None, messages: Messages | None) -> Markup:
    """The busiest senders: hosts, exchanges and keys, queues, verbs."""
    cards: list[Markup] = []

    def card(title: str, first: str, second: str, rows: list[tuple[str, int, int]], total: int, forgot: bool, who: str) -> None:
        weight = octets if first == "octets" else count
        other = octets if second == "octets" else count
        most = max([row[1] for row in rows], default=1)
        body: list[tuple[Content, ...]] = [
            (
                tag("span", name or "(empty)", class_="name"),
                weight(number),
                other(more) if second else "",
                bar(number, most, who=who),
            )
            for name, number, more in rows
        ]
        parts = [tag("h3", title), table(("", first, second, ""), body, frozenset({1, 2}))]
        if total > len(rows):
            parts.append(tag("p", f"The first {len(rows)} of {count(total)}.", class_="small"))
        if forgot:
            parts.append(tag("p", f"More than {count(MOST_NAMES)} names: the numbers are lower bounds.", class_="small"))
        cards.append(tag("div", *parts, class_="card"))

    if "connections" in folder:
        card("Hosts of clients", "octets", "messages", seen.clients.top(10), len(seen.clients), seen.clients.forgot, "C")
    if messages is not None:
        routes = [(f"{to or '(default)'} / {key}", number, size) for (to, key), number, size in messages.routes.top(10)]
        card(
            "Published to exchange / routing key",
            "messages",
            "octets",
            routes,
            len(messages.routes),
            messages.routes.forgot,
            "C",
        )
        queues = [(name or "(unknown)", number, size) for name, number, size in messages.queues.top(10)]
        card("Delivered from queue", "messages", "octets", queues, len(messages.queues), messages.queues.forgot, "S")
    if commands is not None:
        verbs = [(f"{verb} by the {WHO.get(who, '?')}", number, 0) for (who, verb), number, _ in commands.verbs.top(10)]
        card("Commands", "number", "", verbs, len(commands.verbs), commands.verbs.forgot, "C")
        if len(commands.errors):
            errors = [(f"{verb}: {named(code)}", number, 0) for (verb, code), number, _ in commands.errors.top(10)]
            card("Refused, by error code", "number", "", errors, len(commands.errors), commands.errors.forgot, "warn")
    return tag("div", *cards, class_="two") if cards else tag("p", "None of the tables that tell it is here.", class_="none")


def connections(seen: Overview, names: dict[int, str], folder: Folder) -> Markup:
    """Connections and sessions."""
    parts: list[Markup] = []
    if "connections" in folder:
        rows: list[tuple[Content, ...]] = []
        for row in seen.connections:
            lost = (row["lost_by_client"] or 0) + (row["lost_by_server"] or 0)
            ended = str(row["ending"])
            if row["close_code"]:
                ended += f", {explained(row['close_code'], row['close_text'])}"
            rows.append(
                (
                    tag("span", row["name"], class_="name"),
                    moment(row["ts_ns"]),
                    duration((row["ended_at"] or row["ts"]) - row["ts"]),
                    row["protocol"] or "?",
                    ended,
                    octets(row["octets_by_client"] or 0),
                    octets(row["octets_by_server"] or 0),
                    f"{count(row['transfers_by_client'] or 0)} / {count(row['transfers_by_server'] or 0)}",
                    octets(lost) if lost else "",
                    count(row["violations"]) if row["violations"] else "",
                )
            )
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
        told = f"{many(seen.rows['connections'], 'connection')}: {_ends(seen.ends.top(10))}. "
        told += f"AMQP: {', '.join([f'{name} {count(number)}' for name, number, _ in seen.protocols.top(10)])}."
        parts += [tag("h3", "Connections"), tag("p", told, most=1000), table(head, rows, frozenset(range(5, 10)))]
        if seen.rows["connections"] > len(rows):
            parts.append(tag("p", f"The first {SHOWN}: those with violations, then those that said most.", class_="small"))
    if "sessions" in folder:
        rows = []
        for row in seen.sessions:
            ended = str(row["ending"])
            if row["error_code"]:
                ended += f", {explained(row['error_code'], row['error_text'])}"
            rows.append(
                (
                    tag("span", row["session"] or "(unknown)", class_="name"),
                    tag("span", names.get(row["connection"]) or str(row["connection"]), class_="name"),
                    f"{row['channel']}",
                    row["demarcation"] or "",
                    ended,
                    duration((row["ended_at"] or row["ts"]) - row["ts"]),
                    f"{count(row['commands_by_client'] or 0)} / {count(row['commands_by_server'] or 0)}",
                    f"{count(row['transfers_by_client'] or 0)} / {count(row['transfers_by_server'] or 0)}",
                    "?" if row["in_doubt"] is None else count(row["in_doubt"]) if row["in_doubt"] else "",
                )
            )
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
        parts += [
            tag("h3", "Sessions"),
            tag("p", f"{many(seen.rows['sessions'], 'attachment')}: {_ends(seen.session_ends.top(10))}.", most=1000),
            table(head, rows, frozenset({2, 5, 6, 7, 8})),
        ]
        if seen.rows["sessions"] > len(rows):
            parts.append(tag("p", f"The first {SHOWN}: those with most commands.", class_="small"))
    for name, title, tally in (
        ("transactions", "Local transactions", seen.transactions),
        ("dtx", "Branches of distributed transactions", seen.branches),
    ):
        if name in folder and len(tally):
            parts += [tag("h3", title), tag("p", f"{_ends(tally.top(12))}.")]
    return tag("div", *parts, class_="card") if parts else tag("p", "None of the tables that tell it is here.", class_="none")


def _ends(top: list[tuple[str, int, int]]) -> str:
    return ", ".join([f"{name} {count(number)}" for name, number, _ in top]) or "none"


def captures(folder: Folder, seen: Overview) -> Markup:
    """What was read, what could not be, what the tables are."""
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
    listed = [str(each) for each in named] if isinstance(named, list) else sorted(heard)
    rows: list[tuple[Content, ...]] = []
    for name in listed[: 2 * SHOWN]:
        number, size = heard.get(name, (0, 0))
        rows.append((tag("span", name, class_="name"), count(number), octets(size)))
    parts += [
        tag("h3", f"Captures: {count(len(listed))}"),
        table(("file", "connections first heard in it", "octets captured"), rows, frozenset({1, 2})),
    ]
    if len(listed) > len(rows):
        parts.append(tag("p", f"{count(len(listed) - len(rows))} more are not shown.", class_="small"))
    sums = seen.sums
    if sums:
        lost = sums.get("lost_by_client", 0) + sums.get("lost_by_server", 0)
        parts.append(
            tag(
                "p",
                f"{count(sums.get('packets', 0))} packets; {octets(lost)} missing at {many(sums.get('gaps', 0), 'place')}; "
                f"{octets(sums.get('opaque_octets', 0))} could not be read (a security layer, damage, another protocol).",
                most=1000,
            )
        )
    table_rows: list[tuple[Content, ...]] = [(name, count(number)) for name, number in seen.rows.items()]
    parts += [tag("h3", "Tables"), table(("table", "rows"), table_rows, frozenset({1}))]
    damage = [row for row in seen.findings if row["level"] == "damage"][:SHOWN]
    if damage:
        places: list[tuple[Content, ...]] = [
            (
                tag("span", base(row["capture"]), class_="name"),
                "" if row["file_offset"] is None else count(row["file_offset"]),
                row["text"],
            )
            for row in damage
        ]
        total = seen.levels["damage"]
        parts += [
            tag("h3", f"Damage: {many(total, 'place')}"),
            table(("file", "octet", "what is wrong"), places, frozenset({1})),
        ]
    return tag("div", *parts, class_="card")
