"""suspect(): what is said of planted exploits, against arithmetic by hand; and input that cannot be used."""

import json
import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import regex

import rewardkit as rk
from rewardkit.plain import to_json
from rewardkit.suspects.suspect import suspect

pytestmark = pytest.mark.integration


def listed(completion, ground_truth):
    """Pays an answer that stands anywhere in the tag: what listing all of them exploits."""
    return ground_truth in re.findall(r"\d+", completion.partition("<answer>")[2])


def exact(completion, ground_truth):
    return re.findall(r"<answer>(.*?)</answer>", completion) == [ground_truth]


def no_zero(completion, ground_truth):
    """A patch that goes too far."""
    return exact(completion, ground_truth) and "0" not in ground_truth


def one(function, name="one", component="", **options):
    return rk.Reward(
        name, components=[rk.Component(component or name, function, **options)]
    )


FLAWED = rk.Reward(
    "flawed",
    components=[
        rk.Component("listed", listed, weight=1.0),
        rk.Component("tags", rk.measure.tags("answer"), weight=0.5),
        rk.Component(
            "brief", rk.measure.length(full_until=3, zero_from=30), weight=-0.2
        ),
    ],
)
STRICT, TOO_STRICT = one(exact, "strict", "exact"), one(no_zero, "too strict", "exact")
ALL = one(lambda completion: 1.0)
EVERY = f"<answer>{' '.join(map(str, range(21)))}</answer>"


def made(prompts=40, since=10):
    """Four siblings a prompt, two prompts a step; from a step on the last of hard ones lists all numbers."""
    rows = []
    for prompt in range(prompts):
        step, truth, hard = prompt // 2, str(prompt % 10), prompt % 2
        for place, answer in enumerate([truth, truth, "99", "98"]):
            exploits = bool(hard) and step >= since and place == 3
            text = (
                EVERY
                if exploits
                else f"It is {answer}, as I see it. <answer>{answer}</answer>"
            )
            rows.append(
                {
                    "rollout_id": f"{prompt}-{place}",
                    "prompt_id": f"p{prompt}",
                    "step": step,
                    "task": "hard" if hard else "easy",
                    "colour": ["red", "blue"][place % 2],
                    "completion": text,
                    "ground_truth": truth,
                    "is_right": place < 2,
                    "planted": exploits,
                }
            )
    return rows


@cache
def scored(reward):
    return rk.score(reward, made())


@pytest.fixture(scope="module")
def scores():
    return scored(FLAWED)


@pytest.fixture(scope="module")
def found(scores):
    return suspect(scores, like="39-3", label="is_right", patched=STRICT)


def test_what_is_like_one_is_what_was_planted_since_when_and_which_are_the_clearest(
    scores, found
):
    assert np.array_equal(found.mask, scores.table["planted"].to_numpy(dtype=bool))
    assert (len(found), found.prompts, found.share, found.first_step) == (
        10,
        10,
        10 / 160,
        10,
    )
    assert found.interval[0] < found.share < found.interval[1]
    assert found.steps["share"].tolist() == [0.0] * 10 + [1 / 8] * 10
    assert (
        "First in step 10, of steps 0 to 19; they are 12 % of the last."
        in found.sentences
    )
    assert found.clearest["rollout_id"].iloc[0] in {
        f"{prompt}-3" for prompt in range(21, 40, 2)
    }
    assert found.clearest["likeness"].iloc[0] == pytest.approx(1)
    of_pattern = suspect(scores, pattern="<answer>").clearest
    assert of_pattern["advantage"].is_monotonic_decreasing
    assert (
        len(set(of_pattern["rollout_id"].str.partition("-")[0])) == len(of_pattern) == 5
    )


SOUGHT = {
    "pattern": {"pattern": r"<answer>(\d+ ){5}"},
    "compiled by regex": {"pattern": regex.compile(r"<ANSWER>(\d+ ){5}", regex.I)},
    "by a score": {"predicate": lambda listed, is_right: listed == 1 and not is_right},
    "by the reward": {
        "predicate": lambda reward, place="", *, planted: reward > 1 and planted
    },
    "under a limit": {"predicate": lambda planted: np.bool_(planted), "timeout": 5.0},
}


