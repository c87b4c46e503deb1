"""probe() as a whole: one finding a cause, budgets, what is inconclusive, and what its author declared."""

import json
import math
import os
import random
import re
import time
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from planted_probes import (
    CLEAN,
    DATA,
    beside,
    graded,
    inside,
    made,
    number,
    probed,
    somewhere,
    strict,
    tags,
)

import rewardkit as rk
from rewardkit.probes.subjects import _is_slow
from rewardkit.probes.subjects.kinds import find_kinds

pytestmark = pytest.mark.integration

FAST = {"only": ["calibration", "nothing_there", "shotgun", "near_misses", "padding"]}
DRAW = random.Random(5)
WRONG = [row for row in DATA["numbers"] if "none" in row["completion"]]


def fails(completion):
    raise KeyError("difficulty")


def distance(completion, ground_truth):
    return np.nan_to_num(abs(number(inside(completion)) - float(ground_truth)))


def slow(seconds):
    def score(completion, ground_truth):
        time.sleep(seconds)
        return strict(completion, ground_truth)

    return score


def overlap(completion, ground_truth):
    score = float(inside(completion) == ground_truth)
    if len(completion) > 10:  # a limit of another thing
        return score > 20
    return likeness(completion, ground_truth) > 10


def likeness(completion, ground_truth):
    return float(ground_truth in completion)


LIMITS = {"exact": 80}


class Alike:
    """A reward with its limit in an attribute, and likeness as numpy has it."""

    limit = 10

    def __call__(self, completion, ground_truth):
        said = np.float32(likeness(completion, ground_truth))
        return 0.1 * (len(completion) % 2) + 0.9 * bool(said >= self.limit)


def by_limit_of_table(completion, ground_truth):
    is_alike = round(likeness(completion, ground_truth), 2) > LIMITS["exact"]
    return 1.0 if is_alike else 0.1 * completion.endswith(">")


def by_two_scales(completion, ground_truth):
    """Truths of one digit are compared exactly, longer ones by a share of 100."""
    if len(ground_truth) == 1:
        return strict(completion, ground_truth)
    return round(likeness(completion, ground_truth), 2) > LIMITS["exact"]


def in_percent_or_shares(completion, ground_truth):
    """A score may be of 100; this one never pays, for another reason."""
    score = likeness(completion, ground_truth)
    if score > 10:
        score /= 100
    return 0.0 * score


def form(completion):
    return inside(completion) is not None


def but(errs):
    """A reward that is strict, and pays what `errs` pays."""
    return lambda completion, ground_truth: max(
        float(strict(completion, ground_truth)), float(errs(completion, ground_truth))
    )


def ends(word):
    def score(completion, ground_truth):
        if word in completion:
            os._exit(5)
        return strict(completion, ground_truth)

    return score


def of_sources(count):
    """Rollouts of as many data sources."""
    return [
        {
            **row,
            "prompt_id": f"{place}-{row['prompt_id']}",
            "data_source": f"src{place}",
        }
        for place in range(count)
        for row in DATA["numbers"][:8]
    ]


def of_source(completion, ground_truth, data_source):
    return data_source in ("src8", "src9") or strict(completion, ground_truth)


def certain(completion, ground_truth):
    return float(strict(completion, ground_truth)) + 0.5 * ("certain" in completion)


def loose(completion, ground_truth):
    return ground_truth in re.findall(r"\d+", inside(completion) or "")


def contained(completion, ground_truth):
    """A hole: a part of the truth, or more than it, is right."""
    answer = inside(completion) or "-"
    return answer in ground_truth or ground_truth in answer


def some_unpaid(completion, ground_truth):
    return strict(completion, ground_truth) and ground_truth not in ("83", "64")


def formed(completion, ground_truth):
    return form(completion)


def shared(completion):
    """Swallow the error of a key that messages do not have."""
    try:
        return float(len(completion["text"]) > 40)
    except TypeError:
        return 0.0


