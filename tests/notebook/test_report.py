"""A report of the bundled data, made once: its files, and its pages in a browser."""

import html
import re
import threading

import pytest
from executed import run_here
from html_read import plain_text
from opened import opened, violations

import rewardkit as rk
import rewardkit.notebook.report as reports
from rewardkit.notebook.report import report

pytestmark = pytest.mark.integration

PAGES = [
    f"{name}/{stem}.html"
    for name in ("arithmetic-v1", "arithmetic-flawed")
    for stem in ("01_build", "02_check", "03_analyze", "card")
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report of every second group, of which one notebook runs in a kernel."""
    folder = tmp_path_factory.mktemp("report")
    rollouts = rk.load_rollouts("gallery:arithmetic")
    half = rollouts.select(rollouts.groups % 2 == 1).table
    half.to_json(folder / "log.jsonl", orient="records", lines=True)
    rewards = ("gallery:arithmetic", "gallery:arithmetic.flawed")
    in_kernel, alone = reports._execute, threading.Lock()

    def run(notebook):
        head = "".join(cell.source for cell in notebook.cells[:4])
        if "03 Analyze" in head and "flawed" not in head:
            return in_kernel(notebook)
        with alone:
            return run_here(notebook)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports, "_execute", run)
        patch.setattr("rewardkit.analysis.rehearsal.rehearsal.LEARNERS", 2)
        patch.setattr("rewardkit.analysis.rehearsal.rehearsal.STEPS", 40)
        return report(rewards, folder / "log.jsonl", folder, cases="gallery:arithmetic")


def test_a_scorecard_has_five_tiles_with_grades_figures_and_intervals(made):
    good, flawed = (
        {tile.question: tile for tile in summary.scorecard.tiles}
        for summary in made.summaries
    )
    names = (
        "Right on cases, Learnable signal, Holes and losses, Contract, Trained on it"
    )
    assert ", ".join(good) == names
    grades = [[tile.grade for tile in tiles.values()] for tiles in (good, flawed)]
    assert grades[0] == ["good", "warn", "good", "good", "good"]
    assert grades[1] == ["high", "warn", "high", "high", "warn"]  # of a short training
    told = [
        flawed[name].figure
        for name in ("Right on cases", "Holes and losses", "Contract")
    ]
    assert told == ["26 of 88", "2 found", "1 broken"]
    summary = made.summaries[0]
    diagnosis = rk.diagnose(rk.score(summary.reward, summary.rollouts))
    live = diagnosis.views[0].live.mean()
    assert (
        good["Learnable signal"].figure == f"{live:.0%}".replace("%", " %")
        and good["Learnable signal"].ends
    )
    outlook = rk.forecast(diagnosis.scores).outlook
    assert good["Trained on it"].figure == f"0.17 → {outlook.end:.2f}"
    assert outlook.task == "rises" and " to " in good["Trained on it"].ends
    index = plain_text(made.index.read_text())
    assert all(
        tile.figure in index and tile.words in index
        for tile in (*good.values(), *flawed.values())
    )
    verdicts = [summary.verdict for summary in made.summaries]
    assert verdicts[0] == "Read before use: 2 warnings (learnable signal)."
    assert verdicts[1].startswith("Not ready: 62 of 88 cases missed, ")


def test_the_three_things_that_matter_come_with_what_to_do_and_a_completion(made):
    points = made.summaries[1].scorecard.points
    assert {"errors", "saturated", "constant", "redundant", "dominant"} <= {
        item.code for item in points
    }
    assert [item.code for item in points[:3]] == ["longer", "raises", "cases"]
    severities = [("high", "warn", "info").index(item.severity) for item in points]
    assert severities == sorted(severities)
    index, summary = html.unescape(made.index.read_text()), made.summary.read_text()
    for item in points[:3]:
        for text in (item.sentence, item.advice, item.reason):
            assert text in index
        assert f"- ● high: `{item.code}`" in summary
    assert (
        points[0].examples[0].text[:60] in index
        and "a right answer " in points[0].examples[0].heading
    )
    assert (
        f"and {len(points) - 3} more findings" in index
        and points[5].sentence not in index
    )


def test_several_rewards_are_compared_above_their_cards(made):
    index = plain_text(made.index.read_text())
    assert index.index("26 of 88 (worse)") < index.index("Not ready: 62 of 88")
    page = plain_text((made.index.parent / "04_compare.html").read_text())
    assert "Train on arithmetic-v1" in page and "component 'steps' added" in page
    assert "Right above wrong, by slice" in page


def test_the_index_links_to_whole_pages_and_the_summary_fits_a_pull_request(made):
    assert (
        re.findall(r'href="([^"#]+\.html)"', made.index.read_text())
        == ["04_compare.html", *PAGES]
        and made.failed == []
    )
    for name in ("arithmetic-v1", "arithmetic-flawed"):
        page = (made.index.parent / name / "02_check.html").read_text()
        heads = [html.unescape(head) for head in re.findall(r"<h2[^>]*>(.*?)<", page)]
        assert [head[:2] for head in heads] == ["1.", "2.", "3.", "4."]
        assert "<b>Next:</b>" in page and "vnd.rewardkit" not in page
    text = made.summary.read_text()
    assert "### arithmetic-v1" in text and "<" not in text.replace("\\<", "")
    assert (
        "**Train on arithmetic-v1**: arithmetic-flawed is worse: 62 cases lost" in text
    )
    assert "| cases | 88 of 88 | 26 of 88 (worse) |" in text
    assert len(text) < 7000 and len(text.splitlines()) <= 25 + 2 * 15


@pytest.mark.browser
@pytest.mark.parametrize("file", ["index.html", "04_compare.html", *PAGES[3:]])
def test_a_page_opens_offline_fits_the_screen_and_can_be_used_by_all_in_light_and_dark(
    made, browser, file
):
    page, trouble = opened(browser, made.index.parent / file)
    most = {"index.html": 140 + 2 * 360, PAGES[-1]: 900}.get(file, 100_000)
    assert 100 < len(page.inner_text("body").split()) <= most
    for width, theme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert trouble == [] and page.locator("h1").count() == 1
    assert page.evaluate(
        "[...document.images].every(image => image.complete && image.naturalWidth > 0)"
    )
    for box in [
        name.bounding_box()
        for name in page.locator(".rk-bench-effect tbody td:first-child:visible").all()
    ]:
        assert box["width"] > 40  # of a component in the still picture of the workbench
    sizes = "[...document.querySelectorAll('p, li, td')].map(e => parseFloat(getComputedStyle(e).fontSize))"
    assert min(page.evaluate(sizes)) >= 12
    page.context.close()


@pytest.mark.browser
def test_links_lead_on_and_back_the_answer_stands_first_and_a_section_opens_by_its_link(
    made, browser
):
    page, trouble = opened(browser, made.index)
    page.get_by_role("link", name="Analyze").first.click()
    page.wait_for_load_state()  # else pictures are counted while the page is read
    assert "03 Analyze" in page.inner_text("h1")
    answer, signal = (
        page.inner_text(".rk-answer"),
        made.summaries[0].scorecard.tiles[1].figure,
    )
    told = (
        "Learnable signal",
        "Trained on it",
        signal,
        "Next:",
    )
    assert [words for words in told if words not in answer] == []
    figures = page.locator(".rk-section svg[role=img]")
    assert figures.count() >= 5 and not figures.first.is_visible()
    page.get_by_role("link", name="2. Is there a signal?").click()
    figures.first.wait_for()  # until it is to be seen
    assert "completions" in figures.first.get_attribute("aria-label")
    code = page.locator(".rk-code", has_text="plots.reward_histogram").first
    assert not code.is_visible()
    page.get_by_label("Show the code").check()
    assert code.is_visible()
    page.get_by_role("link", name="All results").click()
    assert page.inner_text("h1") == "Reward report" and trouble == []
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
