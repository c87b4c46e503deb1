"""assert_holds, and baselines: known findings accepted with a reason and a date."""

import datetime
import json
from dataclasses import replace

import pytest
from probed import (
    FAILING,
    HOSTILE,
    LEAKY,
    ROWS,
    STRICT,
    failed,
    finding,
    held,
    leaked,
    with_findings,
)

import rewardkit as rk
from rewardkit.errors import InputError
from rewardkit.history.baseline import (
    Accepted,
    accept,
    load_baseline,
)
from rewardkit.probes.probe import assert_holds
from rewardkit.probes.result import Inconclusive

pytestmark = pytest.mark.integration

HOLE = finding("longer", component="detail")
TODAY = datetime.date.today().isoformat()


def entry(finding="longer/detail", severity="high", reward="strict", **more):
    known = {"reason": "known", "date": "2026-11-22", "severity": severity, **more}
    return {"reward": reward, "finding": finding, **known}


def written(path, *entries, **more):
    path.write_text(json.dumps({"accepted": list(entries), **more}))
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "b.json"


def test_what_is_accepted_is_read_again_replaces_the_same_finding_by_the_gravest_and_others_stay(
    path,
):
    others = (
        entry("raises", by="ada"),
        entry("empty", severity="warn"),
        entry(reward="lenient"),
    )
    written(path, others[0], entry(severity="warn"), *others[1:], team="red")
    same = [replace(HOLE, severity="warn"), HOLE, replace(HOLE, severity="info")]
    assert accept(path, same, "  graver now ", reward="strict") == 1
    new = entry(reason="graver now", date=TODAY, component="detail")
    assert json.loads(path.read_text()) == {"accepted": [*others, new], "team": "red"}
    assert load_baseline(path).accepted[-1] == Accepted(
        "strict", "longer/detail", "graver now", TODAY, "high", "", "detail"
    )


def test_nothing_to_accept_makes_an_empty_baseline_and_leaves_one_alone(path):
    for _ in range(2):
        assert accept(path, [], "nothing yet", reward="strict") == 0
        assert load_baseline(path).accepted == ()


@pytest.mark.parametrize(
    ("then", "now", "accepted"),
    [
        ("high", "high", True),
        ("high", "warn", True),
        ("warn", "high", False),
        ("info", "warn", False),
    ],
)
def test_a_finding_is_accepted_up_to_the_severity_it_was_accepted_with(
    path, then, now, accepted
):
    found = with_findings(replace(HOLE, severity=now))
    result = found.under_baseline(written(path, entry(severity=then)))
    told = f"longer/detail was accepted as {then} on 2026-11-22 and is {now} now: it counts again"
    assert list(result.baseline_changes()) == ([] if accepted else [told])
    in_words = " ".join(repr(result).split())
    assert bool(result.alarms) is (told in in_words) is not accepted


@pytest.mark.parametrize("days, accepted", [(-1, False), (0, True), (1, True)])
def test_a_finding_is_accepted_until_its_last_day(path, days, accepted):
    day = (datetime.date.today() + datetime.timedelta(days)).isoformat()
    written(path, entry(until=day))
    result = with_findings(HOLE).under_baseline(path)
    assert bool(result.findings[0].accepted) is accepted
    over = f"(accepted until {day}, over)"
    assert (
        (over in result.findings[0].sentence) is (over in str(result)) is not accepted
    )
    told = f"longer/detail was accepted until {day}: it counts again"
    assert list(result.baseline_changes()) == ([] if accepted else [told])


def test_one_file_holds_for_a_diagnosis_and_a_monitor_too(path):
    scores = rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic")
    diagnosis = rk.diagnose(scores)
    watched = rk.monitor("gallery:brevity")
    assert diagnosis.worst == "warn" and watched.verdict == "stop"
    for result in (diagnosis, watched):
        name = result.scores.reward.name
        accept(path, result.alarms, "as agreed", reward=name)
    quiet = rk.diagnose(scores, baseline=path)
    assert quiet.worst == "info" and len(quiet.findings) == len(diagnosis.findings)
    count = len(diagnosis.alarms)
    assert f"{count} accepted" in str(quiet)
    assert "Accepted: as agreed" in quiet.text(verbose=True)
    known = rk.monitor("gallery:brevity", baseline=path)
    assert (known.verdict, known.worst, known.alarms) == ("watch", "info", ())
    assert "the task is lost" in known.sentence and "as agreed" in known.sentence
    assert "train on" not in str(known)
    entries = [{**item, "until": "2026-01-31"} for item in _entries(path)]
    written(path, *entries)
    ended = diagnosis.under_baseline(path)
    assert ended.worst == "warn" and "until 2026-01-31" in str(ended)
    accept(path, ended.alarms, "still agreed", reward=diagnosis.reward_name)
    again = ended.under_baseline(path)
    assert again.worst == "info" and "counts again" not in str(again)