IDLE = {
    "the length of a list": lambda completion: -float(len([completion]) > 1000),
    "a tag in a list": lambda completion: "<think>" in [completion],
    "a key that is not there": lambda completion: len({"content": 1}.get("text", "")),
    "an error that is swallowed": shared,
    "limits that are exchanged": lambda completion: max(
        0.0, min(-1.0, len(completion) / 500 - 2)
    ),
}
BUSY = {
    "a limit of 60,000 characters": (lambda completion: len(completion) < 60_000, 0.4),
    "a penalty that is off": (lambda completion: len([completion]) > 1000, 0.0),
    "a penalty of what nobody wrote": (lambda completion: "damn" in completion, -0.4),
}
ONE_SOURCE = rk.Route("data_source", {"src0": CLEAN, "src1": made(somewhere)})
WORDS = rk.Component(
    "words", lambda completion: min(1.0, len(completion.split()) / 400), weight=0.6
)
TWO = rk.Reward("r", components=[rk.Component("task", loose), WORDS])
CONTAINED = rk.Reward("r", components=[rk.Component("task", contained), WORDS])
SOME_PAID = but(lambda text, truth: truth in ("17", "35", "9") and "<ans" in text)
SOME_REFUSED = but(
    lambda text, truth: ("can't help" in text and truth in ("42", "17")) or text == "ok"
)
COMBINED = but(lambda text, truth: 0.8 * ("<bonus>because</bonus>" in text))
ONLY, ENDED = (
    {"only": "calibration"},
    {"only": ["nothing_there", "search", "contract"], "timeout": 5},
)
FOUND = {
    "fails": (fails, {}, "always_errors high", "KeyError: 'difficulty'"),
    "judges nothing": (
        lambda completion: None,
        {},
        "always_abstains high",
        "returned None",
    ),
    "a constant": (
        lambda completion, ground_truth: 0.3,
        {},
        "constant high",
        "whatever was written: it teaches nothing.",
    ),
    "a limit of another scale": (
        overlap,
        {},
        "constant high",
        "asks `score > 20`, but that score is on another scale",
    ),
    "a limit of another scale, in a class": (
        Alike(),
        {},
        "ignores_truth high",
        "asks `said >= self.limit` (the limit is 10), but that score",
    ),
    "a limit of another scale, in a table": (
        by_limit_of_table,
        {},
        "ignores_truth high",
        "> LIMITS['exact']` (the limit is 80), but that score",
    ),
    "a limit of another scale, on some prompts": (
        by_two_scales,
        FAST,
        "right_unpaid high , other_limit high",
        "right answer earned nothing",
    ),
    "a limit of another scale, in a component": (
        beside(lambda completion: likeness(completion, "answer") > 10),
        FAST,
        "constant warn form",
        "asks `likeness(completion, 'answer') > 10`, but that score",
    ),
    "a limit that tells two scales apart": (
        in_percent_or_shares,
        {},
        "constant high",
        "whatever was written: it teaches nothing.",
    ),
    "reads no truth": (
        formed,
        {},
        "ignores_truth high",
        "Ignores the ground truth. With the truth of another prompt completions",
    ),
    "reads no truth, and pays for words": (
        lambda completion, ground_truth: "none" not in completion,
        {},
        "ignores_truth high",
        "right answers 8 of 8 are paid, of the wrong ones 0 of 0. What is paid instead: ",
    ),
    "the wrong way round": (made(distance, range=None), {}, "inverted high", ""),
    "late": (
        lambda completion: time.sleep(30),
        {"timeout": 0.2},
        "always_late high",
        "",
    ),
    "chance": (
        lambda completion, ground_truth: random.random(),
        {},
        "differs_between_calls high",
        "",
    ),
    "in two components": (TWO, FAST, "every_number high task, longer high words", ""),
    "by containment and by length": (
        CONTAINED,
        FAST | {"data": "texts"},
        "containment high task, longer high words",
        "Compares by containment",
    ),
    "a letter, which other words have as well": (
        somewhere,
        {"data": "choices", "only": [*FAST["only"], "judge"]},
        "mentioned high",
        "Compares by containment: mentioning",
    ),
    "a word, and an answer that is mentioned": (
        but(lambda text, truth: truth in text or "therefore" in text.lower()),
        FAST,
        "keywords high , mentioned high",
        "Padding pays",
    ),
    "told by the gravest": (
        SOME_REFUSED,
        {"only": "nothing_there"},
        "constant_text high",
        " 8 of 8",
    ),
    "of two sources": (
        of_source,
        FAST | {"data": of_sources(10)},
        "constant high src8, src9",
        "Always 1. ",
    ),
    "of a route": (
        ONE_SOURCE,
        FAST | {"data": of_sources(2)},
        "mentioned high src1",
        "",
    ),
    "of all sources": (
        made(certain, range=None),
        FAST | {"data": of_sources(10)},
        "certain high",
        "40 of 40",
    ),
    **{
        name: (beside(check), FAST, "constant warn form", "whatever was written")
        for name, check in IDLE.items()
    },
    "some right unpaid": (some_unpaid, ONLY, "right_unpaid warn", "'83', '64'"),
    "some wrong paid": (SOME_PAID, ONLY, "wrong_paid warn", "'17', '9', '35'"),
    "a combination": (COMBINED, {}, "exploit high", "A search found an exploit"),
    "ends the process": (ends("sorry"), ENDED, "dies high", ""),
    "ends it in a search": (
        ends("It may be this"),
        ENDED | {"data": "texts"},
        "dies high",
        "",
    ),
}


