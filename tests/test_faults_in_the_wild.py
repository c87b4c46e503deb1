"""Faults of rewards that are copied from documentation and notebooks: shown here, and absent in the gallery.

The functions here are the published ones in a few lines of our own; each names where it comes from.
"""

import re
import string

import pytest

import rewardkit as rk

FORMS = {
    "arithmetic": "<think>We add them up.</think>\n<answer>{}</answer>",
    "chinese": "我们把它们加起来。答案是{}。",
    "concise": "We add them up. The answer is {}.",
    "curriculum": "<think>We add them up.</think><answer>{}</answer>",
    "graded_math": "We add them up: $\\boxed{{{}}}$.",
    "gsm8k": "We add them up.\n#### {}",
    "shaped": "First one, then the other, because both count; therefore: The answer is {}.",
    "stages": "1. Take one.\n2. Take the other.\n3. Add them.\n#### {}",
    "strict_format": "<evidence>It says so.</evidence><reasoning>Add them up.</reasoning><check>Yes.</check>"
    "<answer>{}</answer>",
    "tagged": "<think>We take the one and the other and then add them both up.</think><answer>{}</answer>",
    "tool_use": "It is easy. <answer>{}</answer>",
}
"""Of each reward whose truth may be a number: an answer in perfect form."""


def paid(name, answer, truth):
    completion = FORMS[name].format(answer)
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": completion}]
    reward = rk.load_reward(f"gallery:{name}")
    columns = {"completion": completion, "ground_truth": truth, "messages": messages, "step": 0}
    result = reward(**{key: columns[key] for key in ("completion", *reward.needs)})
    assert not result.errors
    return result


def last_number(text):
    return float(re.findall(r"-?\d+\.?\d*", text)[-1])


# Partial credit


def near_by_division(response, answer):
    """agent-tunix, docs/advanced/custom_rewards.rst, "Math Problem Correctness"."""
    predicted, expected = last_number(response), float(answer)
    if predicted == expected:
        return 1.0
    return 0.5 if abs(predicted - expected) / expected <= 0.1 else 0.0


def near_by_ratio(guess, answer):
    """The GRPO notebooks of Unsloth, and the demonstration of Tunix that follows them."""
    if guess == answer:
        return 1.5
    try:
        ratio = float(guess) / float(answer)
        return 0.5 if 0.9 <= ratio <= 1.1 else 0.25 if 0.8 <= ratio <= 1.2 else -1.0
    except (ValueError, ZeroDivisionError):
        return -0.5


def test_in_the_wild_a_truth_of_0_divides_by_zero():
    with pytest.raises(ZeroDivisionError):
        near_by_division("The answer is 7.", "0")
    assert (
        near_by_ratio("7", "0") == -0.5
    )  # caught, so that being wrong costs half of what it costs elsewhere
    assert near_by_ratio("7", "1") == -1.0


@pytest.mark.parametrize("name", FORMS)
def test_a_truth_of_0_is_graded_like_any_other(name):
    assert paid(name, "0", "0").reward == pytest.approx(paid(name, "7", "7").reward)
    assert paid(name, "3", "0").reward == pytest.approx(paid(name, "3", "900").reward)
    assert paid(name, "0.001", "0").reward < 0.5 * paid(name, "0", "0").reward


def test_in_the_wild_a_negative_truth_always_earns_partial_credit():
    assert near_by_division("The answer is 5000.", "-100") == 0.5


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("answer", ["5000", "100", "0", "-1", "-5000"])
def test_a_negative_truth_earns_no_more_for_a_far_answer_than_a_positive_one(name, answer):
    mirrored = answer.removeprefix("-") if answer.startswith("-") or answer == "0" else f"-{answer}"
    assert paid(name, answer, "-100").reward == pytest.approx(paid(name, mirrored, "100").reward)
    assert paid(name, answer, "-100").reward < 0.5 * paid(name, "-100", "-100").reward


# What a wrong answer earns


def right_or_half(response, answer):
    """agent-tunix, docs/advanced/custom_rewards.rst, the remedy for "Reward Always 0.0"."""
    return 1.0 if response.split()[-1] == answer else 0.5


def three_stages(solution, truth):
    """siiRL, docs/user_interface/reward_interface.rst, "Multi-stage Scoring"."""
    found = re.search(r"#### ([\-0-9\.]+)", solution)
    stages = [0.2 * ("####" in solution), 0.3 * (solution.count("\n") >= 3)]
    return sum(stages) + 0.5 * bool(found and found[1] == truth)


