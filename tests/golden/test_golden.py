"""What people rely on, pinned: every score, status and field of the golden table, and the fingerprints."""

import gzip
import importlib.util
import json
from collections import Counter
from pathlib import Path

spec = importlib.util.spec_from_file_location(
    "tables", Path(__file__).with_name("tables.py")
)
tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tables)


def golden():
    return (
        gzip.decompress(tables.TABLE.read_bytes())
        .decode(errors="surrogatepass")
        .split("\n")
    )


def test_every_score_is_what_it_was_to_the_last_bit():
    found, expected = tables.scored(), golden()
    wrong = [(new, old) for new, old in zip(found, expected, strict=True) if new != old]
    assert not wrong, wrong[:3]


def test_the_golden_table_has_every_status_many_times():
    statuses = Counter(
        value
        for line in golden()
        for key, value in json.loads(line)[2].items()
        if key.startswith("status/")
    )
    assert (
        min(statuses[name] for name in ("scored", "gated", "abstained", "error")) > 500
    )


def test_fingerprints_are_what_they_were():
    assert tables.fingerprints() == json.loads(tables.FINGERPRINTS.read_text())
