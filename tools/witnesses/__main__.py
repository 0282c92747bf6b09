"""`python -m tools.witnesses`: checks that tables and grammars are equal, and that conversations cover every row.

It also holds the generated conversations with our client and our server, and compares an observer of the older dialects with
their grammars.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from amqp_sansio.testing.speech.channel_parts import PARTS
from tools.witnesses import heard, roles
from tools.witnesses.coverage import coverage, report
from tools.witnesses.section import told
from tools.witnesses.sections import SECTIONS

SHOWN: Final = 5
"""The most differences that are printed."""


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 when table and grammar are equal in every section, and every row was covered, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.witnesses", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the random conversations")
    parser.add_argument("--lengths", type=int, nargs="*", default=[20, 60], help="of the random conversations, in words")
    parser.add_argument("--heard", type=int, default=40, help="words in states of each older grammar that are tried; 0: all")
    parser.add_argument("--most", type=int, default=heard.MOST, help="words that may wait for an answer in these")
    parser.add_argument("--coverage", action="store_true", help="only which rows are gone through")
    chosen = parser.parse_args(arguments)
    same = True
    if not chosen.coverage:
        print("Tables and grammars:")
        for section in SECTIONS:
            difference = section.difference()
            same = same and difference is None
            print(f"  {section.name}: {told(difference)}")
    print("Rows that generated conversations went through:")
    counts = coverage(seed=chosen.seed, lengths=chosen.lengths)
    print(report(counts))
    missing = sum([len(count.missing) for count in counts])
    total = sum([count.total for count in counts])
    print(f"{total - missing} of {total} rows of {len(counts)} tables, {missing} missing")
    print("Rows that ClientConnection and ServerConnection reached in such conversations:")
    for us in roles.ROLES:
        found = roles.reached(us, chosen.lengths, chosen.seed)
        print(roles.report(us, found))
        same = same and not found.faults and not any(walk.gaps for walk in found.walks)
    print("What an observer makes of the grammars of 0-8, 0-9 and 0-9-1:")
    judged = heard.heard(PARTS, chosen.seed, chosen.heard, chosen.lengths, chosen.most)
    wrong = judged.differences
    print(f"{judged.cases} words in states, {judged.conversations} conversations, {len(wrong)} differences")
    for each in wrong[:SHOWN]:
        print(f"  {each}")
    return 0 if same and not missing and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
