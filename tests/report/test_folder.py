"""Finding and reading the tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.report.made import START, write_manifest, write_story, write_table

from amqp_sansio.captures.tables import SCHEMA_VERSION
from amqp_sansio.report import folder as folder_module
from amqp_sansio.report.folder import Folder, ReportError


def test_the_tables_are_those_of_the_manifest(tmp_path: Path) -> None:
    write_table(tmp_path, "dtx", [{"xid": "a"}])
    write_manifest(tmp_path, [])
    write_table(tmp_path, "violations", [{}])  # nobody published it
    folder = Folder(str(tmp_path))
    assert folder.tables == ("dtx",)
    assert "violations" not in folder
    assert [row["xid"] for row in folder.rows("dtx", ("xid",))] == ["a"]
    assert list(folder.rows("violations", ("rule",))) == []
    assert (folder.count("dtx"), folder.count("violations")) == (1, 0)


def test_without_a_manifest_all_files_in_their_place_count(tmp_path: Path) -> None:
    write_story(tmp_path)
    (tmp_path / "_MANIFEST.json").unlink()
    hidden = tmp_path / "dtx" / "_temporary" / "x.parquet"
    hidden.parent.mkdir()
    hidden.write_bytes(b"half")
    folder = Folder(str(tmp_path))
    assert folder.manifest is None
    assert folder.count("dtx") == 1


def test_what_the_folders_tell_is_a_column_and_what_is_missing_null(tmp_path: Path) -> None:
    write_table(tmp_path, "dtx", [{"xid": "a"}])
    place = tmp_path / "dtx" / "capture_date=2024-02-03" / "broker=a%2Fb%3A1"
    place.mkdir(parents=True)
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"ts_ns": pa.array([START])}), str(place / "p.parquet"))
    (tmp_path / "dtx" / "part-0.parquet").unlink()
    (row,) = Folder(str(tmp_path)).rows("dtx", ("broker", "capture_date", "ts", "xid"))
    assert (row["broker"], str(row["capture_date"]), row["ts"], row["xid"]) == ("a/b:1", "2024-02-03", START, None)


@pytest.mark.parametrize("manifest", ["", "[]", "{", '{"tables": 1, "schema": 1}', "[" * 100_000])
def test_a_manifest_that_is_none_is_one_sentence(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "_MANIFEST.json").write_text(manifest)
    with pytest.raises(ReportError, match="is not a manifest"):
        Folder(str(tmp_path))


def test_a_manifest_does_not_lead_out_of_its_folder(tmp_path: Path) -> None:
    write_story(tmp_path)
    place = tmp_path / "_MANIFEST.json"
    said = json.loads(place.read_text())
    for path in ("../x.parquet", "/etc/passwd"):
        said["tables"]["dtx"]["files"] = [{"path": path}]
        place.write_text(json.dumps(said))
        with pytest.raises(ReportError, match="outside of its folder"):
            Folder(str(tmp_path))
    said["tables"]["dtx"]["files"] = [{"path": "dtx/gone.parquet"}]
    place.write_text(json.dumps(said))
    with pytest.raises(ReportError, match="it is missing"):
        Folder(str(tmp_path))
    said["schema"] = 99
    place.write_text(json.dumps(said))
    with pytest.raises(ReportError, match="schema 99"):
        Folder(str(tmp_path))


def test_a_folder_without_tables_a_missing_one_and_a_damaged_file_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="no tables here"):
        Folder(str(tmp_path))
    with pytest.raises(ReportError, match="no such folder or capture"):
        Folder(str(tmp_path / "none"))
    place = tmp_path / "dtx" / "x.parquet"
    place.parent.mkdir()
    place.write_bytes(b"not parquet")
    with pytest.raises(ReportError, match="cannot be read"):
        list(Folder(str(tmp_path)).rows("dtx", ("xid",)))
    with pytest.raises(ReportError, match="is not a folder"):
        Folder(str(place))


def many(folder: Path, number: int, rows: int) -> Path:
    """A table in so many files of so many rows, as a pipeline of many brokers and days leaves it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = []
    for each in range(number):
        path = Path("dtx", "capture_date=2024-02-03", f"broker=b{each}", "p.parquet")
        (folder / path).parent.mkdir(parents=True)
        ids = [f"{each}.{row}" for row in range(rows)]
        lacking = (
            {"xid": pa.array(ids)} if each % 2 else {"xid": pa.array(ids), "timeout_s": pa.array([each] * rows, pa.int64())}
        )
        pq.write_table(pa.table(lacking), str(folder / path))
        files.append({"path": path.as_posix(), "rows": rows, "octets": (folder / path).stat().st_size})
    said = {"schema": SCHEMA_VERSION, "captures": [], "tables": {"dtx": {"rows": number * rows, "files": files}}}
    (folder / "_MANIFEST.json").write_text(json.dumps(said))
    return folder


def test_many_small_files_share_batches_and_each_row_keeps_what_its_folder_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows come in the order of the files, in batches of as many as may be held, whatever each file lacks."""
    told: list[tuple[str, int, int]] = []
    folder = Folder(str(many(tmp_path, 300, 3)), lambda *each: told.append(each))
    (batch,) = folder.batches("dtx", ("xid", "broker", "timeout_s"))
    rows = batch.to_pylist()
    assert sorted(row["xid"] for row in rows) == sorted(f"{each}.{row}" for each in range(300) for row in range(3))
    for row in rows:
        number = int(row["xid"].partition(".")[0])
        assert (row["broker"], row["timeout_s"]) == (f"b{number}", None if number % 2 else number)
    assert told == [("dtx", each, 300) for each in range(300)]
    monkeypatch.setattr(folder_module, "BATCH_ROWS", 10)
    batches = list(folder.batches("dtx", ("xid", "broker", "timeout_s")))
    assert [len(each) for each in batches] == [9] * 100
    assert [row for each in batches for row in each.to_pylist()] == rows


def test_the_manifest_tells_how_many_rows_there_are(tmp_path: Path) -> None:
    many(tmp_path, 4, 3)
    told: list[tuple[str, int, int]] = []
    assert Folder(str(tmp_path), lambda *each: told.append(each)).count("dtx") == 12
    assert told == []
    place = tmp_path / "_MANIFEST.json"
    said = json.loads(place.read_text())
    for rows in (None, -1, True, "3", 10.0):  # what it does not tell, the files do
        said["tables"]["dtx"]["files"][0]["rows"] = rows
        place.write_text(json.dumps(said))
        assert Folder(str(tmp_path)).count("dtx") == 12
    said["tables"]["dtx"]["files"] = [1]
    place.write_text(json.dumps(said))
    with pytest.raises(ReportError, match="is not a manifest of tables"):
        Folder(str(tmp_path))


def test_the_rows_of_some_connections_are_read(tmp_path: Path) -> None:
    write_table(tmp_path, "sessions", [{"connection": number, "channel": number} for number in (1, 2, 3, 1)])
    batches = list(Folder(str(tmp_path)).of("sessions", ("connection", "channel"), {3, 1, 9}))
    assert [row["channel"] for batch in batches for row in batch.to_pylist()] == [1, 3, 1]
