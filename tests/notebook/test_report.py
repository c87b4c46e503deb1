"""Reports: made once for the bundled data, then read as files and in a browser."""

import html
import re

import pytest
from click.testing import CliRunner
from opened import opened, violations

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
        if code in {point.code for point in flawed.scorecard.points}
    ]
    assert len(named) >= 3
    assert flawed.scorecard.grade == "high"
    assert f"{flawed.checked.failed} of {len(flawed.checked.cases)} cases are missed" in flawed.verdict


def test_a_scorecard_has_five_tiles_with_grades_figures_and_intervals(made):
    good, flawed = ({tile.question: tile for tile in summary.scorecard.tiles} for summary in made.summaries)
    assert [*good] == ["Right on cases", "Learnable signal", "Exploits", "Contract", "Selects for"]
    assert [tile.grade for tile in good.values()] == ["good", "warn", "good", "good", "good"]
    assert [tile.grade for tile in flawed.values()] == ["high", "warn", "high", "high", "warn"]
    assert [flawed[name].figure for name in ("Right on cases", "Exploits", "Contract")] == [
        "26 of 88",
        "2 found",
        "1 broken",
    ]
    live = made.summaries[0].diagnosis.views[0].live.mean()
    assert good["Learnable signal"].figure.startswith(f"{live:.0%}".replace("%", " % ("))
    curve = made.summaries[0].forecast.best_of.curves["score/correct"]
    assert good["Selects for"].figure.startswith(f"0.17 → {curve.value[-1]:.2g} ({curve.low[-1]:.2g}–")
    index = html.unescape(made.index.read_text())
    assert index.count("worse than arithmetic-v1") == 4 and "better than" not in index
    assert all(tile.figure in index and tile.said in index for tile in (*good.values(), *flawed.values()))


def test_the_three_things_that_matter_come_with_what_to_do_and_a_completion(made):
    points = made.summaries[1].scorecard.points
    index, summary = html.unescape(made.index.read_text()), made.summary.read_text()
    assert [item.code for item in points[:3]] == ["cases", "longer", "raises"]
    severities = [("high", "warn", "info").index(item.severity) for item in points]
    assert severities == sorted(severities)
    for item in points[:3]:
        assert item.what in index and item.do in index and item.why in index
        assert f"- ● high: `{item.code}`" in summary
    assert points[1].completion[:60] in index and "a right answer earns 3.25" in points[1].about
    assert f"and {len(points) - 3} more findings" in index and points[5].what not in index


@pytest.mark.browser
def test_the_first_page_has_at_most_350_words_a_reward_and_the_analysis_900(made, browser):
    for file, most in (("index.html", 2 * 350), ("arithmetic-flawed/03_analyze.html", 900)):
        page, _ = opened(browser, made.index.parent / file)
        assert 100 < len(page.inner_text("body").split()) <= most
        page.context.close()


def test_the_page_of_checks_has_all_parts_and_no_record_in_it(made):
    for name in ("arithmetic-v1", "arithmetic-flawed"):
        page = (made.index.parent / name / "02_check.html").read_text()
        heads = [html.unescape(head) for head in re.findall(r"<h2[^>]*>(.*?)<", page)]
        assert [head[:2] for head in heads] == ["1.", "2.", "3.", "4.", "5.", "6."]
        assert "<b>Next:</b>" in page and "vnd.rewardkit" not in page


def test_the_good_reward_passes_its_cases_and_is_told_that_its_data_is_sparse(made):
    good = made.summaries[0]
    assert good.checked.misses == ()
    told = {item.code for item in good.diagnosis.findings}
    assert told == {"sparse", "binary", "zero_std_groups", "saturated"}
    assert good.verdict == "Read before use: 2 warnings (learnable signal)."


def test_the_summary_fits_a_pull_request(made):
    text = made.summary.read_text()
    assert len(text) < 6000
    assert "### arithmetic-v1" in text
    assert len(text.splitlines()) <= 10 + 2 * 15
    assert "<" not in text.replace("\\<", "")


@pytest.mark.browser
@pytest.mark.parametrize("file", ["index.html", *PAGES])
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")], ids=["desktop", "phone"])
def test_a_page_opens_offline_without_errors_fits_the_screen_and_can_be_used_by_all(
    made, browser, file, width, theme
):
    page, trouble = opened(browser, made.index.parent / file, width, theme)
    assert violations(page) == []
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
    page.get_by_role("link", name="Check").first.click()
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


@pytest.mark.browser
def test_the_answer_stands_first_a_section_opens_where_it_is_sent_to_and_code_on_a_switch(made, browser):
    page, _ = opened(browser, made.index.parent / "arithmetic-v1/03_analyze.html")
    answer = page.inner_text(".rk-answer")
    for told in (
        "Learnable signal",
        "Comes from",
        "Selects for",
        "Could be changed",
        "72 % (65–78)",
        "Next:",
    ):
        assert told in answer
    figures = page.locator(".rk-section svg[role=img]")
    assert figures.count() == 9 and not figures.first.is_visible()
    page.get_by_role("link", name="2. Is there a signal?").click()
    assert figures.first.is_visible() and "completions" in figures.first.get_attribute("aria-label")
    code = page.locator(".rk-code", has_text="plots.reward_histogram").first
    assert not code.is_visible()
    page.get_by_label("Show the code").check()
    assert code.is_visible()
    page.context.close()


@pytest.mark.browser
def test_a_table_is_sorted_by_its_heads_and_filtered_by_its_words(made, browser):
    page, _ = opened(browser, made.index.parent / "arithmetic-flawed/02_check.html")
    table = page.locator("table", has=page.get_by_role("button", name="expected")).first
    heads = table.locator("th").all_inner_texts()
    column = f"td:nth-child({heads.index('expected') + 1})"
    table.get_by_role("button", name="expected").click()
    values = [*map(float, table.locator(column).all_inner_texts())]
    assert values == sorted(values) and len({*values}) > 2
    table.get_by_role("button", name="expected").click()
    assert [*map(float, table.locator(column).all_inner_texts())] == values[::-1]
    page.get_by_label("Filter the rows").first.fill("nineteen")
    assert table.locator("tbody tr:visible").count() == 1
    page.context.close()
