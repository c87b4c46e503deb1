"""The page of a diagnosis, as a notebook shows it: short, legible without colour, closed to the outside."""

import numpy as np
import pytest
from plotted import LONG, table_of, twelve

import rewardkit as rk
from rewardkit.analysis.rendering import SHOWN
from rewardkit.findings import SEVERITY_MARKS

CASE = {"completion": "<think>3 + 4</think><answer>8</answer>", "ground_truth": "7"}
BACKGROUNDS = {"light": ("#111111", "#ffffff"), "dark": ("#dddddd", "#111111")}


@pytest.fixture(scope="module")
def flawed():
    return rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic"))


def test_severities_are_told_by_shapes_and_information_is_folded(flawed):
    page = flawed._repr_html_()
    weighty = [item for item in flawed.findings if item.severity != "info"]
    assert page.count(SEVERITY_MARKS["warn"]) == len(weighty)
    assert f"{len(weighty)} warnings" in page and "5 more warnings" in page
    folded = page[page.rindex("<details", 0, page.index("1 note<")) :].partition("</details>")[0]
    assert " open" not in folded[: folded.index(">")]
    assert all(item.code in folded for item in flawed.findings if item.severity == "info")
    assert "style=" in page and "color" not in page.replace("colour", "")


def test_what_each_component_declares_and_holds_stands_open(flawed):
    page = flawed._repr_html_()
    (table,) = page.split("Components: weights declared and effective:")[1:]
    held = flawed.views[0].effective_weights
    assert f">{held['detail']:.0%}<".replace("%", " %") in table


def test_many_findings_are_counted_and_many_components_folded():
    diagnosis = rk.diagnose(twelve())
    page = diagnosis._repr_html_()
    weighty = [item for item in diagnosis.findings if item.severity != "info"]
    notes = len(diagnosis.findings) - len(weighty)
    assert page.count("<tr ") == 1 + 12 + sum(1 + min(n, SHOWN) for n in (len(weighty) - 3, notes) if n > 0)
    assert "<summary>Components" in page and LONG in page


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        pytest.param([np.nan] * 4, [0, 0, 1, 1], id="nothing judged"),
        pytest.param([0.5], [0], id="one row"),
        pytest.param([0.5] * 4, [0, 0, 1, 1], id="constant"),
    ],
)
def test_odd_scores_have_a_page(values, groups):
    page = rk.diagnose(table_of({"x": values}, groups))._repr_html_()
    assert "nan" not in page and page.count("<div") == page.count("</div>")


@pytest.mark.browser
@pytest.mark.parametrize("mode", BACKGROUNDS)
def test_the_page_can_be_read_on_a_light_and_on_a_dark_page_and_asks_for_nothing(flawed, browser, mode):
    text, background = BACKGROUNDS[mode]
    requests = []
    context = browser.new_context(viewport={"width": 900, "height": 900}, offline=True)
    page = context.new_page()
    page.on("request", lambda request: requests.append(request.url))
    page.set_content(f'<body style="color:{text};background:{background}">{flawed._repr_html_()}</body>')
    colours = page.evaluate(
        "[...new Set([...document.querySelectorAll('p, td, th, summary, code')]"
        ".map(item => getComputedStyle(item).color))]"
    )
    red, green, blue = (int(text[at : at + 2], 16) for at in (1, 3, 5))
    assert colours == [f"rgb({red}, {green}, {blue})"]
    assert page.locator("details", has_text="1 note").locator("td").first.is_hidden()
    page.locator("summary", has_text="1 note").click()
    assert page.locator("details", has_text="1 note").locator("td").first.is_visible()
    assert requests == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 900
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize("mode", BACKGROUNDS)
def test_records_take_their_colours_from_the_page_and_fit_it(browser, mode):
    text, background = BACKGROUNDS[mode]
    reward, rollouts = rk.load_reward("gallery:arithmetic"), rk.load_rollouts("gallery:arithmetic")
    checked = rk.check(
        rk.load_reward("gallery:arithmetic.flawed"),
        rk.load_cases([{**CASE, "reward": 9, "why": "wide " * 99}]),
    )
    records = (rollouts, reward, rk.score(reward, rollouts), checked, reward(**CASE))
    context = browser.new_context(viewport={"width": 900, "height": 900}, offline=True)
    page = context.new_page()
    shown = "".join(record._repr_html_() for record in records)
    page.set_content(f'<body style="color:{text};background:{background}">{shown}</body>')
    colours = page.evaluate(
        "[...new Set([...document.querySelectorAll('p, b, td, th, svg text')].map("
        "item => item.closest('svg') ? getComputedStyle(item).fill : getComputedStyle(item).color))]"
    )
    red, green, blue = (int(text[at : at + 2], 16) for at in (1, 3, 5))
    assert colours == [f"rgb({red}, {green}, {blue})"]
    assert page.locator("svg rect").count() == 40 and page.locator("table").count() > 8
    assert page.evaluate("document.documentElement.scrollWidth") <= 900
    context.close()
