"""The gallery: every worked reward loads, says what it is for, holds its cases, and notices wrong turns."""

import importlib
import inspect
import pickle
import re
from functools import cache
from pathlib import Path
from runpy import run_path

import hostile
import numpy as np
import pytest

import rewardkit as rk
from rewardkit.rewards.route import bind
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import ERROR

ROOT = Path(__file__).parent.parent
GALLERY = ROOT / "rewardkit" / "gallery"
CASES = ROOT / "data" / "gallery"
OF_DATA = {
    "arithmetic": 45,
    "mixed": 24,
}  # cases that lie beside the rollouts they are for, at least
NAMES = sorted(path.stem for path in CASES.glob("*.jsonl"))
ALL = sorted((*NAMES, *OF_DATA))
AWKWARD = "awkward: "  # how the `why` of an awkward case begins


@cache
def reward_of(name):
    return rk.load_reward(f"gallery:{name}")


@cache
def cases_of(name):
    return rk.load_cases(f"gallery:{name}")


def paid_by_the_task(name):
    """(rewards of the cases whose answer is right, rewards of those whose answer is wrong)."""
    right, wrong = [], []
    for case in cases_of(name):
        reward, columns = reward_of(name), dict(case.columns)
        if reward.routed_by:
            reward = reward.for_row(columns)
        result = reward(**columns) if reward else None
        if result and result.status[reward.primary] == "scored":
            (right if result.scores[reward.primary] == 1 else wrong).append(
                result.reward
            )
    return right, wrong


@pytest.mark.parametrize("name", ALL)
def test_there_are_cases_enough_half_of_them_awkward_and_of_every_component_more_than_one_score(
    name,
):
    cases = cases_of(name)
    assert len(cases) >= OF_DATA.get(name, 12)
    assert len({case.name for case in cases}) == len(cases)
    assert len({repr(case.columns) for case in cases}) == len(cases), (
        "two cases ask the same"
    )
    assert all(case.why.strip() for case in cases)
    assert 2 * sum(case.why.startswith(AWKWARD) for case in cases) >= len(cases)
    assert name in OF_DATA or sum(
        case.reward is not None for case in cases
    ) >= 0.8 * len(cases)
    for component in reward_of(name).names:
        expected = {
            str(case.scores[component].written)
            for case in cases
            if component in case.scores
        }
        assert len(expected) > 1, component


@pytest.mark.parametrize("name", ALL)
def test_the_docstring_says_what_it_is_what_it_is_for_and_what_it_misses_and_a_component_why(
    name,
):
    text = inspect.getdoc(importlib.import_module(f"rewardkit.gallery.{name}"))
    first, _, rest = text.partition("\n")
    assert first.endswith((".", "."))
    assert "What it is for: " in rest and "What it misses: " in rest
    for one in reward_of(name).branches:
        assert all(item.why.strip() for item in one.components)
        assert sum(item.primary for item in one.components) == 1


def test_every_module_has_cases_and_the_card_lists_them_with_their_number():
    lines = (CASES / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [
        re.split(r"\s*(?<!\\)\|\s*", line)[1:-1] for line in lines if line[:1] == "|"
    ][2:]
    card = {row[0].strip("`"): int(row[-1]) for row in rows if all(row)}
    assert card == {one: len(cases_of(one)) for one in ALL}
    assert ALL == sorted(
        path.stem for path in GALLERY.glob("*.py") if path.stem != "__init__"
    )


@pytest.mark.parametrize("name", ALL)
def test_a_reward_passes_its_own_cases_pickled_and_saved_too(name, tmp_path):
    reward = reward_of(name)
    again = pickle.loads(pickle.dumps(reward))
    assert again.record() == reward.record()
    saved = rk.load_reward(str(rk.save_reward(reward, tmp_path / "saved.py")))
    assert (saved.names, saved.weights) == (reward.names, reward.weights)
    for one in (reward, again, saved):
        rk.assert_cases(one, cases_of(name))


def said(role, text, **more):
    return {"role": role, "content": text, **more}


@cache
def hostile_columns():
    """Hostile text where a policy writes; truths, messages and steps beside it."""
    samples = [
        "<think>3 + 4 = 7.</think><answer>7</answer>",
        '{"a": [1, 2]}',
        "The answer is (B).",
        "答案是7。",
    ]
    texts = [None, "", " ", *hostile.texts(20261122, 400, samples)]
    call = {"function": {"name": "search", "arguments": "{}"}}
    rows = len(texts)
    return {
        "completion": texts,
        "ground_truth": (["7", "0", "-3", "B", '{"a": 1}', None] * rows)[:rows],
        "messages": [
            [
                said("user", text),
                said("assistant", text, tool_calls=[call] * (at % 3)),
                said("tool", text),
            ]
            for at, text in enumerate(texts)
        ],
        "prompt": ["What is 3 + 4?"] * rows,
        "step": ([0, 200, 400, 5000, None, "late"] * rows)[:rows],
    }


@pytest.mark.parametrize("name", ALL)
def test_hostile_completions_end_in_no_error_and_earn_less_than_a_right_answer(name):
    reward, columns = reward_of(name), hostile_columns()
    rows = len(columns["completion"])
    columns = {
        one: columns[one] for one in columns if one in (*reward.needs, "completion")
    }
    if column := reward.routed_by:
        columns[column] = (list(reward.rewards) * rows)[:rows]
    found = evaluate(bind(reward, columns, rows), columns)
    errors = [
        one.reasons[row]
        for one in found.components.values()
        for row in np.flatnonzero(one.status == ERROR)
    ]
    assert errors == []
    for scores in found.scores.values():
        judged = scores[~np.isnan(scores)]
        assert ((judged >= 0) & (judged <= 1)).all()
    if name not in (
        "keywords",
        "mixed",
        "routed",
        "judged_aspects",
    ):  # the last has an answer for none
        right = found.scores[reward.primary] == 1
        least = min(paid_by_the_task(name)[0]) if name != "strict_format" else 0.9
        assert np.nanmax(found.rewards[~right]) < least


@pytest.mark.parametrize("name", sorted({*ALL} - {"keywords", "strict_format"}))
def test_no_wrong_answer_earns_as_much_as_a_right_one(name):
    right, wrong = paid_by_the_task(name)
    assert min(len(right), len(wrong)) > 3 and max(wrong) < min(right)


def test_a_tournament_pays_right_siblings_by_their_wins_which_single_cases_cannot_show():
    scores = rk.score(
        reward_of("pairwise"), [dict(case.columns) for case in cases_of("pairwise")]
    )
    paid = dict(
        zip(
            (case.name for case in cases_of("pairwise")),
            scores.rewards.tolist(),
            strict=True,
        )
    )
    assert (
        paid["eggs, explained"]
        == 1.5
        > paid["eggs, numbers"]
        > paid["eggs, the answer alone"]
        == 1.0
    )
    assert (
        paid["shirt, in two steps"] == paid["shirt, in one"] == 1.375
        and paid["pages, short"] == 1.5
    )
    assert paid["euros, alone"] == 1.0 and paid["eggs, wrong"] == 0.0


@pytest.mark.parametrize(
    "source", sorted((CASES / "answers").glob("*.json")), ids=lambda path: path.stem
)
def test_recorded_answers_are_those_that_stand_beside_them_in_words(source):
    recorded = run_path(str(CASES / "answers" / "record.py"))["recorded"](source.stem)
    assert source.with_suffix(".jsonl").read_text(encoding="utf-8") == recorded
