"""What a reward pays for beside the task, and the label: planted faults, and controls that stay silent."""

import re

import numpy as np
import pytest
from score_tables import sampled

import rewardkit as rk
from rewardkit.analysis.findings import shortcuts

PROMPTS, SIBLINGS = 60, 8


def table(seed, pays, *, extra=None, weights=(1.0, 0.3)):
    """Scores of a task and of what `pays` gives for the rows, and the rows with columns of their own."""
    generator = np.random.default_rng(seed)
    right, groups = sampled(seed, prompts=PROMPTS, generations=SIBLINGS, rate=0.45, spread=0.4)
    length = generator.integers(5, 200, len(groups))
    rows = [
        {
            "prompt_id": f"p{group}",
            "completion": "x" * int(length[at]),
            "right": float(right[at]),
            "temperature": float(generator.random()),
        }
        for at, group in enumerate(groups)
    ]
    for name, values in (extra(right, length, generator) if extra else {}).items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value.item() if hasattr(value, "item") else value
    second = pays(right, length, generator)
    for row, value in zip(rows, second, strict=True):
        row["second_given"] = float(value)
    reward = rk.Reward(
        "made",
        components=[
            rk.Component("task", lambda right: right, weight=weights[0], primary=True),
            rk.Component("second", lambda second_given: second_given, weight=weights[1]),
        ],
    )
    return rk.score(reward, rk.load_rollouts(rows))


def noise(right, length, generator):
    return generator.random(len(right))


def longer(right, length, generator):
    return np.clip(length / 200 + generator.normal(0, 0.15, len(right)), 0, 1)


def codes(scores, **options):
    return {item.code: item for item in rk.diagnose(scores, **options).findings}


HACKS = ("length_bias", "column_bias", "truncated_paid", "label_disagrees", "label_unusable")


@pytest.mark.parametrize("seed", range(5))
def test_noise_beside_the_task_is_no_bias(seed):
    assert not set(codes(table(seed, noise))) & set(HACKS)


@pytest.mark.parametrize("seed", range(5))
def test_what_pays_for_length_is_found_and_said(seed):
    found = codes(table(seed, longer))["length_bias"]
    assert found.severity == "warn" and found.evidence["longer"] and found.evidence["value"] > 0.75
    assert "with equal 'task', the longer one (in characters) gets the higher advantage" in found.sentence
    shorter = codes(table(seed, lambda *given: 1 - longer(*given)))["length_bias"]
    assert "the shorter one (in characters) gets" in shorter.sentence and shorter.evidence["value"] < 0.25


def test_of_very_many_rows_pairs_are_counted_in_some_whole_groups_drawn_by_the_seed(monkeypatch):
    scores = table(0, longer)
    whole = codes(scores)["length_bias"]
    monkeypatch.setattr("rewardkit.analysis.view.MOST_ROWS", PROMPTS * SIBLINGS // 2)
    (view,) = rk.diagnose(scores).views
    groups, counts = np.unique(view.groups[view.few], return_counts=True)
    assert 15 < len(groups) < 45 and set(counts) == {SIBLINGS}
    some = codes(scores)["length_bias"]
    assert some.n == pytest.approx(whole.n * len(groups) / PROMPTS, rel=0.3) and some.n < whole.n
    assert some.evidence["value"] == pytest.approx(whole.evidence["value"], abs=0.05)
    assert np.ptp(some.evidence["interval"]) > np.ptp(whole.evidence["interval"])
    assert codes(scores, seed=0)["length_bias"].evidence == some.evidence
    assert not set(codes(table(1, noise))) & set(HACKS)


def test_right_answers_that_are_longer_are_no_length_bias():
    """The length tells right from wrong, and nothing else is paid for: among right ones it has no say."""

    def extra(right, length, generator):
        return {"completion": ["x" * int(40 + 100 * r + generator.integers(0, 30)) for r in right]}

    assert "length_bias" not in codes(table(1, noise, extra=extra))


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "with a format"])
def test_a_task_that_is_scored_by_the_length_is_said_to_follow_it(beside):
    rows = table(2, longer).rollouts.table
    judge = rk.Component("judge", lambda completion: min(len(completion) / 400, 1.0), primary=True)
    tidy = rk.Component("tidy", lambda temperature: temperature > 0.1, weight=0.1)
    scores = rk.score(rk.Reward("r", components=[judge, tidy] if beside else [judge]), rows)
    found = codes(scores)["length_bias"]
    assert (found.component, found.severity, found.evidence["value"]) == ("judge", "warn", 1.0)
    assert "that 'judge' tells apart, the longer one" in found.sentence
    shorter = rk.Component("judge", lambda completion: 1 - min(len(completion) / 400, 1.0))
    falls = codes(rk.score(rk.Reward("r", components=[shorter]), rows))["length_bias"]
    assert falls.severity == "warn" and falls.evidence["value"] == 0.0