@pytest.mark.parametrize("sought", SOUGHT.values(), ids=SOUGHT)
def test_a_pattern_and_a_predicate_find_them_too(scores, found, sought):
    assert np.array_equal(suspect(scores, **sought).mask, found.mask)


LIKE, LABEL, WHOLE = {"like": "39-3"}, {"label": "is_right"}, {"pattern": "<answer>"}
RIGHTS, HARD = (
    {"predicate": lambda is_right: is_right},
    {"predicate": lambda task: task == "hard"},
)
FLAGS, NONE = {"pattern": re.compile("a.b", re.I | re.S)}, {"pattern": "no such"}
VERDICTS = [
    (
        FLAWED,
        LIKE | LABEL,
        "paid",
        "They earn more than the rest: mean advantage +0.622, mean reward 1.43",
        "0 % of them are right by 'is_right', 53 % of the rest.",
        "To do: fix 'listed', then try the fixed",
    ),
    (STRICT, LIKE, "not paid", "To do: nothing pays them here"),
    (FLAWED, {"pattern": ">9[89]<"} | LABEL, "not paid", ""),
    (FLAWED, HARD, "unclear", "It is not clear whether they earn more"),
    (
        STRICT,
        RIGHTS | LABEL,
        "paid",
        "To do: read them first; they are right as often as the rest.",
    ),
    (FLAWED, WHOLE | LABEL, "unclear", "There is no rest to compare them with"),
    (
        FLAWED,
        NONE,
        "none",
        "No suspects: none of 160 completions match the pattern 'no such'.",
    ),
    (
        STRICT,
        {"pattern": "99"} | LABEL,
        "not paid",
        "'is_right' says what the component 'exact' says.",
    ),
    (FLAWED, FLAGS, "none", "match the pattern '(?is)a.b'"),
    (
        FLAWED,
        {"like": "39-0"},
        "not paid",
        "Nothing of the form of '39-0' is rare: 20 %",
    ),
]


@pytest.mark.parametrize("case", VERDICTS)
def test_the_verdict_and_what_is_said_and_to_do(case):
    reward, options, verdict, *sentences = case
    found = suspect(scored(reward), **options)
    text = " ".join(repr(found).split())
    record = found.record()
    assert found.verdict == record["verdict"] == verdict
    assert record["interval"] is found.interval and [*record][9:11] == ["notes", "rows"]
    for sentence in sentences:
        assert sentence in text, text
    text = repr(found)
    assert "nan" not in text and len(text.splitlines()) <= 28
    assert json.dumps(to_json(found.record())) and found._repr_html_()


