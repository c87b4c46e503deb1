"""Reports: made once for the bundled data, then read as files and in a browser."""

import html
import json
import os
import re
from copy import deepcopy

import pandas as pd
import pytest
from click.testing import CliRunner
from nbformat.v4 import new_code_cell, new_notebook, new_output
from plotted import arithmetic_with_label

import rewardkit as rk
from rewardkit.cli import main
from rewardkit.errors import InputError
from rewardkit.notebook.pages import AGREES, STREAM_LINES, _plain, notebook_body, shown
from rewardkit.notebook.report import _slugs, report
from rewardkit.probes.baseline import accept

REWARDS = ("gallery:arithmetic", "gallery:arithmetic.flawed")
PAGES = [
    f"{name}/{stem}.html"
    for name in ("arithmetic-v1", "arithmetic-flawed")
    for stem in ("01_build", "02_check", "03_analyze")
]
HOSTILE = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
    "<style>body{display:none}</style>SECRET"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return report(REWARDS, "gallery:arithmetic", folder, cases="gallery:arithmetic")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A rollout file with markup in every text, and its reward file."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        {
            "prompt_id": f"p{n // 4}",
            "prompt": HOSTILE,
            "completion": f"{HOSTILE} <answer>{n % 3}</answer>",
            "ground_truth": "1",
        }
        for n in range(40)
    ]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    case = {"name": "c", "completion": HOSTILE, "ground_truth": "1", "reward": 1}
    (folder / "cases.jsonl").write_text(json.dumps(case))
    (folder / "mine.py").write_text(
        "import rewardkit as rk\n"
        "import logging, warnings\n"
        "class Unreadable(Exception): pass\n"
        "def strict(completion, prediction, ground_truth):\n"
        "    print('saw', completion, '\\0'); warnings.warn(completion); logging.warning(completion)\n"
        "    if prediction == '2': raise Unreadable(completion)\n"
        "    return prediction == ground_truth\n"
        "fields = {'prediction': rk.extract.tag('answer')}\n"
        "reward = rk.Reward('mine', fields, [rk.Component('strict', strict)])\n"
    )
    return folder


def opened(browser, path, width=1200):
    """The page, and what went wrong while it was opened with the network off."""
    trouble = []
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    page = context.new_page()
    page.on(
        "console",
        lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:")) else trouble.append(request.url),
    )
    page.goto(f"file://{path}")
    return page, trouble


def test_the_index_links_to_a_page_a_notebook_for_each_reward(made):
    index = made.index.read_text()
    assert re.findall(r'href="([^"#]+\.html)"', index) == PAGES
    assert all((made.index.parent / file).stat().st_size > 10_000 for file in PAGES)
    assert made.failed == []


def test_the_flawed_reward_is_told_at_least_three_true_findings_and_is_not_ready(made):
    flawed = made.summaries[1]
    named = [
        code
        for code in ("errors", "saturated", "constant", "redundant", "dominant")
        if f"<b>{code}</b>" in made.index.read_text()
    ]
    assert len(named) >= 3
    assert flawed.verdict[0] == "stop"
    assert f"{flawed.checked.failed} of {len(flawed.checked.cases)} cases are missed" in flawed.verdict[1]


def test_what_probes_and_mutants_found_is_told_on_the_first_page_beside_the_findings(made):
    good, flawed = made.summaries
    index, summary = html.unescape(made.index.read_text()), made.summary.read_text()
    assert [item["code"] for item in flawed.probed.alarms] == ["longer", "raises"]
    assert good.probed.alarms == () and good.probed.high == good.probed.warn == ""
    assert "1 hole (high), 1 broken contract (high)" in flawed.verdict[1]
    for item in flawed.probed.alarms:
        assert f"<b>{item['code']}</b>. {item['sentence']}" in index
        assert f"- high: `{item['code']}`" in summary
    for found in (good.probed, flawed.probed):
        assert found.tried in index and found.mutants in index
        assert f"- cases as a test: {found.mutants.partition('(')[0].strip()}" in summary


