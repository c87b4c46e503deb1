"""Reports of a user's own rewards and logs: what fails, prints, hangs, is known, labelled or too little."""

import html
import json
import os
import re
from contextlib import contextmanager

import pandas as pd
import pytest
from click.testing import CliRunner
from opened import opened
from plotted import arithmetic_with_label

import rewardkit as rk
from rewardkit.cli import main
from rewardkit.errors import InputError
from rewardkit.notebook.report import report as reports
from rewardkit.notebook.report.pages import AGREES
from rewardkit.notebook.report.report import NOTEBOOKS, report
from rewardkit.probes.results.baseline import accept

BOTH = ("gallery:arithmetic", "gallery:arithmetic.flawed")
LEFT_OUT = "are left out of this page"


def whole(page):
    """All of a page but its frame."""
    return page.story.top + "".join(section.body for section in page.story.sections)


@contextmanager
def only(stem):
    """Reports have this page alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports, "NOTEBOOKS", tuple(item for item in NOTEBOOKS if item[0] == stem))
        yield


def test_a_baseline_is_of_one_reward_and_what_it_accepts_is_no_alarm(tmp_path):
    path = tmp_path / "known.json"
    with pytest.raises(InputError, match="there is no baseline file"):
        report(BOTH[1:], "gallery:arithmetic", tmp_path / "out", baseline=path)
    result = rk.probe(rk.load_reward(BOTH[1]), "gallery:arithmetic")
    accept(path, result.alarms, "for now", reward=result.reward.name)
    with pytest.raises(InputError, match="is of one reward"):
        report(BOTH, "gallery:arithmetic", tmp_path / "out", baseline=path)
    assert not (tmp_path / "out").exists()
    with only("02_check"):
        made = report(BOTH[1:], "gallery:arithmetic", tmp_path / "out", baseline=path)
    assert made.summaries[0].probed.points == ()
    assert "for now" in (tmp_path / "out/arithmetic-flawed/02_check.html").read_text()


def test_a_notebook_that_fails_leaves_its_page_with_the_error_and_exit_1(hostile, tmp_path):
    (tmp_path / "moody.py").write_text(
        f"import os\nif os.getpid() != {os.getpid()}:\n    raise RuntimeError('not in a kernel')\n"
        + (hostile / "mine.py").read_text()
    )
    arguments = [
        "report",
        "--reward",
        f"{tmp_path}/moody.py",
        "--rollouts",
        str(hostile / "log.jsonl"),
        "-o",
        str(tmp_path / "out"),
        "--timeout",  # whose processes are no kernels either
        "0",
    ]
    with only("03_analyze"):
        result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "page failed: Analyze" in result.output
    page = (tmp_path / "out/mine/03_analyze.html").read_text()
    assert "This page stopped with an error" in page
    assert "not in a kernel" in page
    assert "(failed)" in (tmp_path / "out/index.html").read_text()
    assert "Not ready: the page" in (tmp_path / "out/index.html").read_text()
    assert "page failed" in (tmp_path / "out/summary.md").read_text()


def test_a_reward_that_judges_nothing_gets_its_pages_and_is_not_ready(hostile, tmp_path):
    (tmp_path / "broken.py").write_text("def broken(completion):\n    raise ValueError('always')\n")
    made = report([f"{tmp_path}/broken.py:broken"], hostile / "log.jsonl", tmp_path / "out")
    assert made.failed == []
    assert made.summaries[0].scorecard.grade == "high"
    codes = {item.code for item in made.summaries[0].diagnosis.findings}
    assert {"errors"} <= codes <= {"errors", "not_enough"}


def test_a_reward_that_prints_for_every_row_gets_pages_of_a_few_lines(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # under which a kernel does not hear its workers
    printing = "    print('Question:', completion); print('odd\\n' * 3, file=sys.stderr)\n"
    code = "import sys\ndef right(completion, ground_truth):\n{}    return completion == ground_truth\n"
    (tmp_path / "loud.py").write_text(code.format(printing))
    rows = [{"prompt": f"p{n // 4}", "completion": f"says {n % 3}", "ground_truth": "1"} for n in range(400)]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    made = report([f"{tmp_path}/loud.py:right"], tmp_path / "log.jsonl", tmp_path / "out", timeout=10.0)
    assert made.failed == []
    loud = [whole(page) for page in made.summaries[0].pages]
    assert loud.pop(1).count("Question:") < 20  # while it is probed nothing is shown
    for body in loud:
        streams = re.findall("<div[^>]*output_stream.*?</pre>", body, flags=re.DOTALL)
        assert streams and all("functions printed 2,000 lines" in item for item in streams)
        assert max(item.count("\n") for item in streams) <= 8
    assert 0 < sum(body.count("Question:") for body in loud) < 20


NAME = "negative_length_in_characters_compared_with_the_shortest_sibling"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A TRL log with a score of a long name, its function, and reports of the function and of the log."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "rewards.py").write_text(
        f"def {NAME}(completions, **kwargs):\n    return [-len(text) / 10 for text in completions]\n"
        f"def other(completions, **kwargs):\n    return [len(text) / 10 for text in completions]\n"
        f"other.__name__ = {NAME!r}\n"
    )
    texts = ["x" * (n * n % 37) for n in range(48)]
    columns = {"prompt": [f"p{n // 8}" for n in range(48)], "completion": texts}
    logged = {"step": 1, **columns, NAME: [-len(text) / 10 for text in texts], "advantage": 0.0}
    (folder / "completions").mkdir()
    pd.DataFrame(logged).to_parquet(folder / "completions/completions_00001.parquet")
    rewards = [f"{folder}/rewards.py:{NAME}", "logged", f"{folder}/rewards.py:other"]
    return report(rewards, folder / "completions", folder / "out")


def test_a_report_says_whether_the_log_has_the_same_scores(trained):
    same, log, other = trained.summaries
    assert trained.failed == []
    assert [summary.agrees for summary in (same, log, other)] == [True, False, False]
    assert "Nothing says that the scores in the log are right." in log.verdict
    assert other.scorecard.grade == "high" and other.diagnosis.findings[0].code == "log_mismatch"
    assert trained.index.read_text().count(AGREES) == trained.summary.read_text().count(AGREES) == 1


def test_where_nothing_is_printed_no_page_says_so(trained):
    for page in trained.summaries[0].pages:
        assert "output_stream" not in whole(page) and LEFT_OUT not in whole(page)


def test_a_log_has_no_page_of_checks_and_a_reward_without_cases_has_one(trained):
    same, log, _ = trained.summaries
    assert [item.title.partition(":")[0] for item in log.pages] == ["Build", "Analyze"]
    assert [item.title.partition(":")[0] for item in same.pages] == ["Build", "Check", "Analyze"]
    assert log.probed is None and same.probed is not None
    assert "no cases were given" in whole(same.pages[1]) and same.probed.tiles[0].grade == "info"


@pytest.mark.browser
def test_long_names_fit_a_phone(trained, browser):
    files = ["index.html", *(page.file for page in trained.summaries[0].pages)]
    for file in files:
        page, trouble = opened(browser, trained.index.parent / file, 390)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, file
        assert trouble == []
        page.context.close()


def test_a_call_that_takes_too_long_is_ended_on_every_page(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\nfrom pathlib import Path\nimport rewardkit as rk\n"
        "def slow(completion):\n"
        "    if completion == '0':\n"
        "        time.sleep(5)\n"
        f"        Path({str(tmp_path / 'waited')!r}).touch()\n"
        "    return completion == '1'\n"
        "first = rk.Component('first', rk.measure.length(full_until=1, zero_from=9))\n"
        "gated = rk.Component('slow', slow, gate=rk.gate('first', at_least=1.0))\n"
        "reward = rk.Reward('slow', components=[first, gated])\n"
    )
    rows = [{"prompt": "p", "completion": text} for text in "0000"]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    made = report([f"{tmp_path}/slow.py"], tmp_path / "log.jsonl", tmp_path / "out", timeout=0.2)
    assert made.failed == []
    assert "errors" in {item.code for item in made.summaries[0].diagnosis.findings}
    assert not (tmp_path / "waited").exists()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param(1, "No group has two completions", id="one row"),
        pytest.param(3, "Only 1 group of two or more", id="one group"),
    ],
)
def test_the_verdict_is_no_go_where_nothing_can_be_said(tmp_path, rows, said):
    row = '{"prompt": "p", "completion": "<answer>%d</answer>", "ground_truth": "1"}\n'
    (tmp_path / "few.jsonl").write_text("".join(row % n for n in range(rows)))
    with only("03_analyze"):
        made = report(["gallery:arithmetic"], tmp_path / "few.jsonl", tmp_path / "out")
    assert made.failed == []
    assert made.summaries[0].scorecard.grade == "warn"
    assert said in made.summaries[0].verdict
    assert ("every group has one completion" in made.summary.read_text()) == (rows == 1)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """A report made on the command line with a label and slices, and one with a label of words."""
    folder = tmp_path_factory.mktemp("labelled")
    rollouts = arithmetic_with_label()
    table = rollouts.table.assign(said=rollouts.table["is_right"].map({0: "no", 1: "yes"}))
    made = {}
    for label, rows in (("is_right", len(table)), ("said", 64)):
        table[:rows].to_json(folder / "log.jsonl", orient="records", lines=True)
        arguments = ["report", "--reward", "gallery:arithmetic", "--rollouts", str(folder / "log.jsonl")]
        arguments += ["--label", label, "--by", "task", "-o", str(folder / label), "--json"]
        with only("03_analyze"):
            result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        made[label] = folder / label
    return made


def test_a_label_reaches_the_summary_the_forecast_and_the_suggestions(labelled):
    index = (labelled["is_right"] / "index.html").read_text()
    assert "is_right, trusted to say which completions are good" in index
    assert "label_disagrees" in index and "[task=two-steps]" in index
    page = (labelled["is_right"] / "arithmetic-v1/03_analyze.html").read_text()
    assert "ranked by the label" in page and "unranked" not in page
    assert "label 'is_right'" in html.unescape(page)
    assert "sibling pairs ordered as the label has it" in page


def test_a_label_of_words_is_told_to_be_of_no_use_and_the_page_is_made(labelled):
    assert "holds no numbers" in (labelled["said"] / "index.html").read_text()
    page = (labelled["said"] / "arithmetic-v1/03_analyze.html").read_text()
    assert "unranked: without a trusted label" in page
    assert "This page stopped" not in page


def test_a_notebook_works_in_the_folder_of_the_process_which_nothing_changes(tmp_path, hostile, monkeypatch):
    monkeypatch.chdir(hostile)
    moved = []
    monkeypatch.setattr(os, "chdir", moved.append)
    given = {"reward": "mine.py", "rollouts": "log.jsonl"}
    page, _ = reports._run("01_build", "Build", tmp_path / "out.ipynb", given, "mine", redact=False)
    assert page.error is None and "SECRET" in whole(page)
    assert moved == []  # it is every thread's, and of two notebooks at once papermill left a wrong one behind
