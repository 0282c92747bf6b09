"""An S3 server on loopback, and buckets in it, for tests that write to an object store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest


@contextmanager
def serving() -> Iterator[dict[str, str]]:
    """A server while it is entered, with an empty bucket `tables`: the environment in which it is the S3 of this process."""
    pytest.importorskip("moto", reason="moto is not installed: no S3 server to test with")
    from moto.server import ThreadedMotoServer
    from pyarrow import fs

    from amqp_sansio.captures import locations

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    locations._s3.cache_clear()
    try:
        with mock.patch.dict(os.environ, environment):
            fs.S3FileSystem(
                endpoint_override=environment["AWS_ENDPOINT_URL"], region="us-east-1", allow_bucket_creation=True
            ).create_dir("tables")
            yield environment
    finally:
        locations._s3.cache_clear()
        server.stop()
