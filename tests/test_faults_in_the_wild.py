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


def right_or_half(response, answer):
    """agent-tunix, docs/advanced/custom_rewards.rst, the remedy for "Reward Always 0.0"."""
    return 1.0 if response.split()[-1] == answer else 0.5


def three_stages(solution, truth):
    """siiRL, docs/user_interface/reward_interface.rst, "Multi-stage Scoring"."""
    found = re.search(r"#### ([\-0-9\.]+)", solution)
    stages = [0.2 * ("####" in solution), 0.3 * (solution.count("\n") >= 3)]
    return sum(stages) + 0.5 * bool(found and found[1] == truth)


def form_first(response, answer, step=0):
    """agent-tunix, docs/advanced/custom_rewards.rst, "Curriculum Learning"."""
    form = float("The answer is" in response)
    return form if step < 1000 else 0.3 * form + 0.7 * (last_number(response) == float(answer))


def mentioned(solution, truth):
    """`if ground_truth in solution_str`: in many a custom reward function written for verl."""
    return 1.0 if truth in solution else 0.0


def same_words(prediction, truth):
    """`normalize_answer` of SQuAD's script, as verl's search_r1_like_qa_em.py has it."""
    texts = [text.lower() for text in (prediction, truth)]
    plain = ["".join(sign for sign in text if sign not in string.punctuation) for text in texts]
    return plain[0].split() == plain[1].split()


def reasoning_words(solution, truth):
    """siiRL, docs/user_interface/reward_interface.rst, "Keyword Matching"."""
    return sum(0.3 for word in ("because", "therefore", "thus") if word in solution.lower())


def announced_in_chinese(solution, truth):
    """siiRL, docs/user_interface/reward_interface.rst, "Regex Validation"."""
    found = re.search(r"答案[是为][:：]\s*(\d+)", solution)
    return 0.0 if found is None else 1.0 if found[1] == truth else 0.1


def marked(solution, truth):
    """siiRL, siirl/user_interface/rewards_interface/custom_gsm8k_reward.py, strict."""
    found = re.search(r"#### (\-?[0-9\.\,]+)", solution)
    return 0.0 if found is None or found[1].replace(",", "") != truth else 1.0


def has_repetition(response, truth):
    """agent-tunix, docs/advanced/custom_rewards.rst, "Guidance Rewards"."""
    words = response.split()
    return len(words) != len(set(words))


ORDINARY = "The sum of the pens is the sum of the red and the blue. The answer is 7."


@pytest.mark.parametrize(
    ("function", "completion", "truth", "wild"),
    [
        pytest.param(near_by_ratio, "7", "0", -0.5, id="with a truth of 0 being wrong costs half"),
        pytest.param(near_by_ratio, "7", "1", -1.0, id="of what it costs elsewhere"),
        pytest.param(
            near_by_division, "It is 5000.", "-100", 0.5, id="a negative truth: always partial credit"
        ),
        pytest.param(right_or_half, "It is 70", "72", 0.5, id="a wrong answer earns half"),
        pytest.param(three_stages, "\n\n\n#### 70", "72", 0.5, id="here too"),
        pytest.param(three_stages, "\n\n\n####", "72", 0.5, id="line breaks are steps and gate nothing"),
        pytest.param(three_stages, "It is 72", "72", 0.0, id="a right answer earns less than none at all"),
        pytest.param(form_first, "The answer is 8.", "7", 1.0, id="an early step pays a wrong answer all"),
        pytest.param(mentioned, "The answer is 15.", "5", 1.0, id="a number is found inside another"),
        pytest.param(mentioned, "It is not 5.", "5", 1.0, id="whatever is said of it"),
        pytest.param(same_words, "1.5", "15", True, id="a number loses its point"),
        pytest.param(same_words, "-5", "5", True, id="and its sign"),
        pytest.param(reasoning_words, "Enthusiasm!", None, 0.3, id="a keyword is found inside another word"),
        pytest.param(has_repetition, ORDINARY, None, True, id="any repeated word counts as repetition"),
    ],
)
def test_in_the_wild(function, completion, truth, wild):
    assert function(completion, truth) == wild


def test_in_the_wild_a_truth_of_0_divides_by_zero():
    with pytest.raises(ZeroDivisionError):
        near_by_division("The answer is 7.", "0")


@pytest.mark.parametrize("name", FORMS)
def test_a_truth_of_0_is_graded_like_any_other(name):
    assert paid(name, "0", "0").reward == pytest.approx(paid(name, "7", "7").reward)
    assert paid(name, "3", "0").reward == pytest.approx(paid(name, "3", "900").reward)
    assert paid(name, "0.001", "0").reward < 0.5 * paid(name, "0", "0").reward


@pytest.mark.parametrize("name", FORMS)
def test_a_negative_truth_earns_no_more_for_a_far_answer_than_a_positive_one(name):
    for answer, mirrored in (("5000", "-5000"), ("100", "-100"), ("0", "0"), ("-1", "1"), ("-5000", "5000")):
        found = paid(name, answer, "-100").reward
        assert found == pytest.approx(paid(name, mirrored, "100").reward), answer
        assert found < 0.5 * paid(name, "-100", "-100").reward, answer


@pytest.mark.parametrize("name", FORMS)
def test_a_wrong_answer_in_perfect_form_earns_less_than_half_of_a_right_one(name):
    for answer in ("70", "7", "-72", "72.01", "71.999999", "0", "720", "abc", ""):
        assert paid(name, answer, "72").reward < 0.5 * paid(name, "72", "72").reward, answer


