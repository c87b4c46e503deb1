"""What a person sees of probing: the verdict first, the worst first, harmless whatever completions hold."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from probed import (
    FAILING,
    HOSTILE,
    LEAKY,
    ROWS,
    example,
    failed,
    finding,
    held,
    leaked,
    with_findings,
)

import rewardkit as rk
from rewardkit.findings import SENTENCES
from rewardkit.probes.probe import Inconclusive
from rewardkit.probes.results import rendering
from rewardkit.probes.results.fixes import FIXES, OTHERWISE, fix_for
from rewardkit.probes.results.summary import alarms_in_words, ran, tried, verdict, written
from rewardkit.probes.strategies.families import FAMILIES, PROBES

LOSS = finding("bold", "warn", "equivalents", evidence={"kind": "loses"})
ZERO = finding("zero_is_right", "high", "special_values", evidence={"kind": "loses"})
BROKEN = failed("ValueError: no")


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        pytest.param([finding()], "1 hole (high)", id="one"),
        pytest.param([finding(), finding("empty", "warn")], "2 holes (1 high, 1 warn)", id="two"),
        pytest.param([finding(), finding("empty")], "2 holes (2 high)", id="two alike"),
        pytest.param([LOSS], "1 loss of right answers (warn)", id="what is lost is no hole"),
        pytest.param([ZERO], "1 loss of right answers (high)", id="nor is a right answer of a special value"),
        pytest.param(
            [finding("right_unpaid", family="calibration")], "1 loss of right answers (high)", id="or of some"
        ),
        pytest.param([BROKEN], "1 broken contract (high)", id="nor is an error"),
        pytest.param([finding("hang", family="hang")], "1 broken contract (high)", id="nor a hang"),
        pytest.param(
            [BROKEN, finding(), LOSS],
            "1 hole (high), 1 loss of right answers (warn), 1 broken contract (high)",
            id="holes first",
        ),
        pytest.param([], "", id="none"),
    ],
)
def test_alarms_are_counted_by_what_they_are(findings, expected):
    assert alarms_in_words(findings) == expected


def test_the_verdict_says_how_much_was_tried_where_nothing_was_found():
    result = held()
    assert result.alarms == ()
    first = repr(result).splitlines()[0]
    assert first.startswith(f"strict: no hole found in {len(ran(result))} probes on 4 prompts, ")
    assert f"{result.calls:,} calls" in first


def test_only_probes_that_fit_and_were_reached_are_said_to_have_run():
    result = held()
    fitting = {item.name for item in PROBES if any(map(item.fits, result.calibration.subjects))}
    assert set(ran(result)) == fitting - set(result.untried)
    assert "every_choice" not in fitting and "every_number" in fitting
    late = with_findings(untried={"every_number": 3})
    assert set(ran(result)) - set(ran(late)) == {"every_number"}
    assert "not tried, as the budget was over: every_number" in repr(late)
    assert "--budget" in repr(late)


def test_a_reward_that_always_fails_is_not_said_to_have_been_probed():
    result = rk.probe(FAILING, ROWS, timeout=None)
    assert [item.code for item in result.findings] == ["always_errors"]
    assert ran(result) == ()
    assert tried(result) == f"{result.calls} calls"
    assert verdict(result) == "1 broken contract (● high)"


def test_what_could_not_be_tried_is_no_success():
    result = with_findings(untried={item.name: 1 for item in PROBES})
    assert verdict(result) == "inconclusive: no prompt could be probed"


def test_what_is_accepted_is_not_counted_and_not_hidden():
    known = finding(accepted="older prompts need it", severity="high")
    result = with_findings(known)
    assert verdict(result).startswith("no other hole found in ")
    assert verdict(result).endswith("; 1 accepted")
    assert "older prompts need it" in repr(result) and "older prompts need it" in result._repr_html_()


def test_a_finding_has_its_sentence_rate_examples_snippet_and_what_to_do():
    result = leaked()
    (worst, *_) = result.alarms
    text = rendering.finding_text(worst, LEAKY)
    assert worst.sentence in text
    assert f"{worst.evidence['found']} of {worst.evidence['tried']} prompts" in text
    assert f"truth {worst.examples[0].columns['ground_truth']!r}: earns " in text
    assert "; a right answer earns 1.2, a wrong one 0.2" in text
    assert "⟦prediction: " in text
    assert f"next: {fix_for(worst)}" in text
    page = result._repr_html_()
    assert ">prediction</sup>" in page and "the lines that show it" in page


def test_the_lines_that_show_a_finding_give_what_they_say():
    for item in leaked().alarms:
        (line,) = re.findall(r"shown by: (.*)", rendering.finding_text(item, LEAKY))
        code, _, told = line.partition("  # ")
        assert eval(code, {"reward": LEAKY}) == pytest.approx(float(told.partition(";")[0]))


def test_the_worst_come_first_and_what_is_for_information_is_short():
    minor = finding("in_code", "info", "look_alikes", examples=(example("MINOR"),))
    result = with_findings(finding(), finding("empty", "warn", "nothing_there"), minor)
    for made in (repr(result), result._repr_html_()):
        places = [made.index(word) for word in ("longer", "empty", "in_code")]
        assert places == sorted(places)
        assert "MINOR" not in made
    assert "1 for information" in result._repr_html_()


def test_three_examples_of_one_completion_are_shown_once():
    of = tuple(example("the same", rollout_id=name) for name in ("r1", "r2", "r3"))
    text = rendering.finding_text(finding(examples=of), LEAKY)
    assert text.count("| the same") == 1
    assert "rollouts r1, r2, r3: earns 1" in text


@pytest.mark.parametrize(
    ("completion", "expected"),
    [
        pytest.param("", "(nothing)", id="nothing"),
        pytest.param(" \n", "(white space: ' \\n')", id="white space"),
    ],
)
def test_a_completion_in_which_nothing_can_be_seen_is_told_in_words(completion, expected):
    item = finding(examples=(example(completion),))
    assert f"| {expected}" in rendering.finding_text(item, LEAKY)
    assert expected.replace("'", "&#x27;") in with_findings(item)._repr_html_()


def test_many_lines_do_not_fill_a_terminal():
    text = rendering.finding_text(finding(examples=(example("a\n" * 100),)), LEAKY)
    assert len(text.splitlines()) < 20 and "lines⟩" in text


def test_what_no_single_call_shows_is_shown_by_probing():
    item = finding("depends_on_order", family="contract", evidence={"kind": "contract", "says": "differs"})
    assert 'shown by: rk.probe(reward, rollouts, only="contract")' in rendering.finding_text(item, LEAKY)


class Tags(HTMLParser):
    """The names of the tags that a page opens, and the text it shows."""

    def __init__(self, page):
        super().__init__()
        self.names, self.shown = set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)

    def handle_data(self, data):
        self.shown += data


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(finding(examples=(example(HOSTILE),)), id="completion"),
        pytest.param(finding(examples=(example(rollout_id=HOSTILE),)), id="rollout_id"),
        pytest.param(failed(f"ValueError: {HOSTILE}"), id="error"),
        pytest.param(finding(part=HOSTILE), id="part"),
        pytest.param(finding(component=HOSTILE), id="component"),
        pytest.param(finding(accepted=HOSTILE), id="reason"),
        pytest.param(finding(severity="info", part=HOSTILE), id="information"),
    ],
)
def test_whatever_a_text_holds_the_page_and_the_terminal_are_safe(item):
    result = with_findings(item, inconclusive=(Inconclusive(HOSTILE, HOSTILE),))
    page, text = result._repr_html_(), repr(result)
    seen = Tags(page)
    assert "script" not in seen.names and "<script>" in seen.shown
    for made in (page, text):
        assert all(sign.isprintable() or sign in "\n\t" for sign in made)
        made.encode("utf-8")
    assert page.count("<div") == page.count("</div>")


def test_without_texts_a_page_has_no_completion_and_no_truth():
    result = leaked()
    with_texts, without = rendering.page(result), rendering.page(result, texts=False)
    assert "<answer>" in Tags(with_texts).shown and "truth '" in Tags(with_texts).shown
    assert "reward(" in with_texts and "prediction</sup>" in with_texts
    shown = Tags(without).shown.replace("written as <answer>", "")
    assert "<answer>" not in shown and "truth '" not in shown
    assert "reward(" not in without and "</sup>" not in without


def test_how_answers_are_written_and_what_they_earn_is_told():
    (item,) = written(held())
    assert item.prompts == 4 and item.kinds == ("number",)
    assert item.right == (1.0, 1.0) and item.wrong == (0.0, 0.0)
    text = repr(held())
    assert "Calibrated on 4 prompts (answers: number), written as <answer>" in text
    assert re.search(r"a right answer earns +1\n", text)


def test_a_reward_that_asks_for_no_truth_is_told_as_such():
    reward = rk.Reward(
        "short", components=[rk.Component("short", rk.measure.length(full_until=2, zero_from=9))]
    )
    rows = [{"prompt": f"p{n}", "completion": "word " * (n + 1)} for n in range(8)]
    text = repr(rk.probe(reward, rows))
    assert "no truth is asked for" in text and "the best rollout earns" in text


# --- fixes


def test_every_family_and_every_probe_has_something_to_do():
    for family in FAMILIES:
        assert family in FIXES
    for item in PROBES:
        told = fix_for(finding(item.name, family=item.family))
        assert (told != OTHERWISE and told.endswith(".")) or told.endswith("..."), item.name


def test_the_fixes_are_of_codes_that_there_are():
    modules = [path for path in Path(rendering.__file__).parent.glob("*.py") if path.stem not in OWN]
    source = "\n".join(path.read_text() for path in modules)
    known = {*FAMILIES, *(code.removeprefix("probe:") for code in SENTENCES), *(item.name for item in PROBES)}
    assert [code for code in FIXES if code not in known and f'"{code}"' not in source] == []


OWN = ("fixes", "rendering", "summary", "baseline")


def test_the_primitives_that_fixes_name_are_there():
    named = {name for text in FIXES.values() for name in re.findall(r"\brk((?:\.\w+)+)", text)}
    assert len(named) > 15
    for path in named:
        place = rk
        for name in path.strip(".").split("."):
            place = getattr(place, name)


@pytest.mark.parametrize(
    ("code", "family", "closed"),
    [
        pytest.param("mentioned", "shotgun", rk.extract.tag("answer"), id="mentioned"),
        pytest.param("several_marks", "shotgun", rk.extract.tag("answer"), id="several_marks"),
    ],
)
def test_what_a_fix_proposes_closes_the_hole(code, family, closed):
    reward = rk.Reward(
        "mended", fields={"prediction": closed}, components=[rk.Component("right", rk.verify.numbers_equal)]
    )
    assert rk.probe(reward, ROWS, only=[code]).alarms == ()
    assert repr(closed).partition("(")[0] in fix_for(finding(code, family=family))