def test_the_page_of_checks_has_all_parts_and_no_record_in_it(made):
    for name in ("arithmetic-v1", "arithmetic-flawed"):
        page = (made.index.parent / name / "02_check.html").read_text()
        heads = [html.unescape(head) for head in re.findall(r"<h2[^>]*>(.*?)<", page)]
        assert [head[:2] for head in heads] == ["1.", "2.", "3.", "4.", "5."]
        assert "What next?" in page and "vnd.rewardkit" not in page


def test_a_log_has_no_page_of_checks_and_a_reward_without_cases_has_one(trained):
    same, log, _ = trained.summaries
    assert [item.title.partition(":")[0] for item in log.pages] == ["Build", "Analyze"]
    assert [item.title.partition(":")[0] for item in same.pages] == ["Build", "Check", "Analyze"]
    assert log.probed is None and same.probed is not None
    assert "no cases were given" in same.pages[1].body and same.probed.mutants == ""


def test_a_baseline_is_of_one_reward_and_what_it_accepts_is_no_alarm(tmp_path):
    path = tmp_path / "known.json"
    with pytest.raises(InputError, match="there is no baseline file"):
        report(REWARDS[1:], "gallery:arithmetic", tmp_path / "out", baseline=path)
    result = rk.probe(rk.load_reward(REWARDS[1]), "gallery:arithmetic")
    accept(path, result.alarms, "for now")
    with pytest.raises(InputError, match="is of one reward"):
        report(REWARDS, "gallery:arithmetic", tmp_path / "out", baseline=path)
    assert not (tmp_path / "out").exists()
    made = report(REWARDS[1:], "gallery:arithmetic", tmp_path / "out", baseline=path)
    assert made.summaries[0].probed.alarms == ()
    assert "for now" in (tmp_path / "out/arithmetic-flawed/02_check.html").read_text()


def test_the_good_reward_passes_its_cases_and_is_told_that_its_data_is_sparse(made):
    good = made.summaries[0]
    assert good.checked.misses == ()
    told = {item.code for item in good.diagnosis.findings}
    assert told == {"sparse", "binary", "zero_std_groups", "saturated"}
    assert good.verdict == ("care", "Read before use: 2 warnings.")


def test_the_summary_fits_a_pull_request(made):
    text = made.summary.read_text()
    assert len(text) < 6000
    assert "### arithmetic-v1" in text
    assert "- warn: `constant`" in text
    assert "<" not in text.replace("\\<", "")


@pytest.mark.browser
@pytest.mark.parametrize("file", ["index.html", *PAGES])
@pytest.mark.parametrize("width", [1200, 390], ids=["desktop", "phone"])
def test_a_page_opens_offline_without_errors_and_fits_the_screen(made, browser, file, width):
    page, trouble = opened(browser, made.index.parent / file, width)
    assert trouble == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").count() == 1
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    sizes = "[...document.querySelectorAll('p, li, td')].map(e => parseFloat(getComputedStyle(e).fontSize))"
    smallest = min(page.evaluate(sizes))
    assert smallest >= 12
    page.context.close()


@pytest.mark.browser
def test_the_links_of_the_index_lead_to_pages_that_lead_back(made, browser):
    page, trouble = opened(browser, made.index)
    page.get_by_role("link", name="Analyze").first.click()
    assert "03 Analyze" in page.inner_text("h1")
    page.get_by_role("link", name="All results").click()
    assert page.inner_text("h1") == "Reward report"
    assert trouble == []
    page.context.close()


@pytest.mark.browser
def test_a_hostile_completion_runs_no_script_and_hides_nothing(hostile, browser, tmp_path):
    made = report([f"{hostile}/mine.py"], hostile / "log.jsonl", tmp_path, cases=hostile / "cases.jsonl")
    assert made.failed == []
    for file in ("index.html", *(page.file for page in made.summaries[0].pages)):
        page, trouble = opened(browser, tmp_path / file)
        page.wait_for_timeout(100)
        assert page.evaluate("window.pwned") is None
        assert page.is_visible("h1")
        assert trouble == []
        page.context.close()
    assert "SECRET" in (tmp_path / "mine/01_build.html").read_text()


