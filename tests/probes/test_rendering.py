"""What a person sees of probing: the verdict first, the worst first, harmless whatever completions hold."""

import math
import re
from dataclasses import replace
from html import unescape
from operator import attrgetter

import pytest
from probed import HOSTILE, LEAKY, example, failed, finding, held, leaked, with_findings

import rewardkit as rk
from rewardkit.findings import SEE_COMPONENTS, read_codes
from rewardkit.html.excerpts import hidden_user_texts
from rewardkit.html.pages import Page
from rewardkit.probes.options import FAMILIES
from rewardkit.probes.points import make_snippet, probe_point
from rewardkit.probes.result import Inconclusive, count_alarms
from rewardkit.strategies import STRATEGIES

pytestmark = pytest.mark.integration

LOSS = finding("bold", "warn", "equivalents", evidence={"kind": "loses"})
ZERO = finding("zero_is_right", "high", "special_values", evidence={"kind": "loses"})
BROKEN = failed("ValueError", "no")
MINOR = finding("zero_width", "info", "look_alikes", examples=(example("MINOR"),))
ALARMS = [
    ([finding(), finding("empty", "warn")], "2 holes (1 high, 1 warn)"),
    ([ZERO], "1 loss of right answers (high)"),
    ([finding("hang", family="hang")], "1 broken contract (high)"),
    (
        [BROKEN, finding(), LOSS],
        "1 hole (high), 1 loss of right answers (warn), 1 broken contract (high)",
    ),
    ([], ""),
]


@pytest.mark.parametrize(("findings", "expected"), ALARMS)
def test_alarms_are_counted_by_what_they_are(findings, expected):
    assert count_alarms(findings) == expected


def test_the_first_line_says_whether_it_is_ready_and_how_much_was_tried_where_nothing_was_found():
    def first_line(*findings, **options):
        return repr(with_findings(*findings, **options)).splitlines()[0]

    assert first_line(finding(), LOSS).startswith(
        "strict is not ready: 1 hole (high), 1 loss of right"
    )
    assert first_line(LOSS, MINOR) == (
        "strict is usable: 1 loss of right answers (warn); 1 for information"
    )
    result = held()
    assert first_line() == f"strict: no hole found in {result.effort}"
    assert (
        result.effort
        == f"{len(result.tried_probes)} probes on 4 prompts, {result.calls:,} calls"
    )
    accepted = first_line(finding(accepted="older prompts need it"))
    assert accepted.startswith("strict: no other hole found in ") and accepted.endswith(
        "; 1 accepted"
    )
    unknown = replace(result.calibration, modes={"": "unknown"})
    none = replace(result.calibration, subjects=())
    assert first_line(untried={"empty": 1}).startswith(
        "strict: unfinished, as the budget was over: no hole"
    )
    assert first_line(calibration=unknown).startswith(
        "strict: inconclusive, as no right answer is known: no"
    )
    assert (
        first_line(calibration=none)
        == "strict: inconclusive: no prompt could be probed"
    )


# --- the page of a terminal


def test_a_finding_has_its_sentence_the_shortest_example_and_what_to_do():
    text = repr(leaked())
    (worst,) = leaked().alarms
    words = " ".join(text.split())
    assert (
        f"● high {worst.code}: {worst.sentence}" in words
        and f"fix: {worst.advice}" in words
    )
    earned = "earns 1.2, a right answer 1.2, a wrong one 0.2; prompt of rollout"
    assert re.search(rf"{earned} \S+; truth '\d+'", words)
    assert text.count(" | ") == 1 and "reward(" not in text and "95 %" not in text


