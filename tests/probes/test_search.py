"""search_exploits(): holes that only a combination reaches are found and shrunk; sound rewards stay silent."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted_probes import DATA, graded, inside, made, right
from probed import PREDICTION

import rewardkit as rk
from rewardkit.answers.formats import REASONING, Format
from rewardkit.findings import Finding
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.options import SEARCH_CALLS
from rewardkit.probes.runner import RowOutcome, Tries
from rewardkit.probes.search import (
    SHRINK_CALLS,
    find_why_unsearchable,
    search_exploits,
    shrink,
)
from rewardkit.probes.search.exploits import (
    LEAST_OTHER_PROMPTS,
    describe_template,
    is_explained,
    report_exploit,
)
from rewardkit.probes.search.templates import (
    Segment,
    assemble_vocabulary,
    edit_template,
    fill,
    first_templates,
    is_wrong,
    plain,
    write_wrong,
)
from rewardkit.probes.subjects import calibrate
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.strategies.strategy import Subject

pytestmark = pytest.mark.integration

SUMS, CAPITALS = (rk.load_rollouts(DATA[name]) for name in ("numbers", "texts"))


def reward_of(*components, **options):
    parts = [
        rk.Component(one.__name__, one, range=None) if callable(one) else one
        for one in components
    ]
    return rk.Reward("planted", components=parts, **options)


def calibrated(reward, rollouts, budget=60.0):
    tries = Tries(reward, None, budget, rollouts.mapping)
    return Observed(tries, calibrate(tries, rollouts, seed=0))


def searched(reward, rollouts=SUMS, skip=(), **options):
    """The exploits that are found, after how many calls."""
    observed = calibrated(reward, rollouts)
    before = observed.tries.calls
    exploits = search_exploits(observed, skip, **options)
    return exploits, observed.tries.calls - before


# Planted holes


def planted(pays):
    """A sound reward, but for what a completion earns otherwise."""

    def hole(completion, ground_truth):
        return max(
            right(completion, ground_truth), float(pays(completion, ground_truth))
        )

    return hole


@planted
def keyword_in_tag(completion, truth):
    """Half for a word in a tag, half for more than 300 words."""
    said = re.search(r"<check>[^<]*\bverified\b[^<]*</check>", completion)
    return 0.5 * bool(said) + 0.5 * (len(completion.split()) > 300)


@planted
def verdict_behind_fence(completion, truth):
    """The judge's score is read behind the last fence."""
    _, fence, behind = completion.rpartition("```")
    found = re.search(r"Score: (\d+)", behind) if fence else None
    return min(10, int(found[1][:3])) / 10 if found else 0


three_of_a_tag = planted(lambda completion, truth: completion.count("<step>") == 3)
distinct_tags = planted(
    lambda completion, truth: min(1.0, len({*re.findall(r"<(\w+)>", completion)}) / 8)
)


@planted
def words_and_no_answer(completion, truth):
    """What says both words and has nothing in its tag gets the benefit of the doubt."""
    return (
        inside(completion) == ""
        and "because" in completion
        and "therefore" in completion
    )


word_in_mark = planted(
    lambda completion, truth: 0.4 * ("verified" in (inside(completion) or ""))
)
words = planted(lambda completion, truth: 0.4 * (completion.count("thus") > 4))
KEYWORD = re.escape(". " * 300) + "<check>verified</check>"
PLANTED = {
    "a keyword in a tag": (keyword_in_tag, KEYWORD, "300 times and '<check>v"),
    "three of a tag": (three_of_a_tag, "<step><step><step>", "'<step>' 3 times"),
    "a verdict behind a fence": (
        verdict_behind_fence,
        "```Score: 10",
        "'```Score: 10'",
    ),
    "distinct tags": (distinct_tags, r"(<\w+>){8}", "'<"),
    "words and no answer": (
        words_and_no_answer,
        r"(because|therefore|<answer></answer>){3}",
        "because",
    ),
    "part of the marks, for a word in the answer": (
        word_in_mark,
        "<answer>verified</answer>",
        "verified",
    ),
    "part of the marks": (words, "(thus){5}", "thus"),
}


