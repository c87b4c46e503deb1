"""Multiple choice: which option a text names, and whether two texts name the same."""

from __future__ import annotations

import pytest

from rewardkit.primitives.extract.letters import choice, read_choice
from rewardkit.primitives.verify import choice_equal


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("text", "expected"),
    table(
        ("B", "B", "the letter"),
        (" b\n", "B", "in the other case, as all there is"),
        ("B) Paris", "B", "with its text"),
        ("b) paris", "B", "in the other case, marked at the beginning"),
        ("Option: b", "B", "in the other case behind it"),
        ("The answer is B", "B", "a sentence"),
        ("A is right", "A", "the letter before a verb"),
        ("A dog", None, "an article alone"),
        ("A or B", None, "two letters"),
        ("not B", None, "a letter that is denied"),
        ("I don't think it's B", None, "denied with some words between"),
        ("The answer can't be option B.", None, "of an option"),
        ("B is not the answer.", None, "denied as the answer"),
        ("B is clearly the wrong option", None, "called wrong with words between"),
        ("~~B~~", None, "struck out"),
        ("\u2260 B", None, "unequal to it"),
        ("\u4e0d\u662fB", None, "denied in Chinese"),
        ("A rather than B", "A", "preferred to one that is denied"),
        ("B instead of C or D", "B", "to two of them"),
        ("The answer is B, A and C are wrong.", "B", "a denial stops at what is announced"),
        ("B, however, is wrong.", None, "denied with a word in commas between"),
        ("B. A and C are too small.", "B", "two of which something else is said"),
        ("either A or B", None, "either of two"),
        ("A\u6216B", None, "two in Chinese"),
        ("A since it is larger", "A", "the letter before since"),
        ("I'd go with A as it is larger", "A", "the letter before as"),
        ("Plan B is the right answer", None, "a plan that is right"),
        ("B) vitamin C", "B", "a letter in the text of an option"),
        ("B.C. is a time", None, "an abbreviation"),
        ("ABCD", None, "all letters in one word"),
        ("E", None, "a letter that is no option"),
        ("So \u200bB.", "B", "a space of no width before it"),
    ),
)
def test_read_choice_names_one_option_or_none(text, expected):
    assert read_choice(text, "ABCD") == expected


def test_options_are_letters_or_digits_of_any_script():
    for text, options, expected in (
        ("(2)", "1234", "2"),
        ("2.5", "1234", None),
        ("I think so", "ABCDEFGHI", None),
        ("I think (B)", "ABCDEFGHI", "B"),
        ("乙", "甲乙丙丁", "乙"),
        ("(\u00df)", "\u00dfx", "\u00df"),
    ):
        assert read_choice(text, options) == expected, text


