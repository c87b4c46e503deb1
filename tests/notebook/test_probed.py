"""The page of checks: contract, probes and mutants as a person reads them; what the first page is told."""

import json
import re
from dataclasses import replace

import pytest
from executed import executed
from nbformat.v4 import new_code_cell, new_notebook, new_output

import rewardkit as rk
from rewardkit.errors import InputError
from rewardkit.findings import Example, Finding
from rewardkit.html import markup
from rewardkit.html.blocks import Quote
from rewardkit.html.excerpts import hidden_user_texts
from rewardkit.html.pages import Point, redact_finding
from rewardkit.mutation.results import MOST_SURVIVORS
from rewardkit.notebook.inputs import load_inputs
from rewardkit.notebook.report_pages import (
    NotebookPage,
    Summary,
    index_page,
    summary_markdown,
)
from rewardkit.notebook.scorecard import MIME, Short, summarize
from rewardkit.notebook.tiles import Tile, contract_tile, holes_tile
from rewardkit.probes.subjects.log import with_cases
from rewardkit.reasons import Reason, ReasonCode

pytestmark = pytest.mark.integration

SECRET = "<script>SECRET</script>"
TURNS = r"after user, assistant calls price x\d+, tool x\d+"


def shown(record, *, redact=False):
    """What a record shows of itself in a notebook."""
    with hidden_user_texts(redact):
        return record._repr_html_()


@pytest.fixture(scope="module")
def flawed():
    return rk.probe(
        rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic", search=0
    )


@pytest.fixture(scope="module")
def good():
    return rk.probe(
        rk.load_reward("gallery:arithmetic"), "gallery:arithmetic", search=0
    )


@pytest.fixture(scope="module")
def weak():
    """Mutants that a case file of one case leaves."""
    cases = rk.load_cases("gallery:arithmetic")[:1]
    return rk.mutants(rk.load_reward("gallery:arithmetic"), cases, "gallery:arithmetic")


def failing(said, reason=None):
    """A finding whose reason, sentence and example quote a completion."""
    shown = Example(
        "r1",
        {"completion": SECRET, "ground_truth": SECRET},
        float("nan"),
        None,
        outcome=said,
        reason=reason,
    )
    evidence = {"value": 0.75, "found": 3, "tried": 4, "reason": reason or said}
    return Finding(
        "wrong_type",
        "high",
        None,
        evidence,
        4,
        None,
        family="contract",
        examples=(shown,),
    )


def test_contract_and_exploits_stand_on_one_page_with_what_is_for_information(flawed):
    page = shown(flawed)
    assert "<code>raises</code>" in page and "<code>longer</code>" in page
    minor = [item.code for item in flawed.findings if item.severity == "info"]
    assert minor and all(f"{code}: " in page for code in minor)


def test_the_turns_of_a_transcript_stand_above_its_completion_on_a_card_and_on_the_first_page():
    reward = rk.load_reward("gallery:tool_use.busy")
    result = rk.probe(reward, "gallery:tool_use", only="repeated_turns", timeout=None)
    (point,) = summarize(result, None, None).points
    assert re.fullmatch(
        f"earns .*, a right answer .*; prompt of rollout .*; {TURNS}",
        point.examples[0].heading,
    )
    assert re.search(f'{TURNS}</p><div class="rk-quoted"', point.html)
    with hidden_user_texts():
        assert not re.search(TURNS, str(summarize(result, None, None).points))


def test_a_reward_of_primitives_is_said_to_keep_the_contract(good):
    holes, contract = holes_tile(good), contract_tile(good)
    assert "only rewardkit's own code" in contract.words and contract.figure == "kept"
    assert (holes.grade, holes.figure) == ("good", "0 found")


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("0.5, before 0.7", "0.5, before 0.7"),
        (Reason(ReasonCode.LATE, seconds=5.0), "took longer than 5 s"),
        ("changed its argument 'completions'", "changed its argument 'completions'"),
        (
            Reason(ReasonCode.RAISED, words=SECRET, error="KeyError", passed_by=("x",)),
            "field 'x' failed: KeyError: [redacted]",
        ),
        (Reason(ReasonCode.NOT_JUDGED, words=SECRET), "[redacted]"),
        ("", ""),
    ],
)
def test_a_redacted_page_keeps_figures_and_has_nothing_of_a_completion(
    flawed, said, left
):
    finding = failing(str(said), said if isinstance(said, Reason) else None)
    (example,) = redact_finding(finding).examples
    assert (example.outcome, example.columns) == (left, {})
    result = replace(flawed, findings=(*flawed.findings, finding))
    with hidden_user_texts():
        short = summarize(result, None, None)
    pages = [shown(result, redact=True), json.dumps(short.record())]
    for page in pages:
        hidden = ("SECRET", "Reading the question", "Let us look at", "reward(")
        assert [words for words in hidden if words in page] == []
    assert "SECRET" in shown(result)
    assert "Not a number. 3 of 4 completions" in pages[0]