@pytest.mark.browser
def test_one_redacted_file_holds_all_pages_and_no_text_of_the_rollouts(hostile, browser, tmp_path):
    options = {"cases": hostile / "cases.jsonl", "single_file": True, "redact": True}
    made = report([f"{hostile}/mine.py"], hostile / "log.jsonl", tmp_path, **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.html", "summary.md"]
    for path in tmp_path.iterdir():
        assert "SECRET" not in path.read_text()
        assert "pwned" not in path.read_text()
    page, trouble = opened(browser, made.index)
    page.get_by_role("link", name="Check").click()
    assert page.locator("h1", has_text="02 Check").is_visible()
    targets = page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => decodeURI(a.hash.slice(1)))"
    )
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert set(targets) <= set(ids)
    assert len(ids) == len(set(ids))
    assert trouble == []
    page.context.close()


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
    assert made.summaries[0].verdict[0] == "stop"
    codes = {item.code for item in made.summaries[0].diagnosis.findings}
    assert {"errors"} <= codes <= {"errors", "not_enough"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--reward", "gallery:nothing", "--rollouts", "gallery:arithmetic"], "the gallery has no 'nothing'"),
        (
            ["--reward", "gallery:arithmetic", "--rollouts", "missing.jsonl"],
            "there is no file 'missing.jsonl'",
        ),
        (
            ["--reward", "gallery:arithmetic", "--rollouts", "gallery:arithmetic", "--cases", "no.jsonl"],
            "there is no case file",
        ),
    ],
)
def test_input_that_cannot_be_used_ends_before_any_page_is_made(arguments, sentence, tmp_path):
    result = CliRunner().invoke(main, ["report", *arguments, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_rewards_of_one_name_get_folders_of_their_own():
    assert _slugs(["a b", "a/b", "a b", "..", ""]) == ["a-b", "a-b-2", "a-b-3", "reward", "reward-2"]


LEFT_OUT = "are left out of this page"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\x00b\n", "ab\n", id="control characters go"),
        pytest.param("\x1b[31mred\x1b[0m\n", "red\n", id="and colours as a whole"),
        pytest.param("10 %\r90 %\rdone\r\nnext", "done\nnext\n", id="the last state of a progress bar"),
        pytest.param("row\n" * 10, "row\n" * 10, id="ten lines are all shown"),
        pytest.param("row\n" * 11, "row\n" * 10 + f"[1 more lines {LEFT_OUT}]\n", id="of eleven one is not"),
        pytest.param("\n" * 4000, "\n" * 10 + f"[3,990 more lines {LEFT_OUT}]\n", id="empty lines count"),
        pytest.param("x" * 10_000, "x" * 3000 + f"\n[7,000 more characters {LEFT_OUT}]\n", id="a long line"),
        pytest.param(
            ("x" * 1000 + "\n") * 30,
            ("x" * 1000 + "\n") * 2 + "x" * 998 + f"\n[7,009 more characters and 20 more lines {LEFT_OUT}]\n",
            id="long lines, and many",
        ),
    ],
)
def test_what_the_users_code_prints_is_cut_and_cleaned_on_the_page(text, expected):
    assert shown(text) == expected