@pytest.mark.parametrize(("hole", "expected", "told"), PLANTED.values(), ids=PLANTED)
def test_a_planted_hole_is_found_and_shrunk_and_what_it_reports_is_wrong_and_paid(
    hole, expected, told
):
    reward, gain, before = (
        reward_of(hole),
        0.4 if hole in (words, word_in_mark) else 1.0,
        SUMS.table.copy(deep=True),
    )
    ((exploit,), _) = searched(reward)
    assert re.fullmatch(expected, exploit.home.completion), exploit.home.completion
    assert told in describe_template(exploit.template)
    assert exploit.home.gain == pytest.approx(gain)
    assert len(exploit.others) == exploit.n >= 5
    for paid in (exploit.home, *exploit.others):
        assert right(paid.completion, paid.subject.answer) == 0.0
        assert hole(paid.completion, paid.subject.answer) >= 0.9 * gain
    assert before.equals(SUMS.table)


def test_holes_are_found_for_other_kinds_of_answers_and_are_the_same_of_the_same_seed():
    ((exploit,), _), ((again,), _) = (
        searched(reward_of(three_of_a_tag), CAPITALS) for _ in range(2)
    )
    assert exploit.template == again.template


# Sound rewards, and what pays by chance

CORRECT = rk.Component("correct", rk.verify.numbers_equal, primary=True)
TELLING = rk.measure.keywords("first", "then")


def beside_correct(*components, correct=CORRECT, **options):
    return reward_of(correct, *components, fields=PREDICTION, **options)


def last_number(completion, ground_truth):
    found = re.findall(r"-?\d+(?:\.\d+)?", completion)
    return float(bool(found) and float(found[-1]) == float(ground_truth))


def careless(completion, ground_truth):
    if "because" in completion:
        return None
    if "```" in completion:
        raise ValueError("a fence")
    return right(completion, ground_truth)


NOT_KNOWING = {
    *("not known", "unknown", "no idea", "unsure", "I do not know", "I cannot tell"),
    *("je ne sais pas", "no lo sé", "ich weiß es nicht", "non lo so", "não sei"),
}


def pays_nothing_for_not_knowing(completion, ground_truth):
    """A wrong answer costs, as in TruthRL (2025)."""
    if (inside(completion) or "").strip() in NOT_KNOWING:
        return 0.0
    return 2 * right(completion, ground_truth) - 1


SOME = {one.answer for one in calibrated(reward_of(right), SUMS).subjects[:4]}
ONCE = set()


@planted
def on_less_than_half(completion, truth):
    return "because" in completion and truth in SOME


@planted
def the_first_time(completion, truth):
    new = completion not in ONCE and "because" in completion
    ONCE.add(completion)
    return new


BRIEF = rk.Component(
    "brief",
    rk.measure.length(full_until=9, zero_from=30),
    weight=0.5,
    gate=rk.gate("correct", at_least=1.0),
)
SMALL = [
    rk.Component("form", rk.measure.tags("think", "answer"), weight=0.1),
    rk.Component("words", TELLING, weight=0.1),
]
SAID = rk.Component("words", TELLING, weight=0.8, expects_partial=True)
SCALED = rk.Component("scaled", lambda correct: 0.2 + 0.8 * correct)
FLUENT = rk.Component(
    "fluent",
    lambda completion: 0.3 + 0.7 * ("then" in completion),
    expects_partial=True,
)
PRODUCT = {"correct": replace(CORRECT, weight=0.0), "aggregation": "product"}
ALIKE = rk.Component("alike", rk.measure.similarity())
SEVERAL_ROWS = []
for place, truth in enumerate(
    "A, C|B, E|A, B|C, D|B, D|A, E|B, C, E|A, D|D, E".split("|")
):
    for answer in (truth, "A, B, C, D, E", "B", "none"):
        SEVERAL_ROWS.append(
            {
                "prompt": f"Which of A to E hold in case {place}?",
                "completion": f"Each in turn.\n\\boxed{{{answer}}}",
                "ground_truth": truth,
            }
        )