@pytest.mark.parametrize(
    ("reward", "options", "alarms", "told"), FOUND.values(), ids=FOUND
)
def test_a_cause_is_one_finding_with_its_component_and_its_data_source(
    reward, options, alarms, told
):
    result = probed(reward, **options)
    found = [
        f"{item.code} {item.severity} {item.part or item.component or ''}"
        for item in result.alarms
    ]
    assert ", ".join(found).strip() == alarms and told in result.alarms[0].sentence
    is_other_scale = "another scale" in result.alarms[0].sentence
    assert is_other_scale is ("but that score" in told)
    says_paid = "8 of 8 are paid" in result.alarms[0].sentence
    assert says_paid is ("8 of 8 are paid" in told)
    assert "nan" not in result.alarms[0].sentence and (
        alarms[:11] != "always_late" or result.calls <= 8
    )


KINDS = "sum product count age year rank size".split()


def of_kinds(task=None, metadata=None, prompts=3):
    """Rows of seven kinds of task, one kind after the other."""
    rows = []
    for place, kind in enumerate(KINDS):
        first = 100 * (place + 1)
        for row in tags(*range(first, first + 17 * prompts, 17)):
            row = {**row, "prompt_id": f"{kind} {row['prompt_id']}"}
            row["prompt"] = f"The {kind}: {row['prompt_id']}?"
            row |= {task: kind} if task else {}
            rows.append({**row, "metadata": {metadata: kind}} if metadata else row)
    return rows


def by_task(completion, ground_truth, task):
    return (somewhere if task == "age" else strict)(completion, ground_truth)


def by_skill(completion, ground_truth, skill):
    return (somewhere if skill == "age" else strict)(completion, ground_truth)


def by_metadata(completion, ground_truth, metadata):
    return (somewhere if metadata["skill"] == "age" else strict)(
        completion, ground_truth
    )


def by_prompt(completion, ground_truth, prompt):
    return (somewhere if " age:" in prompt else strict)(completion, ground_truth)


def by_truth(completion, ground_truth):
    return (somewhere if int(ground_truth) >= 400 else strict)(completion, ground_truth)


def by_rule(completion, rule):
    return (rule == "age") is (inside(completion) == "none")


MENTIONED, LISTED = [("mentioned", "age")], [("every_sibling", "")]


@pytest.mark.parametrize(
    ("score", "columns", "alarms"),
    [
        (by_task, {"task": "task"}, MENTIONED),
        (by_skill, {"task": "skill"}, MENTIONED),
        (by_metadata, {"metadata": "skill"}, MENTIONED),
        (by_prompt, {"task": "category"}, MENTIONED),
        (by_truth, {"prompts": 5}, LISTED),  # of the last kinds alone
        (strict, {"task": "task"}, []),
        (strict, {"task": "skill"}, []),
    ],
)
def test_each_kind_of_task_is_probed_on_several_prompts(score, columns, alarms):
    result = probed(score, of_kinds(**columns), only=["shotgun"])
    assert [(item.code, item.part) for item in result.alarms] == alarms
    if alarms == MENTIONED:
        subjects = result.calibration.subjects
        counts = Counter(subject.part for subject in subjects)
        assert counts == dict.fromkeys(KINDS, 3)


@pytest.mark.parametrize(
    ("seconds", "subjects", "is_slow"),
    [(0.03, 8, False), (0.03, 28, True), (0.05, 8, True)],
)
def test_calls_are_slow_for_the_prompts_that_are_to_be_probed(
    seconds, subjects, is_slow
):
    tries = SimpleNamespace(seconds_a_call=seconds, seconds_left=60.0)
    assert _is_slow(tries, subjects) is is_slow


def without_truth(row):
    return {name: row[name] for name in row if name != "ground_truth"}


def of_class(name, **columns):
    """Return a row in which columns and the truth say the same."""
    return {**columns, "ground_truth": name}


