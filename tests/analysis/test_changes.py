"""A suggestion applies itself, its line does the same, and its figures are those of a count one by one."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from planted.tables import same, scores_of
from untrained import untrained

import rewardkit as rk
from rewardkit.analysis.suggestions.change import Change
from rewardkit.analysis.suggestions.measure import (
    certain,
    effects,
    judge_by_label,
    share_in_tied_groups,
)

pytestmark = pytest.mark.usefixtures("short_rehearsals")


@pytest.fixture(scope="module", autouse=True)
def _untrained():
    with untrained():
        yield


def rows_of(seed=0, prompts=40, siblings=8, **more):
    """Sums whose answers are near, right, in a sentence or not there, in completions of many lengths."""
    draw = np.random.default_rng(seed)
    forms = [
        "<answer>{}</answer>",
        "the answer is {}",
        "<answer>it is {}!</answer>",
        "{}",
    ]
    for prompt in range(prompts):
        truth = int(draw.integers(20, 99))
        for _ in range(siblings):
            guess = truth + (0 if draw.random() < 0.15 else int(draw.integers(-9, 9)))
            text = str(draw.choice(forms)).format(guess)
            text = "so " * int(draw.integers(1, 40)) + text
            yield {
                "prompt_id": f"p{prompt}",
                "completion": text,
                "ground_truth": str(truth),
                **more,
            }


def words(completion):
    return float(len(completion.split()))


def half(completion):
    return float(len(completion) % 2)


def ranked(completion):
    return [
        float(sum(len(other) < len(text) for other in completion))
        for text in completion
    ]


CORRECT = rk.Component("correct", rk.verify.numbers_equal, weight=1.0, primary=True)
SHORT = rk.Component("short", rk.measure.length(full_until=4, zero_from=8), weight=0.5)
DETAIL = rk.Component("detail", words, weight=0.05, range=None)
RECORDED = rk.Component("recorded", half, weight=0.0)
NEVER = rk.Component("never", lambda completion: 0.0, weight=0.2)
FIELDS = {"prediction": rk.extract.tag("answer")}
MAKES = {
    "a dominant count of words": [CORRECT, DETAIL, RECORDED, NEVER],
    "one that stands before the task": [DETAIL, replace(DETAIL, name="again"), CORRECT],
    "one that holds more than the task": [
        rk.Component("task", half, primary=True),
        DETAIL,
    ],
    "a rank": [CORRECT, rk.Component("rank", ranked, group=True, range=None)],
    "a hard length": [CORRECT, SHORT],
    "a whole gate": [CORRECT, SHORT],
}


@cache
def diagnosed(what):
    """The diagnosis of one of these rewards, and what is suggested."""
    gate = (
        rk.gate(lambda completion: len(completion) > 9)
        if what == "a whole gate"
        else None
    )
    diagnosis = rk.diagnose(
        rk.score(rk.Reward("made", FIELDS, MAKES[what], gate=gate), list(rows_of()))
    )
    return diagnosis, rk.suggest(diagnosis)


def written(change, scores):
    """What the line of a suggestion makes, where it is put as it says."""
    reward = scores.reward
    known = {
        "rk": rk,
        "partial": partial,
        "replace": replace,
        "reward": reward,
        "scores": scores,
    }
    made = eval(change.line, known)
    if isinstance(made, rk.Component):
        made = replace(reward, components=[*reward.components, made])
    return made if isinstance(made, rk.Scores) else rk.score(made, scores.rollouts)


@pytest.mark.parametrize("what", MAKES)
def test_scoring_the_changed_reward_gives_what_was_measured_and_so_does_the_line(what):
    diagnosis, advice = diagnosed(what)
    scores = diagnosis.scores
    before, names = scores.table.copy(), scores.reward.names
    assert advice.changes
    for change in advice.changes:
        anew = rk.score(change.apply(scores.reward), scores.rollouts)
        same(change.scores, anew)
        same(change.apply(scores), anew)
        same(written(change, scores), anew)
    assert scores.table.equals(before) and scores.reward.names == names  # the caller's
    assert [component.gate for component in scores.reward.components] == [None] * len(
        names
    )


def test_in_a_route_only_the_part_is_changed_that_the_suggestion_is_for():
    parts = [rk.Component("detail", half), rk.Component("b", half)]
    two = rk.Reward("two", {"found": rk.extract.number()}, parts)
    one = rk.Reward("one", FIELDS, [CORRECT, DETAIL, NEVER])
    route = rk.Route("data_source", {"a": one, "b": two})
    rows = []
    for seed, source in enumerate("ab?"):
        rows += rows_of(seed, data_source=source)
    diagnosis = rk.diagnose(rk.score(route, rows))
    changes = [change for change in rk.suggest(diagnosis).changes if change.part == "a"]
    codes = {change.code for change in changes}
    assert {"graduate", "gate_component", "remove_component"} <= codes
    scores = diagnosis.scores
    others = scores.table["data_source"] != "a"
    for change in changes:
        anew = rk.score(change.apply(route), scores.rollouts)
        same(change.apply(scores), anew)
        np.testing.assert_array_equal(anew.rewards[others], scores.rewards[others])
        np.testing.assert_allclose(change.scores.rewards, anew.rewards[~others])
        assert "scores." not in change.line


def test_what_a_run_record_cannot_run_is_left_out_and_said_so(tmp_path):
    diagnosis, ours = diagnosed("a hard length")
    loaded = rk.diagnose(rk.load_scores(diagnosis.scores.save(tmp_path)))
    theirs, need = rk.suggest(loaded), ("soften_length", "looser_reading")
    kept = [item for item in ours.changes if item.code not in need]
    assert [item.line for item in theirs.changes] == [item.line for item in kept]
    assert sum("cannot be run" in note for note in theirs.notes) == 2
    for one, other in zip(kept, theirs.changes, strict=True):
        np.testing.assert_allclose(other.scores.rewards, one.scores.rewards)
        with pytest.raises(rk.RewardError, match="read from a run record"):
            rk.score(other.apply(loaded.scores.reward), list(rows_of()))
    (softer,) = [item for item in ours.changes if item.code == "soften_length"]
    with pytest.raises(
        rk.RewardError, match="cannot be measured: the reward was read from a record"
    ):
        softer.apply(loaded.scores)


def test_applied_to_something_else_a_suggestion_says_what_it_is_for():
    diagnosis, advice = diagnosed("a dominant count of words")
    by_code = {item.code: item for item in advice.changes}
    other = rk.Reward("r", components=[rk.Component("a", half)])
    for code, to, sentence in (
        ("gate_component", "reward", "applies to a Reward or Scores, not to 'reward'"),
        ("gate_component", other, "has no 'detail'"),
        (
            "graduate",
            by_code["graduate"].apply(diagnosis.scores),
            "has a 'close' already",
        ),  # not twice
    ):
        with pytest.raises(rk.InputError, match=sentence):
            by_code[code].apply(to)


# figures before and after


def views(before, after, groups, training=None, label=None):
    """Views of one component's scores, and of others in their place."""
    columns, given = ({}, None) if label is None else ({"right": label}, "right")
    return [
        rk.diagnose(
            scores_of(
                {"a": values, "b": before}, groups, weights={"b": 0.0}, columns=columns
            ),
            training=training,
            label=given,
        ).views[0]
        for values in (before, after)
    ]


