"""Finding and reading the tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.report.made import START, write_manifest, write_story, write_table

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
    (row,) = Folder(str(tmp_path)).rows("dtx", ("broker", "capture_date", "ts_ns", "xid"))
    assert (row["broker"], str(row["capture_date"]), row["ts_ns"], row["xid"]) == ("a/b:1", "2024-02-03", START, None)


@pytest.mark.parametrize("manifest", ["", "[]", "{", '{"tables": 1, "schema": 1}', "[" * 100_000])
def test_a_manifest_that_is_none_is_one_sentence(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "_MANIFEST.json").write_text(manifest)
    with pytest.raises(ReportError, match="is no manifest"):
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
    with pytest.raises(ReportError, match="not there"):
        Folder(str(tmp_path))
    said["schema"] = 99
    place.write_text(json.dumps(said))
    with pytest.raises(ReportError, match="schema 99"):
        Folder(str(tmp_path))


def test_a_folder_without_tables_a_missing_one_and_a_damaged_file_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="no tables here"):
        Folder(str(tmp_path))
    with pytest.raises(ReportError, match="no such folder"):
        Folder(str(tmp_path / "none"))
    place = tmp_path / "dtx" / "x.parquet"
    place.parent.mkdir()
    place.write_bytes(b"not parquet")
    with pytest.raises(ReportError, match="cannot be read"):
        list(Folder(str(tmp_path)).rows("dtx", ("xid",)))
    with pytest.raises(ReportError, match="is no folder"):
        Folder(str(place))
