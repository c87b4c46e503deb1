"""Reports of a user's own rewards and logs: what fails, hangs, is known, labelled or too little."""

import html
import json
from contextlib import contextmanager

import pandas as pd
import pytest
from commands import run
from opened import opened
from plotted import LONG, arithmetic_with_label

import rewardkit as rk
import rewardkit.notebook.report as reports
from rewardkit.errors import InputError
from rewardkit.history.baseline import accept
from rewardkit.notebook.report import NOTEBOOKS, report
from rewardkit.notebook.scorecard import AGREES

pytestmark = [
    pytest.mark.integration,
    pytest.mark.usefixtures("here", "short_rehearsals"),
]


def whole(page):
    """All of a page but its frame."""
    return page.top + "".join(section.body for section in page.sections)


@contextmanager
def only(stem):
    """Reports have this page alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            reports, "NOTEBOOKS", tuple(item for item in NOTEBOOKS if item[0] == stem)
        )
        yield


def test_what_a_baseline_accepts_is_no_alarm_of_its_reward(tmp_path):
    rewards = ("gallery:arithmetic.flawed", "gallery:arithmetic")
    path = tmp_path / "known.json"
    limits = {"baseline": str(path)}
    rollouts = rk.load_rollouts("gallery:arithmetic").select(range(160))
    rollouts.table.to_json(tmp_path / "log.jsonl", orient="records", lines=True)
    with pytest.raises(InputError, match="there is no baseline file"):
        report(rewards[:1], tmp_path / "log.jsonl", tmp_path / "out", limits=limits)
    result = rk.probe(rk.load_reward(rewards[0]), rollouts)
    accept(path, result.alarms, "for now", reward=result.reward.name)
    assert result.alarms and not (tmp_path / "out").exists()
    with only("02_check"):
        made = report(rewards, tmp_path / "log.jsonl", tmp_path / "out", limits=limits)
    assert made.summaries[0].scorecard.points == ()
    assert "for now" in (tmp_path / "out/arithmetic-flawed/02_check.html").read_text()


def test_a_report_of_a_folder_of_scores_is_of_these_scores(tmp_path):
    rows = rk.load_rollouts("gallery:arithmetic").select(range(160))
    scores = rk.score(rk.load_reward("gallery:arithmetic"), rows, to=tmp_path / "kept")
    with only("03_analyze"):
        made = report([], tmp_path / "kept", tmp_path / "out")
    (summary,) = made.summaries
    assert made.failed == [] and summary.reward.name == scores.reward.name
    tiles = {tile.question: tile for tile in summary.scorecard.tiles}
    words = {tiles[name].words for name in ("Right on cases", "Holes and losses")}
    assert words == {"scores of a log"}
    codes = {point.code for point in summary.scorecard.points}
    alarms = {
        item.code for item in rk.diagnose(scores).findings if item.severity != "info"
    }
    assert alarms and alarms <= codes


ODD = """import time
import rewardkit as rk
def broken(completion):
    raise ValueError("always")
def slow(completion):
    if completion == "0":
        time.sleep(5)
        open("waited", "w")
    return completion == "1"