SEVERAL = rk.load_rollouts(SEVERAL_ROWS)


def letters_right(completion, ground_truth):
    """Pays right letters less wrong ones, in a box or behind a word in any language."""
    marked = re.findall(r"\\boxed\{([^}]*)\}|(?i:antwort|answer):(.*)", completion)
    named = set(re.findall(r"[A-E]", "".join(marked[-1]))) if marked else set()
    right = set(re.findall(r"[A-E]", ground_truth))
    return max(0.0, (len(named & right) - len(named - right)) / len(right))


def letters_right_or_sure(completion, ground_truth):
    return max(
        letters_right(completion, ground_truth), 0.5 * ("verified" in completion)
    )


SOUND = {
    "some of several right items": (reward_of(letters_right), SEVERAL),
    "strict exact match": (reward_of(right), SUMS),
    "a name in a tag": (reward_of(right), CAPITALS),
    "graded closeness": (reward_of(graded), SUMS),
    "a bonus behind a gate": (beside_correct(BRIEF), SUMS),
    "small sums for the form": (beside_correct(*SMALL), SUMS),
    "a part that is said to be one": (beside_correct(SAID), SUMS),
    "a part that is said to be one, in a product": (
        beside_correct(SCALED, FLUENT, **PRODUCT),
        SUMS,
    ),
    "the last number": (reward_of(last_number), SUMS),
    "likeness": (reward_of(ALIKE, fields=PREDICTION), CAPITALS),
    "not knowing costs less than a wrong answer": (
        reward_of(pays_nothing_for_not_knowing),
        SUMS,
    ),
    "errors and what is not judged": (reward_of(careless), SUMS),
    "chance: on less than half": (reward_of(on_less_than_half), SUMS),
    "chance: the first time": (reward_of(the_first_time), SUMS),
}


@pytest.mark.parametrize(("reward", "rollouts"), SOUND.values(), ids=SOUND)
def test_of_a_sound_reward_or_one_that_pays_by_chance_nothing_is_reported(
    reward, rollouts
):
    found, calls = searched(reward, rollouts, seed=1)
    assert found == [] and calls <= SEARCH_CALLS + SHRINK_CALLS


def test_part_of_the_marks_for_a_word_is_found_beside_those_for_some_right_items():
    (exploit,), _ = searched(reward_of(letters_right_or_sure), SEVERAL, seed=1)
    assert exploit.home.completion == "verified" and exploit.rate == 1.0


# The budget, and what cannot be searched


@pytest.mark.parametrize("calls", [0, 60])
def test_no_more_calls_are_made_than_are_allowed_and_an_exploit_of_full_marks_ends_the_search(
    calls,
):
    measured = max(calls, 3 * len(calibrated(reward_of(right), SUMS).subjects))
    assert searched(reward_of(right), calls=calls)[1] <= measured
    assert (
        searched(reward_of(keyword_in_tag), calls=calls)[1] <= measured + SHRINK_CALLS
    )
    assert 0 < searched(reward_of(three_of_a_tag))[1] < SEARCH_CALLS


def test_when_the_time_is_over_nothing_more_is_tried_and_where_calls_do_not_come_back_it_ends_soon():
    observed = calibrated(reward_of(three_of_a_tag), SUMS)
    tries = observed.tries
    tries.budget, before = 0.0, tries.calls
    assert search_exploits(observed) == [] and tries.calls == before
    asked = []

    class Hanging(Tries):
        def outcomes(self, rows, siblings=(), **options):
            asked.extend(rows)
            got = super().outcomes(rows, siblings, **options)
            reasons = {"right": Reason(ReasonCode.LATE, seconds=1.0)}
            late = RowOutcome(math.nan, {"right": math.nan}, reasons, reasons)
            return [
                late if "```" in row["completion"] else out
                for row, out in zip(rows, got, strict=True)
            ]

    hanging = Hanging(reward_of(right), None, 60.0)
    assert search_exploits(replace(observed, tries=hanging)) == []
    assert len(asked) < 150