def _entries(path):
    return json.loads(path.read_text())["accepted"]


def first_letter(prediction, ground_truth):
    """Pays a wrong answer that begins as the right one does."""
    return float(prediction is not None and prediction[0] == ground_truth[0])


def short(completion):
    return float(len(completion) < 100)


CAPITALS = {"Oslo": "Omsk", "Paris": "Perth", "Berlin": "Bonn", "Madrid": "Milan"}


@pytest.mark.parametrize("writer", ["probe", "diagnose"])
def test_what_one_tool_accepts_the_other_knows_though_only_one_names_the_component(
    path, writer
):
    rows = []
    for right, wrong in CAPITALS.items():
        for number in range(5):
            for text in (right, wrong, "Rome"):
                row = {"prompt": f"{number} {right[::-1]}?", "ground_truth": right}
                row |= {"completion": f"<answer>{text}</answer>", "ok": text == right}
                rows.append(row)
    fields = {"prediction": rk.extract.tag("answer")}
    parts = [rk.Component("name", first_letter, primary=True)]
    parts.append(rk.Component("short", short, weight=0.1))
    reward = rk.Reward("capitals", fields, parts)
    options = {"only": ["calibration"], "label": "ok", "timeout": None}
    results = {
        "probe": rk.probe(reward, rows, **options),
        "diagnose": rk.diagnose(rk.score(reward, rows), label="ok"),
    }
    keys = {}
    for name, result in results.items():
        keys[name] = {item.key for item in result.alarms}
    assert "wrong_paid/name" in keys["probe"] and "wrong_paid" in keys["diagnose"]
    accept(path, results[writer].alarms, "as agreed", reward="capitals")
    for result in results.values():
        known = result.under_baseline(path)
        (marked,) = [item for item in known.findings if item.code == "wrong_paid"]
        assert marked.accepted == "as agreed"


def exploit(says, **evidence):
    return finding(
        "exploit", evidence={"kind": "exploit", "says": says, "calls": 9, **evidence}
    )


BROKEN = failed("ValueError", "empty")
KEYS = [
    (HOLE, finding("longer", component="short"), False, "of another component"),
    (HOLE, finding("longer"), True, "of a tool that names no component"),
    (finding("longer"), HOLE, True, "of a tool that names its component"),
    (HOLE, finding("empty", component="detail"), False, "another cause"),
    (
        replace(HOLE, part=HOSTILE),
        replace(HOLE, part=HOSTILE),
        True,
        "a part of any name",
    ),
    (
        exploit("two keywords"),
        exploit("two keywords", value=0.5, calls=700, tried=9),
        True,
        "seed, rate",
    ),
    (exploit("two keywords"), exploit("three tags"), False, "another exploit"),
    (BROKEN, failed("ValueError", "' ' is none"), True, "the same type of error"),
    (
        failed("ValueError", "a", passed_by="x"),
        failed("KeyError", "'a'", passed_by="x"),
        False,
        "another type in a field",
    ),
    (
        failed("Hang", "1", code="hang"),
        failed("Late", "", code="hang"),
        True,
        "what says no more",
    ),
]


@pytest.mark.parametrize(
    ("accepted", "found", "known", "why"), KEYS, ids=[row[3] for row in KEYS]
)
def test_a_finding_of_a_reward_is_known_by_code_component_part_and_what_no_seed_changes(
    path, accepted, found, known, why
):
    accept(path, [found], "of another reward", reward="lenient")
    accept(path, [accepted], "known", reward="strict")
    result = with_findings(found).under_baseline(path)  # of the reward "strict"
    assert result.findings[0].accepted == ("known" if known else "")
    assert [item.finding for item in result.stale] == ([] if known else [accepted.key])


STALE = {
    "all was tried": ({}, True),
    "only some probes": ({"probes": ("empty",)}, False),
    "the budget was over": ({"untried": {"longer": 3}}, False),
    "nothing else tried": (
        {"findings": (finding("constant", family="calibration"),)},
        False,
    ),
}


@pytest.mark.parametrize(("options", "gone"), STALE.values(), ids=STALE)
def test_what_is_not_found_any_more_is_told_where_all_was_tried(path, options, gone):
    result = replace(held(), **options).under_baseline(written(path, entry()))
    told = "longer/detail, accepted on 2026-11-22, is not found any more"
    assert (
        bool(result.stale)
        is (told in repr(result))
        is (told in result._repr_html_())
        is gone
    )