def test_a_reward_that_prints_for_every_row_gets_pages_of_a_few_lines(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # under which a kernel does not hear its workers
    printing = "    print('Question:', completion); print('odd\\n' * 3, file=sys.stderr)\n"
    code = "import sys\ndef right(completion, ground_truth):\n{}    return completion == ground_truth\n"
    (tmp_path / "loud.py").write_text(code.format(printing))
    (tmp_path / "quiet.py").write_text(code.format(""))
    rows = [{"prompt": f"p{n // 4}", "completion": f"says {n % 3}", "ground_truth": "1"} for n in range(400)]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    rewards = [f"{tmp_path}/{name}.py:right" for name in ("loud", "quiet")]
    made = report(rewards, tmp_path / "log.jsonl", tmp_path / "out", timeout=10.0)
    assert made.failed == []
    loud, quiet = ([page.body for page in summary.pages] for summary in made.summaries)
    assert loud.pop(1).count("Question:") < 20  # while it is probed nothing is shown
    for body in loud:
        streams = re.findall("<div[^>]*output_stream.*?</pre>", body, flags=re.DOTALL)
        assert streams and any(LEFT_OUT in item for item in streams)
        assert max(item.count("\n") for item in streams) <= STREAM_LINES + 4
    assert 0 < sum(body.count("Question:") for body in loud) < 60
    for body in quiet:
        assert "output_stream" not in body
        assert LEFT_OUT not in body


def test_pieces_of_a_stream_are_one_and_what_was_printed_is_left_out_of_a_redacted_page():
    pieces = [
        new_output("stream", name=name, text=f"{name} SECRET {n}\n")
        for n in range(30)
        for name in ("stdout", "stderr")
    ]
    cells = [new_code_cell("x", outputs=[*pieces, new_output("display_data", {"text/plain": "a figure"})])]
    body, _ = notebook_body(new_notebook(cells=deepcopy(cells)), redact=False)
    assert body.count("SECRET") == 2 * STREAM_LINES
    assert body.count(f"20 more lines {LEFT_OUT}") == 2
    body, _ = notebook_body(new_notebook(cells=cells), redact=True)
    assert "SECRET" not in body and LEFT_OUT not in body
    assert "a figure" in body


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
    assert log.verdict[1].endswith("These are the scores in the log, so nothing says that they are right.")
    assert other.verdict[0] == "stop" and other.diagnosis.findings[0].code == "log_mismatch"
    assert trained.index.read_text().count(AGREES) == trained.summary.read_text().count(AGREES) == 1


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
        pytest.param(1, "no group has two completions", id="one row"),
        pytest.param(3, "Too little to judge: it has 1 group of two or more", id="one group"),
    ],
)
def test_the_verdict_is_no_go_where_nothing_can_be_said(tmp_path, rows, said):
    row = '{"prompt": "p", "completion": "<answer>%d</answer>", "ground_truth": "1"}\n'
    (tmp_path / "few.jsonl").write_text("".join(row % n for n in range(rows)))
    made = report(["gallery:arithmetic"], tmp_path / "few.jsonl", tmp_path / "out")
    assert made.failed == []
    assert made.summaries[0].verdict[0] == "care"
    assert said in made.summaries[0].verdict[1]
    assert ("every group has one completion" in made.summary.read_text()) == (rows == 1)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """A report made on the command line with a label and slices, and one with a label of words."""
    folder = tmp_path_factory.mktemp("labelled")
    rollouts = arithmetic_with_label()
    rollouts.table.assign(said=rollouts.table["is_right"].map({0: "no", 1: "yes"})).to_json(
        folder / "log.jsonl", orient="records", lines=True
    )
    made = {}
    for label in ("is_right", "said"):
        arguments = ["report", "--reward", "gallery:arithmetic", "--rollouts", str(folder / "log.jsonl")]
        arguments += ["--label", label, "--by", "task", "-o", str(folder / label), "--json"]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        made[label] = folder / label
    return made


def test_a_label_reaches_the_summary_the_forecast_and_the_suggestions(labelled):
    index = (labelled["is_right"] / "index.html").read_text()
    assert "is_right, trusted to say which completions are good" in index
    assert "<b>label_disagrees</b>" in index and "[task=two-steps]" in index
    page = (labelled["is_right"] / "arithmetic-v1/03_analyze.html").read_text()
    assert "ranked by the label" in page and "unranked" not in page
    assert "label 'is_right'" in html.unescape(page)
    assert "sibling pairs ordered as the label has it" in page


def test_a_label_of_words_is_told_to_be_of_no_use_and_the_page_is_made(labelled):
    assert "holds no numbers" in (labelled["said"] / "index.html").read_text()
    page = (labelled["said"] / "arithmetic-v1/03_analyze.html").read_text()
    assert "unranked: without a trusted label" in page
    assert "This page stopped" not in page


def test_the_last_cell_answers_the_five_questions_of_the_notebook(made):
    page = (made.index.parent / "arithmetic-v1/03_analyze.html").read_text()
    last = page[page.index("In short") :]
    assert [line in last for line in ("Is there a signal?", "What would it give?")] == [True, True]
    assert "in 72 % of 200 groups siblings earn differently" in last
    assert page.count("<img") == 9


def test_text_in_the_markdown_summary_is_not_taken_for_markup():
    assert _plain("a*b_c <x>\n[y](z)") == r"a\*b\_c \<x\> \[y\](z)"