def test_in_the_wild_a_wrong_answer_earns_half():
    assert right_or_half("It is 70", "72") == 0.5
    assert three_stages("\n\n\n#### 70", "72") == 0.5


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("answer", ["70", "7", "-72", "72.01", "71.999999", "0", "720", "abc", ""])
def test_a_wrong_answer_in_perfect_form_earns_less_than_half_of_a_right_one(name, answer):
    assert paid(name, answer, "72").reward < 0.5 * paid(name, "72", "72").reward


def test_in_the_wild_line_breaks_are_steps_and_gate_nothing():
    assert three_stages("\n\n\n####", "72") == 0.5
    assert three_stages("It is 72", "72") == 0.0  # a right answer earns less than no answer at all


def test_line_breaks_are_no_steps_and_a_right_answer_without_the_marker_earns_more_than_form():
    stages = rk.load_reward("gallery:stages")
    empty = stages(completion="\n\n\n#### 70", ground_truth="72")
    assert empty.scores["steps"] == 0.0
    bare = stages(completion="It is 72", ground_truth="72")
    assert bare.reward > paid("stages", "70", "72").reward


def form_first(response, answer, step):
    """agent-tunix, docs/advanced/custom_rewards.rst, "Curriculum Learning"."""
    form = float("The answer is" in response)
    return form if step < 1000 else 0.3 * form + 0.7 * (last_number(response) == float(answer))


def test_in_the_wild_an_early_step_pays_a_wrong_answer_all():
    assert form_first("The answer is 8.", "7", 0) == form_first("The answer is 7.", "7", 0) == 1.0


@pytest.mark.parametrize("step", [0, 1, 200, 399, 400, 100_000])
def test_being_right_is_worth_more_than_form_at_every_step(step):
    curriculum = rk.load_reward("gallery:curriculum")
    wrong = curriculum(completion=FORMS["curriculum"].format(8), ground_truth="7", step=step)
    right = curriculum(completion="<answer>7</answer>", ground_truth="7", step=step)
    assert wrong.reward < 0.5 * right.reward


# What is found in a text


def mentioned(solution, truth):
    """`if ground_truth in solution_str`: in many a custom reward function written for verl."""
    return 1.0 if truth in solution else 0.0


def test_in_the_wild_a_number_is_found_inside_another():
    assert mentioned("The answer is 15.", "5") == 1.0
    assert mentioned("It is not 5.", "5") == 1.0


def same_words(prediction, truth):
    """`normalize_answer` of SQuAD's script, as verl's search_r1_like_qa_em.py has it."""
    plain = [
        "".join(sign for sign in text.lower() if sign not in string.punctuation)
        for text in (prediction, truth)
    ]
    return plain[0].split() == plain[1].split()


def test_in_the_wild_a_number_loses_its_point_and_its_sign():
    assert same_words("1.5", "15")
    assert same_words("-5", "5")
    assert same_words("3-5", "35")
    assert same_words("C#", "C++")


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("1.5", "15"),
        ("15", "1.5"),
        ("3-5", "35"),
        ("15", "5"),
        ("51", "5"),
        ("5", "15"),
        ("5.5", "5"),
        ("0.5", "5"),
        ("-5", "5"),
        ("1,500", "500"),
        ("5", "5.05"),
    ],
)
def test_a_part_of_the_digits_earns_what_any_wrong_number_earns(name, answer, truth):
    assert paid(name, answer, truth).reward < 0.5 * paid(name, truth, truth).reward
    assert paid(name, answer, truth).scores[rk.load_reward(f"gallery:{name}").primary] == 0.0


@pytest.mark.parametrize(
    ("name", "completion", "truth"),
    [
        ("multiple_choice", "The answer is Because.", "B"),
        ("multiple_choice", "The answer is not known; B.C. is a time.", "B"),
        ("json_record", '{"vendor": "Ada & Sons"}', '{"vendor": "Ada"}'),
        (
            "strict_format",
            "<evidence></evidence><reasoning></reasoning><check></check><answer>15</answer>",
            "5",
        ),
    ],
)
def test_nor_does_a_part_of_a_word(name, completion, truth):
    reward = rk.load_reward(f"gallery:{name}")
    assert reward(completion=completion, ground_truth=truth).scores[reward.primary] == 0.0