def figures(*given, tests=1, **options):
    before, after = views(*given, **options)
    return {item.figure: item for item in effects(before, after, tests=tests)}


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [([0, 0, 0, 1], [0, 1, 0, 1], 1.0), ([0, 1, 0, 1], [0, 1, 0, 0], 0.0)],
)
def test_the_advantage_that_is_added_is_split_by_what_was_tied(before, after, share):
    assert share_in_tied_groups(*views(before, after, [0, 0, 1, 1])) == share


CERTAIN = [
    (0.10, (0.05, 0.15), True),  # four standard errors
    (0.05, (0.01, 0.09), False),  # its interval leaves out 0, by luck in one of 40
    (-0.10, (-0.15, -0.05), True),
    (0.1, (np.nan, np.nan), False),
]


@pytest.mark.parametrize(("difference", "interval", "expected"), CERTAIN)
def test_a_difference_is_certain_that_noise_does_not_have_by_luck(
    difference, interval, expected
):
    assert certain(difference, interval, 1) is expected


def test_a_change_that_puts_wrong_ones_first_or_harms_a_little_for_certain_is_no_improvement():
    label, groups = np.tile([1.0, 1, 1, 1, 0, 0, 0, 0], 20), np.repeat(np.arange(20), 8)
    one_right = [1.0, 0, 0, 0, 0, 0, 0, 0]
    one_wrong = [0.5, 0.5, 0.5, 0.5, 1.0, 0, 0, 0]
    sides = (np.tile(rewards, 20) for rewards in (one_right, one_wrong))
    before, after = views(*sides, groups, label=label)
    found = {item.figure: item for item in effects(before, after)}
    auc, best = found["label_auc"], found["label_best"]
    assert (auc.before, auc.after) == (10 / 16, 12 / 16)
    assert (best.before, best.after) == (1.0, 0.0)

    def judged(**changed):
        return judge_by_label(before, after, Change(), found | changed, 1)

    verdict, told = judged()
    assert verdict == "unclear" and "has it less often, by -100.0 points" in told
    still = found["zero_std"]  # which does not move
    assert judged(label_best=still)[0] == "improves"
    less = replace(auc, difference=-0.03, interval=(-0.035, -0.025))
    verdict, told = judged(label_best=still, label_auc=less)
    assert verdict == "harms" and "it makes the reward worse" in told