first = rk.Component("first", rk.measure.length(full_until=1, zero_from=9))
gated = rk.Component("slow", slow, gate=rk.gate("first", at_least=1.0))
hangs = rk.Reward("hangs", components=[first, gated])
"""


def test_what_always_fails_and_what_hangs_have_their_pages_and_are_not_ready(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.py").write_text(ODD)
    rows = [
        {"prompt": f"p{n // 2}", "completion": text} for n, text in enumerate("0022")
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    case = {"completion": "1", "scores": {"first": 1.0, "of_another_version": 0.0}}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case))
    options = {"cases": "cases.jsonl", "timeout": 0.1, "limits": {"budget": 1.0}}
    made = report(["odd.py:broken", "odd.py:hangs"], "log.jsonl", "out", **options)
    assert "left out" in made.summaries[1].scorecard.tiles[0].words
    contract = made.summaries[1].scorecard.tiles[3]
    assert (contract.question, contract.grade != "good") == (
        "Contract",
        True,
    )  # as it fails on the log
    assert made.failed == [] and not (tmp_path / "waited").exists()
    for summary in made.summaries:
        assert summary.scorecard.grade == "high" and len(summary.pages) == 4
        assert "errors" in {item.code for item in summary.scorecard.points}


def test_a_notebook_that_fails_leaves_its_page_with_the_error_and_exit_1(
    hostile, tmp_path, monkeypatch
):
    monkeypatch.setattr("rewardkit.notebook.tables.group_pictures", lambda *_: 1 / 0)
    with only("03_analyze"):
        result = run(
            f"report --reward {hostile}/mine.py --rollouts {hostile}/log.jsonl -o {tmp_path}/out"
        )
    assert result.exit_code == 1 and "page failed: Analyze" in result.output
    page, index, summary = (
        (tmp_path / "out" / name).read_text()
        for name in ("mine/03_analyze.html", "index.html", "summary.md")
    )
    assert "This page stopped with an error" in page and "division by zero" in page
    assert (
        "(failed)" in index
        and "Not ready: the page" in index
        and "page failed" in summary
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A TRL log with a score of a long name, its function, and reports of the function and of the log."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "rewards.py").write_text(
        f"def {LONG}(completions, **kwargs):\n    return [-len(text) / 10 for text in completions]\n"
        f"def other(completions, **kwargs):\n    return [len(text) / 10 for text in completions]\n"
        f"other.__name__ = {LONG!r}\n"
    )
    texts = ["x" * (n * n % 37) for n in range(48)]
    columns = {"prompt": [f"p{n // 8}" for n in range(48)], "completion": texts}
    logged = {
        "step": 1,
        **columns,
        LONG: [-len(text) / 10 for text in texts],
        "advantage": 0.0,
    }
    (folder / "completions").mkdir()
    pd.DataFrame(logged).to_parquet(folder / "completions/completions_00001.parquet")
    rewards = [f"{folder}/rewards.py:{LONG}", "logged", f"{folder}/rewards.py:other"]
    return report(rewards, folder / "completions", folder / "out")


def test_a_report_says_whether_the_log_has_the_same_scores(trained):
    same, log, other = trained.summaries
    assert trained.failed == []
    assert [summary.facts.get("Log") for summary in (same, log, other)] == [
        AGREES,
        None,
        None,
    ]
    assert "Nothing says that the scores in the log are right." in log.verdict
    assert other.scorecard.grade == "high" and "log_mismatch" in [
        item.code for item in other.scorecard.worst
    ]
    assert (
        trained.index.read_text().count(AGREES)
        == trained.summary.read_text().count(AGREES)
        == 1
    )


def test_a_log_has_no_page_of_checks_and_a_reward_without_cases_has_one(trained):
    same, log, _ = trained.summaries
    assert [item.title.partition(":")[0] for item in log.pages] == ["Build", "Analyze"]
    assert [item.title.partition(":")[0] for item in same.pages] == [
        "Build",
        "Check",
        "Analyze",
        "Card",
    ]
    assert (
        log.scorecard.tiles[0].words == "scores of a log"
        and same.scorecard.tiles[0].grade == "info"
    )
    assert "No cases were given" in whole(same.pages[1])


@pytest.mark.browser
def test_long_names_fit_a_phone(trained, browser):
    for file in ("index.html", *(page.file for page in trained.summaries[0].pages)):
        page, trouble = opened(browser, trained.index.parent / file, 390)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, file
        assert trouble == []
        page.context.close()


@pytest.mark.parametrize(
    ("rows", "said"), [(1, "No group has two completions"), (3, "Only 1 group of two")]
)
def test_the_verdict_is_no_go_where_nothing_can_be_said(tmp_path, rows, said):
    row = '{"prompt": "p", "completion": "<answer>%d</answer>", "ground_truth": "1"}\n'
    (tmp_path / "few.jsonl").write_text("".join(row % n for n in range(rows)))
    with only("03_analyze"):
        made = report(["gallery:arithmetic"], tmp_path / "few.jsonl", tmp_path / "out")
    assert made.failed == []
    assert (
        made.summaries[0].scorecard.grade == "warn"
        and said in made.summaries[0].verdict
    )
    assert ("every group has one completion" in made.summary.read_text()) == (rows == 1)


def test_a_label_reaches_the_summary_the_forecast_and_the_suggestions(tmp_path):
    rollouts = arithmetic_with_label()
    table = rollouts.select(rollouts.groups % 2 == 1).table
    table.to_json(tmp_path / "log.jsonl", orient="records", lines=True)
    line = f"report --reward gallery:arithmetic --rollouts {tmp_path}/log.jsonl --label is_right --by task"
    with only("03_analyze"):
        result = run(f"{line} -o {tmp_path}/out --json")
    assert result.exit_code == 0, result.output
    pages = (
        tmp_path / "out" / name
        for name in ("index.html", "arithmetic-v1/03_analyze.html")
    )
    index, page = (html.unescape(path.read_text()) for path in pages)
    assert "is_right, trusted to say which completions are good" in index
    assert "label_disagrees" in index and "Where task=two-steps, " in index
    assert "more like 'is_right'" in page
    assert "sibling pairs ordered as the label has it" in page
    assert f"from {table['is_right'].mean():.2f} to" in page  # of the forecast


@pytest.mark.browser
def test_one_redacted_file_holds_all_pages_and_no_text_of_the_rollouts(
    hostile, browser, tmp_path
):
    options = {"cases": hostile / "cases.jsonl", "single_file": True, "redact": True}
    rows = [*map(json.loads, (hostile / "log.jsonl").read_text().splitlines())]
    for row in rows[::4]:
        row["ground_truth"] = "SECRET truth"
    log = hostile / "truths.jsonl"
    log.write_text("\n".join(map(json.dumps, rows)))
    made = report([f"{hostile}/mine.py"], log, tmp_path, **options)
    assert (
        sorted(path.name for path in tmp_path.iterdir()) == ["index.html", "summary.md"]
        and made.failed == []
    )
    for path in tmp_path.iterdir():
        assert "SECRET" not in path.read_text() and "pwned" not in path.read_text()
    page, trouble = opened(browser, made.index)
    page.get_by_role("link", name="Check").first.click()
    assert page.locator("h1", has_text="02 Check").is_visible()
    targets = page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => decodeURI(a.hash.slice(1)))"
    )
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert set(targets) <= set(ids) and len(ids) == len(set(ids)) and trouble == []
    page.context.close()


@pytest.mark.browser
def test_a_hostile_completion_runs_no_script_and_hides_nothing(
    hostile, browser, tmp_path
):
    with only("01_build"):
        made = report([f"{hostile}/mine.py"], hostile / "log.jsonl", tmp_path)
    assert made.failed == []
    for file in ("index.html", "mine/01_build.html"):
        page, trouble = opened(browser, tmp_path / file)
        page.wait_for_timeout(100)
        assert page.evaluate("window.pwned") is None
        assert page.is_visible("h1") and trouble == []
        page.context.close()
    assert "SECRET" in (tmp_path / "mine/01_build.html").read_text()
