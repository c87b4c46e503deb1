"""Baselines: known findings accepted with a reason and a date, in a file that a team commits."""

import datetime
import json
from dataclasses import replace

import pytest
from probed import HOSTILE, LEAKY, ROWS, failed, finding, held, leaked, with_findings

import rewardkit as rk
from rewardkit.errors import InputError
from rewardkit.probes.results.baseline import (
    Accepted,
    Baseline,
    accept,
    grown,
    load_baseline,
    stale,
    under_baseline,
)

HOLE = finding("longer", component="detail")


def entry(finding="longer/detail", severity="high", reward="strict", **more):
    return {
        "reward": reward,
        "finding": finding,
        "reason": "known",
        "date": "2026-11-22",
        "severity": severity,
        **more,
    }


def written(path, *entries, **more):
    path.write_text(json.dumps({"accepted": list(entries), **more}))
    return path


def test_what_is_accepted_can_be_read_again(tmp_path):
    path = tmp_path / "baseline.json"
    assert accept(path, [HOLE], "  the old data needs it ", "2026-11-22", reward="strict") == 1
    assert load_baseline(path).accepted == (
        Accepted("strict", "longer/detail", "the old data needs it", "2026-11-22", "high"),
    )
    assert json.loads(path.read_text()) == {"accepted": [entry(reason="the old data needs it")]}


def test_today_is_the_date_where_none_is_given(tmp_path):
    accept(tmp_path / "b.json", [HOLE], "known", reward="strict")
    (item,) = load_baseline(tmp_path / "b.json").accepted
    assert item.date == datetime.date.today().isoformat()


def test_other_entries_stay_as_they_are_and_one_of_the_same_finding_is_replaced(tmp_path):
    others = entry("raises", by="ada"), entry("empty", severity="warn")
    path = written(tmp_path / "b.json", others[0], entry(severity="warn"), others[1], team="red")
    assert accept(path, [HOLE], "graver now", "2026-12-01", reward="strict") == 1
    assert json.loads(path.read_text()) == {
        "accepted": [
            others[0],
            entry(reason="graver now", date="2026-12-01"),
            others[1],
        ],
        "team": "red",
    }


def test_two_findings_of_one_key_are_one_entry_of_the_graver(tmp_path):
    same = [replace(HOLE, severity="warn"), HOLE, replace(HOLE, severity="info")]
    assert accept(tmp_path / "b.json", same, "known", reward="strict") == 1
    assert [item.severity for item in load_baseline(tmp_path / "b.json").accepted] == ["high"]


def test_nothing_to_accept_makes_an_empty_baseline_and_leaves_one_alone(tmp_path):
    path = tmp_path / "b.json"
    assert accept(path, [], "nothing yet", reward="strict") == 0
    assert load_baseline(path).accepted == ()
    before = path.stat().st_mtime_ns
    assert accept(path, [], "nothing yet", reward="strict") == 0
    assert path.stat().st_mtime_ns == before


def test_a_file_that_cannot_be_written_stays_whole(tmp_path, monkeypatch):
    path = written(tmp_path / "b.json", entry("empty"))
    before = path.read_text()
    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(OSError):
        accept(path, [HOLE], "known", reward="strict")
    assert path.read_text() == before
    assert [item.name for item in tmp_path.iterdir()] == ["b.json"]


def broken(*arguments):
    raise OSError("no space left")


def test_a_link_leads_to_the_file_that_is_written(tmp_path):
    path = written(tmp_path / "b.json")
    link = tmp_path / "link.json"
    link.symlink_to(path)
    accept(link, [HOLE], "known", reward="strict")
    assert link.is_symlink() and len(load_baseline(path).accepted) == 1


def test_a_part_of_any_name_can_be_accepted(tmp_path):
    item = replace(HOLE, part=HOSTILE)
    accept(tmp_path / "b.json", [item], "known", reward="strict")
    result = under_baseline(with_findings(item), tmp_path / "b.json")
    assert result.findings[0].accepted == "known"


@pytest.mark.parametrize(
    ("then", "now", "accepted"),
    [
        pytest.param("high", "high", True, id="as grave"),
        pytest.param("high", "warn", True, id="less grave"),
        pytest.param("warn", "high", False, id="graver counts again"),
        pytest.param("info", "warn", False, id="what was information counts again, too"),
    ],
)
def test_a_finding_is_accepted_up_to_the_severity_it_was_accepted_with(then, now, accepted):
    baseline = Baseline("b.json", (Accepted("strict", "longer/detail", "known", "2026-11-22", then),))
    result = under_baseline(with_findings(replace(HOLE, severity=now)), baseline)
    assert bool(result.alarms) is not accepted
    assert len(grown(result)) == (not accepted)
    told = f"longer/detail was accepted as {then} on 2026-11-22 and is {now} now: it counts again"
    assert (told in repr(result)) is not accepted


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(finding("longer"), id="of another component"),
        pytest.param(replace(HOLE, part="gsm8k"), id="of a part"),
        pytest.param(finding("empty", component="detail"), id="another cause"),
    ],
)
def test_another_finding_is_not_accepted(other):
    baseline = Baseline("b.json", (Accepted("strict", "longer/detail", "known", "2026-11-22", "high"),))
    result = under_baseline(with_findings(other), baseline)
    assert result.alarms == (replace(other, accepted=""),)
    assert [item.finding for item in stale(result)] == ["longer/detail"]


def exploit(says, **evidence):
    return finding("exploit", evidence={"kind": "exploit", "says": says, "calls": 9, **evidence})


