"""suspect(): what is said of planted exploits, against arithmetic by hand; and input that cannot be used."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import regex

import rewardkit as rk
from rewardkit.cli.output import plain
from rewardkit.probes.suspect import suspect


def listed(completion, ground_truth):
    """Pays an answer that stands anywhere in the tag: what listing all of them exploits."""
    return ground_truth in re.findall(r"\d+", completion.partition("<answer>")[2])


def exact(completion, ground_truth):
    return re.findall(r"<answer>(.*?)</answer>", completion) == [ground_truth]


def no_zero(completion, ground_truth):
    """A patch that goes too far."""
    return exact(completion, ground_truth) and "0" not in ground_truth


FLAWED = rk.Reward(
    "flawed",
    components=[
        rk.Component("listed", listed, weight=1.0),
        rk.Component("tags", rk.measure.tags("answer"), weight=0.5),
        rk.Component("brief", rk.measure.length(full_until=3, zero_from=30), weight=-0.2),
    ],
)
STRICT = rk.Reward("strict", components=[rk.Component("exact", exact)])
TOO_STRICT = rk.Reward("too strict", components=[rk.Component("exact", no_zero)])
EVERY = "<answer>0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20</answer>"


def made(prompts=40, since=10):
    """Four siblings a prompt, two prompts a step; from a step on the last of hard ones lists all numbers."""
    rows = []
    for prompt in range(prompts):
        step, truth, hard = prompt // 2, str(prompt % 10), prompt % 2
        answers = [truth, truth, "99", "98"]
        for place, answer in enumerate(answers):
            exploits = bool(hard) and step >= since and place == 3
            text = EVERY if exploits else f"It is {answer}, as I see it. <answer>{answer}</answer>"
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


@pytest.fixture(scope="module")
def scores():
    return rk.score(FLAWED, made())


@pytest.fixture(scope="module")
def found(scores):
    return suspect(scores, like="39-3", label="is_right", patched=STRICT)


def test_what_is_like_one_is_what_was_planted(scores, found):
    planted = scores.table["planted"].to_numpy(dtype=bool)
    assert np.array_equal(found.found, planted)
    assert (len(found), found.prompts) == (10, 10)
    assert found.share == 10 / 160
    assert found.interval[0] < found.share < found.interval[1]


@pytest.mark.parametrize(
    "sought",
    [
        pytest.param({"pattern": r"<answer>(\d+ ){5}"}, id="pattern"),
        pytest.param({"pattern": re.compile(r"(?i)<ANSWER>(\d+ ){5}")}, id="compiled by re"),
        pytest.param({"pattern": regex.compile(r"<ANSWER>(\d+ ){5}", regex.I)}, id="compiled by regex"),
        pytest.param({"predicate": lambda completion: completion == EVERY}, id="predicate"),
        pytest.param({"predicate": lambda listed, is_right: listed == 1 and not is_right}, id="by a score"),
        pytest.param({"predicate": lambda reward, place="", *, planted: reward > 1 and planted}, id="reward"),
        pytest.param({"predicate": lambda rollout: rollout["planted"]}, id="of the whole row"),
        pytest.param({"predicate": lambda planted: np.bool_(planted), "timeout": 5.0}, id="under a limit"),
    ],
)
def test_a_pattern_and_a_predicate_find_them_too(scores, found, sought):
    assert np.array_equal(suspect(scores, **sought).found, found.found)


def test_the_first_step_and_the_share_by_step(found):
    assert found.first_step == 10
    assert found.steps["step"].tolist() == list(range(20))
    assert found.steps["share"].tolist() == [0.0] * 10 + [1 / 8] * 10
    assert "first in step 10, of steps 0 to 19; in the last they are 12 %" in found.sentences


def test_a_slice_in_which_they_are_is_told_and_one_that_has_its_share_is_not(scores):
    rows = made(prompts=80, since=0)
    for at, row in enumerate(rows):
        row["half"] = "first" if at // 8 % 2 else "second"
    found = suspect(rk.score(FLAWED, rows), pattern=r"<answer>(\d+ ){5}")
    told = {(item.column, item.value): item for item in found.slices}
    hard = told["task", "hard"]
    assert (hard.rows, hard.found, hard.contrast.found, hard.contrast.rest) == (160, 40, 0.25, 0.0)
    assert math.isinf(hard.lift) and hard.contrast.interval[0] > 0
    assert told["task", "easy"].contrast.difference == -0.25
    assert "half" not in {column for column, _ in told}


def test_a_column_of_many_values_or_of_few_prompts_is_no_slice_unasked():
    rows = made(prompts=400)
    for at, row in enumerate(rows):
        row |= {"many": f"{at % 31}", "few": "yes" if at < 4 * 9 else "no", "ten": at < 4 * 10}
    scored = rk.score(FLAWED, rows)
    unasked = suspect(rk.score(FLAWED, made(prompts=400)), pattern="<answer>0 ").looked_at
    assert suspect(scored, pattern="<answer>0 ").looked_at == unasked + 2  # both values of ten
    assert suspect(scored, pattern="<answer>0 ", by="many").looked_at == 31
    assert suspect(scored, pattern="<answer>0 ", by="few").looked_at == 0


def test_steps_ids_and_the_label_are_no_slices():
    rows = [
        {**row, "step": int(row["step"] >= 10), "generation": place % 4} for place, row in enumerate(made())
    ]
    found = suspect(rk.score(FLAWED, rows), pattern="<answer>0 ", label="is_right")
    assert {"step", "generation", "is_right"}.isdisjoint(item.column for item in found.slices)
    assert "planted" in {item.column for item in found.slices}


def test_the_level_of_a_slice_is_divided_by_their_number(scores):
    one = suspect(scores, pattern="<answer>0 ", by="task")
    many = suspect(scores, pattern="<answer>0 ", by=["task", "colour", "ground_truth"])
    widths = [
        next(item for item in found.slices if item.value == "hard").contrast.interval for found in (one, many)
    ]
    assert one.looked_at == 2 < many.looked_at
    assert widths[1][0] < widths[0][0] and widths[1][1] > widths[0][1]


def test_the_advantage_and_reward_are_means_of_both_sides(scores, found):
    (view,) = rk.diagnose(scores).views
    planted = scores.table["planted"].to_numpy(dtype=bool)
    for contrast, values in ((found.advantage, view.advantages), (found.rewards, scores.rewards)):
        assert contrast.found == pytest.approx(values[planted].mean())
        assert contrast.rest == pytest.approx(values[~planted].mean())
        assert contrast.interval[0] <= contrast.difference <= contrast.interval[1]
    assert found.advantage.difference > 0
    other = suspect(scores, like="39-3", training={"scale_rewards": "none"})
    assert other.advantage.found == pytest.approx(other.rewards.found - group_mean(scores, planted))


def group_mean(scores, rows):
    """Mean over rows of the mean reward of their groups."""
    means = np.bincount(scores.groups, scores.rewards) / np.bincount(scores.groups)
    return means[scores.groups][rows].mean()


def test_what_components_pay_adds_up_to_the_reward_above_the_group(scores, found):
    planted = scores.table["planted"].to_numpy(dtype=bool)
    assert sum(item.pays for item in found.paid) == pytest.approx(
        found.rewards.found - group_mean(scores, planted)
    )
    sizes = [abs(item.pays) for item in found.paid]
    assert sizes == sorted(sizes, reverse=True)
    by_name = {item.component: item for item in found.paid}
    assert by_name["listed"].pays == pytest.approx(1 - 3 / 4)  # two others are right, one is not
    assert by_name["listed"].scores.found == 1.0
    assert by_name["tags"].pays == 0.0


@pytest.mark.parametrize(
    ("options", "training"),
    [
        pytest.param({"aggregation": "product"}, None, id="product"),
        pytest.param({"aggregation": "weighted_mean"}, None, id="mean"),
        pytest.param({}, {"multi_objective_aggregation": "normalize_then_sum"}, id="GDPO"),
        pytest.param({}, {"filter_metric": "listed"}, id="filtered"),
    ],
)
def test_other_ways_to_add_up_are_told_as_well(options, training):
    components = [replace(item, weight=abs(item.weight)) for item in FLAWED.components]
    scores = rk.score(rk.Reward("other", components=components, **options), made())
    found = suspect(scores, like="39-3", training=training)
    assert found.paid[0].component == "listed" and found.paid[0].pays > 0
    assert found.advantage.found > 0


def test_a_route_is_one_table_and_a_component_of_another_reward_moves_nothing():
    rows = made()
    route = rk.Route("task", {"hard": FLAWED, "easy": STRICT})
    found = suspect(rk.score(route, rows), like="39-3")
    assert len(found) == 10
    pays = {item.component: item.pays for item in found.paid}
    assert pays["exact"] == 0 and pays["listed"] == pytest.approx(1 / 4)


def test_with_a_label_the_right_ones_of_either_side_are_counted(found):
    assert found.right.found == 0.0
    assert found.right.rest == pytest.approx(80 / 150)
    assert "0 % of them are right by 'is_right', 53 % of the rest" in found.sentences


def test_a_label_that_says_what_a_component_says_is_told_of():
    scores = rk.score(STRICT, made(since=99))
    found = suspect(scores, pattern="99", label="is_right")
    assert found.right is None
    assert any("confirms nothing" in note for note in found.notes)


def test_the_clearest_are_most_alike_then_highest_in_advantage_one_a_prompt(scores, found):
    assert found.clearest["rollout_id"].iloc[0] in {f"{prompt}-3" for prompt in range(21, 40, 2)}
    assert found.clearest["likeness"].iloc[0] == pytest.approx(1)
    of_pattern = suspect(scores, pattern="<answer>").clearest
    assert of_pattern["advantage"].is_monotonic_decreasing
    assert len(set(of_pattern["rollout_id"].str.partition("-")[0])) == len(of_pattern) == 5


def test_a_patch_that_is_right_takes_all_from_the_suspects_and_nothing_from_right_ones(found):
    patch = found.patched
    assert (patch.suspects, patch.earned, patch.earn, patch.lower) == (10, 10, 0, 10)
    assert (patch.right, patch.right_by) == (80, "that are right by 'is_right'")
    assert patch.rewards == pytest.approx((found.rewards.found, 0.0))


def test_a_patch_that_goes_too_far_lists_the_right_ones_that_lose(scores):
    other = suspect(rk.score(STRICT, made()), like="39-3", label=None, patched=TOO_STRICT).patched
    zero = {f"{prompt}-{place}" for prompt in range(0, 40, 10) for place in (0, 1)}
    assert set(other.lost["rollout_id"]) == zero
    assert other.pushed_down == len(zero) == 8
    assert other.right_by == "that earned more than their siblings"
    row = other.lost.iloc[0]
    assert (row["reward"], row["patched"]) == (1.0, 0.0)
    assert row["advantage"] > 0 >= row["patched advantage"]
    assert (
        "8 (10 %) get less, the middle one by 1; of these 8 no longer earn more than their siblings"
        in other.sentences[1]
    )


def test_a_patch_that_changes_nothing_takes_nothing_and_the_suspects_are_not_among_the_right(scores):
    patch = suspect(scores, like="39-3", patched=FLAWED).patched
    assert (patch.earned, patch.earn, patch.lower, len(patch.lost)) == (10, 10, 0, 0)
    (view,) = rk.diagnose(scores).views
    planted = scores.table["planted"].to_numpy(dtype=bool)
    assert patch.right == ((view.advantages > 1e-9) & ~planted).sum()
    assert (
        patch.sentences[1]
        == f"of {patch.right} other completions that earned more than their siblings none gets less"
    )


def uneven(completion, ground_truth):
    """Takes most from the right answer 1, and puts wrong ones above the right answer 0."""
    right = exact(completion, ground_truth)
    return {"0": 0.5 if right else 1.0, "1": 0.4 if right else 0.0}.get(ground_truth, float(right))


def test_a_suspect_is_none_of_the_right_ones_even_where_the_label_says_so(scores):
    everything = suspect(scores, pattern="<answer>", label="is_right", patched=STRICT).patched
    assert (everything.suspects, everything.right, len(everything.lost)) == (160, 0, 0)


def test_those_that_no_longer_earn_come_first_then_those_that_lose_most():
    patch = rk.Reward("uneven", components=[rk.Component("uneven", uneven)])
    lost = suspect(rk.score(STRICT, made()), like="39-3", patched=patch).patched.lost
    assert lost["patched"].tolist() == [0.5] * 8 + [0.4] * 8


def test_a_patch_may_be_given_as_scores_and_is_matched_by_id(scores, found):
    backwards = rk.load_rollouts(made()[::-1])
    other = suspect(scores, like="39-3", label="is_right", patched=rk.score(STRICT, backwards)).patched
    assert other.record() == found.patched.record()


def test_what_a_patch_does_not_judge_is_lost():
    raising = rk.Reward("raising", components=[rk.Component("exact", lambda completion: 1 / 0)])
    patch = suspect(rk.score(STRICT, made()), like="39-3", patched=raising).patched
    assert patch.lower == 10 and len(patch.lost) == patch.right == 80
    assert math.isnan(patch.rewards[1])


def test_none_found_is_said_and_is_no_error(scores):
    found = suspect(scores, pattern="no such text", patched=STRICT, label="is_right")
    assert found.sentences == ["none of 160 completions match the pattern 'no such text'"]
    assert (len(found), found.first_step, found.slices, len(found.clearest)) == (0, None, (), 0)
    assert math.isnan(found.advantage.found)
    assert json.dumps(plain(found.record()))


def test_all_found_has_no_rest(scores):
    found = suspect(scores, pattern="<answer>")
    assert found.share == 1 and math.isnan(found.advantage.rest) and found.slices == ()


def test_without_steps_that_is_said():
    rows = [{name: value for name, value in row.items() if name != "step"} for row in made()]
    found = suspect(rk.score(FLAWED, rows), like="39-3")
    assert found.first_step is None and len(found.steps) == 0
    assert found.notes == (
        "the rollouts have no column 'step' of numbers, so that it cannot be said since when",
    )


def test_rows_without_a_reward_are_left_out_of_the_means():
    failing = rk.Component("listed", lambda completion: 1.0 if "0 1" in completion else None)
    found = suspect(rk.score(rk.Reward("few", components=[failing]), made()), pattern="0 1")
    assert found.rewards.found == 1.0 and math.isnan(found.rewards.rest)


def test_the_same_seed_gives_the_same_and_nothing_of_the_callers_is_changed(scores):
    before = scores.table.copy(deep=True)
    first, again, other = (suspect(scores, like="39-3", seed=seed).record() for seed in (0, 0, 1))
    assert json.dumps(plain(first)) == json.dumps(plain(again))
    assert first["interval"] != other["interval"]
    assert scores.table.equals(before)


def test_the_page_escapes_what_completions_say_and_marks_what_a_pattern_found():
    rows = [
        {"rollout_id": f"<b>{row}", "prompt_id": f"p{row % 3}", "completion": f"<script>{row}</script> x"}
        for row in range(12)
    ]
    scores = rk.score(rk.Reward("<i>", components=[rk.Component("one", lambda completion: 1.0)]), rows)
    page = suspect(scores, pattern="script")._repr_html_()
    assert "<script" not in page and "<i>" not in page and "<b>1" not in page
    assert "&lt;<mark" in page
    assert page.count("<details") == page.count("</details>")


def test_the_text_has_every_sentence_the_clearest_and_who_loses(scores, found):
    text = repr(suspect(rk.score(STRICT, made()), like="39-3", patched=TOO_STRICT))
    assert "the clearest:" in text and "others that would get less:" in text and "and 3 more" in text
    assert all(sentence in repr(found) for sentence in found.sentences)
    assert found.patched.sentences[0] in found.sentences


def no_bool(completion):
    return "yes"


def fails(completion):
    return completion[10_000]


OTHER = rk.Reward("other", components=[rk.Component("other", lambda solution: 1.0)])
NEITHER = "suspect takes one of like=, pattern= and predicate=, not "


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({}, f"{NEITHER}none; give one of them", id="none"),
        pytest.param({"like": "1-1", "pattern": "a"}, f"{NEITHER}like= and pattern=", id="two"),
        pytest.param({"like": "39_3"}, "like='39_3' is no rollout_id of these scores", id="unknown id"),
        pytest.param({"like": "39-33"}, "did you mean '39-3'?", id="near id"),
        pytest.param({"like": "1-1", "alike": 0}, "alike=0 is not a likeness", id="likeness"),
        pytest.param({"pattern": "(a"}, "pattern '(a' does not compile: missing )", id="bad pattern"),
        pytest.param({"pattern": 5}, "pattern 5 does not compile: it is no text", id="no pattern"),
        pytest.param({"pattern": re.compile(b"a")}, "b'a' is of bytes", id="bytes"),
        pytest.param({"predicate": "a"}, "the predicate needs a function, not 'a'", id="no function"),
        pytest.param({"predicate": no_bool}, "predicate 'no_bool' failed on rollout '0-0': returned 'yes'",
                     id="no bool"),
        pytest.param({"predicate": lambda completion: None}, "returned None; it must answer True or False",
                     id="None"),
        pytest.param({"predicate": fails}, "failed on rollout '0-0': IndexError", id="raises"),
        pytest.param({"predicate": lambda completions: True},
                     "the predicate asks for 'completions'; these scores have", id="unknown column"),
        pytest.param({"pattern": "a", "label": "right"}, "the rollouts have no column 'right'", id="label"),
        pytest.param({"pattern": "a", "label": 5}, "label=5 is no name of a column", id="no label"),
        pytest.param({"pattern": "a", "by": "tusk"}, "did you mean 'task'?", id="by"),
        pytest.param({"pattern": "a", "by": 5}, "by=5 is no list of names of columns", id="no by"),
        pytest.param({"pattern": "a", "seed": -1}, "seed=-1 is not a whole number", id="seed"),
        pytest.param({"pattern": "a", "training": {"scale_reward": "none"}}, "did you mean 'scale_rewards'?",
                     id="training"),
        pytest.param({"pattern": "a", "patched": "strict"}, "patched='strict' is no Reward and no Scores",
                     id="no reward"),
        pytest.param({"pattern": "a", "patched": OTHER}, "asks for 'solution'; this table has",
                     id="missing column"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(scores, given, said):
    with pytest.raises(rk.InputError) as error:
        suspect(scores, **given)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_what_is_no_scores_is_said():
    with pytest.raises(rk.InputError, match=r"suspect takes Scores, .* not \[\]"):
        suspect([], pattern="a")


def test_scores_of_other_rollouts_as_the_patch_are_said(scores):
    other = rk.score(STRICT, [{**row, "rollout_id": f"x{row['rollout_id']}"} for row in made()])
    with pytest.raises(rk.InputError, match="no rollout_id in common"):
        suspect(scores, pattern="a", patched=other)


def test_by_with_too_many_values_is_said():
    rows = [{"prompt_id": f"p{row // 2}", "completion": "a", "much": f"{row}"} for row in range(600)]
    scores = rk.score(rk.Reward("one", components=[rk.Component("one", lambda completion: 1.0)]), rows)
    with pytest.raises(rk.InputError, match="by='much' has 600 values, too many"):
        suspect(scores, pattern="a", by="much")
    assert suspect(scores, pattern="a").looked_at == 0


def test_a_pattern_that_hangs_is_ended_and_said():
    rows = [{"prompt_id": "p", "completion": "a" * 64 + "c"}] * 2
    scores = rk.score(rk.Reward("one", components=[rk.Component("one", lambda completion: 1.0)]), rows)
    with pytest.raises(rk.InputError, match=r"'\(a\|aa\)\+b' took longer than 1 s on rollout 1; write it so"):
        suspect(scores, pattern="(a|aa)+b")


def test_a_predicate_that_hangs_is_ended_and_said(scores):
    def endless(completion):
        while True:
            pass

    with pytest.raises(rk.InputError, match=r"'endless' failed on rollout '0-0': took longer than 0\.2 s"):
        suspect(rk.score(FLAWED, made(prompts=1)), predicate=endless, timeout=0.2)


def test_ids_that_are_numbers_may_be_given_as_text():
    rows = [{**row, "rollout_id": place} for place, row in enumerate(made())]
    scores = rk.score(FLAWED, rows)
    assert np.array_equal(suspect(scores, like="159").found, suspect(scores, like=159).found)


def test_the_bundled_completions_that_give_several_answers_are_found_by_one_of_them():
    scores = rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic")
    several = scores.table["completion"].str.count("<answer>").to_numpy() > 2
    one = scores.table["rollout_id"].to_numpy()[several][0]
    found = suspect(scores, like=one)
    assert (found.found & several).sum() / several.sum() > 0.4
    assert (found.found & ~several).sum() <= 0.005 * len(scores)
    assert found.advantage.found < 0
    assert found.clearest["rollout_id"].iloc[0] == one
    assert found.clearest["likeness"].is_monotonic_decreasing and found.clearest["likeness"].iloc[-1] < 1