def test_a_lone_component_is_not_said_to_pay_for_length():
    scores = table(2, longer)
    reward = rk.Reward("one", components=[rk.Component("second", lambda second_given: second_given)])
    assert not set(codes(rk.score(reward, scores.rollouts))) & {"length_bias", "column_bias"}


def test_another_column_that_is_paid_for_is_named_once():
    def extra(right, length, generator):
        return {"emojis": generator.integers(0, 9, len(right)), "letters": length * 2.0}

    def pays(right, length, generator):
        return np.random.default_rng(3).random(len(right))  # replaced below by the column itself

    scores = table(3, pays, extra=extra)
    rows = [{**row, "second_given": min(1.0, row["emojis"] / 9)} for row in scores.rollouts]
    again = rk.score(scores.reward, rk.load_rollouts(rows))
    found = [item for item in rk.diagnose(again).findings if item.code == "column_bias"]
    assert [item.evidence["column"] for item in found] == ["emojis"]
    assert "with the higher 'emojis' gets" in found[0].sentence
    of_length = [
        item.code for item in rk.diagnose(table(3, longer, extra=extra)).findings if item.code in HACKS
    ]
    assert of_length == ["length_bias"]  # `letters` is the length once more


def test_columns_are_those_that_were_asked_for():
    scores = table(4, longer)
    assert "column_bias" in codes(
        scores, columns=["second_given"]
    )  # which the reward reads, and so is not looked at
    assert "column_bias" not in codes(scores, columns=["temperature"])
    with pytest.raises(rk.InputError, match=r"no column 'temprature'.*did you mean 'temperature'"):
        rk.diagnose(scores, columns=["temprature"])
    with pytest.raises(rk.InputError, match="column 'completion' holds no numbers"):
        rk.diagnose(scores, columns=["completion"])


def test_cut_answers_that_are_paid_without_the_task_are_found():
    def extra(right, length, generator):
        return {"finish_reason": np.where(length > 150, "length", "stop")}

    found = codes(table(5, lambda right, length, generator: length > 150, extra=extra, weights=(1.0, 1.0)))
    assert found["truncated_paid"].severity == "warn" and found["truncated_paid"].evidence["value"] > 0.25
    assert "truncated_paid" not in codes(table(5, noise, extra=extra, weights=(1.0, 0.01)))


def test_columns_are_decided_at_a_level_that_holds_for_all_of_them(monkeypatch):
    """A column counts as one of so many tests, the length as one."""
    made, seen = shortcuts.finding, {}

    def spy(view, code, *given, tests=1, **options):
        seen[code] = tests
        return made(view, code, *given, tests=tests, **options)

    monkeypatch.setattr(shortcuts, "finding", spy)

    def extra(right, length, generator):
        return {"emojis": length % 7, **{f"c{at}": generator.random(len(right)) for at in range(5)}}

    scores = table(
        3, lambda right, length, generator: np.clip(length % 7 / 7 + length / 400, 0, 1), extra=extra
    )
    columns = ["emojis", *(f"c{at}" for at in range(5))]
    assert {"length_bias", "column_bias"} <= set(codes(scores, columns=columns))
    assert (seen["length_bias"], seen["column_bias"]) == (1, 6)


# the label


def truth(flip):
    def extra(right, length, generator):
        flipped = np.where(generator.random(len(right)) < flip, 1 - right, right)
        return {"is_correct": flipped.astype(bool)}

    return extra