KEYS = [
    (exploit("two keywords"), exploit("two keywords", value=0.5, calls=700, tried=9), True, "seed, rate"),
    (exploit("two keywords"), exploit("three tags"), False, "another exploit"),
    (failed("ValueError: empty"), failed("ValueError: ' ' is none"), True, "the same type of error"),
    (failed("ValueError: empty"), failed("ZeroDivisionError: division by zero"), False, "another type"),
    (failed("ValueError"), failed("KeyError"), False, "types without a text"),
    (
        failed("field 'x' failed: ValueError: a"),
        failed("field 'x' failed: KeyError: 'a'"),
        False,
        "in a field",
    ),
    (
        failed("KeyError: 1", code="always_errors"),
        failed("TypeError: no", code="always_errors"),
        False,
        "on each",
    ),
    (failed("ValueError: empty", code="hang"), failed("took longer", code="hang"), True, "what says no more"),
]


@pytest.mark.parametrize(("accepted", "found", "known", "why"), KEYS, ids=[row[3] for row in KEYS])
def test_a_finding_is_known_by_what_does_not_change_with_seed_and_rate(tmp_path, accepted, found, known, why):
    accept(tmp_path / "b.json", [accepted], "known", reward="strict")
    result = under_baseline(with_findings(found), tmp_path / "b.json")
    assert bool(result.findings[0].accepted) is known, why
    assert known or grown(result) == []


def test_two_exploits_are_two_entries(tmp_path):
    both = [exploit("two keywords"), exploit("three tags")]
    assert accept(tmp_path / "b.json", both, "known", reward="strict") == 2


def test_what_is_accepted_of_one_reward_says_nothing_of_another(tmp_path):
    path = tmp_path / "b.json"
    accept(path, [HOLE], "of the other", reward="lenient")
    result = under_baseline(with_findings(HOLE), path)  # of the reward "strict"
    assert result.alarms == (HOLE,) and stale(result) == () and grown(result) == []
    accept(path, [HOLE], "of this one", reward="strict")
    assert [item.reason for item in load_baseline(path).accepted] == ["of the other", "of this one"]
    assert under_baseline(with_findings(HOLE), path).findings[0].accepted == "of this one"


def test_what_is_not_found_any_more_is_told():
    baseline = Baseline("b.json", (Accepted("strict", "longer/detail", "known", "2026-11-22", "high"),))
    result = under_baseline(held(), baseline)
    told = "longer/detail, accepted on 2026-11-22, is not found any more"
    assert told in repr(result) and told in result._repr_html_()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"probes": ("empty",)}, id="only some probes"),
        pytest.param({"untried": {"longer": 3}}, id="the budget was over"),
        pytest.param({"findings": (finding("always_errors", family="calibration"),)}, id="all failed"),
        pytest.param({"calibration": replace(held().calibration, subjects=())}, id="no prompt"),
    ],
)
def test_what_was_not_tried_is_not_said_to_be_gone(options):
    baseline = Baseline("b.json", (Accepted("strict", "longer/detail", "known", "2026-11-22", "high"),))
    assert stale(under_baseline(replace(held(), **options), baseline)) == ()


def test_probing_takes_a_baseline_and_reads_it_before_anything_is_run(tmp_path):
    path = tmp_path / "b.json"
    accept(path, leaked().alarms, "for now", reward="leaky")
    result = rk.probe(LEAKY, ROWS, baseline=path)
    assert result.alarms == ()
    assert {item.accepted for item in result.findings if item.severity != "info"} == {"for now"}
    calls = []
    reward = rk.Reward("r", components=[rk.Component("c", calls.append)])
    with pytest.raises(InputError, match="there is no baseline file"):
        rk.probe(reward, [{"completion": "x", "object": 1}], baseline=tmp_path / "none.json")
    assert calls == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param("{", "is no JSON", id="no JSON"),
        pytest.param("[" * 100_000, "is no JSON", id="deep"),
        pytest.param("[]", "is no baseline", id="a list"),
        pytest.param("{}", "is no baseline", id="no entries"),
        pytest.param('{"accepted": {}}', "is no baseline", id="entries that are no list"),
        pytest.param('{"accepted": ["longer"]}', "entry 1 is 'longer'; an entry has texts for", id="a text"),
        pytest.param(
            json.dumps({"accepted": [entry(), {"finding": "x"}]}), "entry 2 is {'finding': 'x'}", id="keys"
        ),
        pytest.param(
            json.dumps({"accepted": [entry(severity="grave")]}), "severity 'grave' is none of", id="severity"
        ),
        pytest.param(
            json.dumps({"accepted": [entry(date="22.11.2026")]}), "a date such as '2026-11-22'", id="date"
        ),
        pytest.param(json.dumps({"accepted": [entry(reason=" ")]}), "needs a reason", id="no reason"),
        pytest.param(json.dumps({"accepted": [entry(), entry()]}), "is accepted twice", id="twice"),
        pytest.param(
            json.dumps({"accepted": [{name: text for name, text in entry().items() if name != "reward"}]}),
            "entry 1 does not say of which reward 'longer/detail' was accepted",
            id="of before rewards had names",
        ),
    ],
)
def test_a_file_that_is_no_baseline_is_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "b.json"
    path.write_text(content)
    for use in (load_baseline, lambda path: accept(path, [HOLE], "known", reward="strict")):
        with pytest.raises(InputError) as error:
            use(path)
        assert sentence in str(error.value) and "\n" not in str(error.value)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(("b.json", [], ""), "does not say why", id="no reason"),
        pytest.param(("b.json", [], None), "does not say why", id="no text"),
        pytest.param(("b.json", [], "known", "tomorrow"), "is no date", id="no date"),
        pytest.param(("nowhere/b.json", [], "known"), "there is no folder", id="no folder"),
    ],
)
def test_what_cannot_be_accepted_is_one_sentence(tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=sentence):
        accept(*arguments, reward="strict")
    assert list(tmp_path.iterdir()) == []