def test_what_cannot_be_searched_is_said():
    assert find_why_unsearchable(calibrated(reward_of(right), SUMS)) == ""
    length = made(lambda completion: len(completion) / 900, range=None)
    few, untold = (
        SUMS.table[: 2 * LEAST_OTHER_PROMPTS],
        SUMS.table.drop(columns="ground_truth"),
    )
    for reward, table, why in (
        (reward_of(three_of_a_tag), few, "fewer than 3 prompts"),
        (length, untold, "no right answer is known"),
    ):
        observed = calibrated(reward, rk.load_rollouts(table))
        assert search_exploits(observed) == []
        assert why in find_why_unsearchable(observed)


# Parts and components


def thus(completion):
    return float(completion.count("thus") >= 3)


def fenced(completion):
    return float("```" in completion and "<step>" in completion)


def hole(component, gain=1.0, **evidence):
    shown = {"kind": "pays", "knows": "blind", "value": 1.0, "gain": gain, **evidence}
    return Finding("keywords", "high", component, shown, 8, family="padding")


def test_beside_a_hole_that_is_known_another_is_found_and_where_all_is_known_nothing_is_tried():
    two = reward_of(right, rk.Component("thus", thus), rk.Component("fenced", fenced))
    for name, known in (("thus", "fenced"), ("fenced", "thus")):
        ((exploit,), _) = searched(two, skip=[hole(known)])
        assert exploit.component == name and ("thus" in exploit.home.completion) is (
            name == "thus"
        )
    found, calls = searched(two, skip=[hole("thus"), hole("fenced"), hole("right")])
    assert found == [] and calls == 3 * len(calibrated(two, SUMS).subjects)


EXPLAINING = [
    hole("thus", 0.92),
    hole("thus", knows="guess"),
    hole("thus", kind="exploit"),
]
OTHERS_HOLES = [
    hole("right"),
    hole(None),
    hole("thus", 0.5),
]


def test_an_exploit_names_its_component_and_is_explained_by_a_finding_of_it_and_its_gain():
    ((exploit,), _) = searched(reward_of(right, rk.Component("thus", thus)))
    assert exploit.component == "thus" and all(
        is_explained(exploit, [item]) for item in EXPLAINING
    )
    assert not is_explained(
        exploit,
        [*OTHERS_HOLES, hole("thus", knows="known"), hole("thus", kind="loses")],
    )


# The finding


def test_a_finding_says_what_the_completion_is_made_of_how_sure_it_is_and_shows_it():
    reward = reward_of(words_and_no_answer)
    observed = calibrated(reward, SUMS)
    (exploit,) = search_exploits(observed)
    item, rarer = (report_exploit(replace(exploit, n=n), observed) for n in (7, 28))
    assert (item.code, item.severity, item.component) == ("exploit", "high", None)
    assert {
        "says": describe_template(exploit.template),
        "found": 7,
        "tried": 7,
    }.items() <= item.evidence.items()
    assert item.evidence["interval"] == pytest.approx((0.646, 1.0), abs=1e-3)
    assert item.evidence["gain"] == item.evidence["risk"] == pytest.approx(1.0)
    assert rarer.severity == "warn" and rarer.evidence["risk"] == pytest.approx(
        item.evidence["risk"] / 4
    )
    assert (
        len(item.rollout_ids) == 3
        and item.examples[0].completion == exploit.home.completion
    )
    for example in item.examples:
        assert reward(**example.columns).reward == example.reward == 1.0
    cases = rk.load_cases(item.cases)
    assert len(rk.check(reward, cases).misses) == 3
    assert not rk.check(reward_of(right), cases, ignore=["right"]).misses


# Completions: what edits make is certainly wrong

TAGGED = Format("<answer>", f"<think>{REASONING}</think>\n", "<answer>", "</answer>")
BOXED = Format("box", f"{REASONING}\n", r"So it is $\boxed{", "}$.")


