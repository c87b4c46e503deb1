"""search(): holes that only a combination reaches are found and shrunk; sound rewards stay silent."""

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.findings import Finding
from rewardkit.probes.results.evidence import Seen
from rewardkit.probes.runner import Outcome, Tries, Variants
from rewardkit.probes.search.completions import mentions
from rewardkit.probes.search.exploits import explained, exploit_finding
from rewardkit.probes.search.gains import OTHERS
from rewardkit.probes.search.search import CALLS, SHRINK, cannot_search, search
from rewardkit.probes.subjects.calibration import calibrate
from rewardkit.scoring.calls import LATE

SEEDS = range(3)


def rows(written, tasks):
    """Rollouts of prompts and truths, two right and two wrong completions each."""
    return rk.load_rollouts(
        [
            {"prompt_id": prompt, "prompt": prompt, "completion": written(said), "ground_truth": truth}
            for prompt, truth, wrong in tasks
            for said in (truth, wrong[0], truth, wrong[1])
        ]
    )


def in_tags(answer):
    return f"<think>We look at it.</think>\n<answer>{answer}</answer>"


@cache
def sums():
    numbers = [18 + 11 * k + k * k for k in range(10)]
    tasks = [
        (f"What is {n - 5 - k} plus {5 + k}? Use tags.", str(n), (str(n + 1), str(n - 10)))
        for k, n in enumerate(numbers)
    ]
    return rows(in_tags, tasks)


@cache
def capitals():
    names = ("Paris", "Lima", "Oslo", "Tokyo", "Nairobi", "Ottawa", "Vienna", "Cairo", "Dublin")
    tasks = [
        (f"What is the capital of land {k}?", name, (names[k - 1], names[k - 2]))
        for k, name in enumerate(names)
    ]
    return rows(in_tags, tasks)


@cache
def letters():
    listed = "\n(A) the sea\n(B) the wind\n(C) the sun\n(D) the moon"
    tasks = [
        (f"Which is it in case {k}?{listed}", "ABCD"[k % 4], ("ABCD"[(k + 1) % 4], "ABCD"[(k + 2) % 4]))
        for k in range(12)
    ]
    return rows(in_tags, tasks)


def marked(completion):
    found = re.findall(r"<answer>([^<]*)</answer>", completion)
    return found[-1].strip() if found else None


def right(completion, ground_truth):
    return float(marked(completion) == ground_truth)


def reward_of(*components, **options):
    made = [rk.Component(one.__name__, one, range=None) if callable(one) else one for one in components]
    return rk.Reward("planted", components=made, **options)


def calibrated(reward, rollouts, budget=60.0):
    tries, variants = Tries(reward, None, budget), Variants(rollouts.mapping)
    return tries, calibrate(tries, rollouts, variants, seed=0), variants


def searched(reward, rollouts=None, seed=0, **options):
    tries, calibration, variants = calibrated(reward, rollouts or sums())
    return search(tries, calibration, variants, seed=seed, **options)


# Planted holes


def keyword_in_tag(completion, ground_truth):
    """Half for a word in a tag, half for more than 300 words."""
    said = re.search(r"<check>[^<]*\bverified\b[^<]*</check>", completion)
    return max(right(completion, ground_truth), 0.5 * bool(said) + 0.5 * (len(completion.split()) > 300))


def three_of_a_tag(completion, ground_truth):
    return 1.0 if completion.count("<step>") == 3 else right(completion, ground_truth)


def verdict_behind_fence(completion, ground_truth):
    """The judge's score is read behind the last fence."""
    _, fence, behind = completion.rpartition("```")
    found = re.search(r"Score: (\d+)", behind) if fence else None
    return min(10, int(found[1][:3])) / 10 if found else right(completion, ground_truth)


def distinct_tags(completion, ground_truth):
    names = set(re.findall(r"<(\w+)>", completion))
    return max(right(completion, ground_truth), min(1.0, len(names) / 8))


def words_and_no_answer(completion, ground_truth):
    """What says both words and has nothing in its tag gets the benefit of the doubt."""
    if marked(completion) == "" and "because" in completion and "therefore" in completion:
        return 1.0
    return right(completion, ground_truth)


def list_in_fence(completion, ground_truth):
    block = re.search(r"```(.*?)```", completion, re.DOTALL)
    if block and ground_truth in re.findall(r"\w+", block[1]):
        return 1.0
    return right(completion, ground_truth)


