"""What is suggested: measured as its line says, ranked by a label, left out with a reason; ways to read."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from planted.tables import scores_of
from untrained import untrained

import rewardkit as rk

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("short_rehearsals")]


def suggested_for(scores):
    diagnosis = rk.diagnose(scores)
    with untrained():
        return diagnosis, rk.suggest(diagnosis)


@pytest.fixture(scope="module")
def good(good_scores):
    return suggested_for(good_scores)


@pytest.fixture(scope="module")
def flawed(flawed_scores):
    return suggested_for(flawed_scores)


def by_code(advice):
    return {row.code: row for row in advice.normalization}


def only(advice, code):
    return [item for item in advice.changes if item.code == code]


def given(parts, siblings=8, training=None, primary=None, label=None, **options):
    """The diagnosis of components that are given by groups of so many siblings, and what is suggested."""
    groups = np.arange(len(next(iter(parts.values())))) // siblings
    components = {primary: {"primary": True}} if primary else None
    columns = {} if label is None else {"is_good": label}
    scores = scores_of(parts, groups, components=components, columns=columns, **options)
    diagnosis = rk.diagnose(
        scores, training=training, label=None if label is None else "is_good"
    )
    return diagnosis, rk.suggest(diagnosis)


def test_partial_credit_never_earns_what_a_right_answer_does(good):
    diagnosis, advice = good
    (change,) = only(advice, "graduate")
    assert (
        change.before["zero_std"]
        == diagnosis.views[0].stats.dead.mean()
        > change.after["zero_std"]
    )
    assert "not known to be right" in change.why
    assert 0 < change.after["added_advantage_in_tied_groups"] <= 1
    right = change.scores.score("correct") == 1
    added = change.scores.rewards - diagnosis.scores.rewards
    assert added[right].min() >= added[~right].max()


def test_removing_what_is_constant_or_redundant_moves_no_advantage_and_is_a_note(
    flawed,
):
    (change,) = only(flawed[1], "remove_component")
    assert change.component == "detail" and change.after["advantage_moved"] > 0.2
    note = "left out, as no advantage changes: no weight for 'closed', no weight for 'steps'"
    assert note in flawed[1].notes


def test_a_change_after_which_training_does_less_of_the_task_comes_last():
    draw = np.random.default_rng(89)

    def often():
        return np.repeat(draw.random(80) < draw.choice((0.3, 0.6, 1)), 8)

    live = often()
    parts, weights = (
        {"task": np.where(live, draw.random(640) < draw.choice([0.2, 0.5]), 0.0)},
        {"task": 1.0},
    )
    for name in "xyz":
        live = often()
        noise = (
            draw.random(640) if draw.random() < 0.5 else (draw.random(640) < 0.5) * 1.0
        )
        follows, height = draw.choice([0, 0.5, -0.5]), draw.choice([0.3, 1, 3])
        parts[name] = np.where(
            live, height * np.clip(noise + follows * parts["task"], -1, 2), 0.5
        )
        weights[name] = float(draw.choice([0.1, 0.3, 0.6, 0.9]))
    _, advice = given(parts, primary="task", weights=weights)
    gate, removal = advice.changes
    assert (gate.code, gate.component, gate.rank) == ("gate_component", "y", 1)
    assert (removal.code, removal.verdict, removal.rank) == (
        "remove_component",
        "harms",
        None,
    )
    assert removal.trained.gain < -0.1 < 0.1 < gate.trained.gain


AFFINE = ("standardise", "min_max", "min_max_group", "standardise_group")


def test_under_group_scaling_no_affine_map_has_an_effect_and_no_normalization_unties_a_group(
    good, flawed
):
    for _, advice in (good, flawed):
        rows = by_code(advice)
        for code in (*AFFINE, "rank_group", "batch_std", "no_std"):
            assert rows[code].zero_std >= rows["as_is"].zero_std - 1e-12
    for code in AFFINE:
        row = by_code(good[1])[code]
        assert (
            row.effect.startswith("no effect: group scaling cancels it")
            and row.changed < 0.005
        )


VERL = {"trainer": "verl"}
GRPO, GDPO = (
    "algorithm.adv_estimator=grpo algorithm.norm_adv_by_std_in_grpo=",
    "algorithm.adv_estimator=gdpo",
)
KEYS, WEIGHTS = (
    "+algorithm.gdpo_reward_keys=[a,b]",
    "+algorithm.gdpo_reward_weights=[1,0.5]",
)
SUMMED = 'GRPOConfig(scale_rewards="group", multi_objective_aggregation="sum_then_normalize")'
LINES = [
    ({}, "no_std", 'GRPOConfig(scale_rewards="none")'),
    (VERL, "no_std", f"{GRPO}False"),
    ({**VERL, "scale_rewards": "none"}, "group_std", f"{GRPO}True"),
    (VERL, "batch_std", ""),  # it has none
    (VERL, "normalize_then_sum", f"{GDPO} {KEYS} {WEIGHTS}"),
    ({"multi_objective_aggregation": "normalize_then_sum"}, "group_std", SUMMED),
]


@pytest.mark.parametrize(("training", "code", "line"), LINES)
def test_the_line_of_a_scaling_is_of_the_trainer_that_the_diagnosis_is_for(
    training, code, line
):
    parts = dict(zip("ab", np.random.default_rng(0).random((2, 320)), strict=True))
    _, advice = given(parts, weights={"b": 0.5}, training=training)
    row = by_code(advice)[code]
    assert row.line == line and ("GRPOConfig" in repr(advice.record())) == (
        "trainer" not in training
    )
    assert ("has no setting for it" in row.effect) == (not line)


def test_with_a_label_what_orders_siblings_more_like_it_comes_first_noise_never_and_harm_last():
    draw = np.random.default_rng(0)
    right = draw.random(640) < 0.4
    parts = {
        "correct": (right & (draw.random(640) < 0.3)).astype(float),
        "helps": np.where(right, 0.8, 0.2) + 0.2 * draw.random(640),
        "hurts": np.where(right, 0.1, 0.8) + 0.1 * draw.random(640),
        "noise": draw.random(640),
    }
    diagnosis, advice = given(
        parts, label=right, weights={"helps": 0.0, "hurts": 0.2, "noise": 0.0}
    )
    paid = {item.component: item for item in only(advice, "pay_component")}
    assert advice.changes[0].rank == 1 and advice.changes[0].component != "noise"
    assert paid["helps"].verdict == "improves"
    (left_out,) = [note for note in advice.notes if "training gains less than" in note]
    assert "noise" not in paid and "a weight for 'noise'" in left_out
    unlabelled = rk.suggest(rk.diagnose(diagnosis.scores)).changes
    assert unlabelled
    for item in unlabelled:  # without a label what training does of "correct" ranks
        gains = item.trained is not None and item.trained.gain >= 0.1
        assert (item.rank is not None) == gains
        assert item.component != "noise" or item.rank is None
    parts = {name: parts[name] for name in ("correct", "hurts")} | {
        "never": np.zeros(640)
    }
    _, advice = given(parts, label=right, weights={"hurts": 0.0})
    (last,) = advice.changes
    assert "left out, as no advantage changes: no weight for 'never'" in advice.notes
    assert (last.code, last.component, last.verdict, last.rank) == (
        "pay_component",
        "hurts",
        "harms",
        None,
    )
    assert "it makes the reward worse" in last.why
    assert "Makes it worse: a weight for" in advice.text(verbose=True)
    assert repr(advice).startswith("No change of the reward to suggest.")


def test_the_task_that_is_recorded_alone_is_paid_first():
    draw = np.random.default_rng(0)
    right = draw.random(640) < 0.2
    parts = {"luck": draw.random(640), "exact": right.astype(float)}
    _, advice = given(parts, label=right, weights={"exact": 0.0})
    first = advice.changes[0]
    assert (first.code, first.component) == ("pay_component", "exact")
    assert first.line == 'scores.reweigh({"exact": 1.0})'
    assert (first.rank, first.verdict) == (1, "improves")
    assert first.answers == "label_disagrees"
    parts["exact"] = np.where(draw.random(640) < 0.05, 1 - right, right)
    _, advice = given(parts, label=right, weights={"exact": 0.0})
    assert not only(advice, "pay_component")


def test_changes_are_measured_under_the_settings_of_the_diagnosis(flawed):
    training = {"scale_rewards": "none", "filter_metric": "correct"}
    with untrained():
        changes = rk.suggest(rk.diagnose(flawed[0].scores, training=training)).changes
    measured = [item for item in changes if item.scores is not None]
    assert measured
    for item in measured:
        view = rk.diagnose(item.scores, training=training).views[0]
        assert item.after["effective_weights"] == pytest.approx(
            view.effective_weights, abs=1e-3
        )
        assert item.after["zero_std"] == pytest.approx(view.dead.mean())


@pytest.mark.parametrize(
    "scores",
    [
        np.random.default_rng(0).random(400),  # nothing was found
        np.full(80, np.nan),  # nothing is judged
    ],
)
def test_a_reward_with_nothing_to_change_says_so_without_a_note(scores):
    _, advice = given({"a": scores})
    assert (advice.changes, advice.notes) == ((), ())
    assert repr(advice).startswith("No change of the reward to suggest.")


def products(aggregation):
    """A right answer times how wordy it is."""
    draw = np.random.default_rng(0)
    texts = [
        "so " * draw.integers(1, 40) + f"<answer>{draw.integers(5, 8)}</answer>"
        for _ in range(640)
    ]
    rows = [
        {"prompt_id": f"p{at // 8}", "completion": text, "ground_truth": "5"}
        for at, text in enumerate(texts)
    ]
    wordy = rk.Component(
        "wordy", lambda completion: min(1.0, len(completion.split()) / 40), weight=3.0
    )
    parts = [rk.Component("correct", rk.verify.numbers_equal, primary=True), wordy]
    reward = rk.Reward(
        "r", {"prediction": rk.extract.tag("answer")}, parts, aggregation=aggregation
    )
    return rk.score(reward, rows)


@pytest.mark.parametrize("aggregation", ["product", "minimum"])
def test_of_a_product_nothing_is_suggested_that_moves_no_advantage(aggregation):
    advice = rk.suggest(rk.diagnose(products(aggregation)))
    assert advice.changes == ()
    said = f"left out, as no advantage changes, as the reward is a {aggregation}: partial credit for 'correct'"
    assert any(note.startswith(said) for note in advice.notes)
    assert not [row for row in advice.normalization if row.code.endswith("_components")]
    assert (
        f"it is a sum, where the reward is a {aggregation}"
        in by_code(advice)["normalize_then_sum"].effect
    )


def test_what_was_found_inconclusively_is_answered_by_no_change_and_that_is_said():
    scores = {"correct": [1.0, 0.0, 1.0], "format": [1.0, 0.0, 1.0]}
    _, advice = given(scores, weights={"format": 0.5})
    assert advice.changes == ()
    (note,) = [
        note
        for note in advice.notes
        if note.startswith("not answered, as the rollouts are too few")
    ]
    assert "to be sure:" in note and "redundant" in note


def ranked(completion):
    lengths = [len(text) for text in completion]
    return [float(sum(other < length for other in lengths)) for length in lengths]


BEHIND = rk.Component(
    "last", lambda completion: 1.0, gate=rk.gate("wordy", at_least=0.5), weight=0.1
)
SIBLINGS = {"function": ranked, "group": True, "range": None}


GATES = {
    "gates ignored": ({}, [], True, "gates were ignored in scoring"),
    "another is behind": ({}, [BEHIND], False, "'last' hangs on its score"),
    "it sees its siblings": (SIBLINGS, [], False, ""),
}


@pytest.mark.parametrize(
    ("attributes", "more", "ignored", "why"), GATES.values(), ids=GATES
)
def test_a_gate_is_given_or_left_out_and_said_why(attributes, more, ignored, why):
    summed = products("weighted_sum")
    correct, wordy = summed.reward.components
    reward = replace(
        summed.reward, components=[correct, replace(wordy, **attributes), *more]
    )
    scores = rk.score(reward, summed.rollouts, ignore_gates=ignored)
    _, advice = suggested_for(scores)
    assert ("gate_component" in {item.code for item in advice.changes}) == (not why)
    notes = [note for note in advice.notes if "a gate for" in note]
    assert notes == [f"a gate for 'wordy' is left out: {why}"] * bool(why)


# other ways to read and to compare the answer

TRUTH, WRONG, RIGHT = "42", "<answer>7</answer>", "The answer is <answer>42</answer>"
SURE, NUMBER, EQUAL = (
    rk.extract.tag("answer"),
    rk.extract.number(),
    rk.verify.numbers_equal,
)


def suggested(completion, *, field=SURE, verify=EQUAL, truth=TRUTH, wrong=WRONG):
    """What is suggested where a completion stands among three siblings that are wrong, in 12 prompts."""
    rows = [
        {"prompt_id": str(copy), "completion": text, "ground_truth": truth}
        for copy in range(12)
        for text in (completion, wrong, wrong, wrong)
    ]
    reward = rk.Reward("made", {"prediction": field}, [rk.Component("correct", verify)])
    _, advice = suggested_for(rk.score(reward, rows))
    return advice, {
        item.line: item for item in advice.changes if item.code.endswith("_reading")
    }


LOOSER = {
    "tag never closed": ("<answer>42", "unclosed=True", None),
    "number in a sentence": (
        "<answer>it is 42 apples</answer>",
        "rk.extract.within(",
        "it is 42 apples",
    ),
    "phrase in place of a tag": (
        "The answer is 42.",
        "rk.extract.answer_phrase()",
        None,
    ),
    "bare number": ("at last 42", "rk.extract.number()", None),
    "rounded": ("<answer>41.9</answer>", "relative=0.01", "41.9"),
    "letters": ("I would pick option B here", "choice", None),
}
LETTERS = {"truth": "B", "wrong": "<answer>C</answer>", "verify": rk.verify.matches}


@pytest.mark.parametrize(("completion", "code", "read"), LOOSER.values(), ids=LOOSER)
def test_the_looser_way_that_recovers_a_form_is_offered_with_its_rows(
    completion, code, read
):
    options = LETTERS if code == "choice" else {}
    _, found = suggested(completion, **options)
    change = next(item for line, item in found.items() if code in line)
    assert change.code == "looser_reading"
    assert (change.after["rows_up"], change.after["rows_down"]) == (12, 0)
    assert len(change.examples) == 5
    for example in change.examples:
        assert (example["ground_truth"], example["old"]) == (
            options.get("truth", TRUTH),
            read,
        )
        assert (example["score_before"], example["score_after"]) == (0.0, 1.0)
    if (
        "answer_phrase" in code
    ):  # of ways that give the same scores only the simplest is offered
        assert not [line for line in found if "first_of" in line and "number()" in line]


def test_the_words_before_unpaid_truths_make_an_extractor():
    said = "My verdict comes to: {}\nI am quite sure of it."
    _, found = suggested(
        said.format("gamma kappa"),
        field=rk.extract.boxed(),
        verify=rk.verify.matches,
        truth="gamma kappa",
        wrong=said.format("gamma rho"),
    )
    (change,) = (item for line, item in found.items() if "rk.extract.pattern(" in line)
    words = repr(re.escape("My verdict comes to: "))[:-1]
    assert f"rk.extract.boxed(), rk.extract.pattern({words}" in change.line
    assert (change.after["rows_up"], change.after["rows_down"]) == (12, 0)
    assert {example["score_after"] for example in change.examples} == {1.0}


def test_where_no_way_moves_a_row_it_says_what_was_tried():
    advice, found = suggested(WRONG)
    assert not found
    assert any(
        note.startswith("looser ways to judge 'correct' move no row: tried")
        for note in advice.notes
    )


def test_a_verifier_of_the_users_own_that_fails_is_held_against_ours_that_does_not():
    def fragile(prediction, ground_truth):
        return float(prediction) == float(ground_truth)

    _, found = suggested("no answer", verify=fragile)
    (change,) = [item for line, item in found.items() if "numbers_equal" in line]
    assert (change.after["rows_up"], change.after["rows_judged"]) == (0, 12)
    assert "12 are judged that were not (0 earn it)" in change.why


WIDE = partial(EQUAL, relative=0.5)
STRICTER = {
    "the first": (
        "or 42",
        rk.extract.first_of(SURE, NUMBER),
        EQUAL,
        '"prediction": rk.extract.tag(',
    ),
    "in a phrase": ("or 42", NUMBER, EQUAL, "answer_phrase()"),
    "no tolerance": (
        "<answer>41</answer>",
        SURE,
        WIDE,
        "function=rk.verify.numbers_equal)",
    ),
    "to the letter": ("<answer>42.0</answer>", SURE, EQUAL, "exact=True"),
}


@pytest.mark.parametrize(
    ("loose", "field", "verify", "code"), STRICTER.values(), ids=STRICTER
)
def test_a_task_that_is_always_earned_is_offered_the_stricter_way_that_tells_apart(
    loose, field, verify, code
):
    _, found = suggested(loose, field=field, verify=verify, wrong=RIGHT)
    (change,) = [item for line, item in found.items() if code in line]
    assert change.code == "stricter_reading"
    assert change.after["rows_down"] >= 12
    assert change.examples[0]["score_after"] < change.examples[0]["score_before"]