def test_the_truths_of_a_finding_are_left_out_of_a_redacted_page(flawed):
    rate = {"found": 1, "tried": 4, "interval": (0.0, 0.5), "truths": SECRET}
    unpaid = replace(
        failing(""),
        code="right_unpaid",
        family="calibration",
        evidence={**rate, "value": 0.25},
    )
    words = {
        "kind": "pays",
        "says": SECRET,
        "calls": 9,
        "gain": 1.0,
        "value": 0.25,
        **rate,
    }
    exploit = replace(failing(""), code="exploit", family="search", evidence=words)
    result = replace(flawed, findings=(unpaid, exploit))
    assert all("SECRET" in item.sentence for item in result.findings)
    page = shown(result, redact=True)
    assert "SECRET" not in page and page.count("[redacted]") == 2


def test_survivors_are_shown_with_where_they_differ_and_the_cases_that_are_missing(
    weak,
):
    page = shown(weak)
    noticed, survived = len(weak.noticed), len(weak.survived)
    assert survived > MOST_SURVIVORS
    assert f"your 1 case catches {noticed} of {noticed + survived} mutants." in page
    others = survived - MOST_SURVIVORS
    # with the heads of two tables
    assert page.count("<tr>") == others + len(weak.proposed_cases) + 2
    assert f"and {others} more survivors" in page
    assert (
        "&quot;name&quot;: &quot;tells apart" in page
        and "--mutants --write-cases FILE" in page
    )
    redacted = shown(weak, redact=True)
    texts = [item.completion for found in weak.survived for item in found.differences]
    assert "&lt;answer&gt;" in page and "&lt;answer&gt;" not in redacted
    assert len(texts) > 10 and "tells apart" not in redacted


def test_the_notebook_runs_on_cases_alone(tmp_path):
    path = tmp_path / "cases.jsonl"
    scores = {"brief": 1.0, "correct": 1.0}
    case = {
        "name": "wide",
        "completion": "<answer>4</answer>",
        "ground_truth": "4",
        "reward": [0.0, 9.0],
    }
    path.write_text(json.dumps({**case, "scores": scores}) + "\n")
    values = {
        "reward": "gallery:arithmetic",
        "rollouts": "",
        "cases": str(path),
    }
    options = {
        "limits": {"budget": 30, "only": ["padding"]},
        "reading": {"columns": {"completion": "completion"}, "ignore": ["brief"]},
    }
    notebook, error = executed("02_check", **values, **options)
    found = Short.from_notebook(notebook)
    assert (
        error is None
        and found.line.startswith("no hole found")
        and found.tiles[0].figure == "1 of 1"
    )


def test_the_notebook_ends_with_an_error_on_a_finding_where_asked():
    values = {
        "reward": "gallery:arithmetic.flawed",
        "cases": "",
        "fail_on": "high",
        "limits": {"only": ["padding"]},
    }
    _, error = executed("02_check", **values)
    assert str(error).startswith("arithmetic-flawed is not ready: 1 hole")


def test_misses_come_first_and_what_was_not_tried_is_listed(weak):
    untried = tuple(
        replace(item, outcome="not tried", reason="no time")
        for item in weak.noticed[:2]
    )
    found = replace(
        weak, missed=1, proposed_cases=(), judged=(*weak.survived, *untried)
    )
    page = shown(found)
    fails, mend = (
        page.index("Cases that fail already: 1 of 1."),
        page.index("fix what the cases miss first"),
    )
    assert fails < mend < page.index("<table")
    assert "Not tried: 2 mutants, as no time." in page


def test_a_reward_that_judges_nothing_and_no_cases_are_one_sentence_without_a_list(
    weak,
):
    stopped = "the reward judges none of 2 cases: component 'x' fails"
    found = replace(
        weak,
        judged=(),
        proposed_cases=(),
        stopped=stopped,
        cause=Reason(ReasonCode.RAISED, error="ValueError", words=SECRET),
    )
    page, redacted = (shown(found, redact=redact) for redact in (False, True))
    assert "The reward judges none of 2 cases" in page and "SECRET" in page
    assert "<table" not in page and "no row tells" not in page
    assert (
        "ValueError: [redacted]" in redacted
        and "SECRET" not in redacted + found.verdict
    )
    reward = rk.load_reward("gallery:arithmetic")
    assert "No cases were given" in shown(rk.check(reward, []))


# --- in short


