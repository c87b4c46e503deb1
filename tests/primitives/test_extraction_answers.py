"""Extraction of announced answers: sentences, letters of choices, citations."""

from __future__ import annotations

import pytest

from rewardkit.primitives.extract import answer_phrase, choice, citation


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("completion", "expected"),
    table(
        ("The answer is 42.", "42", "a sentence"),
        ("Answer: 42", "42", "a colon"),
        ("Final answer: 42", "42", "the final one"),
        ("**Answer: 42**", "42", "bold around it all"),
        ("The answer is **42** apples.", "**42** apples", "bold that ends in the sentence"),
        ('The answer is "Paris."', "Paris", "in quotation marks"),
        ("The answer is $1,234.50.", "$1,234.50", "nor is a thousands separator; the currency stays"),
        ("The answer is 4? No! The answer is 5!", "5", "of several the last"),
        ("Answer: 4, or rather answer: 5", "5", "of two in a sentence the last"),
        ("The answer is 42\nand more", "42", "up to the end of the line"),
        ("The final answer is:\n\n$$42$$\n", "$$42$$", "on the next line where nothing follows"),
        ("**Final Answer**\n\n42", "42", "below a heading"),
        ("Answer:", "", "nothing behind it is found and empty"),
        ("The answer is not 4.", None, "a negation in full"),
        ("The answer should be 42.", "42", "should be"),
        ("the answer would be 42", "42", "would be"),
        ("The answer must be **42**.", "42", "must be"),
        ("The answer was 42.", "42", "was"),
        ("The answer could be 42.", None, "could be is no announcement"),
        ("The answer to question 3 was: 42", "42", "with a colon"),
        ("The answer is 10 a.m. So go.", "10 a.m.", "a time at the end"),
        ("The answer is 10 a.m.", "10 a.m.", "with nothing behind it"),
        ("The answer is Dr. Smith. So", "Dr. Smith", "a title"),
        (r"The answer is \boxed{3. 5}. So", r"\boxed{3. 5}", "a stop in braces is no end"),
        ("Answers: 4", None, "a longer word"),
        ("\u56e0\u6b64\u7b54\u6848\u662f42\u3002\u8c22\u8c22", "42", "a Chinese sentence"),
        (
            "\u7b54\u6848\u5e94\u8be5\u662f B\uff0c\u56e0\u4e3a C\u3002",
            "B\uff0c\u56e0\u4e3a C",
            "up to the Chinese stop",
        ),
        ("\u6700\u7ec8\u7b54\u6848\u662f\u5426\u6b63\u786e", None, "a question on the final one"),
        ("\u6700\u7ec8\u7b54\u6848\u5e94\u8be5\u662f\u5426", None, "whether it should be"),
        ("the wrong answer is 5", None, "found by a stranger: the wrong answer"),
        ("No answer: 5", None, "found by a stranger: no answer"),
        ("该答案是错误的", None, "found by a stranger: an answer called wrong in Chinese"),
        ("你的答案是什么", None, "found by a stranger: a question what it is"),
        ("【答案】42", "42", "found by a stranger: a Chinese heading"),
        ("【答案】42【解析】略", "42", "found by a stranger: the explanation is no part of it"),
        ("The answer is \\[\n5\n\\]", "5", "found by a stranger: a formula on its own line"),
        ("The answer is $$\n5\n$$", "5", "found by a stranger: the same in dollars"),
        ("The answer is $$\nx = 1\n+ 2\n$$.", "x = 1\n+ 2", "found by a stranger: a formula of two lines"),
        ("The answer is $$5$$", "$$5$$", "found by a stranger: a formula on the same line"),
        ("答案就是 5", "5", "found by a stranger: another Chinese verb"),
        ("The answer to 2+2 is 4", "4", "found by a stranger: a sum in the question"),
        ("The answer to 3.5 * 2 is 7", "7", "found by a stranger: decimals in the question"),
        ("# Answer\n\n5", "5", "found by a stranger: a heading"),
        ("## 答案\n5", "5", "found by a stranger: a Chinese heading with marks"),
        ("Answer = 5", "5", "found by a stranger: an equals sign"),
        ("answer == 5", None, "found by a stranger: a comparison"),
        ("The answer is 5</think>", "5", "found by a stranger: a mark of reasoning"),
        ("The answer is 5<|im_end|>", "5", "found by a stranger: a mark of a turn"),
        ("Answer: 5.</s>", "5", "found by a stranger: a mark of the text's end"),
        ("Answer: <b>5</b> kg", "<b>5</b> kg", "found by a stranger: other tags stay"),
        ("答案是错误。", "错误", "found by a stranger: false, in Chinese"),
        ("错误的答案是5", None, "found by a stranger: the wrong answer in Chinese"),
        ("The answer is \\[ 5", "\\[ 5", "found by a stranger: a formula that is not closed on its line"),
        ("The answer is $$\n5", "$$", "found by a stranger: one that is never closed"),
        ("I have no answer to x. It is 4", None, "found by a stranger: no verb in the sentence"),
        ("An answer to it. Then x is 4", None, "found by a stranger: a stop in between"),
    ),
)
def test_answer_phrase_gives_what_follows_the_words(completion, expected):
    assert answer_phrase()(completion) == expected


