"""The parts of the page about problems: the verdict, violations with their diagrams, what is in doubt, damage."""

from __future__ import annotations

from typing import Any, Final

from amqp_sansio.captures.replay.doubt import DELIVERED, PREPARED, PUBLISHED, UNANSWERED
from amqp_sansio.errors.core import many
from amqp_sansio.report.folder import Folder
from amqp_sansio.report.latency import Commands
from amqp_sansio.report.markup import (
    ABSENT,
    WHO,
    Markup,
    card,
    count,
    duration,
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
from amqp_sansio.report.overview import FINDINGS, SHOWN, Overview
from amqp_sansio.report.talk import Surroundings, sequence

TO_DO: Final = 9
"""The most lines about what to act on first."""
RULES_TO_DO: Final = 3
"""The most broken rules among them; the others are counted."""


def verdict(folder: Folder, seen: Overview, commands: Commands | None, stalls: tuple[int, int] | None) -> Markup:
    """Summarises the problems in one paragraph, with the most important numbers."""
    violations, damage = seen.levels["violation"], seen.levels["damage"]
    said: list[str] = []
    if "violations" in folder:
        if violations:
            top = [rule for (level, rule, _), _, _ in seen.rules.top() if level == "violation"]
            by = {who: sum(n for (level, _, d), n, _ in seen.rules.top() if level == "violation" and d == who) for who in "CS"}
            whose = " and ".join([f"{count(number)} by the {WHO[who]}" for who, number in by.items() if number])
            where = f" on {many(seen.broken, 'connection')}" if seen.broken else ""
            said.append(f"The protocol was broken {often(violations)}{where} ({whose}); most often: {', '.join(top[:3])}.")
        else:
            judged = seen.rows.get("connections", 0) - judged_not(seen)
            if judged or "connections" not in folder:
                said.append(
                    "Nobody broke the protocol." if not seen.unread else "Nobody broke the protocol in what was judged."
                )
        said += _not_judged(seen, "connections" in folder)
        if damage:
            said.append(f"{many(damage, 'place')} in the captures cannot be read.")
    else:
        said.append("No verdict about violations: the table violations is not here.")
    if seen.in_doubt:
        said.append(f"In doubt at the end: {count(seen.in_doubt)} ({', '.join(_doubts(seen))}).")
    elif "sessions" in folder and (not seen.unread or seen.rows["sessions"]):
        said.append("Nothing was left in doubt.")
    if commands is not None and commands.outcomes["refused"]:
        said.append(f"{many(commands.outcomes['refused'], 'command was', 'commands were')} refused.")
    if stalls is not None and stalls[0]:
        said.append(f"Credit ran out and deliveries stood still {often(stalls[0])}, {duration(stalls[1])} in all.")
    if seen.lost:
        gaps = seen.sums.get("gaps", 0)
        said.append(
            f"{octets(seen.lost)} are missing from the captures at {many(gaps, 'place')}; what depends on them is unknown."
        )
    nothing = bool(len(seen.not_judged)) or not seen.rows.get("connections", 1)
    colour = " bad" if violations or damage else " unjudged" if nothing else ""
    return tag("div", tag("p", " ".join(said), most=4000), class_=f"card verdict{colour}")


def first_to_do(seen: Overview, commands: Commands | None) -> Markup:
    """Lists what needs action, ranked by its possible cost; empty when there is nothing."""
    branches, commits = seen.branches_in_doubt, seen.transactions["in-doubt"]
    published, delivered = seen.publishes_in_doubt, seen.deliveries_in_doubt
    refused = commands.outcomes["refused"] if commands is not None else 0
    broken = [(rule, who, number) for (level, rule, who), number, _ in seen.rules.top() if level == "violation"]
    others = max(len(broken) - RULES_TO_DO, 0)
    items = [
        (
            branches,
            "doubt",
            many(branches, *PREPARED),
            "The broker keeps each until somebody decides: ask the transaction manager, then commit or roll back.",
        ),
        (
            commits,
            "doubt",
            many(commits, *UNANSWERED),
            "Check whether their messages are on the queues before you repeat the work.",
        ),
        (
            published,
            "doubt",
            many(published, *PUBLISHED),
            "They may be lost: publish them again, with ids by which consumers recognise a second copy.",
        ),
        *[
            (
                number,
                "violations",
                f"{rule}, broken {often(number)} by the {WHO.get(who, 'other side')}",
                f"Fix the {WHO.get(who, 'other side')}; each finding lists what was legal.",
            )
            for rule, who, number in broken[:RULES_TO_DO]
        ],
        (
            others,
            "violations",
            many(others, "other rule that was broken", "other rules that were broken"),
            "The list of findings has them all.",
        ),
        (
            seen.levels["damage"] + seen.lost,
            "captures",
            "The captures are not whole",
            "Capture again: what depends on the missing part is unknown.",
        ),
        (
            delivered,
            "doubt",
            many(delivered, *DELIVERED),
            "The broker delivers them again. That is normal where a consumer with a prefetch stops.",
        ),
        (
            refused,
            "talkers",
            many(refused, "command was refused", "commands were refused"),
            "Look at the codes: not-found and unauthorized-access are often names and rights in a client's settings.",
        ),
    ]
    urgent = [each for each in items if each[0]][:TO_DO]
    rows = [tag("li", tag("a", tag("b", what), href=f"#{place}"), ". ", todo, most=1000) for _, place, what, todo in urgent]
    return tag("div", tag("h2", "What to act on first"), tag("ol", *rows), class_="card first") if rows else Markup("")


def _not_judged(seen: Overview, known: bool) -> list[str]:
    """Lists what was not judged, and why."""
    if known and not seen.rows["connections"]:
        return ["Nothing was judged: no AMQP connection was found."]
    reasons = seen.not_judged.top(SHOWN)
    if not reasons:
        return [f"Not judged: {octets(seen.unread)} that cannot be read."] if seen.unread else []
    told = ", ".join([f"{reason} ({count(number)})" for reason, number, _ in reasons])
    return [f"Not judged: {many(judged_not(seen), 'connection')}, {octets(seen.unread)}: {told}."]


def judged_not(seen: Overview) -> int:
    """Returns the number of connections in which nothing was judged."""
    return sum([number for _, number, _ in seen.not_judged.top()])


def _doubts(seen: Overview) -> list[str]:
    """Lists what is in doubt, in the order of its possible cost."""
    numbers = (
        (seen.publishes_in_doubt, *PUBLISHED),
        (seen.deliveries_in_doubt, *DELIVERED),
        (seen.branches_in_doubt, *PREPARED),
        (seen.transactions["in-doubt"], *UNANSWERED),
    )
    return [many(number, one, more) for number, one, more in numbers if number]


def violations(seen: Overview, talks: list[Surroundings], with_frames: bool) -> Markup:
    """Shows violations by rule, as diagrams, and as a list."""
    order = {"violation": 0, "damage": 1}
    rules = sorted(seen.rules.top(), key=lambda each: (order.get(each[0][0], 2), -each[1], each[0]))
    most = max([number for _, number, _ in rules], default=1)
    rows: list[tuple[Any, ...]] = [
        (
            _level(level),
            label(rule),
            WHO.get(who, "—"),
            count(number),
            bar(number, most, level == "violation"),
        )
        for (level, rule, who), number, _ in rules[: 2 * SHOWN]
    ]
    parts: list[Markup | str] = [
        tag("h3", "By rule"),
        card(table(("level", "rule", "who", "how often", ""), rows, 3), left(len(rules), 2 * SHOWN)),
    ]
    if talks:
        parts.append(tag("h3", "Around each violation"))
        drawn = sum([len(talk.rows) for talk in talks])
        told = f"Drawn: {count(drawn)} of {many(seen.levels['violation'], 'violation')}, "
        told += "the first of each rule and speaker before others. "
        told += "Times count from the violation; dashed arrows are controls, in brackets the channel, after # the command's id."
        if not with_frames:
            told += " The table controls is not here, so most of them are not drawn."
        parts.append(small(told, most=1000))
        parts += [_talk(talk, number + 1) for number, talk in enumerate(talks)]
    if seen.findings:
        total = sum([number for _, number, _ in rules])
        rows = [_finding(row) for row in seen.findings]
        head = ("when (UTC)", "level", "who", "rule", "the word", "legal instead", "packet")
        inner = joined(table(head, rows), left(total, FINDINGS))
        parts.append(
            tag(
                "details",
                tag("summary", f"The list: {count(len(seen.findings))} of {count(total)} findings"),
                inner,
                class_="card",
            )
        )
    return joined(*parts)


def _talk(talk: Surroundings, number: int) -> Markup:
    row = talk.row
    facts = [_facts(each) for each in talk.rows]
    title = tag("h3", f"{number}. ", label(talk.name or f"connection {row['connection']}"))
    return tag("section", title, *facts, sequence(talk), class_="card talk")


def _facts(row: dict[str, Any]) -> Markup:
    return tag(
        "dl",
        tag("dt", "rule"),
        tag("dd", tag("code", row["rule"])),
        tag("dt", f"the {WHO.get(row['direction'], 'speaker')} said"),
        tag("dd", row["said"], most=1000),
        tag("dt", "legal was"),
        tag("dd", legal(row["legal"]), most=2000),
        tag("dt", "why"),
        tag("dd", row["text"], most=1000),
        tag("dt", "where"),
        tag("dd", _where(row)),
    )


def _where(row: dict[str, Any]) -> str:
    words = [moment(row["ts_ns"])]
    if row["channel"] is not None:
        words.append(f"channel {row['channel']}")
    if row["stream_offset"] is not None:
        words.append(f"octet {count(row['stream_offset'])} of what it said")
    if row["file_offset"] is not None:
        words.append(f"packet at octet {count(row['file_offset'])} of {base(row['capture'])}")
    if row["code"]:
        words.append(f"error code {named(row['code'])}")
    return ", ".join(words)


def _finding(row: dict[str, Any]) -> tuple[Any, ...]:
    packet = "" if row["file_offset"] is None else f"{base(row['capture'])} at {count(row['file_offset'])}"
    name = label(row["rule"])
    return (
        moment(row["ts_ns"]),
        _level(row["level"]),
        WHO.get(row["direction"] or "", "—"),
        name,
        row["said"],
        legal(row["legal"]),
        packet,
    )


def legal(words: list[str] | None) -> str:
    """Formats what would have been legal."""
    return ", ".join([str(word) for word in words or ()]) or "—"


def _level(level: str | None) -> Markup:
    known = level if level in ("violation", "damage", "note") else "note"
    return tag("span", level, class_=f"level {known}")


def base(path: str | None) -> str:
    """Returns the name of a file without its folders."""
    return (path or "").replace("\\", "/").rpartition("/")[2]


def bar(number: int, most: int, bad: bool = False, who: str = "") -> Markup:
    """Draws a bar beside a number."""
    share = 100 * number / most if most else 0
    return Markup(f'<span class="bar {"bad" if bad else who}"><i style="width:{share:.1f}%"></i></span>')


def left(total: int, shown: int) -> Markup:
    """Says how many are not shown; empty when all are."""
    return small(f"{count(total - shown)} more are not shown.") if total > shown else Markup("")


def in_doubt(folder: Folder, seen: Overview, commands: Commands | None, names: dict[int, str]) -> Markup:
    """Shows messages, branches and commits that may be lost, and every command that was not completed."""
    parts: list[Markup] = []
    if seen.in_doubt:
        parts.append(tag("p", f"{count(seen.in_doubt)} in all: {', '.join(_doubts(seen))}.", most=1000))
    if commands is not None:
        total = commands.outcomes["open"]
        rows: list[tuple[Any, ...]] = [
            (
                moment(row["ts_ns"]),
                named_in(names, row),
                WHO.get(row["direction"] or "", ""),
                row["session"],
                f"[{row['channel']}]",
                label(row["verb"]),
                count(row["count_all"]),
                _ids(row),
            )
            for row in commands.open
        ]
        head = ("first sent (UTC)", "connection", "by", "session", "channel", "command", "how many", "ids")
        parts += listed(f"Commands that were not completed: {count(total)}", head, rows, 6, 7)
        if commands.groups > len(rows):
            parts.append(small(f"The oldest {len(rows)} of {count(commands.groups)}{' or more' if commands.forgot else ''}."))
    if "sessions" in folder:
        rows = [
            (
                named_in(names, row),
                row["session"],
                row["ending"],
                ranges(row["in_doubt_by_client"]),
                ranges(row["in_doubt_by_server"]),
                count(row["in_doubt"]),
            )
            for row in seen.doubtful
        ]
        parts += listed(
            f"Sessions that ended with messages in doubt: {count(seen.publishes_in_doubt)} published and not completed,"
            f" {count(seen.deliveries_in_doubt)} delivered and not settled",
            ("connection", "session", "end", "published: ids", "delivered: ids", "messages"),
            rows,
            5,
        )
    if "dtx" in folder:
        rows = [
            (
                label(row["xid"]),
                named_in(names, row),
                row["outcome"],
                row["status"],
                moment(row["prepare_ns"]),
                moment(row["decide_ns"]),
            )
            for row in seen.branch_rows
        ]
        parts += listed(
            f"Branches of distributed transactions in doubt: {count(seen.branches_in_doubt)}",
            ("branch", "as heard on connection", "outcome", "last status", "prepare (UTC)", "decision (UTC)"),
            rows,
        )
        parts.append(left(seen.branches_in_doubt, len(rows)))
    if "transactions" in folder and seen.hanging:
        rows = [
            (
                named_in(names, row),
                row["session"],
                str(row["transaction"]),
                moment(row["ended_at"]),
                count(row["transfers"] or 0),
                count(row["accepts"] or 0),
            )
            for row in seen.hanging
        ]
        parts += listed(
            "Local transactions with a commit that nobody answered",
            ("connection", "session", "number", "commit said (UTC)", "published in it", "accepted in it"),
            rows,
            2,
            4,
            5,
        )
    return card(*parts) if parts else ABSENT


def _ids(row: dict[str, Any]) -> str:
    low, high = row["command_id_min"], row["command_id_max"]
    return ranges(None if low is None else [{"first": low, "last": high}])


def ranges(found: list[dict[str, int]] | None) -> str:
    """Formats ranges of ids; at most seven."""
    if found is None:
        return "unknown"
    pairs = [(each["first"], each["last"]) for each in found[:7]]
    words = [f"{low}" if low == high else f"{low}\N{EN DASH}{high}" for low, high in pairs]
    return ", ".join(words) + (", …" if len(found) > 7 else "")


def named_in(names: dict[int, str], row: dict[str, Any]) -> Markup:
    """Formats the name of a row's connection, or its number where the name is not known."""
    return label(names.get(row["connection"]) or str(row["connection"]))
