"""The page of a diagnosis, as a notebook shows it: short, legible without colour, closed to the outside."""

import pytest
from opened import NOTEBOOK, card_violations
from plotted import LONG, twelve

import rewardkit as rk
from rewardkit.analysis.summary import MOST_FOLDED
from rewardkit.findings import SEVERITY_MARKS

pytestmark = pytest.mark.integration

CASE = {"completion": "<think>3 + 4</think><answer>8</answer>", "ground_truth": "7"}


def test_severities_are_told_by_shapes_and_information_is_folded(flawed):
    page = flawed._repr_html_()
    weighty = [item for item in flawed.findings if item.severity != "info"]
    assert page.count(SEVERITY_MARKS["warn"]) == len(weighty)
    assert f"{len(weighty)} warnings" in page
    assert f"{len(weighty) - 3} more warnings" in page
    folded = page[page.rindex("<details", 0, page.index("1 note<")) :].partition(
        "</details>"
    )[0]
    assert " open" not in folded[: folded.index(">")]
    assert all(
        item.code in folded for item in flawed.findings if item.severity == "info"
    )


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
    assert page.count('"rk-point') == len(weighty[:3]) + sum(
        min(len(some), MOST_FOLDED) for some in (weighty[3:], range(notes))
    )
    assert page.count("<tr>") == 1 + 12
    assert "<summary>Components" in page and LONG in page


@pytest.fixture(scope="module")
def cards(flawed):
    """A card of each kind of record."""
    reward, rollouts = (
        rk.load_reward("gallery:arithmetic"),
        rk.load_rollouts("gallery:arithmetic"),
    )
    missed = rk.load_cases([{**CASE, "reward": 9, "why": "wide " * 99}])
    checked = rk.check(rk.load_reward("gallery:arithmetic.flawed"), missed)
    probes = rk.probe(flawed.scores.reward, rollouts, only="padding", search=0)
    records = (
        flawed,
        rollouts,
        reward,
        rk.score(reward, rollouts),
        checked,
        reward(**CASE),
        probes,
    )
    shown = "".join(record._repr_html_() for record in records)
    assert probes.alarms and shown.count("<rect") > 10 and shown.count("<table") > 8
    return shown


@pytest.mark.browser
@pytest.mark.parametrize("host", NOTEBOOK)
def test_a_card_can_be_read_in_any_notebook_and_asks_for_nothing(cards, browser, host):
    assert card_violations(browser, cards, host) == []


@pytest.mark.browser
def test_a_text_that_cannot_be_read_on_its_page_is_seen_by_the_test_that_looks_for_it(
    browser,
):
    found = card_violations(browser, '<p style="color:#999">faint</p>', "JupyterLab")
    assert [rule for rule, *_ in found] == ["color-contrast"]