def test_probing_reads_a_baseline_before_anything_is_run(path, tmp_path):
    calls = []
    reward = rk.Reward("r", components=[rk.Component("c", calls.append)])
    for given, sentence in (
        (path, "there is no baseline file"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(InputError, match=sentence):
            rk.probe(
                reward, [{"completion": "x", "object": 1}], baseline=given, timeout=None
            )
    assert calls == []


BAD = [
    ("[" * 100_000, "is no JSON"),
    ("accepted: []", "give the file that --accept wrote, or move this one away"),
    ('{"accepted": {}}', "is no baseline"),
    (
        '{"accepted": ["longer"]}',
        "entry 1 is 'longer'; it needs texts for reward, finding",
    ),
    (
        json.dumps({"accepted": [entry(), {"finding": "x"}]}),
        "entry 2 is {'finding': 'x'}",
    ),
    (
        json.dumps({"accepted": [entry(severity="grave")]}),
        "the severity one of high, warn, info",
    ),
    (json.dumps({"accepted": [entry(reason=" ")]}), "it needs texts for"),
    (json.dumps({"accepted": [entry(until="May")]}), "a day such as 2027-01-31"),
    (json.dumps({"accepted": [entry(component=1)]}), "it needs texts for"),
]


@pytest.mark.parametrize(("content", "sentence"), BAD, ids=range(len(BAD)))
def test_a_file_that_is_no_baseline_is_one_sentence(path, content, sentence):
    path.write_text(content)
    for use in (
        load_baseline,
        lambda path: accept(path, [HOLE], "known", reward="strict"),
    ):
        with pytest.raises(InputError) as error:
            use(path)
        assert sentence in str(error.value) and "\n" not in str(error.value)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("file", "reason", "said"),
    [("b.json", "", "does not say why"), ("no/b.json", "x", "no folder")],
)
def test_what_cannot_be_accepted_is_one_sentence(tmp_path, file, reason, said):
    with pytest.raises(InputError, match=said):
        accept(tmp_path / file, [], reason, reward="strict")
    assert list(tmp_path.iterdir()) == []


# assert_holds: silent where a reward holds, and all that a person needs where it does not

UNPROBED = {
    "calibration": replace(held().calibration, subjects=()),
    "inconclusive": (
        Inconclusive("reward", "no completion earns full marks; give cases"),
    ),
}
NOTHING = replace(held(), **UNPROBED)
WARNING = with_findings(finding(severity="warn"))
STUB = finding("constant", family="calibration", accepted="a stub")
HOLDING = {
    "nothing found": (held(), {}, ""),
    "holes": (leaked(), {}, "reward 'strict' does not hold: 1 hole (high) in "),
    "a warning": (WARNING, {}, "does not hold"),
    "a warning where only high fails": (WARNING, {"severity": "high"}, ""),
    "for information": (with_findings(finding(severity="info")), {}, ""),
    "accepted": (with_findings(finding(accepted="known")), {}, ""),
    "broken": (with_findings(failed("ValueError", "no")), {}, "ValueError: no"),
    "nothing was tried": (
        replace(NOTHING, tried_probes=()),
        {},
        "was not probed.*give cases",
    ),
    "nothing was asked for": (replace(NOTHING, probes=(), tried_probes=()), {}, ""),
    "an accepted one is all": (replace(NOTHING, findings=(STUB,)), {}, ""),
}


@pytest.mark.parametrize(("result", "options", "told"), HOLDING.values(), ids=HOLDING)
def test_an_error_is_raised_where_something_of_that_severity_is_found(
    monkeypatch, result, options, told
):
    monkeypatch.setattr("rewardkit.probes.probe.probe", lambda *_, **__: result)
    if not told:
        assert assert_holds(STRICT, ROWS, **options) is None
        return
    with pytest.raises(
        AssertionError, match=told.replace("(", r"\(").replace(")", r"\)")
    ):
        assert_holds(STRICT, ROWS, **options)


def test_every_alarm_is_told_with_its_sentence_examples_and_snippet_until_a_baseline_accepts_it(
    path,
):
    fast = {"only": ["shotgun", "calibration"], "timeout": None}
    alarms = rk.probe(LEAKY, ROWS, **fast).alarms
    with pytest.raises(AssertionError) as error:
        assert_holds(LEAKY, ROWS, **fast)
    for item in alarms:
        in_words = " ".join(str(error.value).split())
        assert in_words.count(f"{item.code}: {item.sentence}") == 1
        assert item.examples[0].snippet in str(
            error.value
        ) or "whole in finding.examples" in str(error.value)
        assert any(
            f"truth {one.columns['ground_truth']!r}" in str(error.value)
            for one in item.examples
        )
    accept(path, alarms, "for now", reward="leaky")
    assert alarms and assert_holds(LEAKY, ROWS, baseline=path, **fast) is None
    with pytest.raises(AssertionError, match=r"always_errors: Fails on everything\."):
        assert_holds(FAILING, ROWS, timeout=None)


def test_an_unknown_severity_is_one_sentence():
    with pytest.raises(
        InputError, match="severity='info' is none that fails; use one of warn, high"
    ):
        assert_holds(STRICT, ROWS, severity="info")