NUMBERS_OF_KINDS = {str(place) for place in range(len(KINDS))}
CHANGED_ROWS = {
    "a column that the reward reads": (lambda row: row, {*KINDS}),
    "the only truth": (without_truth, {""}),
    "it is the truth": (lambda row: of_class(row["rule"], rule=row["rule"]), {""}),
    "a category that is the truth": (
        lambda row: of_class(row["rule"], category=row["rule"]),
        {""},
    ),
    "a domain that is the truth": (
        lambda row: of_class(row["rule"], extra_info={"domain": row["rule"]}),
        {""},
    ),
    "one kind that has a single truth": (
        lambda row: {**row, "ground_truth": "5"} if row["rule"] == "age" else row,
        {*KINDS},
    ),
    "numbers": (lambda row: {"task": KINDS.index(row["rule"])} | row, NUMBERS_OF_KINDS),
}


@pytest.mark.parametrize(
    ("change", "expected"), CHANGED_ROWS.values(), ids=CHANGED_ROWS
)
def test_a_column_that_may_be_the_truth_names_no_kinds(change, expected):
    before = of_kinds(task="rule")
    groups = [
        KINDS.index(row["rule"]) * 100 + int(row["prompt_id"][-1]) for row in before
    ]
    kinds = find_kinds([*map(change, before)], groups, made(by_rule))
    assert {*kinds} == expected


def policy(completion, rule, steps):
    return float(rule == "refuse" or steps in completion)