def four_marks_at_length(completion, ground_truth):
    if completion.count("<answer>") >= 4 and len(completion) > 120:
        return 1.0
    return right(completion, ground_truth)


PLANTED = {
    keyword_in_tag: (
        re.escape(". " * 300) + "<check>verified</check>",
        "'. ' 300 times and '<check>verified",
    ),
    three_of_a_tag: ("<step><step><step>", "'<step>' 3 times"),
    verdict_behind_fence: ("```Score: 10", "'```Score: 10'"),
    distinct_tags: (r"(<\w+>){8}", "'<"),
    words_and_no_answer: (r"(because|therefore|<answer></answer>){3}", "because"),
    list_in_fence: (r"```\d+ \d+ \d+```", "a list with the right answer among wrong ones"),
    four_marks_at_length: (r"[\s\S]{121,140}", "a wrong answer"),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("hole", PLANTED, ids=lambda hole: hole.__name__)
def test_a_planted_hole_is_found_and_shrunk_and_what_it_reports_is_wrong_and_paid(hole, seed):
    expected, says = PLANTED[hole]
    (exploit,) = searched(reward_of(hole), seed=seed)
    assert re.fullmatch(expected, exploit.home.completion), exploit.home.completion
    assert says in exploit.says
    assert exploit.home.gain == pytest.approx(1.0) and exploit.calls <= CALLS
    assert len(exploit.others) == exploit.tried >= 5
    for paid in (exploit.home, *exploit.others):
        assert right(paid.completion, paid.subject.answer) == 0.0
        assert hole(paid.completion, paid.subject.answer) >= 0.9


@pytest.mark.parametrize("rollouts", [capitals, letters])
def test_holes_are_found_for_other_kinds_of_answers(rollouts):
    (exploit,) = searched(reward_of(list_in_fence), rollouts())
    assert mentions(exploit.record)
    (exploit,) = searched(reward_of(three_of_a_tag), rollouts())
    assert exploit.home.completion == "<step><step><step>"


def test_one_guess_at_an_odd_place_is_no_list():
    def last_whole_line(completion, ground_truth):
        found = re.findall(r"^<answer>(\d+)</answer>$", completion, re.MULTILINE)
        return 1.0 if found and found[-1] == ground_truth else 0.0

    assert [exploit for seed in range(4) for exploit in searched(reward_of(last_whole_line), seed=seed)] == []


def test_part_of_the_marks_is_reported_as_such():
    def words(completion, ground_truth):
        return max(right(completion, ground_truth), 0.4 * (completion.count("thus") > 4))

    (exploit,) = searched(reward_of(words))
    assert exploit.home.gain == pytest.approx(0.4)
    assert exploit.home.completion.count("thus") == 5


# Sound rewards

PREDICTION = {"prediction": rk.extract.tag("answer")}
CORRECT = rk.Component("correct", rk.verify.numbers_equal, primary=True, why="the task")


def gated():
    bonus = rk.Component(
        "brief",
        rk.measure.length(full_until=9, zero_from=30),
        weight=0.5,
        gate=rk.gate("correct", at_least=1.0),
    )
    return reward_of(CORRECT, bonus, fields=PREDICTION)


def small_sums():
    form = rk.Component("form", rk.measure.tags("think", "answer"), weight=0.1, why="the parser needs it")
    words = rk.Component("words", rk.measure.keywords("first", "then"), weight=0.1, why="a little")
    return reward_of(CORRECT, form, words, fields=PREDICTION)


def said_to_be_partial():
    words = rk.Component("words", rk.measure.keywords("first", "then"), weight=0.8, expects_partial=True)
    return reward_of(CORRECT, words, fields=PREDICTION)


def fluent(completion):
    return 1.0 if "first" in completion and "then" in completion else 0.3


def partial_in_a_product():
    words = rk.Component("fluent", fluent, expects_partial=True)
    scaled = rk.Component("scaled", lambda correct: 0.2 + 0.8 * correct)
    options = {"fields": PREDICTION, "aggregation": "product"}
    return reward_of(replace(CORRECT, weight=0.0), scaled, words, **options)


def close(completion, ground_truth):
    """What is near earns a part."""
    try:
        return max(0.0, 1 - abs(float(marked(completion)) - float(ground_truth)) / float(ground_truth))
    except (TypeError, ValueError, OverflowError):
        return 0.0


def last_number(completion, ground_truth):
    found = re.findall(r"-?\d+(?:\.\d+)?", completion)
    return float(bool(found) and float(found[-1]) == float(ground_truth))


def first_line(completion, ground_truth):
    return float(completion.strip().split("\n")[0].strip() == ground_truth)


def penalised(completion, ground_truth):
    return right(completion, ground_truth) - min(0.5, len(completion) / 2000)


SOUND = {
    "strict exact match": (lambda: reward_of(right), sums),
    "number in a tag": (lambda: reward_of(CORRECT, fields=PREDICTION), sums),
    "graded closeness": (lambda: reward_of(close), sums),
    "a bonus behind a gate": (gated, sums),
    "small sums for the form": (small_sums, sums),
    "a part that is said to be one": (said_to_be_partial, sums),
    "a part that is said to be one, in a product": (partial_in_a_product, sums),
    "the last number": (lambda: reward_of(last_number), sums),
    "a first line": (lambda: reward_of(first_line), capitals),
    "a penalty for length": (lambda: reward_of(penalised), sums),
    "a name in a tag": (lambda: reward_of(right), capitals),
    "a letter in a tag": (lambda: reward_of(right), letters),
    "likeness": (
        lambda: reward_of(rk.Component("alike", rk.measure.similarity()), fields=PREDICTION),
        capitals,
    ),
}


@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize("name", SOUND)
def test_of_a_sound_reward_nothing_is_reported(name, seed):
    reward, rollouts = SOUND[name]
    tries, calibration, variants = calibrated(reward(), rollouts())
    before = tries.calls
    assert calibration.mode == "truth"
    assert search(tries, calibration, variants, seed=seed) == []
    assert tries.calls - before <= CALLS


def test_a_likeness_that_what_contains_the_truth_meets_is_no_sound_one():
    alike = rk.Component("alike", rk.measure.similarity("token_set"))
    (exploit,) = searched(reward_of(alike, fields=PREDICTION), capitals())
    assert "a list with the right answer among wrong ones" in exploit.says


# Chance


def by_chance():
    """Rewards that pay a word, or a wrong answer, on some prompts only, or only once."""
    subjects = calibrated(reward_of(right), sums())[1].subjects
    some, first, seen = {one.answer for one in subjects[:4]}, {one.wrong[0] for one in subjects}, set()
    assert len(subjects) == 8  # of one of the four three of seven others

    def on_one_prompt(completion, ground_truth):
        known = ground_truth == sums().table["ground_truth"][0]
        return max(right(completion, ground_truth), float("because" in completion and known))

    def on_less_than_half(completion, ground_truth):
        return max(right(completion, ground_truth), float("because" in completion and ground_truth in some))

    def the_first_time(completion, ground_truth):
        new = completion not in seen and "because" in completion
        seen.add(completion)
        return max(right(completion, ground_truth), float(new))

    def unlike_the_first_wrong_answer(completion, ground_truth):
        said = marked(completion) or ""
        return 0.6 * right(completion, ground_truth) + 0.4 * (said.isdigit() and said not in first)

    return [on_one_prompt, on_less_than_half, the_first_time, unlike_the_first_wrong_answer]


@pytest.mark.parametrize("place", range(4))
def test_what_pays_by_chance_is_not_reported(place):
    reward = reward_of(by_chance()[place])
    assert all(searched(reward, seed=seed) == [] for seed in SEEDS[:2])


# The budget, and what cannot be searched


@pytest.mark.parametrize("calls", [0, 10, 60, 200])
def test_no_more_calls_are_made_than_are_allowed(calls):
    tries, calibration, variants = calibrated(reward_of(right), sums())
    before = tries.calls
    search(tries, calibration, variants, calls=calls)
    measured = 3 * len(calibration.subjects)
    assert tries.calls - before <= max(calls, measured)
    tries, calibration, variants = calibrated(reward_of(keyword_in_tag), sums())
    before = tries.calls
    search(tries, calibration, variants, calls=calls)
    assert tries.calls - before <= max(calls, measured) + SHRINK


def test_an_exploit_of_full_marks_ends_the_search():
    tries, calibration, variants = calibrated(reward_of(three_of_a_tag), sums())
    before = tries.calls
    (exploit,) = search(tries, calibration, variants)
    assert exploit.calls <= tries.calls - before < CALLS


def test_when_the_time_is_over_nothing_more_is_tried():
    tries, calibration, variants = calibrated(reward_of(three_of_a_tag), sums())
    tries.budget, before = 0.0, tries.calls
    assert search(tries, calibration, variants) == []
    assert tries.calls == before


def test_where_calls_do_not_come_back_it_ends_soon():
    tries, calibration, variants = calibrated(reward_of(right), sums())
    asked = []

    class Hanging(Tries):
        def outcomes(self, rows, siblings=(), **options):
            asked.extend(rows)
            got = super().outcomes(rows, siblings, **options)
            errors = {"right": f"{LATE} 1 s"}
            late = Outcome(math.nan, {"right": math.nan}, {"right": "error"}, errors)
            return [late if "```" in row["completion"] else out for row, out in zip(rows, got, strict=True)]

    hanging = Hanging(tries.reward, None, 60.0)
    assert search(hanging, calibration, variants) == []
    assert len(asked) < 150


def test_without_a_truth_nothing_is_searched_and_it_is_said_why():
    table = sums().table.drop(columns="ground_truth")

    def long(completion):
        return min(1.0, len(completion) / 900)

    tries, calibration, variants = calibrated(reward_of(long), rk.load_rollouts(table))
    assert search(tries, calibration, variants) == []
    assert "no right answer is known" in cannot_search(calibration)


def test_of_two_prompts_nothing_could_be_told_from_chance():
    table = sums().table[:8]
    tries, calibration, variants = calibrated(reward_of(three_of_a_tag), rk.load_rollouts(table))
    assert len(calibration.subjects) == OTHERS
    assert search(tries, calibration, variants) == []
    assert "fewer than 3 prompts" in cannot_search(calibration)
    assert cannot_search(calibrated(reward_of(right), sums())[1]) is None


def test_errors_and_what_is_not_judged_are_no_gain():
    def careless(completion, ground_truth):
        if "because" in completion:
            return None
        if "```" in completion:
            raise ValueError("a fence")
        return right(completion, ground_truth)

    def penalty(completion):
        if "```" in completion:
            raise ValueError("a fence")
        return 1.0

    assert searched(reward_of(careless)) == []
    wary = rk.Component("penalty", penalty, weight=-0.5)
    assert searched(reward_of(right, wary, on_missing="zero")) == []


# One seed, one answer


@pytest.mark.parametrize("hole", [keyword_in_tag, list_in_fence, four_marks_at_length])
def test_the_same_seed_gives_the_same_exploit_by_the_same_calls(hole):
    first, second = (searched(reward_of(hole), seed=3) for _ in range(2))
    assert [(one.record, one.calls) for one in first] == [(one.record, one.calls) for one in second]


def test_nothing_of_the_rollouts_is_changed():
    before = sums().table.copy(deep=True)
    searched(reward_of(distinct_tags))
    assert before.equals(sums().table)


# Parts and components


def thus(completion):
    return float(completion.count("thus") >= 3)


def fenced(completion):
    return float("```" in completion and "<step>" in completion)


def with_two_holes():
    return reward_of(right, rk.Component("thus", thus), rk.Component("fenced", fenced))


def test_the_component_at_fault_is_named():
    (exploit,) = searched(reward_of(right, rk.Component("thus", thus)))
    assert exploit.component == "thus"


def hole(component, gain=1.0, **evidence):
    shown = {"kind": "pays", "knows": "blind", "value": 1.0, "gain": gain, **evidence}
    return Finding("keywords", "high", component, shown, 8, family="padding")


def test_beside_a_hole_that_is_known_another_is_found():
    for name, known in (("thus", "fenced"), ("fenced", "thus")):
        found = searched(with_two_holes(), skip=[hole(known)])
        assert [exploit.component for exploit in found] == [name]
        assert ("thus" in found[0].home.completion) is (name == "thus")


def test_where_all_is_known_nothing_is_tried():
    tries, calibration, variants = calibrated(with_two_holes(), sums())
    before = tries.calls
    known = [hole("thus"), hole("fenced"), hole("right")]
    assert search(tries, calibration, variants, skip=known) == []
    assert tries.calls - before == 3 * len(calibration.subjects)


def test_a_part_of_a_route_has_holes_of_its_own():
    table = sums().table
    other = table.assign(
        data_source="b", prompt_id=table["prompt_id"] + "b", ground_truth=table["ground_truth"] + "0",
        completion=table["completion"].str.replace("</answer>", "0</answer>"),
        rollout_id=table["rollout_id"] + 1000,
    )  # fmt: skip
    both = rk.load_rollouts([*table.assign(data_source="a").to_dict("records"), *other.to_dict("records")])
    route = rk.Route("data_source", {"a": reward_of(right), "b": reward_of(three_of_a_tag)})
    (exploit,) = searched(route, both, calls=800)
    assert exploit.part == "b" and exploit.home.completion == "<step><step><step>"


EXPLAINED = [
    ("the same component, as much", hole("thus"), True),
    ("a little less", hole("thus", 0.92), True),
    ("much less", hole("thus", 0.5), False),
    ("another component", hole("right"), False),
    ("no component", hole(None), False),
    ("another part", replace(hole("thus"), part="b"), False),
    ("who knows the answer", hole("thus", knows="known"), False),
    ("a guess", hole("thus", knows="guess"), True),
    ("on few prompts", hole("thus", value=0.1), False),
    ("right answers that lose", hole("thus", kind="loses"), False),
    ("another exploit", hole("thus", kind="exploit"), True),
    ("an accepted one", replace(hole("thus"), accepted="known"), True),
    ("without a gain", Finding("hang", "high", "thus", {"seconds": 1}, 1, family="hang"), False),
]


def test_an_exploit_is_explained_by_a_finding_of_its_component_and_gain():
    (exploit,) = searched(reward_of(right, rk.Component("thus", thus)))
    got = [(why, explained(exploit, [finding])) for why, finding, _ in EXPLAINED]
    assert got == [(why, expected) for why, _, expected in EXPLAINED]
    assert explained(exploit, []) is False


# The finding


def found(reward):
    tries, calibration, variants = calibrated(reward, sums())
    (exploit,) = search(tries, calibration, variants)
    return exploit, exploit_finding(exploit, Seen(reward, calibration, {}, variants, frozenset()))


def test_a_finding_says_what_the_completion_is_made_of_and_how_sure_it_is():
    exploit, finding = found(reward_of(words_and_no_answer))
    assert (finding.code, finding.family, finding.severity, finding.component) == (
        "exploit",
        "search",
        "high",
        None,
    )
    assert finding.evidence["kind"] == "exploit"
    assert finding.evidence["says"] == exploit.says
    assert finding.evidence["found"] == finding.evidence["tried"] == finding.n == 7
    assert finding.evidence["interval"] == pytest.approx((0.646, 1.0), abs=1e-3)
    assert finding.evidence["gain"] == finding.evidence["risk"] == pytest.approx(1.0)
    assert finding.evidence["edits"] == len(exploit.record) and finding.evidence["calls"] == exploit.calls


def test_the_examples_are_of_different_prompts_and_their_cases_miss():
    reward = reward_of(words_and_no_answer)
    exploit, finding = found(reward)
    assert len(finding.rollout_ids) == 3
    assert finding.examples[0].completion == exploit.home.completion
    for example in finding.examples:
        assert reward(**example.columns).reward == example.reward == 1.0
    result = rk.check(reward, rk.load_cases(finding.cases))
    assert len(result.misses) == 3
    assert not rk.check(reward_of(right), rk.load_cases(finding.cases), ignore=["right"]).misses


def test_a_hole_on_some_prompts_is_less_severe():
    exploit, finding = found(reward_of(words_and_no_answer))
    tries, calibration, variants = calibrated(reward_of(words_and_no_answer), sums())
    seen = Seen(tries.reward, calibration, {}, variants, frozenset())
    rarer = exploit_finding(replace(exploit, tried=4 * exploit.tried), seen)
    assert rarer.evidence["risk"] == pytest.approx(finding.evidence["risk"] / 4)
    assert rarer.severity == "warn"


def test_a_hole_that_adds_little_of_the_ceiling_is_less_severe():
    bonus = rk.Component("thus", thus, weight=0.35)
    _, finding = found(reward_of(right, bonus))
    assert finding.severity == "warn" and finding.component == "thus"
    assert finding.evidence["risk"] == pytest.approx(finding.evidence["gain"], abs=0.05)
    assert not np.isnan(finding.evidence["risk"])
