"""Locations of captures and tables: a path on this machine, or a URI of an object store or a cluster's file system.

Everything that opens, lists, moves or removes files by URI uses `located`, the only way to pyarrow's file systems.  A URI is a
scheme of at least two letters, a colon and a slash; `C:/captures` and `eth0:1.pcap` are paths.
"""

from __future__ import annotations

import io
import os
import re
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from amqp_sansio.captures.errors import CaptureError, LocationError

if TYPE_CHECKING:
    from pyarrow import fs


AZURE: Final = ("abfs", "abfss")
GOOGLE: Final = ("gs", "gcs")
S3: Final = ("s3", "s3a")
"""Schemes of Amazon S3 and compatible servers; Hadoop calls it s3a."""
BY_ARROW: Final = (*GOOGLE, *AZURE, "hdfs", "viewfs")
"""Schemes that pyarrow opens by URI: Google Cloud Storage, Azure, and Hadoop's (through libhdfs, which the machines of a
cluster have).  Not covered by our tests."""
KNOWN: Final = "paths, file:, s3:, s3a:, gs:, abfs: and hdfs:"

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_DATABRICKS: Final = "DATABRICKS_RUNTIME_VERSION"
_GOOGLE_SECONDS: Final = 30
_CONNECT_SECONDS: Final = 10
_ATTEMPTS: Final = 3


class Located(NamedTuple):
    """A file system, the path in it, and the prefix of that path in a URI ("" on this machine)."""

    system: fs.FileSystem
    path: str
    base: str

    @property
    def uri(self) -> str:
        """Returns the location as one text that `located` takes."""
        return self.base + self.path

    def read(self, path: str) -> bytes | None:
        """Returns the octets of a file in this file system; None when it does not exist.  Raises OSError when that fails."""
        try:
            with self.system.open_input_stream(path) as stream:
                octets: bytes = stream.read()
        except FileNotFoundError:
            return None
        return octets

    def write(self, path: str, octets: bytes) -> None:
        """Writes a file in this file system.  Raises OSError when that fails."""
        stream = self.system.open_output_stream(path)
        stream.write(octets)
        stream.close()

    def make_folder(self, path: str) -> None:
        """Creates a folder, and those above it, in this file system."""
        if not self.base.startswith("s3:"):  # S3 has no folders, and an empty object in place of one would stay
            self.system.create_dir(path, recursive=True)


def is_text(name: str) -> bool:
    """Whether a name is valid UTF-8.  Other octets appear in it as surrogate escapes (PEP 383)."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def local(place: str) -> str | None:
    """Returns the local path of a path or a `file:` URI; None for a URI of another file system.

    Raises LocationError for a URI that cannot be opened: its scheme is not one of KNOWN, or it contains a password.
    """
    found = _URI.match(place)
    if found is None:
        return "/" + place[5:].lstrip("/") if place.lower().startswith("file:") else place
    scheme = found.group(1).lower()
    rest = place[found.end() - 1 :]
    if scheme == "file":
        host, _, path = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest.lstrip("/"))
        if host not in ("", "localhost"):
            raise LocationError(_bare(place), f"a file: URI names a file of this machine, not of {host}")
        return f"/{path.lstrip('/')}"
    if scheme == "dbfs":
        if _DATABRICKS in os.environ:
            return f"/dbfs/{rest.lstrip('/')}"
        raise LocationError(place, "dbfs: exists on Databricks only")
    if scheme not in S3 and scheme not in BY_ARROW:
        raise LocationError(_bare(place), f"no file system is known for {scheme}: (known are {KNOWN})")
    if not rest.startswith("//") or (scheme in S3 and not rest.strip("/")):
        raise LocationError(_bare(place), f"is not a URI of this kind: {scheme}://bucket/path")
    if "@" in rest[2:].partition("/")[0] and scheme not in AZURE:  # Azure's URIs have the form container@account
        raise LocationError(_bare(place), "a URI must not carry a password: set it in the environment")
    return None


def located(place: str) -> Located:
    """Returns the file system of a path or URI, and the path in it.  Raises LocationError when there is none, or it is
    unreachable."""
    from pyarrow import ArrowException, fs

    here = local(place)
    if here is not None:
        path = os.path.abspath(os.path.expanduser(here))
        if not is_text(path):
            raise LocationError(path, "the name is not UTF-8, and pyarrow opens no such folder: rename it")
        return Located(fs.LocalFileSystem(), path, "")
    scheme, _, rest = place.partition("://")
    try:
        if scheme.lower() in S3:
            path = rest.strip("/")
            return Located(_s3(path.partition("/")[0]), path, "s3://")
        limit = f"?retry_limit_seconds={_GOOGLE_SECONDS}" if scheme.lower() in GOOGLE and "?" not in rest else ""
        system, path = fs.FileSystem.from_uri(place + limit)
        _ask(system, path, f"{scheme}://{rest.partition('/')[0]}")
    except (OSError, ValueError, ImportError, ArrowException) as error:
        raise LocationError(_bare(place), f"cannot be reached: {str(error).splitlines()[0]}") from error
    path = path.rstrip("/") or path
    return Located(system, path, place.rstrip("/").removesuffix(path))


_answered: Final[set[str]] = set()


def _ask(system: fs.FileSystem, path: str, root: str) -> None:
    """Sees once for each root that a file system answers.  Where it does not, some raise another error than OSError."""
    if root not in _answered:
        system.get_file_info(path)
        _answered.add(root)


@cache
def _s3(bucket: str) -> fs.FileSystem:
    """Returns S3 with keys, region and endpoint from the environment (AWS_ACCESS_KEY_ID, AWS_REGION, AWS_ENDPOINT_URL, ...)."""
    from pyarrow import fs

    environment = os.environ
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if region is None and endpoint is None:
        region = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(
        endpoint_override=endpoint,
        region=region,
        connect_timeout=_CONNECT_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )


def _bare(place: str) -> str:
    """Returns a URI without user and password, for an error; Azure's have a container there."""
    return place if place.lower().startswith(AZURE) else re.sub(r"//[^/]*@", "//", place)


