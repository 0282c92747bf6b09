"""`amqp-sansio simulate`: simulates whole systems by seeds; shrinks failures and prints them."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Final

from amqp_sansio.cli.given import Parser, argument, flag, whole
from amqp_sansio.cli.output import Progress, complain

if TYPE_CHECKING:
    from amqp_sansio.testing.simulation import Outcome

    _Verbs = argparse._SubParsersAction[Parser]

STEPS: Final = 200
MOST_CLIENTS: Final = 64
MOST_BROKERS: Final = 2

_SIMULATE: Final = """\
Simulate clients, brokers with their disks, a transaction manager and the network between them, all of this library. The seed
decides everything: what clients do, when octets arrive and in which pieces, what is cut, stalls and half-closes, whose clock is
wrong, when a broker crashes and what of its journal was on the disk. In the end the network heals and everything must drain.

No message is lost, none comes twice without the mark "redelivered", nobody exceeds credit, order holds, a transaction is whole
or nothing, in-doubt branches are resolved, nobody breaks the protocol. A seed that fails is shrunk and told step by step."""

_SIMULATE_MORE: Final = """\
JSON (--json): one object on each line, ASCII, with seed, ok, counts, digest (a checksum of all octets sent) and,
where a seed failed, rule, text, story (lines) and plan, which `--plan FILE` runs again.

exit status: 0 all invariants held; 1 one did not; 2 nothing was run"""


def _seeds(text: str) -> range:
    first, dots, last = text.partition("..")
    if not (dots and first.isascii() and first.isdigit() and last.isascii() and last.isdigit() and int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"{text!r} is not A..B with A no more than B")
    return range(int(first), int(last) + 1)


def add_verb(verbs: _Verbs) -> None:
    """Adds the verb to the command line."""
    verb = verbs.add_parser(
        "simulate",
        help="simulate whole systems",
        description=_SIMULATE,
        epilog=_SIMULATE_MORE,
    )
    argument(verb, "--seed", "N", "the seed, or the first one of --count (1)", type=whole(0), default=1)
    argument(verb, "--seeds", "A..B", "all seeds from A to B instead", type=_seeds)
    argument(verb, "--count", "N", "number of seeds (1)", type=whole(1), default=1)
    argument(verb, "--steps", "M", f"steps before the network heals ({STEPS})", type=whole(0), default=STEPS)
    argument(verb, "--clients", "N", "clients (the seed decides: 3 to 6)", type=whole(1, MOST_CLIENTS))
    argument(verb, "--brokers", "N", "brokers (the seed decides: 1 or 2)", type=whole(1, MOST_BROKERS))
    argument(verb, "--plan", "FILE", "run the plan of an earlier failure instead (its JSON)")
    flag(verb, "--story", "tell what happened even when all went well")
    flag(verb, "--json", "one JSON object on each line")


def run(given: argparse.Namespace) -> int:
    """Runs the verb; returns its exit status."""
    from amqp_sansio.testing.simulation import Plan, replay, simulate

    if given.plan is not None:
        try:
            with open(given.plan, encoding="utf-8") as file:
                plain = json.load(file)
            plan = Plan.of(plain.get("plan", plain))
            outcome = replay(plan)
        except OSError as error:
            complain(f"{given.plan}: cannot be read: {error.strerror}")
            return 2
        except (ValueError, TypeError, KeyError, AttributeError):
            complain(f"{given.plan}: not a plan that `simulate --json` printed")
            return 2
        return _show(outcome, given)
    seeds = given.seeds or range(given.seed, given.seed + given.count)
    status = 0
    total: Counter[str] = Counter()
    progress = Progress()
    for done, seed in enumerate(seeds):
        progress.rounds(done, len(seeds), "seeds")
        outcome = simulate(seed, given.steps, clients=given.clients, brokers=given.brokers)
        total.update(outcome.counts)
        if len(seeds) == 1 or not outcome.ok or given.json:
            progress.clear()
            status = max(status, _show(outcome, given))
    progress.clear()
    if len(seeds) > 1 and not given.json:
        words = ", ".join([f"{value} {name}" for name, value in total.items()])
        print(f"{len(seeds)} seeds: {words}: {'SOME FAILED' if status else 'all good'}")
    return status


def _show(outcome: Outcome, given: argparse.Namespace) -> int:
    """Prints the outcome of one seed; returns 1 when it failed."""
    from amqp_sansio.testing.simulation import shrink

    summary = outcome.summary
    if not outcome.ok or given.story:
        outcome = shrink(outcome)
    failure = outcome.failure
    if given.json:
        told: dict[str, object] = {
            "seed": outcome.plan.seed, "ok": outcome.ok, "counts": outcome.counts, "digest": outcome.digest,
        }  # fmt: skip
        if failure is not None:
            told |= {"rule": failure.rule, "text": failure.text, "plan": outcome.plan.plain}
        if outcome.story:
            told["story"] = list(outcome.story)
        print(json.dumps(told))
    else:
        print(summary)
        if failure is not None:
            print(f"\nshrunk to {len(outcome.plan.steps)} steps: {', '.join([step.verb for step in outcome.plan.steps])}\n")
        for line in outcome.story:
            print(line)
    sys.stdout.flush()
    return 0 if failure is None else 1