@pytest.mark.parametrize("name", FORMS)
def test_a_part_of_the_digits_earns_what_any_wrong_number_earns(name):
    primary = rk.load_reward(f"gallery:{name}").primary
    for answer, truth in (
        ("1.5", "15"), ("15", "1.5"), ("3-5", "35"), ("15", "5"), ("51", "5"), ("5", "15"), ("5.5", "5"),
        ("0.5", "5"), ("-5", "5"), ("1,500", "500"), ("5", "5.05"),
    ):  # fmt: skip
        assert paid(name, answer, truth).reward < 0.5 * paid(name, truth, truth).reward, answer
        assert paid(name, answer, truth).scores[primary] == 0.0, answer


def test_line_breaks_are_no_steps_and_a_right_answer_without_the_marker_earns_more_than_form():
    stages = rk.load_reward("gallery:stages")
    assert stages(completion="\n\n\n#### 70", ground_truth="72").scores["steps"] == 0.0
    bare = stages(completion="It is 72", ground_truth="72")
    assert bare.reward > paid("stages", "70", "72").reward


@pytest.mark.parametrize("step", [0, 1, 200, 399, 400, 100_000])
def test_being_right_is_worth_more_than_form_at_every_step(step):
    curriculum = rk.load_reward("gallery:curriculum")
    wrong = curriculum(completion=FORMS["curriculum"].format(8), ground_truth="7", step=step)
    right = curriculum(completion="<answer>7</answer>", ground_truth="7", step=step)
    assert wrong.reward < 0.5 * right.reward


EMPTY_FORM = "<evidence></evidence><reasoning></reasoning><check></check><answer>15</answer>"


@pytest.mark.parametrize(
    ("name", "component", "completion", "truth", "score"),
    [  # a part of a word is not the word, a part of a number not the number
        ("multiple_choice", None, "The answer is Because.", "B", 0.0),
        ("multiple_choice", None, "The answer is not known; B.C. is a time.", "B", 0.0),
        ("json_record", None, '{"vendor": "Ada & Sons"}', '{"vendor": "Ada"}', 0.0),
        ("strict_format", None, EMPTY_FORM, "5", 0.0),
        ("shaped", "reasoning", "Firsthand, authentic. The answer is 7.", "7", 0.0),
        ("keywords", "terms", "Bluebells, atmospheres and wavelengths, backscattering.", "7", 0.0),
        # repeated words are no repetition; in keywords runs are of three words, and "the sum of" comes twice
        ("arithmetic", "repetition", ORDINARY, "7", 0.0),
        ("shaped", "repetition", ORDINARY, "7", 0.0),
        ("keywords", "stuffing", ORDINARY, "7", pytest.approx(0.05, abs=0.05)),
        # loops are
        ("arithmetic", "repetition", "I will try again. " * 20, "7", pytest.approx(0.95, abs=0.05)),
        ("shaped", "repetition", "I will try again. " * 20, "7", pytest.approx(0.95, abs=0.05)),
        ("keywords", "stuffing", "I will try again. " * 20, "7", pytest.approx(0.95, abs=0.05)),
    ],
)
def test_in_the_gallery(name, component, completion, truth, score):
    reward = rk.load_reward(f"gallery:{name}")
    assert reward(completion=completion, ground_truth=truth).scores[component or reward.primary] == score


@pytest.mark.parametrize(
    ("name", "component", "function", "completion", "truth", "wild"),
    [
        pytest.param(*row[:-1], id=row[-1])
        for row in [
            ("chinese", "correct", announced_in_chinese, "答案是：3.5", "3.5", 0.1, "cut at its point"),
            (
                "chinese",
                "correct",
                announced_in_chinese,
                "答案是：-3",
                "-3",
                0.0,
                "a negative number is none",
            ),
            (
                "chinese",
                "correct",
                announced_in_chinese,
                "答案是42。",
                "42",
                0.0,
                "no answer without a colon",
            ),
            (
                "chinese",
                "correct",
                announced_in_chinese,
                "答案是：8。不对，答案是：7。",
                "7",
                0.1,
                "the first counts",
            ),
            (
                "chinese",
                "correct",
                announced_in_chinese,
                "答案为：１２",
                "12",
                0.1,
                "full-width digits are others",
            ),
            ("chinese", "correct", announced_in_chinese, "答案是：1,200", "1200", 0.1, "cut at its comma"),
            ("gsm8k", "strict", marked, "#### 42.", "42", 0.0, "a full stop becomes a part of the number"),
            ("gsm8k", "strict", marked, "#### $42", "42", 0.0, "a currency sign hides it"),
            ("gsm8k", "strict", marked, "####42", "42", 0.0, "the space has to be there"),
            ("gsm8k", "strict", marked, "#### 70\nNo:\n#### 42", "42", 0.0, "the first mark counts"),
            ("gsm8k", "strict", marked, "#### 42.0", "42", 0.0, "numbers are compared as text"),
        ]
    ],
)
def test_a_right_answer_is_read_in_full(name, component, function, completion, truth, wild):
    assert function(completion, truth) == wild
    reward = rk.load_reward(f"gallery:{name}")
    assert reward(completion=completion, ground_truth=truth).scores[component] == 1.0
