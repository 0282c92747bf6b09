"""`amqp-sansio store`: checks, backs up or compacts the store of a broker."""

from __future__ import annotations

from amqp_sansio.adapters.store import Content, StoreError, backup, check, compact
from amqp_sansio.cli.output import complain


def store(action: str, directory: str, target: str | None = None) -> int:
    """Does so and prints the contents of the store.  Returns 0, or 1 for a store that is damaged, in use or missing."""
    try:
        if action == "check":
            print(f"{directory}: {_shown(check(directory))}")
        elif action == "compact":
            before, after = compact(directory)
            print(f"{directory}: {_shown(after)} (before: {before.disk_octets:,} octets on the disk)")
        else:
            assert target is not None
            print(f"{target}: {_shown(backup(directory, target))}")
    except StoreError as error:
        complain(str(error))
        return 1
    return 0


def _shown(content: Content) -> str:
    return (
        f"whole; virtual hosts {content.virtual_hosts}, queues {content.queues}, messages {content.messages};"
        f" {content.disk_octets:,} octets on the disk, of them snapshot {content.snapshot_octets:,} and journal"
        f" {content.journal_octets:,}"
    )
