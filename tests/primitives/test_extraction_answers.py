"""Extraction of announced answers: sentences, letters of choices, citations."""

from __future__ import annotations

import pytest

from rewardkit.primitives.extraction import answer_phrase, choice, citation


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("completion", "expected"),
    table(
        ("The answer is 42.", "42", "a sentence"),
        ("So the answer is 42 apples. Done.", "42 apples", "a sentence among others"),
        ("THE ANSWER IS 42", "42", "in capitals"),
        ("my answer is 42", "42", "whoever's answer"),
        ("Answer: 42", "42", "a colon"),
        ("Answer:42", "42", "a colon without a space"),
        ("Final answer: 42", "42", "the final one"),
        ("The final answer is: 42", "42", "a colon behind the verb"),
        ("**Answer:** 42", "42", "a bold word and colon"),
        ("**Final answer**: 42", "42", "a bold word"),
        ("**Answer: 42**", "42", "bold around it all"),
        ("The answer is **42**.", "42", "a bold value"),
        ("The answer is **42** apples.", "**42** apples", "bold that ends in the sentence"),
        ('The answer is "Paris."', "Paris", "in quotation marks"),
        ("The answer is `x`!", "x", "in backticks"),
        ("The answer is 3.14. So", "3.14", "a decimal point is no end"),
        ("The answer is $1,234.50.", "$1,234.50", "nor is a thousands separator; the currency stays"),
        ("The answer is $x = 1. 5$ kg. So", "$x = 1. 5$ kg", "nor is a stop in mathematics"),
        ("The answer is $5. Pay $6.", "$5", "two prices are no mathematics"),
        (r"The answer is \boxed{4}.", r"\boxed{4}", "a box stays"),
        ("The answer is 42, as 6 * 7 = 42.", "42, as 6 * 7 = 42", "up to the end of the sentence"),
        ("The answer is 4? No! The answer is 5!", "5", "of several the last"),
        ("Answer: 4, or rather answer: 5", "5", "of two in a sentence the last"),
        ("The answer is 42\nand more", "42", "up to the end of the line"),
        ("The final answer is:\n\n$$42$$\n", "$$42$$", "on the next line where nothing follows"),
        ("**Final Answer**\n\n42", "42", "below a heading"),
        ("Answer:", "", "nothing behind it is found and empty"),
        ("Answer: **", "", "nothing but Markdown"),
        ("The answer isn't 4", None, "a negation"),
        ("Answers: 4", None, "a longer word"),
        ("unanswer: 4", None, "the end of a word"),
        ("the answer 4", None, "neither verb nor colon"),
        ("", None, "empty completion"),
        ("\u56e0\u6b64\u7b54\u6848\u662f42\u3002\u8c22\u8c22", "42", "a Chinese sentence"),
        ("\u7b54\u6848\u4e3a42", "42", "with the other verb"),
        ("\u7b54\u6848\u4e3a\uff1a42\n", "42", "with a verb and the full-width colon"),
        ("\u7b54\u6848\uff1a 42", "42", "with the full-width colon"),
        ("\u7b54\u6848: 42", "42", "with the other colon"),
        ("**\u7b54\u6848\uff1a** 42", "42", "bold Chinese"),
        ("\u6700\u7ec8\u7b54\u684842", "42", "the final one, with nothing between"),
        ("\u6700\u7ec8\u7b54\u6848\uff1a3.5\u3002", "3.5", "the final one, with a colon"),
        (
            "\u7b54\u6848\u5e94\u8be5\u662f B\uff0c\u56e0\u4e3a C\u3002",
            "B\uff0c\u56e0\u4e3a C",
            "up to the Chinese stop",
        ),
        ("\u7b54\u6848\u662f\u5426\u6b63\u786e", None, "a question whether"),
        ("\u7b54\u6848 42", None, "neither verb nor colon, in Chinese"),
        ("Answer: 4\n\u7b54\u6848\uff1a5", "5", "of two languages the last"),
        ("\u202eanswer:\ud800\x00", "\ud800\x00", "direction mark, lone surrogate, control character"),
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
        (choice(), "[ D ]", "D", "in brackets with spaces"),
        (choice(), "option: C", "C", "behind the word option"),
        (choice(), "ANSWER B", "B", "behind the word answer in any case"),
        (choice(), "answer is **(B)**", "B", "bold"),
        (choice(), "**B**", "B", "bold alone"),
        (choice(), "B", "B", "alone"),
        (choice(), "A\nB\n", "B", "of several lines the last"),
        (choice(which="first"), "(A) or (B)", "A", "the first where asked"),
        (choice(), "(A) is larger. So B.", "A", "a marked letter comes before a lone one"),
        (choice(), "A small one is larger", None, "an article is no answer"),
        (choice(), "Option ABBA", None, "the beginning of a word is no answer"),
        (choice(), "(b)", None, "a letter in the other case"),
        (choice("abcd"), "(b)", "b", "small letters where asked"),
        (choice("1234"), "option 3", "3", "digits"),
        (choice(), "(E)", None, "a letter that is no option"),
        (choice(), "I said I'D.", None, "a letter behind an apostrophe"),
        (choice(), "", None, "empty completion"),
        (choice(), "\u202e(B)\ud800\x00", "B", "direction mark, lone surrogate, control character"),
        (choice(), r"so \boxed{B}", "B", "in a box: a brace is punctuation"),
        (choice(), "The choice: \nB     ", "B", "the end of its line, whatever white space stands before it"),
        (choice(), "\u7b54\u6848\u662fB\u3002\nB\u3002", "B", "a full stop that is not ASCII is punctuation"),
        (choice(), "**Answer:** B", "B", "behind a word and a colon in bold"),
        (choice(), "answer is C, not (A)", "C", "what is announced comes before what is in parentheses"),
        (choice(), r"(A) or (C)? \boxed{\text{C}}. (D) is out.", "C", "a box announces, too"),
        (choice(), r"\text{D}", "D", "in LaTeX's text"),
        (choice(), "B) 42", "B", "a closing parenthesis alone"),
        (choice(), "\u7b54\u6848\u4e3a\uff1aC", "C", "announced in Chinese, with its colon"),
        (choice(), "(A)\u9519\u3002\u6545\u9009D", "D", "chosen in Chinese"),
        (choice(), "\u9009\u9879B\u6b63\u786e", "B", "an option in Chinese"),
        (choice(), "\uff08B\uff09", "B", "in full-width parentheses"),
        (choice(), "The correct answer is option C.", "C", "announced as an option"),
        (choice(), "The answer should be **(D)**", "D", "announced with another verb"),
        (choice("ABCDEFGHI"), "So do I.", None, "the pronoun before a stop"),
        (choice("ABCDEFGHI"), "I, too, think it is (H)", "H", "the pronoun before a comma"),
        (choice("ABCDEFGHI"), "The answer is I think E.", "E", "the pronoun behind the word answer"),
        (choice("ABCDEFGHI"), "The answer is I.", "I", "the letter behind the word answer"),
        (choice("ABCDEFGHI"), "**I**", "I", "the letter on a line of its own"),
        (choice(), "the answer is (b)", None, "a small letter that is announced"),
        (choice(case=False), "the answer is (b)", "b", "the same where case does not count"),
        (choice(case=False), r"\boxed{c}", "c", "a small letter in a box"),
        (choice(case=False), "(b) it is", "b", "a small letter that is marked"),
        (choice(case=False), "it is b.", None, "a small letter alone is no answer"),
        (choice(case=False), "it is B.", "B", "a capital alone is one"),
        (choice(case=False), "The answer is a small number", None, "the article behind the word answer"),
        (choice(case=False), "The answer is a.", "a", "the letter behind the word answer"),
        (choice(case=False), "the answer is d or (A)", "d", "announced before marked"),
        (
            choice(),
            "Answer: A triangle has three sides.",
            "A",
            "an article behind the word answer cannot be told apart",
        ),
    ),
)
def test_choice_gives_the_letter_of_the_answer(extractor, completion, expected):
    assert extractor(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (citation(), "Rain [Source: doc-3].", "doc-3", "an id"),
        (citation(), "[Source: a] and [Source: b]", "b", "of several the last"),
        (citation(which="first"), "[Source: a] and [Source: b]", "a", "the first where asked"),
        (citation(), "[Source: a, b]", "b", "of several in a bracket the last"),
        (citation(which="first"), "[Source: a; b]", "a", "a semicolon between them"),
        (citation(), "[Source: a, Source: b]", "b", "the label again"),
        (citation(), "[Source: a,]", "a", "nothing behind the comma"),
        (citation(), "[source:a]", "a", "any case, no space"),
        (citation(), "[ SOURCE : a ]", "a", "spaces"),
        (citation(), "[Source\uff1aa\uff0cb]", "b", "full-width colon and comma"),
        (citation(), "[Source: doc 3 p. 4]", "doc 3 p. 4", "spaces in an id"),
        (citation(), "[Source: https://a.b/c?d=1]", "https://a.b/c?d=1", "an address"),
        (citation(), "[Source:]", "", "no id is found and empty"),
        (citation(), "[Source: ,; ]", ",;", "nor is punctuation an id"),
        (citation(), "[Source: [a]]", None, "a bracket in the bracket"),
        (citation(), "[Source: a", None, "a bracket that is never closed"),
        (citation(), "[Source: a\n]", None, "a line break in the bracket"),
        (citation(), "Source: a", None, "no bracket"),
        (citation(), "[Source a]", None, "no colon"),
        (citation(), "[Sources: a]", None, "a longer label"),
        (citation(), "(Source: a)", None, "parentheses"),
        (citation(), "[Source: [Source: a]", "a", "a bracket that is opened twice"),
        (citation("Sources"), "[Sources: a]", "a", "another label"),
        (citation("\u6765\u6e90"), "[\u6765\u6e90\uff1aa]", "a", "a Chinese label"),
        (citation("(.*)"), "[x: a]", None, "the label is no pattern"),
        (citation("See also"), "[see also: a]", "a", "a label of two words"),
        (citation(), "", None, "empty completion"),
        (citation(), "[Source: \ud800\u202e]", "\ud800\u202e", "hostile characters"),
    ),
)
def test_citation_gives_the_id_in_the_last_bracket(extractor, completion, expected):
    assert extractor(completion) == expected
