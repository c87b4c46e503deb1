"""Other ways to read and to compare the answer, tried on rollouts whose forms are known."""

from functools import partial

import pytest

import rewardkit as rk

TRUTH, WRONG, RIGHT = "42", "<answer>7</answer>", "The answer is <answer>42</answer>"
SURE, NUMBER, EQUAL = rk.extract.tag("answer"), rk.extract.number(), rk.verify.numbers_equal


def suggested(completion, *, field=SURE, verify=EQUAL, truth=TRUTH, wrong=WRONG):
    """What is suggested where a completion stands among three siblings that are wrong, in 12 prompts."""
    rows = [
        {"prompt_id": str(copy), "completion": text, "ground_truth": truth}
        for copy in range(12)
        for text in (completion, wrong, wrong, wrong)
    ]
    reward = rk.Reward("made", {"prediction": field}, [rk.Component("correct", verify)])
    advice = rk.suggest(rk.diagnose(rk.score(reward, rows)))
    return advice, {item.line: item for item in advice.changes if item.code.endswith("_reading")}


LOOSER = {
    "tag never closed": ("<answer>42", "unclosed=True", None),
    "number in a sentence": ("<answer>it is 42 apples</answer>", "rk.extract.within(", "it is 42 apples"),
    "phrase in place of a tag": ("The answer is 42.", "rk.extract.answer_phrase()", None),
    "bare number": ("at last 42", "rk.extract.number()", None),
    "rounded": ("<answer>41.9</answer>", "relative=0.01", "41.9"),
    "letters": ("I would pick option B here", "choice", None),
}
LETTERS = {"truth": "B", "wrong": "<answer>C</answer>", "verify": rk.verify.matches}


@pytest.mark.parametrize(("completion", "code", "read"), LOOSER.values(), ids=list(LOOSER))
def test_the_looser_way_that_recovers_a_form_is_offered_with_its_rows(completion, code, read):
    options = LETTERS if code == "choice" else {}
    _, found = suggested(completion, **options)
    change = next(item for line, item in found.items() if code in line)
    assert change.code == "looser_reading"
    assert (change.after["rows_up"], change.after["rows_down"]) == (12, 0)
    assert len(change.examples) == 5
    for example in change.examples:
        assert (example["ground_truth"], example["old"]) == (options.get("truth", TRUTH), read)
        assert (example["score_before"], example["score_after"]) == (0.0, 1.0)
    if "answer_phrase" in code:  # of ways that give the same scores only the simplest is offered
        assert not [line for line in found if "first_of" in line and "number()" in line]


def test_where_no_way_moves_a_row_it_says_what_was_tried():
    advice, found = suggested(WRONG)
    assert not found
    assert any(note.startswith("looser ways to judge 'correct' move no row: tried") for note in advice.notes)


def test_a_verifier_of_the_users_own_that_fails_is_held_against_ours_that_does_not():
    def fragile(prediction, ground_truth):
        return float(prediction) == float(ground_truth)

    _, found = suggested("no answer", verify=fragile)
    (change,) = [item for line, item in found.items() if "numbers_equal" in line]
    assert (change.after["rows_up"], change.after["rows_judged"]) == (0, 12)
    assert "12 are judged that were not (0 earn it)" in change.why


UNCLOSED, WIDE = rk.extract.tag("answer", unclosed=True), partial(EQUAL, relative=0.5)
STRICTER = {
    "the first": ("or 42", rk.extract.first_of(SURE, NUMBER), EQUAL, '"prediction": rk.extract.tag('),
    "in a phrase": ("or 42", NUMBER, EQUAL, "answer_phrase()"),
    "no tolerance": ("<answer>41</answer>", SURE, WIDE, "function=rk.verify.numbers_equal)"),
    "to the letter": ("<answer>42.0</answer>", SURE, EQUAL, "exact=True"),
}


@pytest.mark.parametrize(("loose", "field", "verify", "code"), STRICTER.values(), ids=list(STRICTER))
def test_a_task_that_is_always_earned_is_offered_the_stricter_way_that_tells_apart(
    loose, field, verify, code
):
    _, found = suggested(loose, field=field, verify=verify, wrong=RIGHT)
    (change,) = [item for line, item in found.items() if code in line]
    assert change.code == "stricter_reading"
    assert change.after["rows_down"] >= 12
    assert change.examples[0]["score_after"] < change.examples[0]["score_before"]