# Found by a stranger, with controls.
@pytest.mark.parametrize(
    ("completion", "expected"),
    table(
        ("The wrong answer is B", None, "denied or hedged: what the wrong answer is"),
        ("Wrong answer: B", None, "denied or hedged: behind a colon"),
        ("Incorrect answer: B", None, "denied or hedged: called incorrect"),
        ("The incorrect option is B", None, "denied or hedged: the incorrect option"),
        ("The worst answer is B", None, "denied or hedged: the worst one"),
        ("It is false that the answer is B", None, "denied or hedged: false that it is"),
        ("It is wrong to say that B is right", None, "denied or hedged: wrong to say"),
        ("Nobody would choose B", None, "denied or hedged: chosen by nobody"),
        ("No one would pick B", None, "denied or hedged: by no one"),
        ("B, which is wrong", None, "denied or hedged: in a clause"),
        ("The answer is B. That is incorrect.", None, "denied or hedged: in the next sentence"),
        ("The answer is B. No.", None, "denied or hedged: by a no"),
        ("The answer is B. Hmm, no, that's wrong.", None, "denied or hedged: by a no and more"),
        ("The answer is B. That isn't right.", None, "denied or hedged: not called right"),
        ("Some say the answer is B, but that is wrong", None, "denied or hedged: what some say"),
        ("不能选B", None, "denied or hedged: cannot, in Chinese"),
        ("不应该选B", None, "denied or hedged: should not"),
        ("别选B", None, "denied or hedged: do not"),
        ("没有选B", None, "denied or hedged: did not"),
        ("没有人会选B", None, "denied or hedged: nobody would"),
        ("无法选B", None, "denied or hedged: unable"),
        ("不可能是B", None, "denied or hedged: impossible"),
        ("不会是B", None, "denied or hedged: will not be"),
        ("未必是B", None, "denied or hedged: not necessarily"),
        ("答案不太可能是B", None, "denied or hedged: hardly possible"),
        ("答案是B。不对。", None, "denied or hedged: taken back"),
        ("A) 1 B) 2 C) 3 D) 4", None, "denied or hedged: a list of all options"),
        ("(A) 1\n(B) 2\n(C) 3\n(D) 4", None, "denied or hedged: on lines"),
        ("A. 1\nB. 2\nC. 3\nD. 4", None, "denied or hedged: with stops"),
        ("<answer>A B</answer>", None, "denied or hedged: two with a space"),
        ("Answer: A C", None, "denied or hedged: announced with a space"),
        ("Answer: A B C", None, "denied or hedged: three with spaces"),
        ("Answer: A | C", None, "denied or hedged: with a bar"),
        ("Answer: A (or C)", None, "denied or hedged: one in brackets"),
        ("Answer: A (possibly C)", None, "denied or hedged: perhaps one in brackets"),
        ("Answer: A or None", None, "denied or hedged: or none"),
        ("The answer is (A)(B)", None, "denied or hedged: with nothing between their brackets"),
        ("The answer is A) Rome and B) Oslo", None, "denied or hedged: and between their texts"),
        ("\\boxed{A}\\text{ and }\\boxed{B}", None, "denied or hedged: two boxes"),
        ("答案可能是A，也可能是B", None, "denied or hedged: perhaps the one, perhaps the other"),
        ("So B. Hmm, A or B.", None, "denied or hedged: a hedge takes back what is as plain"),
        ("The answer is C++.", None, "denied or hedged: a language"),
        ("The answer is C#.", None, "denied or hedged: another language"),
        ("The answer is B-cells", None, "denied or hedged: a word with a hyphen"),
        ("A) Paris ❌", None, "denied or hedged: crossed out behind its text"),
        ("The answer is A. The wrong answer is B.", "A", "another is called wrong"),
        ("A is wrong. B is right", "B", "a denial ends with its sentence"),
        ("A is the wrong answer\nB is right", "B", "and with its line"),
        ("The answer is B. No other option fits.", "B", "a no that denies others"),
        ("The answer is B, no doubt.", "B", "no doubt"),
        ("The answer is B. No. 2 is odd.", "B", "the short form of number"),
        ("The answer is B. That is correct.", "B", "confirmed in the next sentence"),
        ("The answer is B. That is not wrong.", "B", "not called wrong there"),
        ("The answer is B. It is wrong to say A.", "B", "what it is wrong to say"),
        ("The answer is A. No, it's B.", "B", "corrected"),
        ("The answer is A. Hmm, no, that's wrong. It's B.", "B", "corrected at length"),
        ("正确答案：A。不对，应该是B", "B", "corrected in Chinese"),
        ("It's B.", "B", "behind a verb in its short form"),
        ("It’s B.", "B", "with a typographic apostrophe"),
        ("特别是B。", "B", "a word that ends like do not"),
        ("不得不选B", "B", "a double denial in Chinese"),
        ("不选A选B", "B", "not the one but the other"),
        ("A没有错，选A", "A", "not wrong in Chinese"),
        ("B，不对称", "B", "a word that begins like wrong"),
        ("A) 1 B) 2 C) 3 D) 4\nThe answer is B", "B", "announced below a list"),
        ("A) 1\nB) 2\nC) 3\nD) 4\n\nB", "B", "alone below a list"),
        ("A) 1 B) 2 C) 3 Answer: D) 4", "D", "the last announced"),
        ("(A) small. (B) big. (C) old. (D) is correct.", "D", "the last of a list called right"),
        ("(A) no (B) no (C) no (D)", "D", "the last of a list without a text"),
        ("(A) 1\n(B) 2\n(C) 3", "C", "a list that is not complete"),
        ("The answer is (B) Rome, and (A) is too small.", "B", "and with a clause"),
        ("The answer is B (A is too small)", "B", "another in brackets with a clause"),
        ("Answer: B (Paris)", "B", "a text in brackets"),
        ("答案可能是B。", "B", "perhaps one"),
        ("【答案】B", "B", "in a Chinese heading"),
        ("【答案】：B", "B", "and a colon"),
        ("✅ B", "B", "ticked"),
        ("B ✅", "B", "ticked behind it"),
        ("A ❌\nB ✅\nC ❌", "B", "ticked among crosses"),
        ("A ❌ B ✅", "B", "on one line"),
        ("❌ A\n✅ B", "B", "signs before them"),
        ("A) Paris ✅\nB) Rome ❌", "A", "ticked behind its text"),
        ("[x] B", "B", "a box with a cross for yes"),
        ("[ ] A\n[x] B\n[ ] C", "B", "among empty boxes"),
        ("~~A~~ **B**", "B", "one struck out"),
        ("$C$", "C", "in dollars on a line"),
        ("$B$ is a matrix", None, "a matrix"),
    ),
)
def test_what_a_denial_a_hedge_or_a_list_leaves_is_named(completion, expected):
    assert choice()(completion) == expected
    assert (choice_equal(completion, "B") is True) <= (expected == "B")
