"""The log of decisions: which branches of an epoch are to be committed, written before the first commit."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import attrs

from amqp_sansio.spark.live.disk import Lock, folder, get_json, put_json
from amqp_sansio.spark.live.errors import LiveSetupError
from amqp_sansio.spark.live.identity import note_of

NOTE: Final = "journal.json"
OPTION: Final = "journal"


@attrs.frozen(kw_only=True)
class Decision:
    """A decision about an epoch of a query, or a job: whatever happens, exactly these branches are committed."""

    query: str
    """Spark's id of the query, or the name of a job."""
    epoch: int
    """Spark's number of the batch, from 0; 0 for a job."""
    branches: tuple[str, ...] = ()
    """The branches as words."""
    rows: int = 0
    octets: int = 0
    total_rows: int = 0
    """Total of the query so far, this epoch included."""
    total_octets: int = 0
    finished: bool = False
    """Whether all of them are known to be committed."""


class Decisions:
    """A folder with the last decision of each query.  `owner` is the name in the branches."""

    def __init__(self, path: Path) -> None:
        self.path: Final = folder(path, OPTION)
        self.lock: Final = Lock(path, OPTION)
        """Held while deciding about branches, because a worker that seemed dead may still be working."""
        self.owner: Final = note_of(path / NOTE, "decisions", "decision-*.json")[0]

    def last(self, query: str) -> Decision | None:
        """Returns the last decision of a query, None before the first."""
        return self._read(self._file(query))

    def all(self) -> list[Decision]:
        """Returns the last decision of each query."""
        return [found for path in sorted(self.path.glob("decision-*.json")) if (found := self._read(path)) is not None]

    def decide(self, decision: Decision) -> Decision:
        """Writes a decision, with its totals added up; it holds from now on.  Raises LiveError when that is not certain."""
        before = self.last(decision.query)
        if before is not None and before.epoch >= decision.epoch:
            raise LiveSetupError(f"{self.path}: epoch {decision.epoch} was decided before")
        rows, octets = (before.total_rows, before.total_octets) if before is not None else (0, 0)
        made = attrs.evolve(decision, total_rows=rows + decision.rows, total_octets=octets + decision.octets)
        self._write(made)
        return made

    def finish(self, decision: Decision) -> None:
        """Notes that all branches of a decision are committed."""
        if not decision.finished:
            self._write(attrs.evolve(decision, finished=True))

    def forget(self, query: str) -> None:
        """Removes the decision of a query that will not be asked for again: its branches are committed."""
        self._file(query).unlink(missing_ok=True)

    def _write(self, decision: Decision) -> None:
        put_json(self._file(decision.query), attrs.asdict(decision))

    def _file(self, query: str) -> Path:
        return self.path / f"decision-{sha256(query.encode()).hexdigest()[:24]}.json"

    @staticmethod
    def _read(path: Path) -> Decision | None:
        found: dict[str, Any] | None = get_json(path)
        if found is None:
            return None
        try:
            return Decision(**{**found, "branches": tuple(found["branches"])})
        except (KeyError, TypeError) as error:
            raise LiveSetupError(f"{path}: is damaged, or not a file of amqp-sansio") from error
