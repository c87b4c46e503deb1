"""What is said of a reward that goes with the length of right and wrong answers."""

import math

import pytest
from planted_probes import DATA, made, probed, right, strict

import rewardkit as rk


def wrapped_cosine(completion, ground_truth):
    """Half a cosine over 1,000 characters, which goes on behind them."""
    falling = (1 + math.cos(math.pi * len(completion) / 1000)) / 2
    if strict(completion, ground_truth):
        return 0.5 + 0.5 * falling
    return -0.5 - 0.5 * falling


def cosine(completion, ground_truth):
    """The same within its budget, of which no more is taken."""
    share = min(len(completion) / 4000, 1.0)
    falling = (1 + math.cos(math.pi * share)) / 2
    if strict(completion, ground_truth):
        return 0.5 + 0.5 * falling
    return -0.5 - 0.5 * falling


def shrinking(completion, ground_truth):
    """One factor for right and wrong alike, which takes less from long wrong ones."""
    sign = 1 if strict(completion, ground_truth) else -1
    return sign / (1 + len(completion) / 4000)


def two_slopes(completion, ground_truth):
    """Right answers fall to 0.5 and wrong ones rise from -1 to -0.8: two ways, decided."""
    share = min(len(completion) / 4000, 1.0)
    if strict(completion, ground_truth):
        return 1 - 0.5 * share
    return -1 + 0.2 * share


def counted_words(completion, ground_truth):
    return right(completion, ground_truth) + min(1.5, len(completion.split()) / 300)


def overlong(completion, ground_truth):
    """DAPO's: one less over the last 2,000 of 8,000 characters, for each answer."""
    return right(completion, ground_truth) - min(
        max((len(completion) - 6000) / 2000, 0.0), 1.0
    )


def overlong_of(first):
    """The same of fewer characters: less from `first` on, over the next 200."""

    def score(completion, ground_truth):
        excess = max((len(completion) - first) / 200, 0.0)
        return right(completion, ground_truth) - min(excess, 0.8)

    return score


def likes_long(completion, ground_truth):
    """More from 600 characters on, for wrong answers as for right ones."""
    excess = max((len(completion) - 600) / 200, 0.0)
    return right(completion, ground_truth) + min(excess, 0.4)


def likeness(completion, ground_truth):
    """Words in common with the truth: more words are another answer."""
    words = completion.split()
    common = sum(word in ground_truth.split() for word in words)
    return 2 * common / (len(words) + len(ground_truth.split()))


def brief_if_right(completion, ground_truth):
    return right(completion, ground_truth) * (1 - 0.3 * min(len(completion) / 5000, 1))


def peak(completion):
    """At most 0.6, at 900 characters."""
    return 0.6 * max(0, 1 - abs(len(completion) - 900) / 900)


def peaked(completion, ground_truth):
    """A length that is liked best, of wrong answers too."""
    return right(completion, ground_truth) + peak(completion)


def peaked_if_right(completion, ground_truth):
    return right(completion, ground_truth) * (1 + peak(completion))


def bump(completion, ground_truth):
    """Right answers at most 1, at 900 characters, and less than wrong ones from 1,800."""
    return right(completion, ground_truth) * (1 - abs(len(completion) - 900) / 900)


def translated():
    """Rows whose answer is all of their completion."""
    rows = []
    for place, truth in enumerate(
        ("the cat sat on a mat", "two dogs ran home", "we eat red apples")
    ):
        for text in (truth, "nothing of that kind"):
            row = {"prompt_id": place, "completion": text, "ground_truth": truth}
            rows.append({**row, "prompt": f"Translate line {place}."})
    return rows


LONG = [
    {**row, "completion": f"{'So it goes on. ' * 80}\n{row['completion']}"}
    for row in DATA["numbers"]
]
UP_TO_2000 = [
    {**row, "completion": f"{'So it goes on. ' * (8 * place)}\n{row['completion']}"}
    for place, row in enumerate(DATA["numbers"])
]
LIMITED = [
    {**row, "prompt": f"{row['prompt']} Explain it in no more than 90 words."}
    for row in LONG
]
TASK = rk.Component("task", strict)


def beside_task(function):
    """A reward that also returns its task, without a weight."""
    parts = [rk.Component("paid", function, range=None)]
    parts.append(rk.Component("task", strict, weight=0.0))
    return rk.Reward("logs its task", components=parts)


BRIEF = rk.Component("brief", lambda completion: 1 / (1 + len(completion) / 500))


@pytest.mark.parametrize(
    ("reward", "data", "curves", "alarms"),
    [
        (wrapped_cosine, "numbers", ["turns"], ["length_curve"]),
        (counted_words, "numbers", [], ["longer"]),
        (cosine, "numbers", ["mirrored"], []),
        (two_slopes, "numbers", ["mirrored"], []),
        (shrinking, "numbers", ["mirrored"], ["length_curve"]),
        (beside_task(shrinking), "numbers", ["mirrored"], ["length_curve"]),
        (beside_task(overlong_of(600)), LONG, [], []),
        (overlong, "numbers", ["mild"], []),
        (overlong_of(600), "numbers", ["mild"], []),  # beyond the log's lengths
        (overlong_of(600), LONG, ["pays_wrong"], ["length_curve"]),
        (overlong_of(600), LIMITED, [], []),
        (likes_long, "numbers", [], ["longer"]),
        (peaked, "numbers", ["pays_wrong"], ["length_curve"]),
        (peaked_if_right, "numbers", ["mild"], []),
        (brief_if_right, "numbers", ["mild"], []),
        (brief_if_right, UP_TO_2000, ["mild"], []),
        (bump, UP_TO_2000, ["outweighs"], ["length_curve"]),
        (right, "numbers", [], []),
        (likeness, translated(), [], []),
        (rk.Reward("two", components=[TASK, BRIEF]), "numbers", [], []),
    ],
)
def test_length_that_turns_is_a_warning_and_what_others_say_or_limit_is_none(
    reward, data, curves, alarms
):
    if not isinstance(reward, rk.Reward):
        reward = made(reward, range=None)
    result = probed(reward, data, only=["padding"], search=0)
    found = result["length_curve"]
    assert [item.evidence["kind"] for item in found] == curves
    assert [item.code for item in result.alarms] == alarms


def test_of_a_factor_it_says_what_long_wrong_answers_gain_and_what_to_do():
    reward = made(shrinking, range=None)
    (item,) = probed(reward, only=["padding"], search=0)["length_curve"]
    assert item.sentence.startswith("Padding helps wrong answers. Right answers earned")
    assert "wrong ones -0.98 at 100 characters and -0.29 at 10,000" in item.sentence
    assert item.severity == "warn" and "multiply right answers only" in item.advice


def test_it_says_where_it_turns_and_shows_a_right_answer_there():
    reward = made(wrapped_cosine, range=None)
    (item,) = probed(reward, only=["padding"], search=0)["length_curve"]
    assert "Right answers earned 0.99 at 100 characters, 0.5 at 1,000 and 1 at" in (
        item.sentence
    )
    (example,) = item.examples
    assert len(example.completion) == 1000
    assert example.reward == pytest.approx(0.5)
