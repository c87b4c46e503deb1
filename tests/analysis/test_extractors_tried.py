"""Other ways to read and to compare the answer, tried on rollouts whose forms are known."""

from functools import partial

import pytest

import rewardkit as rk

TRUTH = "42"


def suggested(
    completions, *, field=None, verify=rk.verify.numbers_equal, truth=TRUTH, wrong="<answer>7</answer>"
):
    """What is suggested where each completion stands among three siblings that are wrong, 12 prompts each."""
    rows = [
        {"prompt_id": f"{place}-{copy}", "completion": text, "ground_truth": truth}
        for place, completion in enumerate(completions)
        for copy in range(12)
        for text in (completion, wrong, wrong, wrong)
    ]
    part = rk.Component("correct", verify)
    reward = rk.Reward("made", {"prediction": field or rk.extract.tag("answer")}, [part])
    advice = rk.suggest(rk.diagnose(rk.score(reward, rows)))
    return advice, {item.line: item for item in advice.changes if item.code.endswith("_reading")}


@pytest.mark.parametrize(
    ("completion", "code"),
    [
        pytest.param("<answer>42", "unclosed=True", id="tag never closed"),
        pytest.param("<answer>it is 42 apples</answer>", "rk.extract.within(", id="number in a sentence"),
        pytest.param("The answer is 42.", "rk.extract.answer_phrase()", id="phrase in place of a tag"),
        pytest.param(r"so \boxed{42}", "rk.extract.boxed()", id="box in place of a tag"),
        pytest.param("at last 42", "rk.extract.number()", id="bare number"),
        pytest.param("<answer>41.9</answer>", "relative=0.01", id="rounded"),
        pytest.param(r"<answer>\sqrt{1764}</answer>", "rk.verify.math_equal", id="root"),
    ],
)
def test_the_looser_way_that_recovers_a_form_is_offered_with_its_rows(completion, code):
    _, found = suggested([completion])
    (change,) = [item for line, item in found.items() if code in line][:1]
    assert change.code == "looser_reading"
    assert (change.after["rows_up"], change.after["rows_down"]) == (12, 0)
    assert len(change.examples) == 5
    for example in change.examples:
        assert example["ground_truth"] == TRUTH
        assert (example["score_before"], example["score_after"]) == (0.0, 1.0)


def test_examples_show_what_was_read_before_and_after():
    _, found = suggested(["The answer is 42."])
    (change,) = [item for line, item in found.items() if "answer_phrase" in line]
    assert change.examples[0] == {
        "rollout_id": 1,
        "old": None,
        "new": "42",
        "ground_truth": "42",
        "score_before": 0.0,
        "score_after": 1.0,
    }


def test_of_ways_that_give_the_same_scores_only_the_simplest_is_offered():
    _, found = suggested(["The answer is 42."])
    assert not [line for line in found if "first_of" in line and "number()" in line]


def test_where_no_way_moves_a_row_it_says_what_was_tried():
    advice, found = suggested(["<answer>7</answer>"])
    assert not found
    assert any(note.startswith("looser ways to judge 'correct' move no row: tried") for note in advice.notes)


def test_a_verifier_of_the_users_own_that_fails_is_held_against_ours_that_does_not():
    def fragile(prediction, ground_truth):
        return float(prediction) == float(ground_truth)

    _, found = suggested(["no answer"], verify=fragile)
    (change,) = [item for line, item in found.items() if "numbers_equal" in line]
    assert (change.after["rows_up"], change.after["rows_judged"]) == (0, 12)
    assert "12 are judged that were not (0 earn it)" in change.why


def test_letters_are_read_as_choices():
    _, found = suggested(
        ["I would pick option B here"], truth="B", wrong="<answer>C</answer>", verify=rk.verify.matches
    )
    assert any("choice" in line for line in found)


SURE = rk.extract.tag("answer")
NUMBER = rk.extract.number()


@pytest.mark.parametrize(
    ("loose", "field", "verify", "code"),
    [
        pytest.param(
            "or 42",
            rk.extract.first_of(SURE, NUMBER),
            rk.verify.numbers_equal,
            '"prediction": rk.extract.tag(',
            id="1st",
        ),
        pytest.param("or 42", NUMBER, rk.verify.numbers_equal, "answer_phrase()", id="in a phrase"),
        pytest.param(
            "<answer>42",
            rk.extract.tag("answer", unclosed=True),
            rk.verify.numbers_equal,
            "\"prediction\": rk.extract.tag('answer')}",
            id="closed",
        ),
        pytest.param(
            "<answer>41</answer>",
            SURE,
            partial(rk.verify.numbers_equal, relative=0.5),
            "function=rk.verify.numbers_equal)",
            id="no tolerance",
        ),
        pytest.param(
            "<answer>42 or 43</answer>",
            SURE,
            rk.verify.contains,
            "function=rk.verify.numbers_equal)",
            id="equal, not contained",
        ),
        pytest.param(
            "<answer>42.0</answer>", SURE, rk.verify.numbers_equal, "exact=True", id="to the letter"
        ),
    ],
)
def test_a_task_that_is_always_earned_is_offered_the_stricter_way_that_tells_apart(
    loose, field, verify, code
):
    _, found = suggested([loose], field=field, verify=verify, wrong="The answer is <answer>42</answer>")
    (change,) = [item for line, item in found.items() if code in line]
    assert change.code == "stricter_reading"
    assert change.after["rows_down"] >= 12
    assert change.examples[0]["score_after"] < change.examples[0]["score_before"]


def test_a_component_that_compares_no_column_says_why_nothing_is_tried():
    rows = [{"prompt_id": str(n // 4), "completion": "x", "ground_truth": "1"} for n in range(80)]
    reward = rk.Reward("made", components=[rk.Component("correct", lambda completion: 0.0)])
    advice = rk.suggest(rk.diagnose(rk.score(reward, rows)))
    assert any("does not compare one column with 'ground_truth'" in note for note in advice.notes)


def test_a_task_that_is_neither_rare_nor_nearly_sure_is_left_alone():
    rows = [
        {"prompt_id": str(n // 4), "completion": f"<answer>{n % 2}</answer>", "ground_truth": "1"}
        for n in range(80)
    ]
    part = rk.Component("correct", rk.verify.numbers_equal)
    advice = rk.suggest(rk.diagnose(rk.score(rk.Reward("made", {"prediction": SURE}, [part]), rows)))
    assert not [item for item in advice.changes if item.code.endswith("_reading")]
