"""Faults of rewards that are copied from documentation and notebooks: absent in the gallery.

Each test names the published reward that has the fault. agent-tunix: docs/advanced/custom_rewards.rst; siiRL:
docs/user_interface/reward_interface.rst and siirl/user_interface/rewards_interface/custom_gsm8k_reward.py.
"""

import pytest

import rewardkit as rk

pytestmark = pytest.mark.integration

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


def paid(name, answer, truth, form=None, step=0):
    completion = (form or FORMS[name]).format(answer)
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": completion},
    ]
    reward = rk.load_reward(f"gallery:{name}")
    columns = {
        "completion": completion,
        "ground_truth": truth,
        "messages": messages,
        "step": step,
    }
    result = reward(**{key: columns[key] for key in ("completion", *reward.needs)})
    assert not result.errors
    return result


ORDINARY = "The sum of the pens is the sum of the red and the blue. The answer is 7."


FAR = (("5000", "-5000"), ("100", "-100"), ("0", "0"), ("-1", "1"), ("-5000", "5000"))
WRONG = [
    # half for any answer: agent-tunix, "Reward Always 0.0"; for form alone: siiRL, "Multi-stage Scoring"
    *(
        (answer, "72")
        for answer in ("70", "7", "-72", "72.01", "71.999999", "0", "720", "abc", "")
    ),
    # `if ground_truth in solution_str`, in many a function for verl; SQuAD's `normalize_answer` of "1.5"
    *(
        ("1.5", "15"),
        ("15", "1.5"),
        ("3-5", "35"),
        ("15", "5"),
        ("51", "5"),
        ("5", "15"),
        ("5.5", "5"),
    ),
    *(("0.5", "5"), ("-5", "5"), ("1,500", "500"), ("5", "5.05"), ("0.001", "0")),
    *((answer, "-100") for answer, _ in FAR),
]
"""Answer, truth."""


@pytest.mark.parametrize("name", FORMS)
def test_a_truth_of_0_or_below_is_graded_like_any_other_and_a_wrong_answer_in_perfect_form_earns_little(
    name,
):
    """Partial credit divided by the truth: agent-tunix, "Math Problem Correctness"; Unsloth's notebooks."""
    assert paid(name, "0", "0").reward == pytest.approx(paid(name, "7", "7").reward)
    assert paid(name, "3", "0").reward == pytest.approx(paid(name, "3", "900").reward)
    for answer, mirrored in FAR:
        assert paid(name, answer, "-100").reward == pytest.approx(
            paid(name, mirrored, "100").reward
        ), answer
    primary = rk.load_reward(f"gallery:{name}").primary
    for answer, truth in WRONG:
        wrong = paid(name, answer, truth)
        assert wrong.reward < 0.5 * paid(name, truth, truth).reward, (answer, truth)
        if truth not in ("0", "-100", "72"):  # near ones may earn a part
            assert wrong.scores[primary] == 0.0, (answer, truth)


def test_a_right_answer_without_the_marker_earns_more_than_form():
    """siiRL, "Multi-stage Scoring", gates nothing."""
    assert (
        paid("stages", "72", "72", "It is {}").reward
        > paid("stages", "70", "72").reward
    )


@pytest.mark.parametrize("step", [0, 1, 200, 399, 400, 100_000])
def test_being_right_is_worth_more_than_form_at_every_step(step):
    """agent-tunix, "Curriculum Learning", pays form alone for the first 1,000 steps."""
    right = paid("curriculum", "7", "7", "<answer>{}</answer>", step)
    assert paid("curriculum", "8", "7", step=step).reward < 0.5 * right.reward


EMPTY_FORM = (
    "<evidence></evidence><reasoning></reasoning><check></check><answer>15</answer>"
)
TWENTY = "I will try again. " * 20
ALL, FEW = pytest.approx(0.95, abs=0.05), pytest.approx(0.05, abs=0.05)
SCORES = [
    # a part of a word is not the word, a part of a number not the number: siiRL, "Keyword Matching"
    ("multiple_choice", None, "The answer is Because.", "B", 0.0),
    ("multiple_choice", None, "The answer is not known; B.C. is a time.", "B", 0.0),
    ("json_record", None, '{"vendor": "Ada & Sons"}', '{"vendor": "Ada"}', 0.0),
    ("strict_format", None, EMPTY_FORM, "5", 0.0),
    ("shaped", "reasoning", "Firsthand, authentic. The answer is 7.", "7", 0.0),
    (
        "keywords",
        "terms",
        "Bluebells, atmospheres and wavelengths, backscattering.",
        "7",
        0.0,
    ),
    ("stages", "steps", "\n\n\n#### 70", "72", 0.0),  # line breaks are no steps
    # repeated words are no repetition: agent-tunix, "Guidance Rewards"
    ("arithmetic", "repetition", ORDINARY, "7", 0.0),
    ("shaped", "repetition", ORDINARY, "7", 0.0),
    ("keywords", "stuffing", ORDINARY, "7", FEW),  # "the sum of" comes twice
    ("arithmetic", "repetition", TWENTY, "7", ALL),
    ("shaped", "repetition", TWENTY, "7", ALL),
    ("keywords", "stuffing", TWENTY, "7", ALL),
    # right answers that siiRL, "Regex Validation", does not read in full
    ("chinese", "correct", "答案是：3.5", "3.5", 1.0),  # cut at its point
    ("chinese", "correct", "答案是：-3", "-3", 1.0),  # a negative number is none
    ("chinese", "correct", "答案是42。", "42", 1.0),  # no answer without a colon
    (
        "chinese",
        "correct",
        "答案是：8。不对，答案是：7。",
        "7",
        1.0,
    ),  # the first counts
    ("chinese", "correct", "答案为：１２", "12", 1.0),  # full-width digits are others
    ("chinese", "correct", "答案是：1,200", "1200", 1.0),  # cut at its comma
    # nor siiRL's custom_gsm8k_reward.py
    (
        "gsm8k",
        "strict",
        "#### 42.",
        "42",
        1.0,
    ),  # a full stop becomes a part of the number
    ("gsm8k", "strict", "#### $42", "42", 1.0),  # a currency sign hides it
    ("gsm8k", "strict", "####42", "42", 1.0),  # the space has to be there
    ("gsm8k", "strict", "#### 70\nNo:\n#### 42", "42", 1.0),  # the first mark counts
    ("gsm8k", "strict", "#### 42.0", "42", 1.0),  # numbers are compared as text
]


@pytest.mark.parametrize(("name", "component", "completion", "truth", "score"), SCORES)
def test_a_completion_gets_the_score_that_it_deserves(
    name, component, completion, truth, score
):
    reward = rk.load_reward(f"gallery:{name}")
    assert (
        reward(completion=completion, ground_truth=truth).scores[
            component or reward.primary
        ]
        == score
    )
