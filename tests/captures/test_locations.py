"""A path, a URI that something here opens, or a refusal in one sentence."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from amqp_sansio.captures import locations
from amqp_sansio.captures.errors import CaptureError, LocationError
from amqp_sansio.captures.files import closed_in, found, named, names_in, size_of, there
from amqp_sansio.captures.locations import local, located
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.captures.splits import over_split, splits


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("/a/b", "/a/b"),
        ("a/b", "a/b"),
        ("eth0:1.pcap", "eth0:1.pcap"),
        ("C:/captures", "C:/captures"),
        ("file:/a", "/a"),
        ("file:///a b/%41", "/a b/%41"),
        ("FILE://localhost/a", "/a"),
        ("s3://bucket/a", None),
        ("s3a://bucket/a", None),
        ("gs://bucket/a", None),
        ("abfss://container@account.dfs.core.windows.net/a", None),
        ("hdfs://name/a", None),
    ],
)
def test_what_is_a_path_of_this_machine(place: str, path: str | None) -> None:
    assert local(place) == path


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("dbfs:/tables", "dbfs:/tables: dbfs: exists on Databricks only"),
        (
            "http://host/a",
            "http: (known are paths, file:, s3:, s3a:, gs:, abfs: and hdfs:)",
        ),
        ("s3n://bucket/a", "no file system is known for s3n:"),
        ("s3:/tables", "s3:/tables: is not a URI of this kind: s3://bucket/path"),
        ("s3://", "s3://: is not a URI of this kind: s3://bucket/path"),
        ("file://elsewhere/a", "a file: URI names a file of this machine, not of elsewhere"),
        ("s3://key:word@bucket/a", "s3://bucket/a: a URI must not carry a password: set it in the environment"),
        ("ftp://key:word@host/a", "ftp://host/a: no file system is known for ftp:"),
        ("/tables\udcff", r"/tables\udcff: the name is not UTF-8, and pyarrow opens no such folder: rename it"),
    ],
)
def test_every_other_is_refused_in_one_sentence_without_its_password(place: str, text: str) -> None:
    with pytest.raises(LocationError) as raised:
        located(place)
    assert text in str(raised.value)
    assert "word@" not in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.place) == (str(raised.value), raised.value.place)


def test_databricks_mounts_dbfs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "15.4")
    assert local("dbfs:/tables") == "/dbfs/tables"


def test_a_path_becomes_absolute_and_a_uri_is_put_together_again(tmp_path: Path, s3: dict[str, str]) -> None:
    pytest.importorskip("pyarrow")
    here = located(tmp_path.as_uri())
    assert (here.path, here.base, here.uri) == (str(tmp_path), "", str(tmp_path))
    there = located("s3a://tables/a b/c%20d/")
    assert (there.path, there.uri) == ("tables/a b/c%20d", "s3://tables/a b/c%20d")
    assert located("s3://tables/x").system is there.system


@pytest.mark.parametrize(
    ("place", "asked"),
    [("gs://bucket/a", "gs://bucket/a?retry_limit_seconds=30"), ("abfss://container@account/a", "abfss://container@account/a")],
)
def test_a_store_that_does_not_answer_is_refused_in_one_sentence(
    place: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where pyarrow raises what is no OSError; a store that has answered is not asked again."""
    pa, fs = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.fs")
    wrong: list[Exception] = [pa.ArrowException("Unknown error: no token\nand more")]
    opened, seen = [], []

    class Silent:
        @staticmethod
        def from_uri(uri: str) -> tuple[Silent, str]:
            opened.append(uri)
            return Silent(), "container/a"

        def get_file_info(self, path: str) -> None:
            seen.append(path)
            if wrong:
                raise wrong.pop()

    monkeypatch.setattr(fs, "FileSystem", Silent)
    monkeypatch.setattr(locations, "_answered", set())
    with pytest.raises(LocationError) as raised:
        located(place)
    assert str(raised.value) == f"{place}: cannot be reached: Unknown error: no token"
    assert opened == [asked]
    for _ in range(3):
        assert located(place).path == "container/a"
    assert len(seen) == 2


pytest.importorskip("pyarrow")
HELLO = Path(__file__).resolve().parents[2] / "src" / "amqp_sansio" / "cli" / "samples" / "hello.pcap"
FOLDER = "s3://tables/captures"


@pytest.fixture(scope="module")
def bucket(s3: dict[str, str]) -> str:
    place = located(FOLDER)
    for name in ("x9.pcap", "x10.pcap", "x9.pcap.done", "_hidden", "deep/er/y.pcap", "x11.pcap.tmp"):
        stream = place.system.open_output_stream(f"{place.path}/{name}")
        stream.write(HELLO.read_bytes())
        stream.close()
    return FOLDER


def test_files_folders_and_patterns(bucket: str) -> None:
    both = [f"{bucket}/x9.pcap", f"{bucket}/x10.pcap"]
    assert found([bucket]) == found([f"{bucket}/"]) == found([f"{bucket}/*.pcap"]) == both
    assert found([both[1], both[0]]) == both
    assert found([f"{bucket}/x?.pcap", str(HELLO)]) == [str(HELLO), both[0]]
    assert found([f"{bucket}/**/y.pcap"]) == found([f"{bucket}/*/*/y.pcap"]) == [f"{bucket}/deep/er/y.pcap"]
    assert names_in(bucket) == ["x9.pcap", "x10.pcap"]
    assert [closed_in(bucket, word) for word in ("newest", "done", "all")] == [["x9.pcap"], ["x9.pcap"], names_in(bucket)]
    assert (size_of(both[0]), size_of(f"{bucket}/no")) == (HELLO.stat().st_size, 0)
    assert there(f"{bucket}/x9.pcap") == f"{bucket}/x9.pcap"


def test_decode_and_check_take_folders_and_patterns_too(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything else stays as it is named: what reads it says that it is not there."""
    both = [f"{bucket}/x9.pcap", f"{bucket}/x10.pcap"]
    assert named([bucket]) == named([f"{bucket}/*.pcap"]) == both
    assert named([both[1], f"{bucket}/no.pcap"]) == [both[1], f"{bucket}/no.pcap"]
    with pytest.raises(CaptureError, match=r"no file matches this pattern"):
        named([f"{bucket}/*.cap"])

    def fails(uri: str) -> None:
        raise OSError("the store is down")

    monkeypatch.setattr(locations, "about", fails)
    assert named([bucket]) == [bucket]


@pytest.mark.parametrize(
    ("path", "text"),
    [("no.pcap", "no such file"), ("*.cap", "no file matches this pattern"), ("deep", "the folder has no capture in it")],
)
def test_what_is_not_there_is_one_sentence(bucket: str, path: str, text: str) -> None:
    with pytest.raises(CaptureError, match=f"{bucket}/{path}".replace("*", r"\*") + f": {text}"):
        found([f"{bucket}/{path}"])


def test_its_packets_are_those_of_the_same_file_on_a_disk(bucket: str) -> None:
    uri = f"{bucket}/x9.pcap"
    assert list(read_packets(uri, lambda text: None)) == list(read_packets(str(HELLO), lambda text: None))
    (split,) = splits(uri, 0, 4096)
    packets = sum(len(stretch.positions) for stretch in over_split(split))
    assert packets == len(list(read_packets(str(HELLO), lambda text: None)))