def test_a_label_that_the_reward_does_not_follow_is_found_with_the_share_of_pairs():
    scores = table(6, noise, extra=truth(0.15))
    found = codes(scores, label="is_correct")["label_disagrees"]
    label = np.array([float(row["is_correct"]) for row in scores.rollouts])
    agree = pairs = 0.0
    for group in np.unique(scores.groups):
        rows = np.flatnonzero(scores.groups == group)
        good, bad = rows[label[rows] == 1], rows[label[rows] == 0]
        gaps = scores.rewards[good][:, None] - scores.rewards[bad][None]
        agree += (gaps > 0).sum() + (gaps == 0).sum() / 2
        pairs += gaps.size
    assert found.evidence["value"] == pytest.approx(agree / pairs) and found.n == pairs
    assert found.evidence["interval"][0] < agree / pairs < found.evidence["interval"][1]
    assert found.severity == "warn" and "'is_correct'" in found.sentence


def test_a_label_is_disagreed_with_gravely_where_the_whole_interval_is_under_the_limit():
    found = codes(table(6, noise, extra=truth(0.25)), label="is_correct")["label_disagrees"]
    low, high = found.evidence["interval"]
    assert low < found.evidence["value"] < 0.7 < high and found.severity == "warn"
    found = codes(table(6, noise, extra=truth(0.3)), label="is_correct")["label_disagrees"]
    assert found.evidence["interval"][1] < 0.7 and found.severity == "high"


def test_a_label_written_as_texts_of_true_and_false_is_one():
    scores = table(6, noise, extra=truth(0.15))
    rows = scores.rollouts.table
    as_text = rk.score(scores.reward, rows.assign(is_correct=[str(value) for value in rows["is_correct"]]))
    found, same = (codes(item, label="is_correct")["label_disagrees"] for item in (as_text, scores))
    assert found.evidence == same.evidence
    curves = [
        rk.forecast(item, label="is_correct").best_of.curves["label"].value for item in (as_text, scores)
    ]
    assert curves[0].tolist() == curves[1].tolist()


def test_a_component_that_says_what_a_part_of_the_label_does_leaves_it_usable():
    """Behind a gate it is 1 wherever it is scored, and so is the label there."""

    def extra(right, length, generator):
        return {"ok": np.where(generator.random(len(right)) < 0.2, 1.0, right)}

    scores = table(9, noise, extra=extra)
    bonus = rk.Component("bonus", lambda right: 1.0, weight=0.1, gate=rk.gate("task", at_least=1.0))
    reward = rk.Reward("gated", components=[*scores.reward.components, bonus])
    found = codes(rk.score(reward, scores.rollouts), label="ok")
    assert "label_unusable" not in found and "label_disagrees" in found


def test_a_label_that_is_noise_is_of_high_severity_and_one_that_is_followed_is_silent():
    assert codes(table(7, noise, extra=truth(0.5)), label="is_correct")["label_disagrees"].severity == "high"
    assert not set(codes(table(7, noise, extra=truth(0.01)), label="is_correct")) & set(HACKS)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        pytest.param(lambda right: right, "says what the component 'task' says", id="the task itself"),
        pytest.param(
            lambda right: 1 + 99 * right, "says what the component 'task'", id="the task on a scale"
        ),
        pytest.param(lambda right: 1 - right, "says the reverse of the component 'task'", id="its reverse"),
        pytest.param(lambda right: right * 0 + 1, "not one of two values: it has 1", id="constant"),
        pytest.param(lambda right: np.arange(len(right)) % 3, "it has 0, 1, 2", id="three values"),
        pytest.param(
            lambda right: ["yes"] * len(right), "'label' holds no numbers but 'yes'; make", id="words"
        ),
        pytest.param(
            lambda right: [1.0, 0.0] + [None] * (len(right) - 2), "only [01] pairs of siblings", id="missing"
        ),
    ],
)
def test_a_label_that_cannot_be_used_is_a_record_that_says_why(values, reason):
    scores = table(8, noise, extra=lambda right, length, generator: {"label": values(right)})
    found = codes(scores, label="label")
    assert re.search(reason, found["label_unusable"].sentence) and "label_disagrees" not in found


def test_a_label_is_what_length_is_judged_beside():
    found = codes(table(9, longer, extra=truth(0.02)), label="is_correct")["length_bias"]
    assert "completions of a prompt with equal 'is_correct', the longer one" in found.sentence
    with pytest.raises(rk.InputError, match=r"no column 'is_corect'.*did you mean 'is_correct'"):
        rk.diagnose(table(9, longer, extra=truth(0.02)), label="is_corect")