BUFFER_OCTETS: Final = 4 * 1024 * 1024
"""Octets per request."""
_MAGIC: Final = re.compile(r"[*?[]")


def reached(uri: str) -> Located:
    """Locates a URI.  Raises CaptureError when it cannot be opened, or pyarrow is not installed."""
    try:
        return located(uri)
    except LocationError as error:
        raise CaptureError(error.place, 0, 0, error.rule) from error
    except ImportError as error:
        raise CaptureError(uri, 0, 0, "captures behind a URI need pyarrow: pip install 'amqp-sansio[zstd]'") from error


def opened(uri: str) -> io.BufferedReader:
    """Opens a file.  Raises OSError when it cannot be read."""
    place = reached(uri)
    raw = place.system.open_input_stream(place.path, compression=None)
    return io.BufferedReader(raw, BUFFER_OCTETS)


def about(uri: str) -> fs.FileInfo:
    """Returns whether it is a file, a folder or nothing, with size and modification time.  Raises OSError when that fails."""
    place = reached(uri)
    return place.system.get_file_info(place.path)


def is_file(uri: str) -> bool:
    """Whether the URI names an existing file."""
    return bool(about(uri).is_file)


def files_in(folder: str) -> list[str]:
    """Returns the names of the files directly in a folder.  Raises OSError when it cannot be read."""
    from pyarrow import fs

    place = reached(folder)
    return sorted([each.base_name for each in place.system.get_file_info(fs.FileSelector(place.path)) if each.is_file])


def matching(pattern: str) -> list[str]:
    """Returns the URIs of the files that match a pattern: * and ? stay within a folder, ** crosses folders."""
    from pyarrow import fs

    place = reached(pattern)
    words = place.path.split("/")
    fixed = next((at for at, word in enumerate(words) if _MAGIC.search(word)), len(words))
    if not fixed:
        raise CaptureError(pattern, 0, 0, "the name of a bucket cannot be a pattern")
    select = fs.FileSelector("/".join(words[:fixed]), allow_not_found=True, recursive=len(words) > fixed + 1 or "**" in pattern)
    found = [each.path for each in place.system.get_file_info(select) if each.is_file]
    return [place.base + path for path in found if _fits(path.split("/"), words)]


def has_magic(uri: str) -> bool:
    """Whether the URI is a pattern."""
    return _MAGIC.search(uri) is not None


def is_several(uri: str) -> bool:
    """Whether it is a folder or a pattern; False when that cannot be known, which the reader reports."""
    try:
        return has_magic(uri) or about(uri).type.name == "Directory"
    except OSError:
        return False


def _fits(parts: list[str], words: list[str]) -> bool:
    if not words:
        return not parts
    if words[0] == "**":
        return any(_fits(parts[at:], words[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], words[0]) and _fits(parts[1:], words[1:])