def test_a_page_has_at_most_25_lines_of_a_terminal_however_much_was_found():
    def height(result):
        return sum(-(-len(line) // 110) or 1 for line in repr(result).splitlines())

    long = (example("word " * 900 + "\n" * 30 + "<answer>7</answer>"),)
    many = [
        finding(
            "mentioned",
            family="shotgun",
            component="c" * 60,
            examples=long,
            part="p" * 60,
        )
    ] * 9
    unknown = tuple(
        Inconclusive(f"probe {place}", "no time " * 60) for place in range(5)
    )
    result = with_findings(*many, MINOR, inconclusive=unknown)
    assert (
        height(result) <= 25
        and repr(result).count("fix: ") == 2
        and "and 7 more: mentioned" in repr(result)
    )
    assert (
        height(with_findings(*many[:3], inconclusive=unknown)) <= 25
        and height(leaked()) < 12
    )


def test_all_that_was_found_is_shown_where_asked():
    shown = (
        example("a\n" * 100),
        example("the same"),
        example("the same", rollout_id="r2"),
    )
    worst = finding(examples=shown, evidence={"also": ["certain", "rubric"]})
    known = finding(accepted="older prompts need it")
    result = with_findings(
        worst, MINOR, known, inconclusive=(Inconclusive("hang", "no time"),) * 2
    )
    short, text, page = (
        repr(result),
        result.text(verbose=True),
        result._repr_html_().replace("&#x27;", "'"),
    )
    in_words = " ".join(text.split())
    for told in (
        "same cause: certain, rubric",
        "rate: 100 % of 4 (95 % interval 50 % to 100 %)",
        "reward(completion=",
        "zero_width: A look-alike passes.",
        "older prompts need it",
        "4 prompts (number): a right answer 1, a wrong one 0",
    ):
        assert told in in_words and told in page and told not in short, told
    assert (
        text.count("| the same") == short.count("| the same") == 1
        and "MINOR" not in text + page
    )
    assert text.index("longer") < text.index("zero_width") and page.index(
        "longer"
    ) < page.index("zero_width")
    assert (
        text.count("hang: no time") == 2
        and "Inconclusive: hang: no time; hang: no time" in short
    )


def test_the_lines_that_show_a_finding_give_what_they_say_and_what_a_field_took_is_marked():
    (worst,) = leaked().alarms
    text = Page("", [probe_point(worst, LEAKY)]).text(verbose=True)
    line = make_snippet(worst)
    assert line in text
    code, _, told = line.partition("  # ")
    assert eval(code, {"reward": LEAKY}) == pytest.approx(float(told.partition(";")[0]))
    assert "⟦prediction: " in text and ">prediction</sup>" in leaked()._repr_html_()
    several = finding(
        "depends_on_order",
        family="contract",
        evidence={"kind": "contract", "what": "differs"},
    )
    assert make_snippet(several) == 'rk.probe(reward, rollouts, only="contract")'


ONE_OF = "prompt of rollout r1; truth '42'\n"
EARNED = [
    (
        {"rollout_id": "case one"},
        "earns 1, a right answer 1, a wrong one 0; case one; truth '42'\n",
    ),
    (
        {"code": "hidden_state", "reward": 0.25, "outcome": "0.25, before 0.75"},
        f" earns 0.25, before 0.75; {ONE_OF}",
    ),
    (
        {"outcome": "changed its argument 'x'"},
        " earns 1 (changed its argument 'x'); prompt of",
    ),
    (
        {"reward": math.nan, "outcome": "KeyError: 'a'"},
        f" no reward (KeyError: 'a'); {ONE_OF}",
    ),
    ({"completion": ""}, "| (nothing)"),
    ({"completion": " \n"}, "| (white space: ' \\n')"),
]


@pytest.mark.parametrize(("options", "told"), EARNED)
def test_what_an_example_says_and_earned_is_told_once(options, told):
    options = {"code": "longer", "completion": "x", **options}
    code = options.pop("code")
    result = with_findings(finding(code, examples=(example(**options),)))
    assert told in repr(result)
    assert (
        not told.startswith("|")
        or told[2:].replace("'", "&#x27;") in result._repr_html_()
    )


def test_a_long_truth_is_cut_beside_its_example():
    shown = example()
    shown = replace(shown, columns={**shown.columns, "ground_truth": "long " * 600})
    text = repr(with_findings(finding(examples=(shown,))))
    assert "truth 'long long" in text and 5 < text.count("long ") < 20


def test_of_a_completion_that_hangs_three_lines_are_quoted_at_most():
    long = (example("first\n" + "again\n" * 900),)
    item = finding("hang", family="hang", examples=long, evidence=HANGS)
    result = with_findings(item)
    quoted = [line for line in repr(result).splitlines() if " | " in line]
    assert len(quoted) == 1 and "... and" in quoted[0] and "more lines" in quoted[0]
    assert repr(result).count("again") <= 2 and result._repr_html_().count("again") <= 2


# --- whatever texts hold


def words(page):
    """What a page shows."""
    return unescape(re.sub("<[^>]*>", "", page))


HARMFUL = {
    "completion": finding(examples=(example(HOSTILE),)),
    "rollout_id": finding(examples=(example(rollout_id=HOSTILE),)),
    "error": failed("ValueError", HOSTILE),
    "part": finding(part=HOSTILE),
    "component": finding(component=HOSTILE),
    "reason": finding(accepted=HOSTILE),
    "information": finding(severity="info", part=HOSTILE),
}


@pytest.mark.parametrize("item", HARMFUL.values(), ids=HARMFUL)
def test_whatever_a_text_holds_the_page_and_the_terminal_are_safe(item):
    result = with_findings(item, inconclusive=(Inconclusive(HOSTILE, HOSTILE),))
    page = result._repr_html_()
    assert "<script" not in page and "<script>" in words(page)
    for made in (page, repr(result), result.text(verbose=True)):
        assert all(sign.isprintable() or sign in "\n\t" for sign in made)
        made.encode("utf-8")
    assert page.count("<div") == page.count("</div>")


def test_without_texts_a_page_has_no_completion_and_no_truth():
    pages = {}
    for texts in (True, False):
        with hidden_user_texts(not texts):
            pages[texts] = leaked()._repr_html_()
    for told in ("<answer>", "truth '", "reward("):
        assert told in words(pages[True]) and told not in words(pages[False])
    assert "</sup>" in pages[True] and "</sup>" not in pages[False]


# --- sentences and fixes


def pays(gain, **evidence):
    return finding(
        component="detail", evidence={"says": "filler text", "gain": gain, **evidence}
    )


def broken(what, **options):
    return finding(
        "outside_trainer_range", evidence={"kind": "contract", "what": what}, **options
    )


FAILS = {"found": 3, "tried": 40, "reason": "ValueError: no"}
SAME = {"value": 0.5, "found": 1200, "tried": 1200, "unjudged": 0}
HANGS = {"seconds": 5.0, "what": "brackets"}
LEAKS = {"right": 2.5, "wrong": 1.5, "floor": 0.95, "here": 0.35, "gain": 0.4}
ONE_LOST = {"lost": "**4**", "rollouts": 1, "unpaid": "**4** (1)"}
ON_FOUR = "on 4 of 4 prompts"
SENTENCES = [
    (
        pays(2),
        f"Padding pays. Filler text beat the right answer {ON_FOUR}. Component: detail.",
    ),
    (
        pays(1),
        f"Padding pays. Filler text earned about as much as the right answer {ON_FOUR}.",
    ),
    (
        pays(0.63),
        f"Padding pays. Filler text closed 63 % of the gap to the right answer {ON_FOUR}.",
    ),
    (pays(1, truth=False), "earned about as much as the best rollout"),
    (LOSS, f"A right answer loses. More words got no credit {ON_FOUR}."),
    (
        finding(evidence={"kind": "fooled", "gain": 0.2}),
        f"what real ones do {ON_FOUR}: 20 % of full",
    ),
    (broken("1.5", part="math"), "The reward gives 1.5. Part of the log: math."),
    (broken("1.5", component="c"), "The component gives 1.5. Component: c."),
    (
        finding("raises", evidence=FAILS),
        "Crashes. 3 of 40 tried completions raised an error: ValueError: no.",
    ),
    (
        finding("constant", evidence=SAME),
        "Always 0.5. All 1,200 scored completions earned it, whatever was ",
    ),
    (
        finding("loses_notation", evidence=ONE_LOST),
        "for **4**. 1 right rollout went unpaid: **4** (1).",
    ),
    (
        finding("hang", evidence=HANGS),
        "Hangs. There was no score within 5 s for br",
    ),
    (
        finding("leakage", evidence=LEAKS),
        "right one 2.5, the least paid text 0.95); 40 % on",
    ),
]


@pytest.mark.parametrize(
    ("item", "told"), SENTENCES, ids=[told[:50] for _, told in SENTENCES]
)
def test_a_finding_is_told_in_plain_sentences(item, told):
    assert (
        told in item.sentence
        and item.sentence.endswith(".")
        and ".." not in item.sentence
    )


def test_every_probe_has_a_claim_and_something_to_do_in_one_line_with_primitives_that_are_there():
    codes = read_codes()
    for item in STRATEGIES:
        told = finding(item.name, family=item.family).advice
        assert told != SEE_COMPONENTS and len(told) <= 98 and told.endswith("."), (
            item.name
        )
        rows = codes["probe"].get(item.name, {}), codes["family"][item.family]
        assert item.expects != "wrong" or any("claim" in row for row in rows), item.name
    named = {
        name
        for row in (*codes["family"].values(), *codes["probe"].values())
        for name in re.findall(r"\brk\.((?:\w+\.)*\w+)", row.get("do", ""))
    }
    assert len(named) > 12
    assert all("do" in codes["family"][name] for name in FAMILIES)
    for path in named:
        assert attrgetter(path)(rk)
