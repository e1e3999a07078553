"""Whatever is set, there is a place or a refusal, and no secret in what is said."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsspec_commit as fc
from fsspec_commit.engines.spark.hadoop_settings import (
    SECRETS,
    abfs,
    gs,
    hdfs,
    location_of,
    s3a,
    s3a_credentials,
    settings,
)

CANARY = "canary+sings/of=keys"
HOST = "acct.dfs.core.windows.net"
PATHS = {
    "abfs": f"abfs://data@{HOST}/out",
    "abfss": f"abfss://data@{HOST}/out",
    "file": "file:/out",
    "gs": "gs://bucket/out",
    "hdfs": "hdfs://ns/out",
    "s3a": "s3a://bucket/out",
    "swebhdfs": "swebhdfs://nn/out",
    "webhdfs": "webhdfs://nn/out",
}


def texts_of(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple | list | set | frozenset | dict):
        return [text for one in value for text in texts_of(one)]
    return []


# Every name and every word that the modules know.
WORDS = sorted(
    {
        text
        for module in (abfs, gs, hdfs, s3a, s3a_credentials, settings)
        for value in vars(module).values()
        for text in texts_of(value)
    }
)
NAMES = sorted(
    {
        *(word for word in WORDS if word.startswith(("fs.", "dfs.", "hadoop.", "spark."))),
        *(f"{form}{word}" for word in WORDS for form in ("fs.gs.", "google.cloud.")),
        *(name.format(bucket="bucket", container="data", account=HOST) for name in SECRETS),
        *(f"fs.s3a.bucket.bucket.{word.removeprefix('fs.s3a.')}" for word in WORDS),
    }
)
VALUES = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(
        [
            *("", " ", "true", "false", "OAuth", "SAS", "SSE-C", "SSE-KMS", "USER_CREDENTIALS"),
            *("https://[", "http://host:99999", "[::1]:1", "a=b,c", "022", "u=rwx", "ENABLED"),
            *(f"https://me:{CANARY}@host", f"com.x.Y,{CANARY}", f"{CANARY};{CANARY}"),
        ]
    ),
    st.just(CANARY),
    st.text(max_size=8),
)


@pytest.mark.parametrize("scheme", sorted(PATHS))
@given(chosen=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8))
def test_a_place_or_a_refusal(scheme: str, chosen: dict[str, str]) -> None:
    refusal: fc.RequestError | None = None
    try:
        url, options = location_of(PATHS[scheme], chosen)
    except fc.RequestError as error:
        refusal = error
    if refusal is None:
        assert CANARY not in url
        # Plain data, as a job that is resumed is given it again.
        json.dumps(options, default=bytes.hex)
    else:
        assert refusal.kind == "unmapped_setting"
        assert CANARY not in str(refusal) + repr(refusal) + str(vars(refusal))
        assert CANARY.encode() not in pickle.dumps(refusal)
        assert "\n" not in str(refusal)