def reasoning_words(solution):
    """siiRL, docs/user_interface/reward_interface.rst, "Keyword Matching"."""
    return sum(0.3 for word in ("because", "therefore", "thus") if word in solution.lower())


def test_in_the_wild_a_keyword_is_found_inside_another_word():
    assert reasoning_words("Enthusiasm!") == 0.3


@pytest.mark.parametrize(
    ("name", "component", "text"),
    [
        ("shaped", "reasoning", "Firsthand, authentic. The answer is 7."),
        ("keywords", "terms", "Bluebells, atmospheres and wavelengths, backscattering."),
    ],
)
def test_a_keyword_is_a_word(name, component, text):
    assert rk.load_reward(f"gallery:{name}")(completion=text, ground_truth="7").scores[component] == 0.0


def announced_in_chinese(solution, truth):
    """siiRL, docs/user_interface/reward_interface.rst, "Regex Validation"."""
    found = re.search(r"答案[是为][:：]\s*(\d+)", solution)
    return 0.0 if found is None else 1.0 if found[1] == truth else 0.1


RIGHT_IN_CHINESE = [
    pytest.param("答案是：3.5", "3.5", 0.1, id="a decimal is cut at its point"),
    pytest.param("答案是：-3", "-3", 0.0, id="a negative number is none"),
    pytest.param("答案是42。", "42", 0.0, id="without a colon there is no answer"),
    pytest.param("答案是：8。不对，答案是：7。", "7", 0.1, id="the first announcement counts"),
    pytest.param("答案为：１２", "12", 0.1, id="full-width digits are other characters"),
    pytest.param("答案是：1,200", "1200", 0.1, id="a thousand is cut at its comma"),
]


@pytest.mark.parametrize(("completion", "truth", "wild"), RIGHT_IN_CHINESE)
def test_a_right_answer_in_chinese_is_read_in_full(completion, truth, wild):
    assert announced_in_chinese(completion, truth) == wild
    assert (
        rk.load_reward("gallery:chinese")(completion=completion, ground_truth=truth).scores["correct"] == 1.0
    )


def marked(solution, truth):
    """siiRL, siirl/user_interface/rewards_interface/custom_gsm8k_reward.py, strict."""
    found = re.search(r"#### (\-?[0-9\.\,]+)", solution)
    return 0.0 if found is None or found[1].replace(",", "") != truth else 1.0


RIGHT_AT_THE_MARK = [
    pytest.param("#### 42.", "42", id="a full stop becomes a part of the number"),
    pytest.param("#### $42", "42", id="a currency sign hides it"),
    pytest.param("####42", "42", id="the space has to be there"),
    pytest.param("#### 70\nNo:\n#### 42", "42", id="the first mark counts"),
    pytest.param("#### 42.0", "42", id="numbers are compared as text"),
]


@pytest.mark.parametrize(("completion", "truth"), RIGHT_AT_THE_MARK)
def test_a_right_answer_at_the_mark_is_read_in_full(completion, truth):
    assert marked(completion, truth) == 0.0
    assert rk.load_reward("gallery:gsm8k")(completion=completion, ground_truth=truth).scores["strict"] == 1.0


# What repeats itself


def has_repetition(response):
    """agent-tunix, docs/advanced/custom_rewards.rst, "Guidance Rewards"."""
    words = response.split()
    return len(words) != len(set(words))


ORDINARY = "The sum of the pens is the sum of the red and the blue. The answer is 7."
REPETITION = {"arithmetic": "repetition", "shaped": "repetition", "keywords": "stuffing"}


def test_in_the_wild_any_repeated_word_counts_as_repetition():
    assert has_repetition(ORDINARY)
    assert has_repetition("Tom has 3 pens and 4 pens")


@pytest.mark.parametrize("name", REPETITION)
def test_repeated_words_are_no_repetition_and_loops_are(name):
    reward, component = rk.load_reward(f"gallery:{name}"), REPETITION[name]
    ordinary = reward(completion=ORDINARY, ground_truth="7").scores[component]
    assert ordinary <= 0.1
    assert reward(completion="I will try again. " * 20, ground_truth="7").scores[component] > 0.9
    if name != "keywords":  # whose runs are of three words: "the sum of" comes twice
        assert ordinary == 0.0