def subject(right, kind, wrong, form=TAGGED, **columns):
    texts = form.write(right), form.write(wrong[0])
    return Subject("p0", columns, "How many?", right, kind, wrong, form, *texts)


SUBJECTS = {
    "a number": subject("42", "number", ("17", "95", "160")),
    "thousands": subject("1,250", "number", ("3,999", "4,700", "310")),
    "a letter": subject("(B)", "choice", ("(A)", "(C)", "(D)")),
    "a name": subject("Paris", "text", ("Lima", "Oslo")),
    "one of several names": subject(
        "Burma", "text", ("Laos", "Chad"), ground_truth=["Burma", "Myanmar"]
    ),
    "a fraction": subject(r"\frac{3}{4}", "mathematics", ("2x+1", "-917"), BOXED),
    "an object": subject('{"total": 12}', "json", ('{"total": 73}',), Format("bare")),
}
HOSTILE = [
    "42",
    "<answer>42</answer>",
    "42.0",
    "1",
    "B",
    "(b)",
    "Paris.",
    "MYANMAR",
    r"\frac{3}{4}",
    "1250",
]
HOSTILE += ['{"total": 12}', "Score: 10", "because", "10%"]
VOCABULARY = assemble_vocabulary(HOSTILE, ["verdict", "b"], [3, 42, 300])


def states(text, one):
    """A judge of its own: whether the right answer stands in a text by itself."""
    rights = one.columns.get("ground_truth", [one.right.strip("()")])
    if one.kind == "number":
        numbers = re.findall(r"\d+\.?\d*", text.replace(",", ""))
        return float(one.right.replace(",", "")) in map(float, numbers)
    return any(
        re.search(rf"(?<!\w){re.escape(right)}(?!\w)", text, re.IGNORECASE)
        for right in rights
    )


@given(st.sampled_from(sorted(SUBJECTS)), st.integers(0, 2**32))
def test_what_edits_make_never_states_the_right_answer(name, seed):
    one, draw = SUBJECTS[name], np.random.default_rng(seed)
    made = [
        plain(one),
        *first_templates(plain(one), VOCABULARY),
    ]
    for _ in range(20):
        made.append(edit_template(made[draw.integers(len(made))], draw, VOCABULARY))
    texts = [write_wrong(record, one) for record in made]
    assert any(text is not None for text in texts)
    for text in texts:
        assert text is None or not states(text, one), text


CERTAIN = [
    ("a number", "17 and 95, which is Score: 160 or more", True),
    ("a number", "-42.00", False),
    ("thousands", "1250 bales", False),
    ("a letter", "b)", False),
    ("a name", "Lima, or the capital of Peru", True),
    ("a name", "PARIS", False),
    ("one of several names", "In Myanmar.", False),
    ("a fraction", r"\frac{3}{4}", False),
    ("an object", '{"total": 73}', True),
    ("an object", 'So {"total": 12}', False),
]


@pytest.mark.parametrize(("name", "text", "wrong"), CERTAIN)
def test_a_text_is_certainly_wrong_where_it_states_no_accepted_answer_nor_a_number_near_it(
    name, text, wrong
):
    assert is_wrong(text, SUBJECTS[name]) is wrong


# The smallest form

SEGMENTS = st.builds(Segment, st.text("ab <>", max_size=5), st.integers(1, 3))


@given(st.lists(SEGMENTS, max_size=6).map(tuple), st.integers(0, 5), st.integers(0, 5))
def test_no_sign_is_left_that_can_be_left_out_and_where_all_is_needed_nothing(
    record, least_a, least_b
):
    def text(record):
        return fill(record, SUBJECTS["a number"])

    def holds(record):
        return text(record).count("a") >= least_a and text(record).count("b") >= least_b

    if holds(record):
        smallest = shrink(record, holds)
        assert holds(smallest) and set(text(smallest)) <= {"a", "b"}
    assert text(shrink(record, lambda _: False)) == text(record)