def test_what_the_notebook_came_to_is_read_back_from_its_outputs(flawed, weak):
    short = summarize(flawed, None, weak)
    bundle = json.loads(json.dumps(short._repr_mimebundle_()))
    cells = [new_code_cell("x", outputs=[new_output("execute_result", bundle)])]
    read = Short.from_notebook(new_notebook(cells=[new_code_cell("y"), *cells]))
    assert short.points and json.dumps(read.record()) == json.dumps(short.record())
    assert read.points[0].html == short.points[0].html
    assert Short.from_notebook(new_notebook(cells=[])) is None
    assert set(bundle) == {"text/html", "text/plain", MIME}


def test_the_next_step_is_the_first(flawed, good, weak):
    checked = rk.check(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic")
    short = summarize(good, checked, weak)
    assert short.tiles[0].figure == f"{len(checked.cases)} of {len(checked.cases)}"
    assert short.next == "Read the proposed cases, and add them to the case file."
    assert summarize(flawed, checked, weak).next.startswith("Cap length")
    assert "Write cases for what" in summarize(good, None, None).next


def test_what_always_fails_is_not_said_to_have_no_hole_and_is_mended_first():
    def broken(completion):
        raise ValueError("boom")

    rollouts = rk.load_rollouts("gallery:arithmetic")
    reward = rk.Reward("r", components=[rk.Component("c", broken)])
    cases = rk.load_cases("gallery:arithmetic")[:3]
    missed = rk.check(
        reward, cases, ignore=sorted({name for case in cases for name in case.scores})
    )
    assert missed.misses
    short = summarize(rk.probe(reward, rollouts, timeout=None), missed, None)
    holes, contract = short.tiles[1:]
    assert (holes.grade, contract.grade) == ("info", "high")
    assert holes.reason == "the probes say nothing, as it judged none of what was tried"
    assert short.next.startswith("Mend it.")


# --- the first page


@pytest.fixture(scope="module")
def diagnosis():
    """One on which nothing is found."""
    rows = [
        {"prompt": f"p{n // 8}", "completion": f"{(n * 7 + n // 8) % 13}"}
        for n in range(800)
    ]
    reward = rk.Reward("plain", components=[rk.Component("size", size)])
    diagnosis = rk.diagnose(rk.score(reward, rows))
    return replace(diagnosis, findings=())


@pytest.fixture(scope="module")
def analysed(diagnosis):
    """What a notebook of it comes to."""
    advice = replace(rk.suggest(diagnosis), changes=())
    return summarize(diagnosis, rk.forecast(diagnosis.scores), advice)


@pytest.fixture
def summary_of(diagnosis, analysed):
    """What a report says of this diagnosis, and of what a page of checks found."""
    scores = diagnosis.scores

    def make(found):
        pages = [NotebookPage("a page", "page.html", short=found)]
        pages.append(NotebookPage("a page", "page.html", short=analysed))
        about = scores.reward, scores.rollouts, diagnosis.training, tuple(pages)
        return Summary("plain", *about)

    return make


def size(completion):
    return int(completion) / 13


def checked(grade="good", reason="", points=()):
    """What a notebook of checks came to, with holes of this grade."""
    holes = Tile("Holes and losses", grade, "some", "in 70 probes", reason)
    cases = Tile(
        "Right on cases",
        "info",
        "-",
        "no cases were given",
        "no cases say what it must give",
    )
    return Short(
        "a line",
        (cases, holes, Tile("Contract", "good", "kept", "")),
        "do it",
        tuple(points),
    )


POINT = Point(
    "high",
    "longer",
    f"pays *more* {SECRET}",
    "It is learned.",
    "Cap it.",
    [Quote("tried", SECRET)],
)
UNKNOWN = "What training makes of the task is not known."
UNTOLD = f" No cases say what it must give. {UNKNOWN}"


@pytest.mark.parametrize(
    ("found", "grade", "sentence"),
    [
        (checked(), "good", "No objection found." + UNTOLD),
        (checked("high", "2 holes (2 high)"), "high", "Not ready: 2 holes (2 high)."),
        (
            checked("warn", "1 hole (warn)"),
            "warn",
            "Read before use: 1 hole (warn)." + UNTOLD,
        ),
        (
            checked("info", "nothing tried"),
            "warn",
            f"Not yet judged: No cases say what it must give. Nothing tried. {UNKNOWN}",
        ),
    ],
    ids=["it holds", "grave holes", "a warning", "nothing could be tried"],
)
def test_the_verdict_counts_the_holes_and_says_what_nobody_looked_at(
    summary_of, found, grade, sentence
):
    summary = summary_of(found)
    assert (summary.scorecard.grade, summary.verdict) == (grade, sentence)


def test_a_cause_that_two_pages_name_stands_on_the_first_page_once(summary_of):
    summary = summary_of(checked("high", "1 hole", [POINT]))
    again = Short("", (), "", (replace(POINT, sentence="the log shows it, too"),))
    pages = (*summary.pages, NotebookPage("another", "another.html", short=again))
    assert replace(summary, pages=pages).scorecard.points == (POINT,)


def test_what_matters_is_harmless_in_html_and_in_markdown(summary_of):
    summary = summary_of(checked("high", "1 hole", [POINT]))
    page = index_page((summary,))
    assert "&lt;script&gt;" in page and "<script>SECRET" not in page
    assert "- ● high: `longer` pays \\*more\\* \\<script\\>" in summary_markdown(
        (summary,)
    )


def test_a_long_truth_is_cut_on_the_first_page_and_in_markdown(summary_of):
    def pays_long_truths(completion, ground_truth):
        return len(ground_truth) > 900 or completion == ground_truth

    truths = ["Rome", "Lima", "long " * 900, "Oslo", "wide " * 900, "Bern"]
    rows = [
        {"prompt": f"Which? ({place})", "completion": text, "ground_truth": truth}
        for place, truth in enumerate(truths)
        for text in (truth, "Paris")
    ]
    paid = rk.Component("paid", pays_long_truths)
    result = rk.probe(rk.Reward("r", components=[paid]), rows, timeout=None, search=0)
    (finding,) = result["wrong_paid"]
    assert "long long" in finding.sentence and "wide wide" in finding.sentence
    summary = summary_of(summarize(result))
    for text in (index_page((summary,)), summary_markdown((summary,))):
        assert 2 < text.count("long ") < 60


# --- inputs and the notebook itself


def test_cases_stand_for_rollouts_where_there_are_none():
    reward, rollouts, cases = load_inputs("gallery:gsm8k", "", "gallery:gsm8k")
    assert len(rollouts) == len(cases) > 0
    assert rollouts[0]["rollout_id"] == f"case {cases[0].name}"
    again = load_inputs(reward, rollouts, cases)  # a cell can be run again
    assert again == (reward, rollouts, cases)
    assert with_cases(rollouts, cases).table.equals(rollouts.table)
    reward, rollouts, cases = load_inputs("", "gallery:arithmetic", "")
    assert (reward, len(rollouts), cases) == (None, 1600, [])
    with pytest.raises(InputError, match="neither rollouts nor cases are given"):
        load_inputs("gallery:gsm8k", "", None)
    others, _, cases = load_inputs("gallery:gsm8k", "", "gallery:arithmetic")
    assert "concise" in rk.check(others, cases).unknown


def test_of_a_folder_of_scores_logged_are_these_scores_and_a_reward_takes_its_rows(
    tmp_path,
):
    rollouts = rk.load_rollouts("gallery:arithmetic").select(range(80))
    kept = rk.score(
        rk.load_reward("gallery:arithmetic"), rollouts, to=tmp_path / "kept"
    )
    reward, source, _ = load_inputs("logged", tmp_path / "kept")
    scores = rk.score(reward, source)
    assert scores.table.equals(kept.table) and reward.names == kept.reward.names
    again = load_inputs(reward, source)
    assert (again.reward, again.rollouts) == (reward, source)
    with pytest.raises(rk.RewardError, match="was read from a run record"):
        rk.score(reward, source.rollouts)
    flawed, rows, _ = load_inputs("gallery:arithmetic.flawed", tmp_path / "kept")
    assert rk.score(flawed, rows).table.equals(rk.score(flawed, source).table)
    assert rk.score(flawed, rows).reward.name != kept.reward.name


@pytest.mark.browser
def test_misses_and_survivors_can_be_read_on_a_narrow_page(browser, weak):
    flawed, names = (
        rk.load_reward("gallery:arithmetic.flawed"),
        rk.load_reward("gallery:arithmetic").names,
    )
    checked = rk.check(flawed, "gallery:arithmetic", ignore=names)
    page = browser.new_context(viewport={"width": 390, "height": 900}).new_page()
    page.set_content(markup.page("check", shown(checked) + shown(weak)))
    outside = "item => { const box = item.getBoundingClientRect(); return box.right > 390 && box.width > 0 }"
    assert page.locator("td").count() > 100
    assert (
        page.evaluate(f"[...document.querySelectorAll('td')].filter({outside}).length")
        == 0
    )
    tallest = "Math.max(...[...document.querySelectorAll('tr')].map(row => row.offsetHeight - [...row.cells]"
    assert (
        page.evaluate(f"{tallest}.reduce((sum, cell) => sum + cell.offsetHeight, 0)))")
        <= 20
    )
