"""Reasons: records that survive pickle, JSON, Parquet and worker processes, and are redacted by their code."""

import os
import pickle
import time

import pandas as pd
import pytest

import rewardkit as rk
from rewardkit.html.excerpts import hidden_user_texts
from rewardkit.reasons import Reason, ReasonCode, read_reasons

SECRET = "SECRET\ud800"
DETAILS = {
    "words": SECRET,
    "value": f"'{SECRET}'",
    "error": "KeyError",
    "place": "my.py:12",
    "type_name": "str",
    "ending": "exit status 7",
    "expected": "scores",
    "seconds": 5.0,
    "returned": 2,
    "rows": 3,
    "names": ("correct",),
}
REDACTED = {
    ReasonCode.RAISED: "KeyError: [redacted] (my.py:12)",
    ReasonCode.LATE: "took longer than 5 s",
    ReasonCode.PROCESS_ENDED: "ended its process (exit status 7)",
    ReasonCode.NOT_TRIED: "was not tried, as calls before it took longer than 5 s",
    ReasonCode.OUT_OF_RANGE: "out of range: returned [redacted]; its range is scores",
    ReasonCode.WRONG_TYPE: "returned [redacted] of type str; a component returns a number, a bool or None",
    ReasonCode.NOT_A_DECISION: (
        "its predicate returned [redacted]; a predicate returns True, False or None"
    ),
    ReasonCode.CANNOT_SEND: (
        "returned what cannot be sent back from a worker process "
        "([redacted]); return plain values, or score without a time limit or workers"
    ),
    ReasonCode.NOT_A_LIST: "returned [redacted], not a list of scores ([redacted])",
    ReasonCode.LACKS_KEY: "[redacted]",
    ReasonCode.NOT_JUDGED: "[redacted]",
    ReasonCode.RETURNED_NONE: "returned None: [redacted]",
    ReasonCode.GATE_UNDECIDED: "its gate needs 'correct', which is missing",
    ReasonCode.NO_ROUTE: "no reward for correct=[redacted]",
}


@pytest.mark.parametrize("code", ReasonCode)
def test_a_reason_survives_and_hides_what_it_quotes_and_nothing_else(code):
    details = DETAILS
    if code is ReasonCode.NOT_FINITE:
        details = {**DETAILS, "value": "inf", "words": ""}
    reason = Reason(code, **details)
    for passed in (reason, reason.passed_on("f").passed_on("")):
        assert pickle.loads(pickle.dumps(passed)) == passed
        assert Reason.from_json(passed.to_json()) == passed
        assert "SECRET" not in str(passed.redacted())
    assert str(passed) == f"its gate failed: field 'f' failed: {reason}"
    assert str(reason.redacted()) == REDACTED.get(code, str(reason))


def fails(completion):
    """A component that fails as its completion says."""
    if completion == "sleep":
        time.sleep(60)
    if completion == "exit":
        os._exit(7)
    if completion == "raise":
        raise ValueError(SECRET)
    return {"wide": 2.0, "text": SECRET, "none": None}.get(completion, 0.5)


def scored(*completions, **options):
    component = rk.Component("c", fails)
    rows = [{"prompt": "p", "completion": text} for text in completions]
    return rk.score(rk.Reward("r", components=[component]), rows, **options)


def test_reasons_of_a_worker_process_and_of_a_file_are_those_of_this_process(tmp_path):
    completions = ("fine", "raise", "wide", "text", "none")
    here = scored(*completions).reasons("c")
    codes = ["raised", "out_of_range", "wrong_type", "returned_none"]
    assert [reason and reason.code.value for reason in here] == [None, *codes]
    for options in ({"workers": 2}, {"timeout": 20.0}):
        scores = scored(*completions, **options)
        assert scores.reasons("c") == here
    saved = rk.load_scores(scores.save(tmp_path / "scores"))
    assert saved.reasons("c") == here
    assert saved.errors("c") == [str(reason) for reason in here[1:4]]


def test_a_table_of_before_reasons_had_records_is_refused(tmp_path):
    scores = scored("fine", "raise")
    del scores.table["reason/c"]
    folder = scores.save(tmp_path / "scores")
    with pytest.raises(rk.RolloutsError, match="not a scored table of this version"):
        rk.load_scores(folder)


def test_a_redacted_page_says_what_went_wrong_and_nothing_of_a_completion():
    pages = []
    for text in ("sleep", "exit", "raise", "text"):
        scores = scored(text, timeout=1.0)
        with hidden_user_texts():
            pages.append(scores._repr_html_() + rk.diagnose(scores)._repr_html_())
    page = "".join(pages)
    assert "SECRET" not in page
    for said in (
        "took longer than 1 s",
        "ended its process (exit status 7)",
        "ValueError: [redacted] (test_reasons.py:",
        "returned [redacted] of type str",
    ):
        assert page.count(said) >= 2, said


def test_a_column_of_reasons_is_read_with_its_gaps():
    reason = Reason(ReasonCode.LATE, seconds=2.0)
    column = pd.Series([None, reason.to_json(), float("nan"), reason.to_json()])
    assert read_reasons(column) == [None, reason, None, reason]