def test_answer_phrase_takes_one_language_where_asked():
    text = "Answer: 4\n\u7b54\u6848\uff1a5\nanswer is 6"
    assert answer_phrase(language="en")(text) == "6"
    assert answer_phrase(language="zh")(text) == "5"
    assert answer_phrase(which="first")(text) == "4"
    assert answer_phrase(language="zh")("Answer: 4") is None


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (choice(), "The answer is (B).", "B", "in parentheses"),
        (choice(), "B", "B", "alone"),
        (choice(), "(A) is larger. So B.", "A", "a marked letter comes before a lone one"),
        (choice(), "A small one is larger", None, "an article is no answer"),
        (choice(), "(E)", None, "a letter that is no option"),
        (choice(), r"so \boxed{B}", "B", "in a box: a brace is punctuation"),
        (choice(), "answer is C, not (A)", "C", "what is announced comes before what is in parentheses"),
        (choice(), r"(A) or (C)? \boxed{\text{C}}. (D) is out.", "C", "a box announces, too"),
        (choice(), r"\text{D}", "D", "in LaTeX's text"),
        (choice(), "\u7b54\u6848\u4e3a\uff1aC", "C", "announced in Chinese, with its colon"),
        (choice(), "\u9009\u9879B\u6b63\u786e", "B", "an option in Chinese"),
        (choice("ABCDEFGHI"), "So do I.", None, "the pronoun before a stop"),
        (choice("ABCDEFGHI"), "The answer is I think E.", "E", "the pronoun behind the word answer"),
        (choice("ABCDEFGHI"), "**I**", "I", "the letter on a line of its own"),
        (choice(case=False), "the answer is (b)", "b", "the same where case does not count"),
        (choice(case=False), r"\boxed{c}", "c", "a small letter in a box"),
        (choice(case=False), "it is b.", None, "a small letter alone is no answer"),
        (choice(case=False), "The answer is a small number", None, "the article behind the word answer"),
        (choice(), "A or B", None, "a hedge"),
        (choice(), "The answer is B or C.", None, "an announced hedge"),
        (choice(), "The answer is (B) or (C).", None, "in parentheses"),
        (
            choice(),
            "The answer is A. Hmm, the answer is A or B.",
            None,
            "a hedge takes back what was announced",
        ),
        (choice(), "(A), (B), (C), (D)", None, "a list of all of them"),
        (choice(), r"\boxed{\text{A} or \text{B}}", None, "with or between them"),
        (choice(), "not B", None, "a letter that is denied"),
        (choice(), "The answer is not B.", None, "announced as not the answer"),
        (
            choice(),
            "The answer is A. No, the answer is not A.",
            None,
            "a denial takes back what was announced",
        ),
        (choice(), "The answer is B. B is wrong. The answer is not B.", None, "the plainest denial counts"),
        (choice(), "The answer is not B but C.", "C", "the other one"),
        (choice(), "Eliminate (A) and (C). So B.", "B", "what is left"),
        (choice(), "<answer>B</answer>", "B", "in a tag"),
        (choice(), "(A) is larger. <answer> B </answer>", "B", "a tag announces"),
        (choice(), "(B) Rome. A is the correct answer.", "A", "called the answer"),
        (choice(), "A because it is larger", "A", "before a reason"),
        (choice(), "Vitamin C is correct.", None, "a vitamin"),
    ),
)
def test_choice_gives_the_letter_of_the_answer(extractor, completion, expected):
    assert extractor(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (citation(), "Rain [Source: doc-3].", "doc-3", "an id"),
        (citation(), "[Source: a] and [Source: b]", "b", "of several the last"),
        (citation(which="first"), "[Source: a; b]", "a", "a semicolon between them"),
        (citation(), "[Source: a,]", "a", "nothing behind the comma"),
        (citation(), "[Source\uff1aa\uff0cb]", "b", "full-width colon and comma"),
        (citation(), "[Source: https://a.b/c?d=1]", "https://a.b/c?d=1", "an address"),
        (citation(), "[Source:]", "", "no id is found and empty"),
        (citation(), "[Source: ,; ]", ",;", "nor is punctuation an id"),
        (citation(), "[Source: [a]]", None, "a bracket in the bracket"),
        (citation(), "[Source: a", None, "a bracket that is never closed"),
        (citation(), "[Source: a\n]", None, "a line break in the bracket"),
        (citation(), "[Source a]", None, "no colon"),
        (citation(), "[Source: [Source: a]", "a", "a bracket that is opened twice"),
        (citation("Sources"), "[Sources: a]", "a", "another label"),
        (citation("\u6765\u6e90"), "[\u6765\u6e90\uff1aa]", "a", "a Chinese label"),
        (citation("(.*)"), "[x: a]", None, "the label is no pattern"),
    ),
)
def test_citation_gives_the_id_in_the_last_bracket(extractor, completion, expected):
    assert extractor(completion) == expected
