"""Reports: made once for the bundled data, then read as files and in a browser."""

import html
import re

import pytest
from click.testing import CliRunner
from opened import opened

from rewardkit.cli import main
from rewardkit.notebook.report.report import _slugs, report

REWARDS = ("gallery:arithmetic", "gallery:arithmetic.flawed")
PAGES = [
    f"{name}/{stem}.html"
    for name in ("arithmetic-v1", "arithmetic-flawed")
    for stem in ("01_build", "02_check", "03_analyze")
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return report(REWARDS, "gallery:arithmetic", folder, cases="gallery:arithmetic")


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
    assert [item["code"] for item in flawed.probed.alarms][:2] == ["longer", "raises"]
    assert good.probed.alarms == () and good.probed.high == good.probed.warn == ""
    assert "1 hole (high), 1 broken contract (high)" in flawed.verdict[1]
    for item in flawed.probed.alarms:
        assert f"<b>{item['code']}</b>. {item['sentence']}" in index
        assert f"- {item['severity']}: `{item['code']}`" in summary
    for found in (good.probed, flawed.probed):
        assert found.tried in index and found.mutants in index
        assert f"- {found.mutants}" in summary


def test_the_page_of_checks_has_all_parts_and_no_record_in_it(made):
    for name in ("arithmetic-v1", "arithmetic-flawed"):
        page = (made.index.parent / name / "02_check.html").read_text()
        heads = [html.unescape(head) for head in re.findall(r"<h2[^>]*>(.*?)<", page)]
        assert [head[:2] for head in heads] == ["1.", "2.", "3.", "4.", "5.", "6."]
        assert "What next?" in page and "vnd.rewardkit" not in page


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


def test_the_last_cell_answers_the_five_questions_of_the_notebook(made):
    page = (made.index.parent / "arithmetic-v1/03_analyze.html").read_text()
    last = page[page.index("In short") :]
    assert [line in last for line in ("Is there a signal?", "What would it give?")] == [True, True]
    assert "in 72 % of 200 groups siblings earn differently" in last
    assert page.count("<img") == 9