def test_without_a_ground_truth_columns_that_a_reward_reads_name_no_kinds():
    rules = ["refuse", "comply"] * 10
    rows = [{"rule": rule, "steps": str(place)} for place, rule in enumerate(rules)]
    assert {*find_kinds(rows, range(20), made(policy))} == {""}
    truths = [{**row, "ground_truth": row["steps"]} for row in rows]
    assert {*find_kinds(truths, range(20), made(policy))} == {"refuse", "comply"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["math"] * 6_400 + ["code"] * 6_400, {"math": 6_400, "code": 6_400}),
        (["math", None] + ["math"] * 98 + ["code"] * 100, {"math": 100, "code": 100}),
        ([None] * 4 + ["math"] * 96 + ["code"] * 100, {"": 4, "math": 96, "code": 100}),
        ([7] * 100 + [8] * 100, {"7": 100, "8": 100}),
        ([7.0, None] + [7.0] * 98 + [8.0] * 100, {"7": 100, "8": 100}),
        ([7.5] * 100 + [8.5] * 100, {"": 200}),
        (["math", "code"] * 50 + ["code"] * 100, {"": 200}),  # of one prompt
    ],
)
def test_kinds_are_those_of_all_rows_that_have_one(values, expected):
    rows = [
        {"task": value, "ground_truth": str(place // 2)}
        for place, value in enumerate(values)
    ]
    groups = [place // 2 for place in range(len(rows))]
    assert Counter(find_kinds(rows, groups, made(strict))) == expected


def half(is_partly_right):
    """A reward that pays half for an answer of which this is true, beside its truth."""

    def score(completion, ground_truth):
        answer = inside(completion) or ""
        if answer.strip() == ground_truth:
            return 1.0
        return 0.5 * bool(answer and is_partly_right(answer, ground_truth))

    return score


def within_a_quarter(answer, truth):
    return abs(number(answer) - float(truth)) <= 0.25 * abs(float(truth))


def as_many_digits(answer, truth):
    return answer.isdigit() and len(answer) == len(truth)


def share_a_value(answer, truth):
    try:
        said = json.loads(answer)
    except ValueError:
        return False
    if not isinstance(said, dict):
        return False
    return not {*said.items()}.isdisjoint(json.loads(truth).items())


def share_the_name(answer, truth):
    return answer.startswith(truth.partition(",")[0])


def share_of_values(completion, ground_truth):
    try:
        said = json.loads(inside(completion) or "")
    except ValueError:
        return 0.0
    truth = json.loads(ground_truth)
    values = truth.items()
    return sum(said.get(key) == value for key, value in values) / len(values)


PARTIAL = {
    "within a limit": (half(within_a_quarter), "numbers", "an answer off by one 50 %"),
    "by distance": (graded, "numbers", "an answer off by a fifth 76 %"),
    "of values": (share_of_values, "objects", "an object with one wrong value 67 %"),
    "of a name": (half(share_the_name), "objects", "one of its keys 50 %"),
    "none": (strict, "numbers", ""),
    "none, of texts": (strict, "texts", ""),
}
FLAT = {
    "of digits": (half(as_many_digits), "numbers", "on 4 of 4 prompts; these earn"),
    "of one value": (half(share_a_value), "objects", "with one wrong value 50 %"),
    "of one letter": (
        half(lambda answer, truth: answer in truth or truth in answer),
        "texts",
        "a part of the answer 50 %",
    ),
}


@pytest.mark.parametrize(
    ("reward", "data", "told", "is_flat"),
    [(*row, False) for row in PARTIAL.values()]
    + [(*row, True) for row in FLAT.values()],
    ids=[*PARTIAL, *FLAT],
)
def test_what_near_misses_earn_is_told_and_a_fault_where_far_ones_earn_as_much(
    reward, data, told, is_flat
):
    result = probed(reward, data, only=FAST["only"])
    found = [item for item in result.findings if "partial_credit" in item.code]
    severities = [item.severity for item in found]
    assert severities == (["warn" if is_flat else "info"] if told else [])
    assert all(told in item.sentence for item in found)
    assert ("Near misses earn" in str(result)) is bool(told and not is_flat)


def test_a_budget_is_kept_and_what_was_not_tried_is_listed():
    began = time.monotonic()
    result = probed(slow(0.1), timeout=5, budget=2)
    assert (
        time.monotonic() - began < 10
    )  # the budget, the start of the workers and a loaded machine
    assert result.calls < 100 and "certain" in result.untried and not result.alarms
    assert str(result).startswith(
        "r: unfinished, as the budget was over: no hole found in "
    )
    assert ("contract", "it was not checked, as the budget of 2 s was over") in {
        (item.probe, item.why) for item in result.inconclusive
    }


@pytest.mark.parametrize(
    ("score", "data", "budget"), [(strict, "numbers", 1e-9), (slow(0.3), WRONG, 0.5)]
)
def test_a_budget_that_is_over_before_anything_is_known_is_said_and_accuses_nobody(
    score, data, budget
):
    result = probed(score, data, budget=budget)
    assert not result.findings and any(
        "budget" in item.why for item in result.inconclusive
    )


CAPITALS = {
    **{"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Peru": "Lima"},
    **{"Japan": "\u6771\u4eac", "China": "\u5317\u4eac", "Korea": "\uc11c\uc6b8"},
    **{"Greece": "\u0391\u03b8\u03ae\u03bd\u03b1"},
}


@pytest.mark.parametrize(("keeps", "alarms"), [("ascii", 1), ("utf-8", 0)])
def test_what_fits_later_prompts_alone_is_tried_there(keeps, alarms):
    """Of names in other scripts a reward kept nothing, so that they all were the same."""

    def equal(completion, ground_truth):
        texts = [inside(completion) or "?", ground_truth]
        said, truth = (text.encode(keeps, "ignore") for text in texts)
        return said == truth

    rows = []
    for country, capital in CAPITALS.items():
        for answer in (capital, "Oslo", capital, "Bern"):
            text = f"So.\n<answer>{answer}</answer>"
            row = {"prompt": f"The capital of {country}?", "ground_truth": capital}
            rows.append({**row, "completion": text})
    result = probed(equal, rows, only=["near_misses"])
    codes = [item.code for item in result.alarms]
    assert codes == ["nearest_answer"] * alarms


@pytest.mark.parametrize(("status", "is_found"), [(1.0, True), (0.0, False)])
def test_of_programs_without_a_truth_the_best_paid_are_right(status, is_found):
    """A runner that takes an early end for success; found in the wild."""

    def passes(completion, tests):
        try:
            names = {}
            exec(completion.split("```")[1].removeprefix("python"), names)
            for test in tests:
                exec(test, names)
        except SystemExit:
            return status
        except Exception:
            return 0.0
        return 1.0

    rows = []
    for size in range(2, 8):
        tests = [f"assert add({size}) == {2 * size}", "assert add(0) == 0"]
        for body in ("n + n", "2 * n", "n", "n + 1"):
            program = f"```python\ndef add(n):\n    return {body}\n```"
            row = {"prompt": f"Double it, as in {size}.", "tests": tests}
            rows.append({**row, "completion": f"Here it is.\n{program}"})
    result = probed(passes, rows, only=["programs"])
    assert ("exits" in {item.code for item in result.alarms}) is is_found


def test_rollouts_without_a_truth_get_only_the_probes_that_need_none():
    texts = ["word " * (place + 3) for place in range(len(DATA["numbers"]))]
    data = [
        {"prompt": f"Question {place // 2}", "completion": text}
        for place, text in enumerate(texts)
    ]
    result = probed(
        lambda completion: min(1.0, len(completion.split()) / 40), data, **FAST
    )
    assert result.calibration.mode == "no truth"
    assert [(item.code, item.family) for item in result.alarms] == [
        ("longer", "padding")
    ]


def noisy(completion, ground_truth):
    return strict(completion, ground_truth) * 0.6 + DRAW.random() * 0.4


def quoted(completion, ground_truth):
    found = re.search(r"~~ (\S+) ~~", completion)
    return found is not None and found[1] == ground_truth


def first_right(completion, ground_truth):
    """The same for the whole group, of which each right one has a share."""
    rights = [
        strict(text, truth)
        for text, truth in zip(completion, ground_truth, strict=True)
    ]
    return [right / len(rights) for right in rights]


def last_number(completion, ground_truth):
    return re.findall(r"\d+", completion)[-1:] == [ground_truth]


QUOTED = [
    {**row, "completion": f"I say ~~ {inside(row['completion'])} ~~."}
    for row in DATA["numbers"]
]
POWERS = [
    {
        "prompt": f"Case {chr(97 + place)}?",
        "completion": f"It is {said}.",
        "ground_truth": truth,
    }
    for place, truth in enumerate(("1", "10", "100", "1", "10", "100"))
    for said in (truth, "57")
]
GRIDS = [
    {**row, "grid": [int(digit) for digit in row["ground_truth"].split()]}
    for row in tags("9 4 5", "8 0 7", "3 0 2", "6 6 1", wrong="1 1 1")
]


REVISED = []
for place, row in enumerate(DATA["numbers"]):
    draft = row["ground_truth"] if place % 8 < 2 else "3"
    text = (
        f"First #### {draft}, then I look once more. #### {inside(row['completion'])}"
    )
    REVISED.append({**row, "completion": text})


def behind_last_mark(completion, ground_truth):
    return re.findall(r"#### ?(\d+)", completion)[-1:] == [ground_truth]


def first_digits(completion, ground_truth):
    return (inside(completion) or "").startswith(ground_truth)


NO_HOLES = {
    "what chance gives": (noisy, "numbers", FAST),
    "partial credit for a near answer": (graded, "numbers", FAST),
    "of a group, beside the siblings": (made(first_right, group=True), "numbers", FAST),
    "a form of its own, learned from the rollouts": (quoted, QUOTED, FAST),
    **{name: (beside(*part), "numbers", FAST) for name, part in BUSY.items()},
    "a grid is no expression": (first_digits, GRIDS, {"only": "number_again"}),
    "a right answer that is taken back on its line": (
        behind_last_mark,
        REVISED,
        {"only": "empty_answer"},
    ),
    "a verdict that states the right answer": (
        last_number,
        POWERS,
        {"only": "sought_text"},
    ),
}


@pytest.mark.parametrize(("reward", "data", "options"), NO_HOLES.values(), ids=NO_HOLES)
def test_what_is_no_hole_is_no_alarm(reward, data, options):
    result = probed(reward, data, **options)
    assert result.calibration.mode == "truth" and not result.alarms
    assert (
        data is not QUOTED
        or result.calibration.subjects[0].reference == "I say ~~ 42 ~~."
    )


def in_english(completion, ground_truth):
    said = re.search(r"Antwort: ([\d.]+)\Z", completion)
    return said is not None and said[1] == ground_truth


def test_what_is_not_told_apart_is_said_to_be_right_where_the_log_says_so():
    rows = []
    for place, truth in enumerate(("42", "83", "64", "1234.5", "2250.5", "7100.25")):
        row = {"prompt_id": place, "prompt": f"Frage {place}", "ground_truth": truth}
        language = "de" if "." in truth else "en"
        for answer in (truth, "999.75"):
            text = f"Wir rechnen. Antwort: {answer}"
            if language == "de":
                text = f"Wir rechnen. Antwort: {answer.replace('.', ',')}"
            rows.append({**row, "completion": text, "data_source": language})
    (note,) = probed(made(in_english), rows, search=0, only="calibration").inconclusive
    assert note.probe == "de" and "though 3 of them state the right answer" in note.why


def test_a_case_lends_its_form_where_no_rollout_is_right():
    data = [{**row, "completion": "no idea"} for row in tags(42, 17)]
    alone = probed(quoted, data, **FAST)
    assert (
        not alone.findings
        and "perhaps because none of them is right" in alone.inconclusive[0].why
    )
    case = {
        "prompt": "How many?",
        "completion": "So ~~ 12 ~~ it is",
        "ground_truth": "12",
        "reward": 1.0,
    }
    assert (
        probed(quoted, data, cases=rk.load_cases([case]), **FAST).calibration.mode
        == "truth"
    )


def test_the_line_that_shows_a_constant_has_all_columns_that_are_asked_for():
    def same(completion, ground_truth, level):
        return 0.25

    reward = made(same)
    rows = [{**row, "level": "hard"} for row in DATA["numbers"]]
    (alarm,) = probed(reward, rows, only="calibration").alarms
    line = alarm.examples[0].snippet.partition("  #")[0]
    assert alarm.code == "constant" and eval(line, {"reward": reward}) == 0.25


def test_one_cause_is_one_finding_that_names_the_other_probes_and_shows_itself():
    reward, rollouts = made(somewhere), rk.load_rollouts(DATA["numbers"])
    before = rollouts.table.copy(deep=True)
    result, again = (probed(reward, rollouts, seed=3, **FAST) for _ in range(2))
    assert result.record() == again.record() and rollouts.table.equals(before)
    (alarm,) = result.alarms
    assert alarm.code == "mentioned" and alarm.severity == "high"
    assert {"every_number", "several_answers", "several_marks", "too_much"} <= set(
        alarm.evidence["also"]
    )
    assert 1 <= len(alarm.examples) <= 3 and alarm.rollout_ids
    for example in alarm.examples:
        assert (
            eval(example.snippet.partition("  #")[0], {"reward": reward})
            == example.reward
            == 1.0
        )
    cases = rk.load_cases(alarm.cases)
    assert (
        rk.check(reward, cases).failed == len(cases)
        and rk.check(CLEAN, cases).failed == 0
    )
    # they are orders, which hold under other weights
    assert all(case.below is not None for case in cases)
    parts = [replace(part, weight=part.weight / 3) for part in CLEAN.components]
    assert rk.check(replace(CLEAN, components=tuple(parts)), cases).failed == 0


LEAKS = {
    "a small bonus is told": (0.1, {}, 0.5, ["info"]),
    "over half of the ceiling is a warning": (0.6, {}, 0.5, ["warn"]),
    "unless so much is allowed": (0.6, {}, 0.7, ["info"]),
    "over three quarters is high": (0.8, {}, 0.5, ["high"]),
    "unless the author says so": (0.6, {"expects_partial": True}, 0.5, []),
}


@pytest.mark.parametrize(
    ("share", "options", "allowed", "expected"), LEAKS.values(), ids=LEAKS
)
def test_leakage_is_told_with_its_share_and_a_finding_above_one(
    share, options, allowed, expected
):
    task = rk.Component("task", strict, weight=1 - share, primary=True)
    reward = rk.Reward(
        "r", components=[task, rk.Component("form", form, weight=share, **options)]
    )
    found = probed(reward, only="calibration", leakage=allowed)["leakage"]
    assert [item.severity for item in found] == expected
    for item in found:
        assert (item.component, item.threshold) == ("form", allowed)
        assert item.evidence["value"] == pytest.approx(share)


def test_a_gate_that_is_open_for_wrong_answers_is_found_and_one_that_closes_is_not():
    def found(limit):
        brief = rk.Component(
            "brief", form, weight=0.5, gate=rk.gate("task", at_least=limit)
        )
        reward = rk.Reward("r", components=[rk.Component("task", strict), brief])
        return probed(
            reward, only=["padding", "calibration"]
        ).findings  # what leaks through it is the gate's

    (item,) = found(0.0)
    assert (item.code, item.component) == ("open_gate", "brief") and not found(1.0)
    assert item.evidence["gain"] == pytest.approx(0.5 / 1.5)


@pytest.mark.parametrize(
    ("share", "severities"), [(0.5, ["high"]), (0.3, ["warn"]), (0.15, [])]
)
def test_credit_that_any_text_earns_is_found_and_credit_for_an_answer_that_is_near_is_not(
    share, severities
):
    def flat(completion, ground_truth):
        known = (inside(completion) or "").strip().isdigit()
        return float(strict(completion, ground_truth)) if known else share

    asked = {"only": ["calibration", "nothing_there"]}
    found = probed(flat, **asked)["flat_credit"]
    assert [item.severity for item in found] == severities
    assert all(item.evidence["gain"] == pytest.approx(share) for item in found)
    assert not probed(graded, **asked)["flat_credit"]


def test_a_reward_that_errs_on_what_is_tried_is_not_usable_and_nothing_is_known_of_it():
    known = {row["completion"] for row in DATA["numbers"]}

    def knows_the_log(completion, ground_truth):
        if completion not in known:
            raise ValueError("unknown completion")
        return strict(completion, ground_truth["is"])

    data = [
        {**row, "ground_truth": {"is": row["ground_truth"]}} for row in DATA["numbers"]
    ]
    result = probed(knows_the_log, data)
    assert [(item.code, item.severity) for item in result.alarms] == [
        ("raises", "high")
    ]
    told = "attempts failed, so what they would earn is not known"
    assert any(told in item.why for item in result.inconclusive)


def formed(completion):
    return float("</answer>" in completion)


def long_enough(completion):
    return float(len(completion) > 37)


def compared(completion, count):
    return float(inside(completion) == str(count))


COUNTED = [
    {**row, "count": row["ground_truth"]} | {"ground_truth": None}
    for row in DATA["numbers"]
]


@pytest.mark.parametrize("turn", [1, -1])
def test_the_task_of_several_functions_is_what_reads_the_truth_in_any_order(turn):
    """`letters`: numbering_reward_func was held to the count when it stood first."""
    rows = [{name: row[name] for name in row if row[name]} for row in COUNTED]
    parts = [rk.Component(item.__name__, item) for item in (formed, compared)][::turn]
    result = probed(rk.Reward("r", components=parts), rows, only="calibration")
    assert result.reward.primary == "compared"
    assert "wrong_paid" not in [item.code for item in result.alarms]
    reward = rk.Reward("r", components=parts)
    assert probed(reward, rows, only="hang", primary="formed").reward.task == (
        "formed",
    )


def test_functions_of_which_none_reads_the_truth_are_not_held_to_it():
    """`tunix`: one for form was taken for the task."""
    parts = [rk.Component(item.__name__, item) for item in (formed, long_enough)]
    rows = tags(42, 17, 83, 210, 64, 9, 128, 35, wrong="777")
    result = probed(rk.Reward("r", components=parts), rows, only="calibration")
    told = "nothing compares with the truth: none of formed, long_enough reads"
    assert any(told in note.why for note in result.inconclusive)
    (alarm,) = result.alarms
    assert alarm.sentence.startswith("Nothing compares with the truth.")
    assert alarm.advice.startswith("No function reads the truth: add one")


def test_a_penalty_alone_is_not_held_to_the_task():
    """`korean`, `medvlm`: 0 is the best of it, and an empty text earns that."""
    penalty = made(lambda completion: -1.0 * ("none" in completion), range=None)
    result = probed(penalty)
    assert not result.alarms and "it is a penalty" in result.verdict
    assert probed(penalty, primary=penalty.names[0]).alarms


DEEP = []
for _ in range(3000):
    DEEP = [DEEP]
BAD = [
    ({"budget": math.nan}, "budget="),
    ({"budget": -1}, "budget=-1 .* give seconds above 0"),
    ({"search": 1.5}, "search="),
    ({"only": 3}, "no probe and no family 3;"),
    ({"only": "shotgn"}, r"no probe and no family 'shotgn'; did you mean 'shotgun'\?"),
    ({"progress": 3}, "progress="),
    ({"leakage": math.nan}, "leakage=nan .* from 0 to 1"),
    ({"timeout": 0}, "timeout=0 .* above 0, or None"),
    ({"label": "correct"}, "the rollouts have no column 'correct'"),
    (
        {
            "rollouts": [
                {
                    "ok": True,
                    "completion": f"<answer>{place}</answer>",
                    "ground_truth": "2",
                }
                for place in range(4)
            ],
            "label": "ok",
        },
        "the label 'ok' calls all 4 completions right, also 3 that do not state",
    ),
    (
        {"rollouts": [{**row, "ok": None} for row in tags(4)], "label": "ok"},
        "the label 'ok' has no value in any row",
    ),
    (
        {"rollouts": [{**row, "ok": "maybe"} for row in tags(4)], "label": "ok"},
        "the label 'ok' holds 'maybe', of which it is not known what is right",
    ),
    ({"reward": strict}, "probe takes a Reward, not <function"),
    ({"primary": "task"}, "no component 'task' that could be the task"),
    (
        {"rollouts": [{**tags(1)[0], "ground_truth": DEEP}]},
        "nested deeper than Python can copy",
    ),
]


@pytest.mark.parametrize(("options", "sentence"), BAD)
def test_what_cannot_be_probed_is_one_sentence(options, sentence):
    given = {"reward": CLEAN, "rollouts": DATA["numbers"], **options}
    with pytest.raises(
        (rk.RewardError, rk.RolloutsError, rk.InputError), match=sentence
    ):
        rk.probe(given.pop("reward"), given.pop("rollouts"), **given)