def test_a_slice_in_which_they_are_is_told_and_one_that_has_its_share_is_not(scores):
    rows = [  # a whole number that is sometimes missing is a column of its own kind
        row | {"half": at // 8 % 2, "grade": [0, 1, None][at // 8 % 3]}
        for at, row in enumerate(made(prompts=80, since=0))
    ]
    rows = pd.DataFrame(rows).astype({"grade": "Int64"})
    found = suspect(
        rk.score(FLAWED, rows),
        pattern=r"<answer>(\d+ ){5}",
        by=["task", "half", "grade"],
    )
    told = {(item.column, item.value): item for item in found.slices}
    hard = told["task", "hard"]
    assert (hard.rows, hard.contrast.inside, hard.contrast.outside) == (160, 0.25, 0.0)
    assert math.isinf(hard.lift) and hard.contrast.interval[0] > 0
    assert told["task", "easy"].contrast.difference == -0.25
    assert "half" not in {column for column, _ in told}
    assert "task=hard" in repr(found) and "task=easy" not in repr(
        found
    )  # which follows


def test_the_level_of_an_interval_is_divided_by_the_number_of_slices(scores):
    columns = "task", ["task", "colour", "ground_truth"]
    few, many = (suspect(scores, pattern="<answer>0 ", by=by) for by in columns)
    hard = (
        next(item for item in found.slices if item.value == "hard")
        for found in (few, many)
    )
    (low, high), (lower, higher) = (item.contrast.interval for item in hard)
    assert few.looked_at == 2 < many.looked_at and lower < low and higher > high


def test_advantage_and_reward_are_means_of_both_sides_and_what_components_pay_adds_up_to_them(
    scores, found
):
    (view,) = rk.diagnose(scores).views
    planted = scores.table["planted"].to_numpy(dtype=bool)
    for contrast, values in (
        (found.advantage, view.advantages),
        (found.rewards, scores.rewards),
    ):
        assert contrast.inside == pytest.approx(values[planted].mean())
        assert contrast.outside == pytest.approx(values[~planted].mean())
        assert contrast.interval[0] <= contrast.difference <= contrast.interval[1]
    means = np.bincount(scores.groups, scores.rewards) / np.bincount(scores.groups)
    above = found.rewards.inside - means[scores.groups][planted].mean()
    other = suspect(scores, like="39-3", training={"scale_rewards": "none"})
    assert found.advantage.difference > 0 and other.advantage.inside == pytest.approx(
        above
    )
    assert sum(item.pays for item in found.payments) == pytest.approx(above)
    pays = {item.component: item.pays for item in found.payments}
    assert pays["listed"] == pytest.approx(
        1 - 3 / 4
    )  # two others are right, one is not
    assert pays["tags"] == 0.0


# What a patched reward would pay


def test_a_patch_that_is_right_takes_all_from_the_suspects_given_as_reward_or_scores(
    scores, found
):
    patch = found.patched
    assert (patch.suspects, patch.earned, patch.earn) == (10, 10, 0)
    assert (patch.right, patch.right_by) == (80, "that are right by 'is_right'")
    assert patch.lost.empty and patch.rewards == pytest.approx(
        (found.rewards.inside, 0.0)
    )
    backwards = rk.score(STRICT, rk.load_rollouts(made()[::-1]))  # matched by id
    other = suspect(scores, like="39-3", label="is_right", patched=backwards).patched
    assert other.record() == patch.record()


PATCHES = {
    "another zero": (lambda right, truth: right - 3.0, 0),
    "a bonus for others": (lambda right, truth: right + 0.4 * (truth == "7"), 0),
    "a loss on a larger scale": (
        lambda right, truth: 10.0 * (right and truth != "0") + 5.0,
        8,
    ),
    "the same for all": (lambda right, truth: 1.0, 80),
    "the reverse": (lambda right, truth: 1.0 - right, 80),
    "an error": (lambda right, truth: 1 / 0, 80),
}


@pytest.mark.parametrize(("patch", "lost"), PATCHES.values(), ids=PATCHES)
def test_another_scale_is_no_loss_and_another_order_is(patch, lost):
    def patched(completion, ground_truth):
        return patch(exact(completion, ground_truth), ground_truth)

    found = suspect(
        scored(STRICT), pattern="99", patched=one(patched, "patch", range=None)
    )
    assert len(found.patched.lost) == lost


def without(*names):
    rows = []
    for row in made():
        rows.append({key: value for key, value in row.items() if key not in names})
    return rows


def graded(completion):
    """Full marks for the wrong 98 and 99, and for the right 9; a little for length."""
    return 1.0 if "is 9" in completion else len(completion) / 1000


UNTOLD = without("ground_truth", "is_right")
SEEN = one(lambda completion: "see" in completion)
KNOWN = {
    "truth": (made(), one(graded, "graded"), "whose answer is the ground_truth", 80),
    "no truth": (UNTOLD, SEEN, "with full marks of 'one'", 150),
    "a column": (
        without("ground_truth"),
        one(graded),
        "with full marks of 'is_right'",
        80,
    ),
    "else": (UNTOLD, one(graded), "that earned more than their siblings", 70),
}


@pytest.mark.parametrize(
    ("rows", "reward", "right_by", "right"), KNOWN.values(), ids=KNOWN
)
def test_without_a_label_what_is_right_is_known_by(rows, reward, right_by, right):
    found = suspect(
        rk.score(reward, rows),
        pattern="<answer>0 ",
        patched=replace(reward, name="other"),
    )
    assert (found.patched.right_by, found.patched.right) == (right_by, right)
    assert found.patched.lost.empty
    is_by_reward = "'one'" in right_by or "siblings" in right_by
    assert any("give a label" in note for note in found.notes) == is_by_reward


def test_a_patch_that_goes_too_far_lists_the_right_ones_that_lose_those_pushed_down_first():
    found = suspect(scored(STRICT), like="39-3", patched=TOO_STRICT)
    patch, text = found.patched, repr(found)
    zero = {f"{prompt}-{place}" for prompt in range(0, 40, 10) for place in (0, 1)}
    assert set(patch.lost["rollout_id"]) == zero and patch.pushed_down == len(zero)
    row = patch.lost.iloc[0]
    assert (row["reward"], row["patched"]) == (1.0, 0.0) and row[
        "advantage"
    ] > 0 >= row["patched advantage"]
    assert (
        "8 of 80 other completions whose answer is the ground_truth (10 %) lose under 'too strict'"
        in text
    )
    assert "To do: mend 'too strict': 8 right completions that lose." in text
    assert "Others that lose (3 of 8):" in text and len(text.splitlines()) <= 28
    rows = [
        row for row in made() if row["ground_truth"] != "0" or row["is_right"]
    ]  # there all are right
    patch = suspect(rk.score(STRICT, rows), pattern="99", patched=TOO_STRICT).patched
    assert (len(patch.lost), patch.pushed_down) == (8, 0)


def test_right_suspects_that_lose_are_told_apart():
    found = suspect(
        scored(STRICT), pattern="see it", label="is_right", patched=TOO_STRICT
    )
    patch = found.patched
    assert (patch.suspects, patch.right_suspects, len(patch.lost_suspects)) == (
        150,
        80,
        8,
    )
    assert (
        "There are no other completions that are right by 'is_right'."
        in patch.sentences
    )
    assert len(patch.lost) == 0 and "Right suspects that lose" in found._repr_html_()


def below(completion, ground_truth):
    """Judges the prompts below the truth 5 only."""
    return exact(completion, ground_truth) if ground_truth < "5" else None


UNJUDGED = [
    (lambda completion: 1 / 0, 0, "error: ZeroDivisionError"),
    (below, 80, "abstained: returned None"),
]


@pytest.mark.parametrize(("function", "judged", "said"), UNJUDGED)
def test_what_a_patch_does_not_judge_is_told_with_the_reason(
    scores, function, judged, said
):
    found = suspect(
        scores, like="39-3", patched=one(function, "mended", "exact"), label="is_right"
    )
    told = f"'mended' does not judge {160 - judged} of 160 completions (most often: component 'exact', {said}"
    assert found.patched.sentences[0].startswith(told)
    assert (found.patched.judged, len(found.patched.sentences)) == (
        judged,
        3 if judged else 1,
    )
    assert json.dumps(to_json(found.record())) and "nan" not in repr(found)


def endlessly(completion):
    while True:
        pass


def test_a_patch_that_never_answers_is_given_up_and_told(scores):
    patch = one(endlessly, "slow")
    found = suspect(scores, like="39-3", patched=patch, timeout=0.1).patched
    assert found.sentences[0].startswith("'slow' does not judge 160 of 160 completions")
    assert found.judged == 0 and "0.1 s" in found.sentences[0]


# What comes in and out


def test_without_steps_that_is_said_and_rows_without_a_reward_are_left_out_of_the_means():
    failing = one(
        lambda completion: 1.0 if "0 1" in completion else None, "few", "listed"
    )
    found = suspect(rk.score(failing, without("step")), pattern="0 1")
    assert found.first_step is None and len(found.steps) == 0
    assert found.notes == (
        "The rollouts have no column 'step' of numbers, so it cannot be said since when.",
    )
    assert found.rewards.inside == 1.0 and math.isnan(found.rewards.outside)


def test_of_a_route_the_rows_without_a_reward_are_counted_too():
    route = rk.Route("task", {"hard": FLAWED})
    found = suspect(rk.score(route, made()), **LIKE, label="is_right", patched=route)
    assert (len(found), len(found.mask), found.patched.judged) == (10, 160, 80)
    assert found.advantage.inside == pytest.approx(0.622, abs=1e-3)


def test_the_same_seed_gives_the_same_and_nothing_of_the_callers_is_changed(scores):
    before = scores.table.copy(deep=True)
    first, again, other = (
        suspect(scores, like="39-3", seed=seed).record() for seed in (0, 0, 1)
    )
    assert (
        json.dumps(to_json(first)) == json.dumps(to_json(again))
        and first["interval"] != other["interval"]
    )
    assert scores.table.equals(before)


def test_completions_cannot_pretend_to_be_another_line_and_what_a_pattern_found_is_marked():
    rows = [
        {"prompt_id": f"p{n % 3}", "completion": "<script> x\n  No suspects."}
        for n in range(12)
    ]
    found = suspect(rk.score(replace(ALL, name="<i>"), rows), pattern="script")
    assert (
        "No suspects." in repr(found)
        and "  No suspects." not in repr(found).splitlines()
    )
    assert "&lt;<mark" in found._repr_html_() and "<i>" not in found._repr_html_()


NEITHER = "suspect takes one of like=, pattern= and predicate=, not "
ELSEWHERE = rk.score(
    STRICT, [{**row, "rollout_id": f"x{row['rollout_id']}"} for row in made()]
)
BAD = [
    ({"pattern": None}, f"{NEITHER}none; give one of them"),
    ({"like": "1-1", "pattern": "a"}, f"{NEITHER}like= and pattern="),
    ({"like": "39_3", "pattern": None}, "like='39_3' is no rollout_id of these scores"),
    ({"pattern": ""}, "pattern '' is empty, which is found in every"),
    ({"pattern": "(a"}, "pattern '(a' does not compile: missing )"),
    ({"pattern": 5}, "pattern 5 does not compile: it is no text"),
    (
        {"pattern": None, "predicate": endlessly, "timeout": 0.2},
        "'endlessly' failed on rollout '",
    ),
    (
        {"pattern": None, "predicate": lambda completion: "yes"},
        "returned 'yes'; a predicate returns True, False or None; it must answer",
    ),
    (
        {"pattern": None, "predicate": lambda texts: True},
        "the predicate asks for 'texts'; these scores have",
    ),
    ({"alike": 0.5}, "alike=0.5 goes with like=, and"),
    ({"label": "right"}, "the rollouts have no column 'right'"),
    ({"by": "tusk"}, "did you mean 'task'?"),
    ({"seed": -1}, "seed=-1 is not a whole number"),
    ({"training": {"scale_reward": "none"}}, "did you mean 'scale_rewards'?"),
    ({"patched": "strict"}, "patched='strict' is no Reward and no Scores"),
    ({"patched": ELSEWHERE}, "no rollout_id in common"),
    ({"patched": one(lambda solution: 1.0)}, "asks for 'solution'; this table has"),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=[said for _, said in BAD])
def test_bad_input_is_one_sentence(scores, given, said):
    with pytest.raises(rk.InputError) as error:
        suspect(scores, **{"pattern": "a", **given})
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_column_of_too_many_values_and_a_pattern_that_hangs_are_said():
    rows = [
        {"prompt_id": f"p{row // 2}", "completion": "a" * 64 + "c", "much": row}
        for row in range(600)
    ]
    for options, said in (
        ({"pattern": "a", "by": "much"}, "by='much' has 600 values, too many"),
        (
            {"pattern": "(a|aa)+b"},
            r"'\(a\|aa\)\+b' took longer than 1 s on rollout 1; write it so",
        ),
    ):
        with pytest.raises(rk.InputError, match=said):
            suspect(rk.score(ALL, rows), **options)


def test_transcripts_are_alike_by_their_calls_where_what_they_end_in_is_the_same():
    def turns(busy, n):
        price = {"function": {"name": "price", "arguments": f'{{"item": "x{n}"}}'}}
        calls = [{"role": "assistant", "content": "", "tool_calls": [price] * 6}] * busy
        end = {"role": "assistant", "content": f"<answer>{n}</answer>"}
        return [{"role": "user", "content": "?"}, *calls, end]

    rows = [
        {"prompt_id": f"p{n // 4}", "messages": turns(n % 10 == 0, n), "truth": "1"}
        for n in range(80)
    ]
    assert suspect(rk.score(ALL, rows), like=1).record()["suspects"] == 8
