"""Multiple choice: which option a text names, and whether two texts name the same."""

from __future__ import annotations

import pytest

from rewardkit.primitives.extract.letters import choice, read_choice
from rewardkit.primitives.verify import choice_equal


def table(*groups):
    """A row for each text of (what is named, why, texts); | stands between them."""
    return [
        pytest.param(text, expected, id=f"{why}: {text!a}")
        for expected, why, texts in groups
        for text in texts.split("|")
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    table(
        ("B", "all there is, or at its beginning", "B| b\n|B) Paris|b) paris|Option: b|So \u200bB."),
        (
            "B",
            "in a sentence",
            "The answer is B|The answer is B, A and C are wrong.|B. A and C are too small.",
        ),
        ("B", "beside what is no option", "B) vitamin C|B instead of C or D|❌ A\n✅ B"),
        ("A", "no article", "A is right|A since it is larger|I'd go with A as it is larger|A rather than B"),
        (None, "no letter of an answer", "A dog|Plan B is the right answer|B.C. is a time|ABCD|E"),
        (None, "two letters", "A or B|either A or B|A\u6216B"),
        (None, "denied", "not B|I don't think it's B|The answer can't be option B.|B is not the answer."),
        (None, "denied", "B is clearly the wrong option|~~B~~|\u2260 B|\u4e0d\u662fB|B, however, is wrong."),
    ),
)
def test_read_choice_names_one_option_or_none(text, expected):
    assert read_choice(text, "ABCD") == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    [
        (choice("ABCDEFGHI"), "The answer is I think E.", "E"),
        (choice(case=False), "the answer is (b)", "b"),
        (choice(case=False), "it is b.", None),
        (choice("ABCDE"), "A) 1 B) 2 C) 3 D) 4 Answer: E) 5", "E"),
    ],
)
def test_the_pronoun_small_letters_and_a_fifth_option(extractor, completion, expected):
    assert extractor(completion) == expected


# Most of it found by a stranger, with controls.
DENIED = (
    "The wrong answer is B|Wrong answer: B|Incorrect answer: B|The incorrect option is B|B, which is wrong"
    "|The worst answer is B|It is false that the answer is B|It is wrong to say that B is right"
    "|Nobody would choose B|No one would pick B|Some say the answer is B, but that is wrong|A) Paris \u274c"
)
TAKEN_BACK = (
    "The answer is B. That is incorrect.|The answer is B. No.|The answer is B. Hmm, no, that's wrong."
    "|The answer is B. That isn't right.|答案是B。不对。|The answer is A. No, the answer is not A."
    "|The answer is B. B is wrong. The answer is not B."
)
DENIED_IN_CHINESE = (
    "不能选B|不应该选B|别选B|没有选B|没有人会选B|无法选B|不可能是B|不会是B|未必是B|答案不太可能是B"
)
SEVERAL = (
    "<answer>A B</answer>|Answer: A C|Answer: A B C|Answer: A (or C)|Answer: A (possibly C)|Answer: A or None"
    "|The answer is (A)(B)|The answer is A) Rome and B) Oslo|\\boxed{A}\\text{ and }\\boxed{B}"
    "|答案可能是A，也可能是B|So B. Hmm, A or B.|\\boxed{\\text{A} or \\text{B}}"
)
LISTS = "A) 1 B) 2 C) 3 D) 4|(A) 1\n(B) 2\n(C) 3\n(D) 4|A. 1\nB. 2\nC. 3\nD. 4|(A), (B), (C), (D)"
CONFIRMED = (
    "The answer is B. No other option fits.|The answer is B, no doubt.|The answer is B. No. 2 is odd."
    "|The answer is B. That is correct.|The answer is B. That is not wrong."
    "|The answer is B. It is wrong to say A."
)
CORRECTED = (
    "The answer is A. No, it's B.|The answer is A. Hmm, no, that's wrong. It's B.|正确答案：A。不对，应该是B"
    "|A is wrong. B is right|A is the wrong answer\nB is right|The answer is not A but B."
)
IN_CHINESE = "特别是B。|不得不选B|不选A选B|B，不对称|答案可能是B。|【答案】B|【答案】：B|选项B正确"
SIGNED = (
    "✅ B|B ✅|A ❌\nB ✅\nC ❌|A ❌ B ✅|❌ A\n✅ B|[x] B|[ ] A\n[x] B\n[ ] C|~~A~~ **B**"
    "|A) Rome ❌\nB) Paris ✅"
)
CONDITION = "If the answer is B then so be it|$B$ is a matrix|A small one is larger|x</answer>B."
LONGER = "The answer is C++.|The answer is C#.|The answer is B-cells|Vitamin C is correct."
PLAIN = "It's B.|It’s B.|A) 1\nB) 2\nC) 3\nD) 4\n\nB|B because it is larger|Answer: B (Paris)|\\text{B}"
PLAINEST = (
    "A) 1 B) 2 C) 3 D) 4\nThe answer is B|(A) is larger. <answer> B </answer>|answer is B, not (A)"
    "|(A) Rome. B is the correct answer.|(B) is larger. So A."
)
OF_ANOTHER = "The answer is (B) Rome, and (A) is too small.|The answer is B (A is too small)"
ANOTHER_DENIED = "The answer is A. The wrong answer is B.|A) Paris ✅\nB) Rome ❌|A没有错，选A"
LAST = "A) 1 B) 2 C) 3 Answer: D) 4|(A) no. (B) big. (C) old. (D) is correct.|(A) no (B) no (C) no (D)"


@pytest.mark.parametrize(
    ("completion", "expected"),
    [
        *table(
            (None, "denied", DENIED),
            (None, "taken back", TAKEN_BACK),
            (None, "denied in Chinese", DENIED_IN_CHINESE),
            (None, "several", SEVERAL),
            (None, "a list of the options", LISTS),
            (None, "a longer word", LONGER),
            (None, "a condition, a matrix, an article, behind a tag", CONDITION),
            ("B", "confirmed", CONFIRMED),
            ("B", "another one is denied", CORRECTED),
            ("B", "in Chinese", IN_CHINESE),
            ("B", "with a sign", SIGNED),
            ("B", "alone, or with its text", PLAIN),
            ("B", "more plainly than another one", PLAINEST),
            ("B", "something is said of another one", OF_ANOTHER),
            ("A", "of two, one denied", ANOTHER_DENIED),
            ("D", "the last of a list, called right or without its text", LAST),
            ("C", "a list that is not complete, or dollars on a line", "(A) 1\n(B) 2\n(C) 3|$C$"),
        ),
        pytest.param("Answer: A | C", None, id="with a bar"),
    ],
)
def test_what_a_denial_a_hedge_or_a_list_leaves_is_named(completion, expected):
    assert choice()(completion) == expected
    assert (choice_equal(completion, "B") is True) <= (expected == "B")
